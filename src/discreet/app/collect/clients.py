"""Clients: those whose values are to be randomized, where these are, and what they can be.

Domain      from the policy's column or from --values, never from the data: a domain that were read off the
            data would tell which values occur.
Decided     Of a policy's table everything follows from text and policy: what is missing or not declared has
            a stand-in that is known before a row is read, so that neither an error nor its absence tells of
            anybody. A plain file that nobody declared is refused where it has answers outside of the domain.
One each    Every client sends one report, and a client is a person: who sent several would cost the promise
            several times. A table whose people may have several rows is refused, unless a person's rows are
            one basket.
Kinds       values of a list (categories.py), numbers of a range (numbers.py), baskets (basket_rows.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from discreet.app.policies import load
from discreet.app.publishers import publisher
from discreet.app.publishing.table_request import find_source_table, read_file_schema
from discreet.belief import Promise
from discreet.core.engine import Publisher
from discreet.core.errors import RequestError
from discreet.core.policy import WORD, Column, ColumnType, Policy, Table
from discreet.engines.duckdb_connection import quote_identifier
from discreet.engines.sources import CSV_SUFFIXES, read_csv_header, split_source
from discreet.local.operator import Operator
from discreet.local.thresholds import LARGEST_DOMAIN

ANSWERS, DOMAIN, MISSING = "answers", "_discreet_domain", "missing"
POLICY = Path("privacy.yaml")
READ_AS = {ColumnType.INTEGER: "BIGINT", ColumnType.BOOLEAN: "BOOLEAN"}


@dataclass(frozen=True, kw_only=True)
class Answers:
    """Where answers are: a column of a file, or of a table of the policy.

    `beside` is the policy that is at hand, even if the answers are none of its tables. An answer has several
    values where they are `lists`.
    """

    source: Table
    column: str
    policy: Policy | None = None
    name: str = ANSWERS
    beside: Policy | None = None
    lists: bool = False

    @property
    def declared(self) -> Column:
        """What is declared of the column."""
        return self.source.columns[self.column]

    @property
    def text(self) -> str:
        """An answer as text, in SQL; as numbers, 07 and 7 are one, and what is beyond an end is that end."""
        return self.read_as_declared(f"a.{quote_identifier(self.column)}")

    def read_as_declared(self, expression: str) -> str:
        """The same of another expression that has the column's values."""
        text, kind = f"CAST({expression} AS VARCHAR)", READ_AS.get(self.declared.type)
        if kind is None:
            return text
        value = f"TRY_CAST(trim({text}) AS {kind})"
        if self.declared.grid_bounds is not None:
            low, high = self.declared.grid_bounds
            # greatest and least pass over what is missing
            value = f"CASE WHEN {value} IS NOT NULL THEN greatest({low}, least({high}, {value})) END"
        return f"CAST({value} AS VARCHAR)"

    @property
    def engine(self) -> str:
        """The address of where they are."""
        return "duckdb" if self.policy is None else self.policy.engine

    def open(self, *also: str) -> Publisher:
        """The column, and columns that are named `also`, to be counted; of rows nothing is read yet."""
        facts = {name: self.source.columns.get(name, Column()) for name in (self.column, *also)}
        table = self.source.model_copy(update={"columns": facts, "links": {}, "person": "row"})
        return publisher(self.engine, {ANSWERS: table}, lists=(self.column.lower(),) if self.lists else ())


class Clients(Protocol):
    """What the kinds of clients have in common."""

    @property
    def answers(self) -> Answers:
        """Where they are."""

    @property
    def values(self) -> tuple[str, ...]:
        """What codes stand for, where they stand for something that has a name."""

    @property
    def other(self) -> str | float | None:
        """What stands for an answer that is missing or outside of the domain, if something does."""

    @property
    def also(self) -> tuple[str, ...]:
        """Columns that are read beside that of the answers."""

    def chosen(self, promise: Promise) -> Operator:
        """The operator that is best for them under a promise; no data is read."""

    def require_fit(self, operator: Operator) -> None:
        """Refuse an operator that is for others, or from whose reports nothing can be learned."""

    def held(self, operator: Operator, publisher: Publisher) -> NDArray[Any]:
        """What each client holds, as the operator takes it.

        A plain file is refused where that is outside of the domain; a policy's table never is.
        """


def find_answers(table: str, column: str, policy: Path | None, engine: str | None = None) -> Answers:
    """The answers that a command line names."""
    place = policy or (POLICY if POLICY.is_file() else None)
    declared = None if place is None else load(place, engine=engine)
    name = _in_policy(table, declared)
    if name is not None and declared is not None:
        return _of_policy(declared, name, column)
    if not Path(split_source(table)[0]).is_file():
        raise RequestError(
            f"There is no table {table} in a policy and no such file.",
            hint="Name a CSV, Parquet or DuckDB file.",
        )
    source, facts = having(table, column), {column: Column(type=ColumnType.TEXT)}
    return Answers(source=Table(source=source, columns=facts), column=column, beside=declared)


