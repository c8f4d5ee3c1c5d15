"""How often intervals of an error plan hold the truth: many draws of the noise of two released tables.

Hit      one for each draw and column: of kind `per_row` the row at place (draw modulo rows), of kind
         `all_rows` all rows together. A row without ends promises nothing and is left out.
Truth    what DuckDB computes from the tables without noise, in the row with the same keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from discreet.mechanisms.linear_combinations import LinearCombination
from discreet.mechanisms.noise_laws import DiscreteLaplaceLaw
from discreet.sql.error_intervals import ReleasedLaws, compute_intervals
from discreet.sql.error_plan import ALL_ROWS, ErrorPlan, plan_errors
from discreet.sql.interval_columns import build_interval_columns
from discreet.sql.interval_estimates import Estimate
from discreet.sql.released_schema import LinearMeasure, RatioMeasure, ReleasedSchema

CONFIDENCE = 0.95
LAW = DiscreteLaplaceLaw(rate=Fraction(1, 4))
CELL = LinearCombination.from_equal_cells(LAW, 1)
COUNT = LinearMeasure(coefficients={"p0": Fraction(1)}, is_whole=True)
TOTAL = LinearMeasure(coefficients={"p1": Fraction(1)}, is_whole=True)
MEAN = RatioMeasure(
    top={"p1": Fraction(1)}, bottom={"p0": Fraction(1)}, offset=Fraction(0), low=0.0, high=20.0
)
KEYS = ("k0", "k1")
SIZES = {"k0": 12, "k1": 3}


def make_schema(name: str) -> ReleasedSchema:
    """Return a table of 36 cells with a count, a total and their mean."""
    return ReleasedSchema(
        name=name,
        keys=KEYS,
        measures={"m0": COUNT, "m1": TOTAL, "m2": MEAN},
        noises={"p0": CELL, "p1": CELL},
        is_complete=True,
        row_count=36,
        key_sizes=SIZES,
    )


SCHEMAS = (make_schema("r0"), make_schema("r1"))
LAWS = ReleasedLaws.from_schemas(SCHEMAS, {"r0": 36, "r1": 36})


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """Two tables without noise, and answers to statements over them with noise."""

    seed: int = 5
    _connection: duckdb.DuckDBPyConnection = field(default_factory=duckdb.connect)

    def count_hits(
        self,
        statement: str,
        draws: int,
        *,
        keys: int = 1,
        shown_before: tuple[str, ...] = (),
        change: Callable[[ErrorPlan], ErrorPlan] = lambda plan: plan,
    ) -> dict[str, list[bool]]:
        """Return whether the promise of each column with intervals held in each draw.

        The first `keys` columns find the row. `shown_before` are tables from which a statement with {top}
        takes the key k0 of the largest noisy count, and one with {cell} its number.
        """
        random = np.random.default_rng(self.seed)
        exact = {name: self._make_true_values(place) for place, name in enumerate(("r0", "r1"))}
        hits: dict[str, list[bool]] = defaultdict(list)

        @cache
        def plan_statement(text: str) -> ErrorPlan:
            return change(plan_errors(text, SCHEMAS, shown_before=shown_before))

        @cache
        def find_truths(text: str) -> dict[tuple[object, ...], dict[str, Any]]:
            rows = self._run(_unselect(text), exact).to_pylist()
            return {tuple(row.values())[:keys]: row for row in rows}

        for draw in range(draws):
            noisy = {name: _add_noise(values, random) for name, values in exact.items()}
            cell = int(noisy["r0"]["m0"].to_numpy().argmax())
            text = statement.replace("{top}", str(cell // 3)).replace("{cell}", str(cell))
            plan, truths = plan_statement(text), find_truths(text)
            found = self._run(plan.query, noisy)
            for name, ends in compute_intervals(plan, found, LAWS, CONFIDENCE).items():
                kind = plan.get_column(name).interval_kind
                hits[name].append(_holds(found.to_pylist(), name, ends, kind, draw, truths, keys))
        return hits

    def _make_true_values(self, place: int) -> pa.Table:
        random = np.random.default_rng(place + 3)
        counts, totals = random.integers(84, 87, 36), random.integers(800, 900, 36)
        columns = {"k0": np.arange(36) // 3, "k1": np.arange(36) % 3, "m0": counts, "m1": totals}
        return pa.table({**columns, "m2": totals / counts})

    def _run(self, statement: str, tables: Mapping[str, pa.Table]) -> pa.Table:
        for name, table in tables.items():
            self._connection.register(name, table)
        return self._connection.sql(statement).to_arrow_table()


def _unselect(statement: str) -> str:
    """Return the statement without what selects rows, behind a comment that marks it."""
    return statement.split("/* selects */", maxsplit=1)[0]


def _add_noise(exact: pa.Table, random: np.random.Generator) -> pa.Table:
    """Return a released table, with all columns that intervals can be computed from."""
    a = np.exp(-float(LAW.rate))
    noise = random.geometric(1 - a, (2, 36)) - random.geometric(1 - a, (2, 36))
    values = {name: exact[name].to_numpy() + noise[place] for place, name in enumerate(("m0", "m1"))}
    columns: dict[str, Any] = {key: exact[key] for key in KEYS} | values
    columns["m2"] = values["m1"] / values["m0"]
    columns |= {"m2.top": values["m1"].astype(float), "m2.bottom": values["m0"].astype(float)}
    for name in ("m0", "m1"):
        wanted = [f"{name}{level}.{end}" for level in ("", ".all", ".box") for end in ("low", "high")]

        def estimate_at(confidence: float, is_raw: bool, name: str = name) -> Estimate:
            half, number = float(LAW.half_width(1 - confidence)), values[name].astype(float)
            return Estimate(values=values[name], low=number - half, high=number + half)

        columns |= build_interval_columns(
            name, wanted, estimate_at, confidence=CONFIDENCE, rows=36, box_measures=1
        )
    blank = pa.nulls(36, pa.float64())
    columns |= {f"m2{level}.{end}": blank for level in ("", ".all", ".box") for end in ("low", "high")}
    return pa.table(columns)


def _holds(
    rows: list[dict[str, Any]],
    name: str,
    ends: tuple[list[float | None], list[float | None]],
    kind: str,
    draw: int,
    truths: Mapping[tuple[object, ...], Mapping[str, Any]],
    keys: int,
) -> bool:
    places = range(len(rows)) if kind == ALL_ROWS or not rows else [draw % len(rows)]
    for place in places:
        low, high = ends[0][place], ends[1][place]
        truth = truths[tuple(rows[place].values())[:keys]][name]
        if low is None or high is None or truth is None:
            continue
        slack = 1e-9 * max(1.0, abs(float(truth)))
        if not low - slack <= float(truth) <= high + slack:
            return False
    return True
