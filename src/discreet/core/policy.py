"""The policy: everything that the custodian declares about the tables before any question is asked.

Bounds, sensitivities and group keys are computed from the policy and never from the data. Where the data
disagrees it is clamped without a report to the analyst: a number beyond its bounds moves to the nearer bound,
an undeclared category becomes missing, rows beyond a person's bound are left out.

The models check each entry and the references between entries; `services.policies` reads them from YAML and
gives file, line and remedy for each error, and knows the engines.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Any

from pydantic import AliasChoices, BeforeValidator, Field, field_validator, model_validator

from discreet.core.csv_options import CsvOptions
from discreet.core.hierarchy_entry import HierarchyEntry, MissingValues, StrictModel, is_moderate
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import parse_probability

WORD = re.compile(r"[^\W\d][\w .-]*")
WIDEST = 2**53  # below it, doubles hold every integer, and engines may convert to them
LONGEST_TEXT = 1_000  # characters of a text that are kept, so that one person's text takes bounded time
READ_AGAIN, LEAST_READ = 10, 1_000
ASSUMED_ROWS = 1_000_000
"""The number of rows that running times assume for a table that declares none."""


class ColumnType(StrEnum):
    """The type of a column's values."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    CATEGORY = "category"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"
    BOOLEAN = "boolean"


class Role(StrEnum):
    """The role of a column for an attacker."""

    IDENTIFIER = "identifier"
    QUASI = "quasi"
    SENSITIVE = "sensitive"
    OTHER = "other"


BOUNDS: dict[ColumnType, tuple[tuple[type, ...], str]] = {
    ColumnType.INTEGER: ((int, Decimal), "numbers"),
    ColumnType.DECIMAL: ((int, Decimal), "numbers"),
    ColumnType.DATE: ((date,), "dates"),
    ColumnType.TIMESTAMP: ((date,), "times without a zone"),
}
BOOLEANS = {ColumnType.BOOLEAN: ("false", "true")}


def _is_bound(kind: ColumnType, bound: object) -> bool:
    if kind not in BOUNDS or not isinstance(bound, BOUNDS[kind][0]):
        return False
    if isinstance(bound, datetime):
        return kind is ColumnType.TIMESTAMP and bound.tzinfo is None
    return not isinstance(bound, Decimal) or is_moderate(bound)


def _is_ordered(low: Any, high: Any) -> bool:
    # a date and a datetime do not compare with each other, but their ISO texts do
    if isinstance(low, date) and isinstance(high, date):
        return low.isoformat() <= high.isoformat()
    return bool(low <= high)


Probability = Annotated[
    float,
    BeforeValidator(lambda value: parse_probability("it", str(value)), json_schema_input_type=float | str),
]


class PromiseTerms(StrictModel):
    """The terms of the promise, from which a `belief.Promise` is made."""

    prior: Probability = Field(
        description="How sure an attacker may be of a claim about one person beforehand.", examples=["1%"]
    )
    posterior: Probability = Field(
        description="How sure an attacker may be of it after everything that is released.", examples=["5%"]
    )
    secret: Relation = Field(
        default=Relation.VALUE,
        description="What is protected: a person's values, or presence, that the person is in the data.",
    )
    group: int = Field(
        default=1,
        ge=1,
        description="How many people the claim may be about together, such as a household.",
        examples=[4],
    )
    tail: Probability = Field(
        default=0.0,
        description="The probability with which it may fail; needed where groups are selected privately.",
        examples=["1e-6"],
    )


class BinScale(StrEnum):
    """The scale on which a number is divided into bins of equal width."""

    LINEAR = "linear"
    LOG = "log"


class LearnedFrom(StrictModel):
    """The charged release that a column's bounds or values were learned from, by `discreet bounds`.

    `entry` is its number in the ledger, of the `analyst` where the policy names several. `identity` tells the
    ledger from others: one that answers questions with these bounds later names it.
    """

    entry: int = Field(ge=1)
    ledger: str
    identity: str
    epsilon: float = Field(gt=0, allow_inf_nan=False)
    analyst: str | None = None


