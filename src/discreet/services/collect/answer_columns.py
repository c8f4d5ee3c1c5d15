"""The column that holds people's answers, in a file or a policy's table, and the domain of the answers.

Domain      from the policy's column or from `values` of the request, never from the data: a domain taken from
            the data would reveal which values occur.
Stand-in    For a policy's table, everything follows from request and policy: a missing or undeclared answer
            has a stand-in that is known before a row is read, so neither an error nor its absence depends on
            anybody's data. A plain file without a policy is refused if it has answers outside the domain.
One report  Every client is one person and sends one report: several reports would cost the promise several
            times. A table whose people may have several rows is refused, unless a person's rows form one
            basket.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from discreet.core.column_entry import Column, ColumnType
from discreet.core.engine import Publisher
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.release_target import split_source
from discreet.core.sql_quoting import quote_identifier
from discreet.core.table_entry import WORD, Table
from discreet.engines.file_formats import FileFormat, find_file_format
from discreet.engines.sources import read_csv_header
from discreet.local.exact_sampling import LARGEST_DOMAIN
from discreet.services.collect.collect_requests import RandomizeRequest
from discreet.services.policies import load_policy
from discreet.services.publishers import open_publisher
from discreet.services.source_tables import find_source_table, read_file_schema

ANSWERS, DOMAIN, MISSING = "answers", "_discreet_domain", "missing"
DEFAULT_POLICY = Path("privacy.yaml")
SQL_TYPES = {ColumnType.INTEGER: "BIGINT", ColumnType.BOOLEAN: "BOOLEAN"}


@dataclass(frozen=True, kw_only=True)
class AnswerColumn:
    """The column that holds the answers, in a file or in a table of the policy.

    `nearby_policy` is the policy in reach, even if the answers are in none of its tables. With `has_lists`,
    an answer has several values.
    """

    source: Table
    column: str
    policy: Policy | None = None
    name: str = ANSWERS
    nearby_policy: Policy | None = None
    has_lists: bool = False

    @property
    def declaration(self) -> Column:
        """The policy's declaration of the column."""
        return self.source.columns[self.column]

    @property
    def text_sql(self) -> str:
        """The SQL of an answer as text; integers are normalized (07 is 7) and clamped to the bounds."""
        return self.cast_to_declared_type(f"a.{quote_identifier(self.column)}")

    def cast_to_declared_type(self, expression: str) -> str:
        """Return the SQL that reads an expression with the column's values as the declared type."""
        text, kind = f"CAST({expression} AS VARCHAR)", SQL_TYPES.get(self.declaration.type)
        if kind is None:
            return text
        value = f"TRY_CAST(trim({text}) AS {kind})"
        if self.declaration.grid_bounds is not None:
            low, high = self.declaration.grid_bounds
            # greatest and least ignore NULL, and would turn it into a bound
            value = f"CASE WHEN {value} IS NOT NULL THEN greatest({low}, least({high}, {value})) END"
        return f"CAST({value} AS VARCHAR)"

    @property
    def engine(self) -> str:
        """The address of the engine that holds the answers."""
        return "duckdb" if self.policy is None else self.policy.engine

    def open_publisher(self, *extra_columns: str) -> Publisher:
        """Open the column and some extra columns for counting; no row is read yet."""
        facts = {name: self.source.columns.get(name, Column()) for name in (self.column, *extra_columns)}
        table = self.source.model_copy(update={"columns": facts, "links": {}, "person": "row"})
        return open_publisher(
            self.engine, {ANSWERS: table}, list_columns=(self.column.lower(),) if self.has_lists else ()
        )


def find_answers(request: RandomizeRequest) -> AnswerColumn:
    """Return the column of answers in a table of the policy or in a file."""
    table, column = request.table, request.column
    place = request.policy or (DEFAULT_POLICY if DEFAULT_POLICY.is_file() else None)
    declared = None if place is None else load_policy(place, engine=request.engine)
    name = _find_policy_table(table, declared)
    if name is not None and declared is not None:
        return _find_policy_answers(declared, name, column)
    if not Path(split_source(table)[0]).is_file():
        raise RequestError(
            f"There is no table {table} in the policy, and no such file.",
            hint="Name a CSV, Parquet or DuckDB file.",
        )
    source, facts = find_file_source(table, column), {column: Column(type=ColumnType.TEXT)}
    return AnswerColumn(source=Table(source=source, columns=facts), column=column, nearby_policy=declared)


def find_file_source(file: str, column: str) -> str:
    """Return the source of a file without a policy; raise if it lacks the column."""
    path = Path(file).absolute()
    if find_file_format(path) is FileFormat.CSV:
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