def having(file: str, column: str) -> str:
    """A file without a policy as a source, refused where it lacks a column."""
    path = Path(file).absolute()
    if path.suffix.lower() in CSV_SUFFIXES:
        source, names = str(path), read_csv_header(path, [column])
    else:
        schema = read_file_schema(file)
        source, names = schema.source, [name for name, _ in schema.columns]
    if column.lower() not in (name.lower() for name in names):
        known = ", ".join(filter(None, names)) or "none"
        raise RequestError(f"{Path(file).name} has no column {column}.", hint=f"It has {known}.")
    if not WORD.fullmatch(column):
        raise RequestError(
            "The name of a column must be letters, digits, blanks and . - _.",
            hint="Give the column another name.",
        )
    return source


def require_one_row_each(answers: Answers) -> None:
    """Refuse a table of the policy whose people may have several rows."""
    if answers.source.has_person_key:
        raise RequestError(
            f"People of {answers.name} may have several rows, and each report would cost the promise once "
            "more.",
            hint="Collect from a table in which every row is another person.",
        )


def domain_of(answers: Answers, values: str | None, listed: Path | None) -> tuple[str, ...]:
    """What answers can be: as the policy declares it, as typed, or as a file lists it."""
    if answers.policy is not None:
        if values is not None or listed is not None:
            raise RequestError(f"The policy says which values {answers.column} has; --values is for files.")
        return _declared(answers)
    if values is not None and listed is not None:
        raise RequestError("--values and --values-from say the same: give one of them.")
    if listed is not None:
        return _listed(listed)
    if values is None:
        raise RequestError(
            f"Nothing says which values {answers.column} can have, and they are not taken from the data.",
            hint="Give --values a,b,c, or a --policy that declares them.",
        )
    return parse_values(values)


def require_among(values: tuple[str, ...], other: str | None) -> None:
    """Refuse what stands for the rest and is none of the values."""
    if other is not None and other not in values:
        raise RequestError(f"--other must be one of the values; got {other}.", hint="Add it to the values.")


def with_stand_in(
    answers: Answers, values: tuple[str, ...], other: str | None
) -> tuple[tuple[str, ...], str | None]:
    """The values, and which of them stands for the rest; of a policy's table one always does.

    Where the policy says that every row has a value, that is the first, as it is for what is mined; else the
    missing answer is a value of its own.
    """
    require_among(values, other)
    if other is not None or answers.policy is None:
        return values, other
    if answers.declared.nulls is False:
        return values, values[0]
    return (values if MISSING in values else (*values, MISSING)), MISSING


def parse_values(text: str) -> tuple[str, ...]:
    """Values as typed: a,b,c or 0..100.

    >>> parse_values("yes, no"), parse_values("1..3")
    (('yes', 'no'), ('1', '2', '3'))
    """
    span = re.fullmatch(r"\s*(-?\d{1,18})\s*\.\.\s*(-?\d{1,18})\s*", text)
    if span is not None:
        return _span("--values", int(span[1]), int(span[2]))
    return _different("--values", [value.strip() for value in text.split(",")])


def _listed(path: Path) -> tuple[str, ...]:
    """A file with one value a line."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise RequestError(
            f"The values of {path} cannot be read.", hint="Name a text file with one value a line."
        ) from None
    return _different("--values-from", [line.strip() for line in lines if line.strip()])


def _different(name: str, values: list[str]) -> tuple[str, ...]:
    if len(values) < 2 or not all(values) or len(set(values)) < len(values):
        raise RequestError(
            f"{name} must be at least two different values.", hint="Write them as a,b,c or as 0..100."
        )
    return tuple(values)


def _in_policy(table: str, policy: Policy | None) -> str | None:
    """The policy's table of this name, or the one whose rows are in this file."""
    if policy is None:
        return None
    if table in policy.tables:
        return table
    return find_source_table(policy, table)


def _of_policy(policy: Policy, name: str, column: str) -> Answers:
    source = policy.tables[name]
    if column not in source.columns:
        raise RequestError(
            f"Table {name} of the policy has no column {column}.", hint=f"It has {', '.join(source.columns)}."
        )
    return Answers(source=source, column=column, policy=policy, name=name, beside=policy)


def _declared(answers: Answers) -> tuple[str, ...]:
    """What a policy says that a column can be."""
    column, place = answers.declared, f"{answers.name}.{answers.column}"
    if column.values is not None:
        return column.values
    if column.type is ColumnType.BOOLEAN:
        return ("false", "true")
    if column.type is ColumnType.INTEGER and column.grid_bounds is not None:
        return _span(place, *column.grid_bounds)
    raise RequestError(
        f"The policy does not list the values of {place}.",
        hint="Declare it as a category with values, or as an integer with low and high.",
    )


def _span(name: str, low: int, high: int) -> tuple[str, ...]:
    if not 0 < high - low < LARGEST_DOMAIN:
        raise RequestError(f"{name} must span from 2 to {LARGEST_DOMAIN:,} values; got {low} to {high}.")
    return tuple(str(each) for each in range(low, high + 1))
