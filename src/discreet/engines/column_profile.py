"""Column profiles: how the values of a table fit the policy, counted by one aggregate statement.

Statement   a SELECT of counts and integer sums in DuckDB's SQL, which other engines get translated: one pass
            over the table for all columns, or one for each MAX_COLUMNS of a very wide one. No value leaves
            the engine, except the commonest unfitting texts (`write_commonest`).
Missing     NULL, NaN, null texts of a text source, and text of nothing but blanks unless '' is a declared
            value.
Unreadable  not missing, and NULL once it is read as its type. A category with declared values has undeclared
            ones instead; text is always readable.
Clamped     below or above the declared bounds, in whole steps of the resolution.
Rounded     whole numbers by declaration that have a fraction: 1.5, or 1.234 where a thousand is meant.
Padded      text with blanks before or after it.
Bins        the values in each of BINS equal parts of the range between the bounds, for a sparkline.
Distinct    an estimate, for columns that might identify people: text, categories of any value, integers.

What it counts is for the custodian alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

from discreet.core.column_entry import Column, ColumnType, Role
from discreet.core.sql_quoting import quote_identifier, quote_literal
from discreet.engines import clamping
from discreet.engines.csv_sources import RAW, VALUE

BINS = 8
MAX_COLUMNS = 200
"""Columns of one statement: planning more of them takes longer than reading the table again."""
MAX_COMMONEST = 20
"""Texts that are listed of each column; late ones first, as a day after the 12th is no month."""
FEW_VALUES = 1_000
LONGEST_SHOWN = 200
TWO_DIGIT_YEAR = r"\s*[0-9]{1,2}[-./ ][0-9]{1,2}[-./ ][0-9]{2}(\s.*)?"
FIRST_CENTURY_END = date(100, 1, 1)
TIMES = (ColumnType.DATE, ColumnType.TIMESTAMP)
IDENTIFYING_TYPES = (ColumnType.TEXT, ColumnType.CATEGORY, ColumnType.INTEGER)


@dataclass(frozen=True, kw_only=True)
class ColumnForm:
    """A declared column as SQL: `raw` as its source has it, `filled` if it is not missing, and its value.

    `value` is a column of the relation that has the DuckDB type `type`. The three differ where a file is read
    by options; `is_text` if `raw` is text.
    """

    raw: str
    filled: str
    value: str
    type: str
    is_text: bool
    reads_nulls: bool = False
    """Whether `filled` is NULL for every text that means a missing value."""
    is_trimmed: bool = False
    """Whether `filled` is the text without blanks around it."""
    is_tight: bool = False
    """Whether no text of the column has blanks around it."""

    @classmethod
    def from_column(cls, name: str, source_type: str) -> ColumnForm:
        """Return the form of a column that is read as it is."""
        value, kind = clamping.read_plain_type(name, source_type)
        return cls(raw=value, filled=value, value=name, type=source_type, is_text=kind == "VARCHAR")

    @classmethod
    def from_text(
        cls, name: str, value_type: str, *, is_trimmed: bool = True, is_tight: bool = False
    ) -> ColumnForm:
        """Return the form of a column in the view of a text source (`csv_sources.write_text_view`)."""
        return cls(
            raw=quote_identifier(f"{RAW} {name}"),
            filled=quote_identifier(name),
            value=f"{VALUE} {name}",
            type=value_type,
            is_text=True,
            reads_nulls=True,
            is_trimmed=is_trimmed,
            is_tight=is_tight,
        )


@dataclass(frozen=True, kw_only=True)
class ColumnProfile:
    """The counts of one column; `total` is the sum of its values in steps, `excess` what clamping takes off.

    `distinct` is None where it was not estimated, `bins` is empty without bounds. `_list_counts` has the SQL
    of each field.
    """

    missing: int
    unreadable: int = 0
    undeclared: int = 0
    clamped_low: int = 0
    clamped_high: int = 0
    rounded: int = 0
    padded: int = 0
    two_digit_years: int = 0
    distinct: int | None = None
    bins: tuple[int, ...] = ()
    total: int = 0
    excess: int = 0


def write_profiles(relation: str, columns: Mapping[str, tuple[Column, ColumnForm]]) -> Iterator[str]:
    """Yield the statements that profile a table's columns; the first output of each is the number of rows."""
    listed = list(columns.values())
    for first in range(0, len(listed) or 1, MAX_COLUMNS):
        part = listed[first : first + MAX_COLUMNS]
        inner = [
            f"{sql} AS {name}{first + place}"
            for place, (column, form) in enumerate(part)
            for name, sql in _list_values(column, form).items()
        ]
        outputs = [
            f"{sql} AS {output}"
            for place, (column, form) in enumerate(part, first)
            for output, sql in _name_outputs(place, _list_counts(column, form, place))
        ]
        rows = f"SELECT {', '.join(inner)} FROM {relation}" if inner else f"SELECT 1 AS one FROM {relation}"
        yield f"SELECT {', '.join(['count(*) AS rows', *outputs])} FROM ({rows})"