def require_one_row_each(answers: AnswerColumn) -> None:
    """Raise if people of the policy's table may have several rows."""
    if answers.source.has_person_key:
        raise RequestError(
            f"People of {answers.name} may have several rows, and each report would cost the promise once "
            "more.",
            hint="Collect from a table in which every row is another person.",
        )


def find_domain(answers: AnswerColumn, request: RandomizeRequest) -> tuple[str, ...]:
    """Return the possible answers: as declared by the policy, as typed, or as listed in a file."""
    if answers.policy is not None:
        if request.values is not None or request.values_from is not None:
            raise make_declared_values_error(answers)
        return _list_declared_values(answers)
    if request.values is not None and request.values_from is not None:
        raise RequestError("`values=` and `values_from=` exclude each other: give one of them.")
    if request.values_from is not None:
        return _read_values(request.values_from)
    if request.values is None:
        raise RequestError(
            f"The values of {answers.column} are not declared, and are never taken from the data.",
            hint='Give `values="a,b,c"`, or a `policy=` that declares them.',
        )
    return parse_values(request.values)


def make_declared_values_error(answers: AnswerColumn) -> RequestError:
    """Return the refusal of typed values for a column whose values the policy declares."""
    return RequestError(f"The policy says which values {answers.column} has; `values=` is for files.")


def require_stand_in_listed(values: tuple[str, ...], other: str | None) -> None:
    """Raise if the stand-in is not one of the values."""
    if other is not None and other not in values:
        raise RequestError(f"`other=` must be one of the values; got {other}.", hint="Add it to the values.")


def add_stand_in(
    answers: AnswerColumn, values: tuple[str, ...], other: str | None
) -> tuple[tuple[str, ...], str | None]:
    """Return the values and the stand-in among them; a policy's table always has one.

    If the policy says that every row has a value, it is the first one, as for trained models; otherwise a
    missing answer is a value of its own.
    """
    require_stand_in_listed(values, other)
    if other is not None or answers.policy is None:
        return values, other
    if answers.declaration.nulls is False:
        return values, values[0]
    return (values if MISSING in values else (*values, MISSING)), MISSING


def parse_values(text: str) -> tuple[str, ...]:
    """Return the values of a text such as a,b,c or 0..100.

    >>> parse_values("yes, no"), parse_values("1..3")
    (('yes', 'no'), ('1', '2', '3'))
    """
    span = re.fullmatch(r"\s*(-?\d{1,18})\s*\.\.\s*(-?\d{1,18})\s*", text)
    if span is not None:
        return _list_span("`values=`", int(span[1]), int(span[2]))
    return _require_distinct("`values=`", [value.strip() for value in text.split(",")])


def _read_values(path: Path) -> tuple[str, ...]:
    """Return the values of a file with one per line."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise RequestError(
            f"The values of {path} cannot be read.", hint="Name a text file with one value a line."
        ) from None
    return _require_distinct("`values_from=`", [line.strip() for line in lines if line.strip()])


def _require_distinct(name: str, values: list[str]) -> tuple[str, ...]:
    if len(values) < 2 or not all(values) or len(set(values)) < len(values):
        raise RequestError(
            f"{name} must be at least two different values.", hint="Write them as a,b,c or as 0..100."
        )
    return tuple(values)


def _find_policy_table(table: str, policy: Policy | None) -> str | None:
    """Return the policy's table of this name, or the one whose source is this file."""
    if policy is None:
        return None
    if table in policy.tables:
        return table
    return find_source_table(policy, table)


def _find_policy_answers(policy: Policy, name: str, column: str) -> AnswerColumn:
    source = policy.tables[name]
    if column not in source.columns:
        raise RequestError(
            f"Table {name} of the policy has no column {column}.", hint=f"It has {', '.join(source.columns)}."
        )
    return AnswerColumn(source=source, column=column, policy=policy, name=name, nearby_policy=policy)


def _list_declared_values(answers: AnswerColumn) -> tuple[str, ...]:
    column, place = answers.declaration, f"{answers.name}.{answers.column}"
    if column.values is not None:
        return column.values
    if column.type is ColumnType.BOOLEAN:
        return ("false", "true")
    if column.type is ColumnType.INTEGER and column.grid_bounds is not None:
        return _list_span(place, *column.grid_bounds)
    raise RequestError(
        f"The policy does not list the values of {place}.",
        hint="Declare it as a category with values, or as an integer with low and high.",
    )


def _list_span(name: str, low: int, high: int) -> tuple[str, ...]:
    if not 0 < high - low < LARGEST_DOMAIN:
        raise RequestError(f"{name} must span from 2 to {LARGEST_DOMAIN:,} values; got {low} to {high}.")
    return tuple(str(each) for each in range(low, high + 1))
