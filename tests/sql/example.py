"""One policy with every kind of column and table, and made-up rows that keep within its bounds or do not."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.belief import Promise
from discreet.core.policy import Policy
from discreet.engines.prepared_store import PreparedStore, prepare_store

PROMISE = Promise(0.01, 0.05)
TAILED = Promise(0.01, 0.05, tail=1e-6)
LEAK = 1e-7

TABLES: dict[str, dict[str, Any]] = {
    "people": {
        "columns": {
            "age": {"type": "integer", "low": 0, "high": 120},
            "height": {"type": "decimal", "low": 0, "high": 2.5, "resolution": "0.01"},
            "sex": {"type": "category", "values": ["m", "f"]},
            "city": {"type": "text"},
            "trade": {"type": "category"},
            "born": {"type": "date", "low": "1900-01-01", "high": "2020-12-31"},
            "seen": {"type": "timestamp", "low": "2020-01-01", "high": "2021-12-31"},
            "smoker": {"type": "boolean", "nulls": True},
            "income": {"type": "integer"},
            "weight": {"type": "decimal"},
            "name": {"role": "identifier"},
        },
    },
    "visits": {
        "person": "patient",
        "rows_per_person": 3,
        "links": {"clinic": "clinics.id"},
        "columns": {
            "patient": {"type": "text", "role": "identifier"},
            "clinic": {"type": "integer", "low": 1, "high": 9},
            "cost": {"type": "integer", "low": 0, "high": 1000},
            "days": {"type": "integer", "low": 0, "high": 30},
            "disease": {"type": "category", "values": ["Flu", "Gout"]},
            "admitted": {"type": "date"},
        },
    },
    "patients": {
        "person": "patient",
        "columns": {
            "patient": {"type": "text", "role": "identifier"},
            "sex": {"type": "category", "values": ["m", "f"]},
            "age": {"type": "integer", "low": 0, "high": 120, "nulls": False},
        },
    },
    "clinics": {
        "person": "none",
        "columns": {
            "id": {"type": "integer", "low": 1, "high": 9},
            "region": {"type": "category", "values": ["North", "South"]},
        },
    },
    "orders": {
        "person": "customer",
        "rows_per_person": 2,
        "groups_per_person": 2,
        "columns": {
            "id": {"type": "text", "role": "identifier"},
            "customer": {"type": "integer", "role": "identifier"},
            "shop": {"type": "category", "values": ["a", "b", "c"]},
            "price": {"type": "decimal", "low": -5, "high": 5, "resolution": "0.5"},
        },
    },
    "items": {
        "person": {"through": "order"},
        "rows_per_person": 5,
        "links": {"order": "orders.id"},
        "columns": {
            "order": {"type": "text", "role": "identifier"},
            "article": {"type": "category", "values": ["pen", "ink"]},
            "pieces": {"type": "integer", "low": 0, "high": 20},
        },
    },
    "odd": {
        "columns": {
            "select": {"type": "integer", "low": 0, "high": 9},
            "Order": {"type": "category", "values": ["it's", 'say "hi"', "a\\b", "ß€😀"]},
            "two words": {"type": "integer", "low": 0, "high": 9},
            "a.b": {"type": "integer", "low": 0, "high": 9},
            "from-to": {"type": "boolean"},
        },
    },
}


def policy(folder: Path = Path()) -> Policy:
    """The policy over the files that `write` makes in a folder."""
    tables = {name: {"source": str(folder / f"{name}.parquet"), **table} for name, table in TABLES.items()}
    return Policy.model_validate({"promise": {"prior": "1%", "posterior": "5%"}, "tables": tables})


POLICY = policy()


def store(folder: Path) -> PreparedStore:
    """A store in memory over the files in a folder."""
    return prepare_store(policy(folder), None)


def write(folder: Path) -> None:
    for name, table in rows().items():
        pq.write_table(table, folder / f"{name}.parquet")


def rows() -> dict[str, pa.Table]:
    """All tables; the same at every call."""
    dice = np.random.default_rng(7)
    patients = [f"p{place}" for place in range(181)]
    visitors = [patient for patient in patients for _ in range(int(dice.integers(0, 4)))]
    customers = [customer for customer in range(90) for _ in range(int(dice.integers(0, 3)))]
    ordered = [f"o{place}" for place in range(len(customers)) for _ in range(place % 3)]
    values = ["it's", 'say "hi"', "a\\b", "ß€😀"]
    return {
        "people": _people(dice, 401),
        "visits": pa.table(
            {
                "patient": visitors,
                "clinic": dice.integers(1, 10, len(visitors)),
                "cost": dice.integers(-50, 1100, len(visitors)),
                "days": _with_nulls(dice, dice.integers(0, 31, len(visitors)).tolist()),
                "disease": dice.choice(["Flu", "Gout"], len(visitors)),
                "admitted": [
                    date(2020, 1, 1) + timedelta(int(n)) for n in dice.integers(0, 700, len(visitors))
                ],
            }
        ),
        "patients": pa.table(
            {
                "patient": patients,
                "sex": dice.choice(["m", "f"], len(patients)),
                "age": dice.integers(0, 100, len(patients)),
            }
        ),
        "clinics": pa.table({"id": range(1, 10), "region": ["North", "South", "South"] * 3}),
        "orders": pa.table(
            {
                "id": [f"o{place}" for place in range(len(customers))],
                "customer": customers,
                "shop": dice.choice(["a", "b", "c"], len(customers)),
                "price": dice.integers(-14, 15, len(customers)) / 2,
            }
        ),
        "items": pa.table(
            {
                "order": ordered,
                "article": [("pen", "ink")[place % 2] for place in range(len(ordered))],
                "pieces": [place % 25 for place in range(len(ordered))],
            }
        ),
        "odd": pa.table(
            {
                "select": dice.integers(0, 10, 60),
                "Order": [values[place % 4] for place in range(60)],
                "two words": dice.integers(0, 10, 60),
                "a.b": dice.integers(0, 10, 60),
                "from-to": dice.integers(0, 2, 60).astype(bool),
            }
        ),
    }


def _people(dice: np.random.Generator, count: int) -> pa.Table:
    return pa.table(
        {
            "age": dice.integers(-5, 131, count),
            "height": _with_nulls(dice, (dice.integers(40, 290, count) / 100).tolist()),
            "sex": dice.choice(["m", "f"], count),
            "city": _with_nulls(
                dice, dice.choice(["Ulm", "ulm", "Köln", "", "50% off", "a_b", "a\\b"], count).tolist()
            ),
            "trade": dice.choice(["baker", "smith", "O'Neil"], count),
            "born": [date(1900, 1, 1) + timedelta(int(n)) for n in dice.integers(0, 44_000, count)],
            "seen": [
                datetime(2020, 1, 1) + timedelta(minutes=int(n)) for n in dice.integers(0, 10**6, count)
            ],
            "smoker": _with_nulls(dice, dice.integers(0, 2, count).astype(bool).tolist()),
            "income": dice.integers(-(10**6), 10**9, count),
            "weight": _with_nulls(dice, (dice.integers(20, 1500, count) / 10).tolist()),
            "name": [f"n{place}" for place in range(count)],
        }
    )


def _with_nulls(dice: np.random.Generator, values: list[Any]) -> list[Any]:
    return [None if dice.random() < 0.1 else value for value in values]
