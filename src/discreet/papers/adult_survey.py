"""The Adult survey as the papers use it: counts and sums by workclass, and the ranges of three columns."""

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
    """Number of people and sum of their hours for one workclass."""

    people: int
    hours: int

    @property
    def mean(self) -> float:
        return self.hours / self.people


@dataclass(frozen=True, kw_only=True)
class ColumnRange:
    """Smallest and largest value of a column, and the number of distinct values that occur."""

    low: int
    high: int
    distinct_values: int

    @property
    def possible_values(self) -> int:
        return self.high - self.low + 1


@dataclass(frozen=True, kw_only=True)
class AdultSurvey:
    """Counts of the Adult survey.

    `people` counts all 48,842 rows; `workclasses` count adult.data only, as the EGM paper does. `is_real` is
    False if the synthetic sample census replaces the survey.
    """

    is_real: bool
    people: int
    columns: Mapping[str, ColumnRange]
    workclasses: Mapping[str, Workclass]

    @property
    def rows(self) -> int:
        """Number of rows of adult.data."""
        return sum(each.people for each in self.workclasses.values())


def count_adult_survey(
    engine: Publisher, *, full_table: str, training_table: str, is_real: bool
) -> AdultSurvey:
    """Count the survey from the table with all rows and the table with the rows of adult.data."""
    classes = engine.count(CLASSES.format(table=training_table)).secret.to_pylist()
    columns = {}
    people = 0
    for column in COLUMNS:
        (row,) = engine.count(EXTREMES.format(table=full_table, column=column)).secret.to_pylist()
        people = int(row["n"])
        columns[column] = ColumnRange(
            low=row["low"], high=row["high"], distinct_values=int(row["distinct_values"])
        )
    return AdultSurvey(
        is_real=is_real,
        people=people,
        columns=columns,
        workclasses={
            row["workclass"]: Workclass(people=int(row["people"]), hours=int(row["hours"])) for row in classes
        },
    )