def parse_profiles(
    columns: Mapping[str, tuple[Column, ColumnForm]], row: Mapping[str, Any]
) -> dict[str, ColumnProfile]:
    """Return the profile of each column from the outputs of all its statements."""
    return {
        name: _parse_profile(place, _list_counts(column, form, place), row)
        for place, (name, (column, form)) in enumerate(columns.items())
    }


def write_commonest(relation: str, columns: Mapping[str, tuple[Column, ColumnForm]]) -> str:
    """Return the SELECT of each column's most frequent unreadable or undeclared texts.

    Its rows have the column's place, the text and its number of rows.
    """
    keys = [f"k{place}" for place in range(len(columns))]
    texts = [
        f"CASE WHEN {_write_value(column, form)} IS NULL THEN "
        f"substr(TRY_CAST({form.filled} AS VARCHAR), 1, {LONGEST_SHOWN}) END AS {key}"
        for key, (column, form) in zip(keys, columns.values(), strict=True)
    ]
    sets = ", ".join(f"({key})" for key in keys)
    place = "CASE " + " ".join(f"WHEN {key} IS NOT NULL THEN {at}" for at, key in enumerate(keys)) + " END"
    grouped = (
        f"SELECT {place} AS place, coalesce({', '.join(keys)}) AS text, count(*) AS n "
        f"FROM (SELECT {', '.join(texts)} FROM {relation}) GROUP BY GROUPING SETS ({sets})"
    )
    ranked = (
        f"SELECT place, text, n FROM ({grouped}) WHERE place IS NOT NULL "
        f"QUALIFY row_number() OVER (PARTITION BY place ORDER BY n DESC, text DESC) <= {MAX_COMMONEST}"
    )
    return f"SELECT place, text, n FROM ({ranked}) ORDER BY place, n DESC, text DESC"


def _list_values(column: Column, form: ColumnForm) -> dict[str, str]:
    """Return the SQL of what is counted of a row: its text, what is filled in, its value, its fraction."""
    values = {"r": form.raw, "f": form.filled, "v": _write_value(column, form)}
    fraction = clamping.find_fraction(form.value, form.type) if column.type is ColumnType.INTEGER else None
    return values if fraction is None else values | {"w": fraction}


def _write_value(column: Column, form: ColumnForm) -> str:
    """Return the SQL of a column's value as its type, before it is clamped; NULL if it cannot be read."""
    return clamping.encode_unclamped(column, form.value, form.type)


def _list_counts(column: Column, form: ColumnForm, place: int) -> dict[str, str | list[str]]:
    """Return the SQL of the fields of a column's `ColumnProfile`; a field of several counts has a list."""
    raw, filled, value = f"r{place}", f"f{place}", f"v{place}"
    filled_count = f"count({filled}){_write_blank_count(column, form, raw)}"
    counts: dict[str, str | list[str]] = {"missing": f"count(*) - ({filled_count})"}
    if form.is_text and not form.is_tight:
        # blanks and control characters sort below '!', and comparing is much faster than trimming
        is_padded = f"({raw} < '!' AND {raw} <> '') OR suffix({raw}, ' ')"
        counts["padded"] = f"count_if({f'{raw} <> {filled}' if form.is_trimmed else is_padded})"
    if column.type is ColumnType.CATEGORY and column.values is not None:
        counts["undeclared"] = f"{filled_count} - count({value})"
    elif column.type not in (ColumnType.TEXT, ColumnType.CATEGORY):
        counts["unreadable"] = f"{filled_count} - count({value})"
    if "w" in _list_values(column, form):
        counts["rounded"] = f"count_if(w{place})"
    if column.type in TIMES and form.is_text:
        is_early = f"coalesce(CAST({value} AS DATE) < {_write_date(FIRST_CENTURY_END)}, true)"
        matches = f"regexp_full_match({filled}, {quote_literal(TWO_DIGIT_YEAR)})"
        counts["two_digit_years"] = f"count_if(CASE WHEN {is_early} THEN {matches} ELSE false END)"
    if can_identify(column):
        counts["distinct"] = f"least(approx_count_distinct({filled}), {filled_count})"
    return counts | _list_range_counts(column, value)


