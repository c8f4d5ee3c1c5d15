"""People with ten columns that go together, as in a census: made up, for synthetic tables to be made of.

Age, sex and one of 60 zips are drawn alone, few zips being large. Education goes with age, occupation with
education and sex, hours with occupation, income with education, hours and age, marital status and children
with age; what somebody saved is nothing for most and has a long tail. So columns tell of each other, as in
people, and what one tells of another is no secret of anybody.

`copied` is a synthesizer that gives everybody away: the data itself with a little noise. An honest one is a
fresh draw: other people of the same law.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from discreet.core.number_checks import require_count
from discreet.core.policy import ColumnType

KINDS = {
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
CHANGED = 0.02


@dataclass(frozen=True, kw_only=True)
class Census:
    """So many people; another seed gives others of the same law."""

    people: int
    seed: int = 1

    def __post_init__(self) -> None:
        require_count(self, "people", self.people)
        require_count(self, "seed", self.seed, minimum=0)

    def sample(self) -> pa.Table:
        """One row for each person."""
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
                for name in KINDS
            }
        )


def copied(table: pa.Table, *, changed: float = CHANGED, seed: int = 9) -> pa.Table:
    """The same rows in another order; a share of the cells is another row's, numbers are off by a little."""
    draw = np.random.Generator(np.random.PCG64(seed))
    order = draw.permutation(table.num_rows)
    columns = {}
    for name, kind in KINDS.items():
        place = np.where(draw.random(order.size) < changed, draw.permutation(order), order)
        cells = table.column(name).take(pa.array(place))
        if kind is ColumnType.INTEGER:
            numbers = cells.to_numpy()
            cells = pa.array(np.rint(numbers * (1 + draw.normal(0, 0.004, numbers.size))).astype(np.int64))
        columns[name] = cells
    return pa.table(columns)
