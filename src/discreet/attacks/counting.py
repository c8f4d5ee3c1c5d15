"""Tables of the engine as the attacks see them: distinct tuples of texts, counted once.

One statement groups by everything that is asked for, so a file is read once; equal texts become one code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.anonymity.classes import Codes, Integers, Sensitive, Tuples
from discreet.anonymity.compression import COUNT, natural, text_of
from discreet.anonymity.grouping import grouped
from discreet.anonymity.numbering import numbered
from discreet.anonymity.risk.discovery import Count, Occurrences
from discreet.core.engine import Publisher
from discreet.core.errors import RequestError

Values = tuple[tuple[str, ...], ...]


def columns_of(engine: Publisher, table: str) -> tuple[str, ...]:
    """The names of a table's columns."""
    nothing = exp.select("*").from_(exp.to_identifier(table, quoted=True)).limit(0)
    return tuple(engine.count(nothing.sql(dialect="duckdb")).secret.column_names)


def require_columns(engine: Publisher, table: str, wanted: Sequence[str]) -> None:
    """Refuse columns that a table does not have."""
    there = columns_of(engine, table)
    lacking = [name for name in wanted if name not in there]
    if lacking:
        raise RequestError(
            f"attack: {table} has no column {lacking[0]}.", hint=f"It has {', '.join(there) or 'none'}."
        )


def occurrences(engine: Publisher, table: str) -> Count:
    """How often the tuples of any columns of a table occur, by the engine's own count."""

    def count(columns: tuple[str, ...]) -> Occurrences:
        require_columns(engine, table, columns)
        tuples = (
            exp.select(exp.Count(this=exp.Star()).as_("times"))
            .from_(exp.to_identifier(table, quoted=True))
            .group_by(*(exp.column(name, quoted=True) for name in columns))
        )
        often = exp.select("times", exp.Count(this=exp.Star()).as_(COUNT)).from_(tuples.subquery("t"))
        found = engine.count(often.group_by("times").sql(dialect="duckdb")).secret
        times, many = (found.column(name).to_numpy().astype(np.int64) for name in ("times", COUNT))
        return Occurrences(times=times, tuples=many)

    return count


def counted(
    engine: Publisher,
    table: str,
    columns: Sequence[str],
    sensitive: Sequence[str] = (),
    *,
    where: Mapping[str, str] | None = None,
) -> tuple[Values, Tuples]:
    """The values of each column, and the distinct tuples of their places with the sensitive values of each.

    `where` keeps the rows whose columns read so.
    """
    require_columns(engine, table, [*columns, *sensitive, *(where or {})])
    found = engine.count(_statement(table, [*columns, *sensitive], where or {})).secret
    coded = [_coded(found.column(place)) for place in range(len(columns))]
    counts: Integers = found.column(COUNT).to_numpy().astype(np.int64)
    rows = Tuples(
        codes=_stacked([codes for _, codes in coded], len(counts)),
        counts=counts,
        sensitive={
            name: _each(found.column(len(columns) + place), counts) for place, name in enumerate(sensitive)
        },
    )
    return tuple(values for values, _ in coded), _distinct(rows, [len(values) for values, _ in coded])


def _statement(table: str, columns: Sequence[str], where: Mapping[str, str]) -> str:
    select = exp.select(
        *(text_of(name).as_(f"c{place}") for place, name in enumerate(columns)),
        exp.Count(this=exp.Star()).as_(COUNT),
    ).from_(exp.to_identifier(table, quoted=True))
    for name, value in where.items():
        select = select.where(text_of(name).eq(exp.Literal.string(value)))
    by = [exp.Literal.number(place + 1) for place in range(len(columns))]
    return (select.group_by(*by) if by else select).sql(dialect="duckdb")


def _coded(column: pa.ChunkedArray) -> tuple[tuple[str, ...], Codes]:
    encoded = column.combine_chunks().dictionary_encode()
    codes: Codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    return tuple(encoded.dictionary.to_pylist()), codes


def _stacked(columns: Sequence[Codes], rows: int) -> Codes:
    return np.stack(columns, axis=1) if columns else np.zeros((rows, 0), np.int32)


def _each(column: pa.ChunkedArray, counts: Integers) -> Sensitive:
    """One sensitive value a row; names in the order of numbers, then of texts."""
    names, codes = _coded(column)
    order = sorted(range(len(names)), key=lambda place: natural(names[place]))
    rank = np.empty(len(names), np.int32)
    rank[order] = np.arange(len(names), dtype=np.int32)
    values = rank[codes] if len(names) else codes
    return Sensitive(
        starts=np.arange(len(codes) + 1),
        values=values,
        counts=counts,
        totals=np.bincount(values, counts, len(names)).astype(np.int64),
        names=tuple(names[place] for place in order),
    )


def _distinct(rows: Tuples, sizes: Sequence[int]) -> Tuples:
    if not len(rows):
        return rows
    columns = [rows.codes[:, j] for j in range(len(sizes))]
    groups, number = numbered(columns, sizes) if columns else (np.zeros(len(rows), np.int64), 1)
    classes, ids = grouped(rows, groups, number)
    firsts = np.empty(len(classes), np.int64)
    firsts[ids[::-1]] = np.arange(len(rows))[::-1]
    return Tuples(codes=rows.codes[firsts], counts=classes.sizes, sensitive=classes.sensitive)