class Column(StrictModel):
    """One column: its type, its public bounds or values, its role.

    `from` is the column's name in the source, where it is another: any header, such as "Gewicht/kg".
    `nulls`: true, values may be missing, and NULL is a group key like others; false, no value is missing, so
    that counting its values is counting rows; unset, values may be missing, and NULL is not a group key. No
    sensitivity depends on it. `missing` is the treatment of rows without a value when the table is published.
    `scale` is how a number is binned where a model is trained: into bins of equal width, or of equal width of
    its logarithm. `learned` says where bounds or values come from that were learned from the data.
    """

    type: ColumnType = Field(
        default=ColumnType.TEXT,
        description="The type of its values; a value that cannot be read as it is missing.",
    )
    role: Role = Field(
        default=Role.OTHER,
        description="What it tells an attacker: identifier (never released), quasi (known to others), "
        "sensitive, other.",
    )
    low: int | Decimal | date | datetime | None = Field(
        default=None,
        description="A public lower bound; smaller values are raised to it. Sums and averages need bounds.",
        examples=[0],
    )
    high: int | Decimal | date | datetime | None = Field(
        default=None, description="A public upper bound; larger values are lowered to it.", examples=[120]
    )
    resolution: Decimal | None = Field(
        default=None,
        description="The step to which decimals are rounded; a decimal with bounds needs one.",
        examples=["0.01"],
    )
    values: tuple[str, ...] | None = Field(
        default=None,
        description="The public list of a category's values; others become missing.",
        examples=[["Private", "State-gov"]],
    )
    nulls: bool | None = Field(
        default=None,
        description="Whether NULL is a group of its own (true), or no value is missing (false); unset, "
        "NULL is no group.",
    )
    hierarchy: str | None = Field(
        default=None,
        description="The entry of hierarchies by which it is generalized; by default the one of its own "
        "name.",
        examples=["ages"],
    )
    missing: MissingValues | None = Field(
        default=None, description="What becomes of rows without a value when the table is published."
    )
    scale: BinScale | None = Field(
        default=None,
        description="How a number is divided into bins for models: of equal width, or of equal width of "
        "its logarithm.",
    )
    source_name: str | None = Field(
        default=None,
        # `from` is a keyword of Python: programs write source_name
        validation_alias=AliasChoices("from", "source_name"),
        serialization_alias="from",
        min_length=1,
        max_length=500,
        description="Its name in the source, where that is another: any header.",
        examples=["Gewicht/kg"],
    )
    learned: LearnedFrom | None = Field(
        default=None,
        description="The ledger entry of its bounds or values, as `discreet bounds --write` writes it.",
    )

    @field_validator("values", mode="before")
    @classmethod
    def _stringify_values(cls, value: Any) -> Any:
        return [str(each) for each in value] if isinstance(value, list) else value

    @model_validator(mode="after")
    def _check_consistency(self) -> Column:
        if (self.low is None) != (self.high is None):
            raise ValueError("low and high go together: declare both")
        if self.low is not None and self.type not in BOUNDS:
            raise ValueError(f"low and high have no meaning for type {self.type.value}")
        if not all(bound is None or _is_bound(self.type, bound) for bound in (self.low, self.high)):
            raise ValueError(f"low and high must be {BOUNDS[self.type][1]} for type {self.type.value}")
        if self.low is not None and self.high is not None and not _is_ordered(self.low, self.high):
            raise ValueError("low must not be above high")
        if self.values is not None and self.type is not ColumnType.CATEGORY:
            raise ValueError("values go with type category")
        if self.values is not None and (not self.values or len(set(self.values)) < len(self.values)):
            raise ValueError("values must be a list of different values")
        if self.resolution is not None and self.type is not ColumnType.DECIMAL:
            raise ValueError("resolution goes with type decimal")
        if self.resolution is not None and not (self.resolution > 0 and is_moderate(self.resolution)):
            raise ValueError("resolution must be above 0, such as 0.01")
        if self.type is ColumnType.DECIMAL and self.low is not None and self.resolution is None:
            raise ValueError("a decimal with bounds needs a resolution, such as 0.01")
        if max(map(abs, self.grid_bounds or (0, 0))) >= WIDEST:
            raise ValueError("bounds must stay below 2**53 steps of the resolution")
        if self.scale is not None and (self.grid_bounds is None or self.low == self.high):
            raise ValueError("scale goes with low and high of a number")
        if self.grid_bounds is not None and self.grid_bounds[0] > self.grid_bounds[1]:
            raise ValueError("no multiple of the resolution lies between low and high")
        return self

    @model_validator(mode="after")
    def _check_learned(self) -> Column:
        if self.learned is not None and self.low is None and self.values is None:
            raise ValueError("learned goes with low and high, or with values")
        return self

    @property
    def grid_step(self) -> Fraction:
        """One step of the grid on which the column's numbers lie."""
        return Fraction(self.resolution) if self.resolution is not None else Fraction(1)

    @property
    def max_text_length(self) -> int:
        """The length of the longest text that is kept; longer values are cut."""
        return max(map(len, self.values)) if self.values else LONGEST_TEXT

    @property
    def grid_bounds(self) -> tuple[int, int] | None:
        """The bounds of a number in grid steps, or None where it has none."""
        if self.type not in (ColumnType.INTEGER, ColumnType.DECIMAL) or self.low is None or self.high is None:
            return None
        low, high = (Fraction(bound) for bound in (self.low, self.high))  # type: ignore[arg-type]
        return -((-low) // self.grid_step), high // self.grid_step


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
                if not bounds or not all(_is_bound(column.type, bound) for bound in bounds):
                    raise ValueError(f"impossible names {name} by bounds that are not of its type")
                if len(bounds) == 2 and not _is_ordered(*bounds):
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


class TrueValues(StrEnum):
    """Access to the answers without noise, in the console: nobody, or the custodian."""

    NEVER = "never"
    CUSTODIAN = "custodian"


class ContributionBounding(StrEnum):
    """The contribution bounding of a person with too many rows: some of the rows, or all with less weight."""

    ROWS = "rows"
    WEIGHTS = "weights"


class AtMost(StrictModel):
    """The largest shares of a table's rows that may not fit the policy, of each column by itself."""

    unreadable: Probability = Field(
        default=0.01, description="Rows that are not read, or values that are not of their type."
    )
    undeclared: Probability = Field(default=0.01, description="Values that are not among the declared ones.")
    clamped: Probability = Field(default=0.05, description="Values below or above the bounds.")


class Analyst(StrictModel):
    """A person who may ask questions, within a share of the budget."""

    share: Probability = Field(description="The analyst's part of the budget.", examples=["50%"])


class Policy(StrictModel):
    """The whole policy."""

    promise: PromiseTerms | None = Field(
        default=None,
        description="What an attacker may come to believe; every answer is charged to it.",
        examples=[{"prior": "1%", "posterior": "5%"}],
    )
    tables: dict[str, Table] = Field(description="The tables, by the names that questions use.")
    hierarchies: dict[str, HierarchyEntry] = Field(
        default_factory=dict,
        description="How columns are generalized when a table is published.",
        examples=[{"ages": {"low": 0, "high": 120, "widths": [5, 10, 20]}}],
    )
    analysts: dict[str, Analyst] = Field(
        default_factory=dict,
        description="Who may ask, each within a share; by default one analyst has the whole budget.",
        examples=[{"alice": {"share": "50%"}}],
    )
    ledger: str = Field(
        default="ledger.db",
        description="Where charges are recorded: a file, or the address of a PostgreSQL database.",
    )
    ledger_mark: str | None = Field(
        default=None,
        description="A second place for the ledger's high-water marks, which shows that a ledger was put "
        "back.",
        examples=["/mnt/marks/ledger.mark"],
    )
    store: str | None = Field(
        default=None,
        description="Where prepared tables are kept: a folder, or a schema or path of the engine.",
        examples=["store"],
    )
    data_version: str = Field(
        default="1", description="The version of the data; raise it whenever they change.", examples=["2"]
    )
    epsilon: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="What a question may spend, unless it names its own.",
        examples=[0.1],
    )
    engine: str = Field(
        default="duckdb",
        description="Where the rows are: duckdb, duckdb:///FILE, postgresql://…, spark:local, sc://….",
        examples=["postgresql://clinic@db/clinic"],
    )
    true_values: TrueValues = Field(
        default=TrueValues.NEVER, description="Who may see answers without noise in the console."
    )
    bounding: ContributionBounding | None = Field(
        default=None,
        description="How people with too many rows are bounded: some of their rows, or all with less weight.",
    )
    at_most: AtMost = Field(
        default_factory=AtMost,
        description="The shares of values that may not fit before accepting the data takes --despite.",
        examples=[{"unreadable": "1%", "undeclared": "1%", "clamped": "5%"}],
    )

    def __repr__(self) -> str:
        """Return the tables and the promise; addresses of engine and ledger may hold passwords."""
        promised = "no promise"
        if self.promise is not None:
            promised = f"promise {100 * self.promise.prior:g}% → {100 * self.promise.posterior:g}%"
        return f"<Policy of {', '.join(self.tables)}: {promised}>"

    __str__ = __repr__

    @property
    def is_embedded(self) -> bool:
        """Return whether the engine runs in this process, over a store of its own."""
        return self.engine.startswith("duckdb")

    @property
    def is_read_only(self) -> bool:
        """Return whether the engine is read-only, so that each statement encodes and ranks the rows again."""
        return not self.is_embedded and not self.store

    @model_validator(mode="after")
    def _check_consistency(self) -> Policy:
        for name, table in self.tables.items():
            if not re.fullmatch(r"(?!_discreet)[A-Za-z_][A-Za-z0-9_]*", name):
                raise ValueError(f"the table name {name!r} must be letters, digits and underscores")
            for column, link in table.links.items():
                if link.table not in self.tables or link.column not in self.tables[link.table].columns:
                    raise ValueError(
                        f"{name}.{column} links to {link.table}.{link.column}, which is not declared"
                    )
        for name in self.tables:
            self._require_person_path(name)
        # three shares of 0.333333333 and similar decimals may exceed 1 by rounding
        if sum(analyst.share for analyst in self.analysts.values()) > 1 + 1e-9:
            raise ValueError("the analysts' shares add up to more than 100%")
        return self

    def find_person_table(self, name: str) -> str | None:
        """Return the table through which the people of a table are found, or None."""
        table = self.tables[name]
        return None if table.person_link is None else table.links[table.person_link].table

    def find_person_links(self, name: str) -> dict[str, Link]:
        """Return the links of a table that lead to rows of the same person: both ends identify people."""
        table = self.tables[name]
        if not table.has_person_key:
            return {}
        return {
            column: link for column, link in table.links.items() if self.tables[link.table].has_person_key
        }

    def find_person_keys(self, name: str) -> tuple[str, ...]:
        """Return the columns of a table that such links refer to."""
        links = [link for each in self.tables for link in self.find_person_links(each).values()]
        return tuple(dict.fromkeys(link.column for link in links if link.table == name))

    def _require_person_path(self, name: str) -> None:
        """Raise an error unless following the person links ends at a table that identifies people."""
        seen, owner = {name}, self.find_person_table(name)
        while owner is not None:
            table = self.tables[owner]
            if not table.has_person_key:
                way_out = "its key" if table.person == "row" else "the column that names them"
                raise ValueError(
                    f"{name} finds its people through {owner}, which names none: give it {way_out} as person"
                )
            if owner in seen:
                first = self.find_person_table(name)
                raise ValueError(f"{name} finds its people through {first}, which leads round in a circle")
            seen.add(owner)
            owner = self.find_person_table(owner)
