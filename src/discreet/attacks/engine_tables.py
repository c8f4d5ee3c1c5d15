"""An engine's tables as attacks read them: distinct tuples of texts with their counts, and typed columns.

One statement groups by all requested columns, so a file is read once; equal texts share one code.

Attacks on rows read columns as texts, numbers and days, by SQL expressions:

Portable    every expression has a value for any column content, the same on every engine: text that is read
            as a number must match the numeral pattern (`core.numeral_patterns`), and times are in UTC.
            Unreadable cells are NULL.
Days        since 1970, of dates and times of the years 1 to 9999; or integers that count days.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from discreet.anonymity.equivalence_classes import Codes, Integers, SensitiveCounts, Tuples, number_rows
from discreet.anonymity.tuple_counts import COUNT, cast_to_text, natural_sort_key, order_codes
from discreet.anonymity.tuple_grouping import group_tuples
from discreet.core.engine import Publisher
from discreet.core.errors import DataError, RequestError
from discreet.core.numeral_patterns import extract_numeral_sql

DAY, DAYS = "day", "days"
WHOLE = re.compile(r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER")
NUMBER = re.compile(rf"{WHOLE.pattern}|FLOAT|DOUBLE|DECIMAL\(.*\)|BOOLEAN")
FIRST, LAST = "0001-01-01", "9999-12-31"


def build_text_expression(name: str) -> exp.Expr:
    """Return a column as text; empty text becomes NULL."""
    return exp.func("nullif", _cast_to_text(name), exp.Literal.string(""))


def build_number_expression(name: str, kind: str) -> exp.Expr:
    """Return a column as a number, given its type in DuckDB's notation."""
    column = exp.column(name, quoted=True)
    return _try_cast(column if NUMBER.fullmatch(kind) else _trim_numeral(name), "double")


def build_day_expressions(name: str, kind: str) -> dict[str, exp.Expr]:
    """Return a column as dates, as day numbers, or as both; `combine_days` merges them."""
    column = exp.column(name, quoted=True)
    if WHOLE.fullmatch(kind):
        return {DAYS: _try_cast(column, "bigint")}
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        return {DAY: _calendar_date(column)}
    # a text may carry a UTC offset
    return {
        DAY: _calendar_date(_try_cast(_cast_to_text(name), "timestamptz")),
        DAYS: _try_cast(_trim_numeral(name), "bigint"),
    }


def combine_days(rows: pa.Table) -> NDArray[np.int64]:
    """Return the day of each row, from whichever of the two columns holds it."""
    parts = [
        rows[name].cast(pa.int32()).cast(pa.int64()) if name == DAY else rows[name]
        for name in (DAY, DAYS)
        if name in rows.column_names
    ]
    return np.asarray(pc.coalesce(*parts).to_numpy(), np.int64)


def _calendar_date(moment: exp.Expr) -> exp.Expr:
    """Return the date of a timestamp, or NULL outside the years 1 to 9999."""
    date = exp.cast(_try_cast(moment, "timestamp"), "date")
    first, last = (exp.cast(exp.Literal.string(each), "date") for each in (FIRST, LAST))
    return exp.case().when(date.between(first, last), date.copy())


def _cast_to_text(name: str) -> exp.Expr:
    return exp.cast(exp.column(name, quoted=True), "text")


def _trim_numeral(name: str) -> exp.Expr:
    return exp.maybe_parse(extract_numeral_sql(_cast_to_text(name).sql(dialect="duckdb")), dialect="duckdb")


def _try_cast(value: exp.Expr, kind: str) -> exp.Expr:
    return exp.TryCast(this=value, to=exp.DataType.build(kind))


Values = tuple[tuple[str, ...], ...]


def list_columns(engine: Publisher, table: str) -> tuple[str, ...]:
    """Return the names of a table's columns."""
    return tuple(engine.column_types(table))


def require_columns(engine: Publisher, table: str, names: Sequence[str]) -> None:
    """Raise RequestError for columns that a table does not have."""
    there = list_columns(engine, table)
    lacking = [name for name in names if name not in there]
    if lacking:
        raise RequestError(
            f"attack: {table} has no column {lacking[0]}.", hint=f"It has {', '.join(there) or 'none'}."
        )


def count_distinct_tuples(
    engine: Publisher,
    table: str,
    columns: Sequence[str],
    sensitive: Sequence[str] = (),
    *,
    where: Mapping[str, str] | None = None,
    person: str | None = None,
) -> tuple[Values, Tuples]:
    """Return the values of each column, and the distinct tuples of value codes with their sensitive values.

    `where` keeps the rows whose columns equal the given texts. If a column names the `person` of each row,
    people are counted, each once for every sensitive value that they have.
    """
    require_columns(engine, table, [*columns, *sensitive, *(where or {}), *([person] if person else [])])
    if person is not None:
        return _count_people(engine, table, columns, sensitive, where or {}, person)
    found = engine.count(_build_count_statement(table, [*columns, *sensitive], where or {})).secret
    values, codes, found = _sort_by_codes(found, len(columns))
    counts: Integers = found.column(COUNT).to_numpy().astype(np.int64)
    rows = Tuples(
        codes=codes,
        counts=counts,
        sensitive={
            name: _encode_sensitive_values(found.column(len(columns) + place), counts)
            for place, name in enumerate(sensitive)
        },
    )
    return values, _merge_equal_rows(rows, [len(each) for each in values])


