"""Simulated people with ten correlated columns, as in a census, as source data for synthetic tables.

Age, sex and one of 60 zips are drawn independently; few zips are large. Education depends on age, occupation
on education and sex, hours on occupation, income on education, hours and age, marital status and children on
age; savings are 0 for most people and have a long tail. So columns predict each other, as in real people,
and such predictions are nobody's secret.

`make_leaky_copy` is a synthesizer that reveals everybody: the data itself with a little noise. An honest one
is a fresh draw: other people of the same distribution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from discreet.core.column_entry import ColumnType
from discreet.core.number_checks import require_count

COLUMN_TYPES = {
    "age": ColumnType.INTEGER,
    "sex": ColumnType.CATEGORY,
    "zip": ColumnType.CATEGORY,
    "education": ColumnType.CATEGORY,
    "occupation": ColumnType.CATEGORY,
    "hours": ColumnType.INTEGER,
    "income": ColumnType.INTEGER,
    "marital": ColumnType.CATEGORY,
    "children": ColumnType.INTEGER,
    "savings": ColumnType.INTEGER,
}
ZIPS, TRADES = 60, 12
CHANGED_SHARE = 0.02


@dataclass(frozen=True, kw_only=True)
class Census:
    """A number of simulated people; another seed gives others of the same distribution."""

    people: int
    seed: int = 1

    def __post_init__(self) -> None:
        require_count(self, "people", self.people)
        require_count(self, "seed", self.seed, minimum=0)

    def sample(self) -> pa.Table:
        """Return a table with one row for each person."""
        draw = np.random.Generator(np.random.PCG64(self.seed))
        n = self.people
        age = np.clip(draw.gamma(6, 7, n), 17, 95).astype(np.int64)
        sex = draw.integers(2, size=n)
        schooled = np.clip(draw.normal(3 - np.abs(age - 40) / 30, 1.3), 0, 5).astype(np.int64)
        trade = (2 * schooled + sex + draw.integers(-1, 3, n)) % TRADES
        hours = np.clip(draw.normal(38 - 3 * (trade % 3), 6), 5, 80).astype(np.int64)
        pay = np.exp(6 + 0.25 * schooled + 0.015 * hours + 0.4 * np.log(age) + draw.normal(0, 0.45, n))
        married = np.minimum((draw.random(n) * age / 17).astype(np.int64), 3)
        children = draw.poisson(np.minimum(np.maximum(age - 20, 0) / 15, 2) * (0.3 + 0.3 * married))
        saved = np.where(draw.random(n) < 0.6, 0, draw.pareto(1.2, n) * pay / 3)
        codes = {"sex": sex, "education": schooled, "occupation": trade, "marital": married}
        codes["zip"] = (draw.random(n) ** 2 * ZIPS).astype(np.int64)
        numbers = {
            "age": age,
            "hours": hours,
            "income": pay // 10 * 10,
            "children": children,
            "savings": saved,
        }
        return pa.table(
            {
                name: pa.array([f"{name} {code}" for code in codes[name]])
                if name in codes
                else pa.array(numbers[name].astype(np.int64))
                for name in COLUMN_TYPES
            }
        )


def make_leaky_copy(table: pa.Table, *, changed_share: float = CHANGED_SHARE, seed: int = 9) -> pa.Table:
    """Return the rows in another order, with some cells from other rows and slightly changed numbers."""
    draw = np.random.Generator(np.random.PCG64(seed))
    order = draw.permutation(table.num_rows)
    columns = {}
    for name, kind in COLUMN_TYPES.items():
        place = np.where(draw.random(order.size) < changed_share, draw.permutation(order), order)
        cells = table.column(name).take(pa.array(place))
        if kind is ColumnType.INTEGER:
            numbers = cells.to_numpy()
            cells = pa.array(np.rint(numbers * (1 + draw.normal(0, 0.004, numbers.size))).astype(np.int64))
        columns[name] = cells
    return pa.table(columns)
