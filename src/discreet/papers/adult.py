"""The Adult survey as the papers use it: counts and sums by workclass, and three columns' extremes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.core.engine import Publisher

COLUMNS = ("age", "education_num", "hours_per_week")
CLASSES = (
    "SELECT workclass, COUNT(*) AS people, SUM(hours_per_week) AS hours FROM {table} "
    "GROUP BY workclass ORDER BY workclass"
)
EXTREMES = (
    "SELECT COUNT(*) AS n, MIN({column}) AS low, MAX({column}) AS high, "
    "COUNT(DISTINCT {column}) AS distinct_values FROM {table}"
)


@dataclass(frozen=True, kw_only=True)
class Workclass:
    """The people of one kind of employer."""

    people: int
    hours: int

    @property
    def mean(self) -> float:
        return self.hours / self.people


@dataclass(frozen=True, kw_only=True)
class Extremes:
    """Where a column begins and ends, and how many of its values occur."""

    low: int
    high: int
    occurring: int

    @property
    def possible(self) -> int:
        return self.high - self.low + 1


@dataclass(frozen=True, kw_only=True)
class Adult:
    """`people` are all 48,842; `workclasses` are those of adult.data, which the EGM paper has alone.

    `real` is false where the made-up census stands in.
    """

    real: bool
    people: int
    columns: Mapping[str, Extremes]
    workclasses: Mapping[str, Workclass]

    @property
    def rows(self) -> int:
        """Those of adult.data."""
        return sum(each.people for each in self.workclasses.values())


def counted(engine: Publisher, *, everybody: str, first: str, real: bool) -> Adult:
    """From the tables that hold everybody, and the rows of adult.data."""
    classes = engine.count(CLASSES.format(table=first)).secret.to_pylist()
    columns = {}
    people = 0
    for column in COLUMNS:
        (row,) = engine.count(EXTREMES.format(table=everybody, column=column)).secret.to_pylist()
        people = int(row["n"])
        columns[column] = Extremes(low=row["low"], high=row["high"], occurring=int(row["distinct_values"]))
    return Adult(
        real=real,
        people=people,
        columns=columns,
        workclasses={
            row["workclass"]: Workclass(people=int(row["people"]), hours=int(row["hours"])) for row in classes
        },
    )
