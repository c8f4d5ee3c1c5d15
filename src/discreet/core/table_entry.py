"""Table entries of a policy: where the rows are, whom a row is about, and how many rows of one person count.

Links are foreign keys: joins follow them, and so does the search for the person of a row. Impossible
combinations are public knowledge of the data that synthetic rows respect.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator, model_validator

from discreet.core.column_entry import BOOLEANS, BOUNDS, Column, is_bound, is_ordered
from discreet.core.csv_options import CsvOptions
from discreet.core.hierarchy_entry import StrictModel

WORD = re.compile(r"[^\W\d][\w .-]*")
READ_AGAIN, LEAST_READ = 10, 1_000
ASSUMED_ROWS = 1_000_000
"""The number of rows that running times assume for a table that declares none."""


class Link(StrictModel):
    """A foreign key: every value of the column is a key of the other table, where it occurs at most once."""

    table: str = Field(description="The table that is linked to.", examples=["visits"])
    column: str = Field(
        description="The column of that table, in which each value occurs at most once.", examples=["id"]
    )


class LinkedPerson(StrictModel):
    """The person of a row is the person of the row that its linked column `through` refers to."""

    through: str = Field(description="The linked column whose row names the person.", examples=["visit"])


class ValueRange(StrictModel):
    """The values of a number or a date from `low` to `high`, both included; an unset end is open."""

    low: int | Decimal | date | None = Field(
        default=None, description="The first value; open if unset.", examples=[0]
    )
    high: int | Decimal | date | None = Field(
        default=None, description="The last value; open if unset.", examples=[17]
    )


def _normalize_condition(value: object) -> object:
    """Wrap a single value as a tuple; null is a missing value."""
    if isinstance(value, dict | ValueRange):
        return value
    many = value if isinstance(value, list | tuple) else [value]
    return tuple(str(each).lower() if isinstance(each, bool) else each for each in many)


Condition = Annotated[ValueRange | tuple[str | None, ...], BeforeValidator(_normalize_condition)]
Impossible = dict[str, Condition]


class Table(StrictModel):
    """One table: its source, its privacy unit, and the most that one person may contribute.

    `person` is "row", the column that identifies the person, a link through which the person is found, or
    "none" for a public table that is about nobody. `most_rows` is the largest number of rows that is
    expected; only the time that answers take depends on it. `impossible` lists combinations of values that no
    row can have; synthetic rows never have them either. `csv` says how the text of a CSV source is read.
    """

    source: str = Field(
        default="",
        description="The rows: a CSV, Excel, Parquet or Arrow file, a glob, a table of a DuckDB file, or "
        "a table of the engine. Without it, a program passes the rows in.",
        examples=["visits.csv"],
    )
    person: str | LinkedPerson = Field(
        default="row",
        description="Whom a row is about: row, the column that identifies the person, a link to it, or none.",
        examples=["patient"],
    )
    rows_per_person: int = Field(
        default=1,
        ge=1,
        description="The most rows of one person that count; more noise for more rows.",
        examples=[20],
    )
    groups_per_person: int | None = Field(
        default=None,
        ge=1,
        description="The most groups of an answer in which one person counts.",
        examples=[3],
    )
    rows: int | None = Field(
        default=None,
        ge=1,
        description="The number of rows, if it is public.",
        examples=[32561],
    )
    most_rows: int | None = Field(
        default=None,
        ge=1,
        description="The most rows that are expected; only the time that answers take depends on it.",
        examples=[20000],
    )
    links: dict[str, Link] = Field(
        default_factory=dict,
        description="Columns whose values are keys of other tables, for joins.",
        examples=[{"visit": "visits.id"}],
    )
    impossible: tuple[Impossible, ...] = Field(
        default=(),
        description="Combinations of values that no row can have; synthetic rows never have them.",
        examples=[[{"age": {"high": 15}, "married": "yes"}]],
    )
    columns: dict[str, Column] = Field(
        description="The columns that may be asked about; others are not read.",
        examples=[{"age": {"type": "integer", "low": 0, "high": 120}}],
    )
    csv: CsvOptions | None = Field(
        default=None,
        description="How the text of a CSV or Excel file is read; `discreet init` proposes it.",
        examples=[{"delimiter": ";", "decimal": ","}],
    )

    @field_validator("person", mode="before")
    @classmethod
    def _check_person(cls, value: Any) -> Any:
        through = isinstance(value, dict) and list(value) == ["through"] and isinstance(value["through"], str)
        if not (through or isinstance(value, str | LinkedPerson)):
            raise ValueError("it must be row, none, a column, or {through: COLUMN} for one that is linked")
        return value

    @field_validator("links", mode="before")
    @classmethod
    def _expand_links(cls, value: Any) -> Any:
        """Expand `patient: patients.id` into a table and a column."""
        if not isinstance(value, dict):
            return value
        return {
            name: dict(zip(("table", "column"), link.rsplit(".", 1), strict=False))
            if isinstance(link, str)
            else link
            for name, link in value.items()
        }

    @model_validator(mode="after")
    def _check_consistency(self) -> Table:
        if not self.has_person_key and (self.rows_per_person != 1 or self.groups_per_person is not None):
            raise ValueError(
                "where a person is a row, rows_per_person is 1 and there is no groups_per_person"
            )
        if self.person_column is not None and self.person_column not in self.columns:
            raise ValueError(f"person names the column {self.person}, which is not declared under columns")
        if self.person_link is not None and self.person_link not in self.links:
            raise ValueError(f"person goes through the column {self.person_link}, which is not under links")
        if self.rows is not None and self.person != "row":
            raise ValueError("rows, a public number of rows, goes with person: row")
        missing = [name for name in self.links if name not in self.columns]
        if missing:
            raise ValueError(f"links names the column {missing[0]}, which is not declared under columns")
        for name in self.columns:
            if not WORD.fullmatch(name) or name.startswith("_discreet"):
                raise ValueError(f"the column name {name!r} must be letters, digits, blanks and . - _")
        for entry in self.impossible:
            self._require_conditions(entry)
        return self

    def _require_conditions(self, entry: Impossible) -> None:
        if not entry:
            raise ValueError("an entry of impossible must name at least one column")
        for name, condition in entry.items():
            if name not in self.columns:
                raise ValueError(f"impossible names the column {name}, which is not declared under columns")
            column = self.columns[name]
            if isinstance(condition, ValueRange):
                bounds = [each for each in (condition.low, condition.high) if each is not None]
                if not bounds or not all(is_bound(column.type, bound) for bound in bounds):
                    raise ValueError(f"impossible names {name} by bounds that are not of its type")
                if len(bounds) == 2 and not is_ordered(*bounds):
                    raise ValueError(f"impossible names {name} by a low that is above its high")
            elif not set(condition) <= {None, *(column.values or ()), *BOOLEANS.get(column.type, ())}:
                way_out = "name it by low and high" if column.type in BOUNDS else "declare it under values"
                raise ValueError(f"impossible names a value of {name} that is not declared: {way_out}")

    @property
    def source_names(self) -> dict[str, str]:
        """The name of each column in the source."""
        return {name: column.source_name or name for name, column in self.columns.items()}

    @property
    def person_column(self) -> str | None:
        """The column that identifies the person, or None."""
        return self.person if isinstance(self.person, str) and self.person not in ("row", "none") else None

    @property
    def person_link(self) -> str | None:
        """The linked column through which the person is found, or None."""
        return self.person.through if isinstance(self.person, LinkedPerson) else None

    @property
    def expected_rows(self) -> int:
        """The number of rows that running times are computed for."""
        return self.rows or self.most_rows or ASSUMED_ROWS

    @property
    def max_rows_read(self) -> int:
        """The most rows of one person that a question reads to find those that count.

        A person may have any number of rows; a store keeps this many of them, the first ones by rank.
        """
        return max(LEAST_READ, READ_AGAIN * self.rows_per_person * (self.groups_per_person or 1))

    @property
    def has_person_key(self) -> bool:
        """Return whether one person can have several rows here, and rows in other tables."""
        return self.person not in ("row", "none")