def _write_blank_count(column: Column, form: ColumnForm, raw: str) -> str:
    """Return the SQL that subtracts values that are there and mean nothing: blanks, and NaN."""
    if form.is_text and not form.reads_nulls and "" not in (column.values or ()):
        return f" - count_if(CASE WHEN {raw} < '!' THEN trim({raw}) = '' ELSE false END)"
    return f" - count_if(isnan({raw}))" if not form.is_text and form.type in ("FLOAT", "DOUBLE") else ""


def can_identify(column: Column) -> bool:
    """Return whether a column is looked at for near-unique values: it is no identifier, but might be one."""
    grid = column.grid_bounds
    has_few_values = column.values is not None or (grid is not None and grid[1] - grid[0] < FEW_VALUES)
    return column.role is not Role.IDENTIFIER and column.type in IDENTIFYING_TYPES and not has_few_values


def _list_range_counts(column: Column, value: str) -> dict[str, str | list[str]]:
    """Return the counts of values outside of the bounds and in each bin between them, and their sums."""
    edges = _list_edges(column)
    if not edges:
        return {}
    low, high = edges[0], edges[-1]
    above = f"count_if({value} > {high})"
    # each count of values under an edge is of two bins, and engines compute it once
    under = [*(f"count_if({value} < {edge})" for edge in edges[:-1]), f"(count({value}) - {above})"]
    counts: dict[str, str | list[str]] = {
        "clamped_low": under[0],
        "clamped_high": above,
        "bins": [f"{last} - {first}" for first, last in pairwise(under)],
    }
    if column.grid_bounds is not None:
        # NULL is ignored by greatest and least, and adds nothing
        over, short = f"greatest({value} - {high}, 0)", f"least({value} - ({low}), 0)"
        counts |= {"total": f"sum({value})", "excess": f"sum({over}) + sum({short})"}
    return counts


def _list_edges(column: Column) -> list[str]:
    """Return the bounds of a column and the edges of the bins between them, as SQL; none without bounds."""
    if column.grid_bounds is not None:
        low, high = column.grid_bounds
        # the last bin includes the upper bound
        return [*(str(low + (high + 1 - low) * place // BINS) for place in range(BINS)), str(high)]
    if column.type not in TIMES or not isinstance(column.low, date) or not isinstance(column.high, date):
        return []
    kind = "DATE" if column.type is ColumnType.DATE else "TIMESTAMP"
    first, last = (_to_moment(each) for each in (column.low, column.high))
    step = (last - first + timedelta(days=1)) / BINS
    edges = [first, *(first + step * place for place in range(1, BINS)), last]
    return [clamping.write_time_literal(each, kind) for each in edges]


def _to_moment(bound: date) -> datetime:
    return bound if isinstance(bound, datetime) else datetime(bound.year, bound.month, bound.day)


def _write_date(day: date) -> str:
    return clamping.write_time_literal(day, "DATE")


def _name_outputs(place: int, counts: Mapping[str, str | list[str]]) -> Iterator[tuple[str, str]]:
    """Yield the name and the SQL of each output of a column."""
    for name, sql in counts.items():
        for number, each in enumerate([sql] if isinstance(sql, str) else sql):
            yield f"c{place}_{name}_{number}", each


def _parse_profile(
    place: int, counts: Mapping[str, str | list[str]], row: Mapping[str, Any]
) -> ColumnProfile:
    values = {output: int(row[output] or 0) for output, _ in _name_outputs(place, counts)}
    found: dict[str, Any] = {
        name: values[f"c{place}_{name}_0"]
        if isinstance(sql, str)
        else tuple(max(0, values[f"c{place}_{name}_{number}"]) for number in range(len(sql)))
        for name, sql in counts.items()
    }
    return ColumnProfile(**found)