def _count_people(
    engine: Publisher,
    table: str,
    columns: Sequence[str],
    sensitive: Sequence[str],
    where: Mapping[str, str],
    person: str,
) -> tuple[Values, Tuples]:
    """Return the same as `count_distinct_tuples`, counting distinct people instead of rows."""

    def count_people_by(*names: str) -> pa.Table:
        return engine.count(_build_count_statement(table, names, where, person)).secret

    everybody = int(count_people_by().column(COUNT)[0].as_py())
    values, codes, found = _sort_by_codes(count_people_by(*columns), len(columns))
    counts: Integers = found.column(COUNT).to_numpy().astype(np.int64)
    if int(counts.sum()) != everybody:
        raise DataError(
            f"attack: in {table}, rows with the same {person} differ in columns that the attacker knows.",
            hint="Leave out the columns that change, or count rows by omitting `person=`.",
        )
    having = {
        name: _count_people_by_value(count_people_by(*columns, name), values, codes) for name in sensitive
    }
    return values, Tuples(codes=codes, counts=counts, sensitive=having)


def _count_people_by_value(found: pa.Table, values: Values, codes: Codes) -> SensitiveCounts:
    """Return how many people of each tuple have each value of the last counted column."""
    known = [pa.array(each, pa.string()) for each in values]
    there = [pc.index_in(found.column(j).combine_chunks(), value_set=each) for j, each in enumerate(known)]
    theirs = _stack_codes([each.to_numpy(zero_copy_only=False) for each in there], found.num_rows)
    both = np.concatenate([codes, theirs])
    sizes = [len(each) for each in values]
    keys, number = (
        number_rows([both[:, j] for j in range(len(sizes))], sizes)
        if sizes
        else (np.zeros(len(both), int), 1)
    )
    place = np.zeros(number, np.int64)
    place[keys[: len(codes)]] = np.arange(len(codes))
    column = _encode_sensitive_values(
        found.column(len(values)), found.column(COUNT).to_numpy().astype(np.int64)
    )
    owner = place[keys[len(codes) :]]
    order = np.lexsort((column.values, owner))
    return replace(
        column,
        starts=np.searchsorted(owner[order], np.arange(len(codes) + 1)),
        values=column.values[order],
        counts=column.counts[order],
    )


def _build_count_statement(
    table: str, columns: Sequence[str], where: Mapping[str, str], person: str | None = None
) -> str:
    one = None if person is None else exp.column(person, quoted=True)
    select = exp.select(
        *(cast_to_text(name).as_(f"c{place}") for place, name in enumerate(columns)),
        exp.Count(this=exp.Star() if one is None else exp.Distinct(expressions=[one])).as_(COUNT),
    ).from_(exp.to_identifier(table, quoted=True))
    if one is not None:
        select = select.where(one.copy().is_(exp.null()).not_())
    for name, value in where.items():
        select = select.where(cast_to_text(name).eq(exp.Literal.string(value)))
    by = [exp.Literal.number(place + 1) for place in range(len(columns))]
    return (select.group_by(*by) if by else select).sql(dialect="duckdb")


def _sort_by_codes(found: pa.Table, columns: int) -> tuple[Values, Codes, pa.Table]:
    """Return the values of the first columns, their codes, and the table sorted by these codes.

    Sorting makes everything that follows independent of the order in which an engine returns groups.
    """
    coded = [_encode_texts(found.column(place)) for place in range(columns)]
    codes = _stack_codes([each for _, each in coded], found.num_rows)
    order = order_codes(codes)
    return tuple(values for values, _ in coded), codes[order], found.take(order)


def _encode_texts(column: pa.ChunkedArray) -> tuple[tuple[str, ...], Codes]:
    """Return the distinct texts in order, and each row's position among them."""
    encoded = column.combine_chunks().dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    order = sorted(range(len(texts)), key=texts.__getitem__)
    rank = np.empty(len(texts), np.int32)
    rank[order] = np.arange(len(texts), dtype=np.int32)
    places = encoded.indices.to_numpy(zero_copy_only=False)
    return tuple(texts[place] for place in order), rank[places] if texts else places.astype(np.int32)


def _stack_codes(columns: Sequence[Codes], rows: int) -> Codes:
    return np.stack(columns, axis=1) if columns else np.zeros((rows, 0), np.int32)


def _encode_sensitive_values(column: pa.ChunkedArray, counts: Integers) -> SensitiveCounts:
    """Encode one sensitive value per row; values are ordered as numbers first, then as texts."""
    names, codes = _encode_texts(column)
    order = sorted(range(len(names)), key=lambda place: natural_sort_key(names[place]))
    rank = np.empty(len(names), np.int32)
    rank[order] = np.arange(len(names), dtype=np.int32)
    values = rank[codes] if len(names) else codes
    return SensitiveCounts(
        starts=np.arange(len(codes) + 1),
        values=values,
        counts=counts,
        totals=np.bincount(values, counts, len(names)).astype(np.int64),
        names=tuple(names[place] for place in order),
    )


def _merge_equal_rows(rows: Tuples, sizes: Sequence[int]) -> Tuples:
    """Merge rows with equal codes into one tuple each."""
    if not len(rows):
        return rows
    columns = [rows.codes[:, j] for j in range(len(sizes))]
    groups, number = number_rows(columns, sizes) if columns else (np.zeros(len(rows), np.int64), 1)
    classes, ids = group_tuples(rows, groups, number)
    firsts = np.empty(len(classes), np.int64)
    firsts[ids[::-1]] = np.arange(len(rows))[::-1]
    return Tuples(codes=rows.codes[firsts], counts=classes.sizes, sensitive=classes.sensitive)
