"""A table of made-up people and its policy, for tests of what is measured, stored and served again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.services.answers import Answer

WARDS = ["d", "a", "c", "b"]


def write_policy(**changes: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "sex": {"type": "category", "values": ["m", "f"], "nulls": False},
        "ward": {"type": "category", "values": WARDS, "nulls": False},
        "age": {"type": "integer", "low": 0, "high": 100, "nulls": False},
        "height": {"type": "integer", "low": 50, "high": 250, "nulls": False},
    }
    columns |= changes.pop("columns", {})
    people = {"columns": columns, **changes.pop("people", {})}
    return {"promise": {"prior": "1%", "posterior": "99%"}, "tables": {"people": people}, **changes}


def draw_people(size: int, *, seed: int = 3, wards: Sequence[str] = WARDS) -> pa.Table:
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "sex": random.choice(["m", "f"], size),
            "ward": random.choice(wards, size),
            "age": random.integers(0, 101, size),
            "height": random.integers(50, 251, size),
        }
    )


def read(answer: Answer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = answer.table.to_pylist()
    return found
