"""The statement that writes a release: the engine recodes and writes, and Python never sees rows.

The source rows are counted by all published columns, and the recoding is joined to those counts. Equal rows
are then repeated as often as they occur, sorted by their own values. So the release shows neither the order
of the source rows nor any value that is not published.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.anonymity.equivalence_classes import Codes, Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.recoding import Recoding
from discreet.anonymity.tuple_counts import COUNT, MISSING, ReleaseSource, build_row_filters, cast_to_text

RECODING = "_discreet_recoding"
PSEUDONYMS = "_discreet_pseudonyms_"


@dataclass(frozen=True, kw_only=True)
class ReleaseStatement:
    """A SELECT, and the tables that it joins in addition to those of the engine."""

    sql: str
    tables: dict[str, pa.Table]


def build_release_statement(
    source: ReleaseSource,
    columns: Sequence[str],
    tuples: Tuples,
    hierarchies: Sequence[Hierarchy],
    recoding: Recoding,
    *,
    typed_columns: Collection[str] = (),
    number_types: Mapping[str, str] | None = None,
    pseudonyms: Mapping[str, pa.Table] | None = None,
) -> ReleaseStatement:
    """Return the statement that selects the rows to publish, with `columns` in this order.

    Quasi-identifiers are recoded. A column of `typed_columns`, which is not text in the source, keeps its
    type where the whole column is unchanged. `number_types` gives the SQL type of columns whose labels are
    numbers. `pseudonyms` maps the texts (v) of a column to their pseudonyms (p).
    """
    stand_in = {name: f"{PSEUDONYMS}{place}" for place, name in enumerate(pseudonyms or {})}
    places = {name: place for place, name in enumerate(source.quasi)}
    levels = recoding.levels or [None] * len(places)
    # at level 0 labels equal values, so the source column is written with its own type
    as_it_was = {name for name, place in places.items() if levels[place] == 0 and name in typed_columns}
    counted = _build_row_counts(source, [*source.quasi, *(name for name in columns if name not in places)])
    outputs = [
        _build_recoded_column(name, places[name], recoding, (number_types or {}).get(name))
        if name in places and name not in as_it_was
        else (
            exp.column("p", table=stand_in[name]).as_(name, quoted=True)
            if name in stand_in
            else _build_sensitive_column(name)
            if name in source.sensitive
            else _build_source_column(name)
        )
        for name in columns
    ]
    grouped = (
        exp.select(*outputs, exp.Sum(this=exp.column(COUNT, table="c", quoted=True)).as_(COUNT, quoted=True))
        .from_(counted.subquery("c"))
        .join(exp.alias_(exp.to_table(RECODING), "r", table=True), on=build_match_condition(source))
        .group_by(*(exp.Literal.number(place + 1) for place in range(len(columns))))
        .order_by(*(exp.Literal.number(place + 1) for place in range(len(columns))))
    )
    for name, table in stand_in.items():
        same = exp.EQ(this=_cast_to_text(name, "c"), expression=exp.column("v", table=table))
        grouped = grouped.join(exp.to_table(table), on=same, join_type="left")
    names = [exp.column(name, quoted=True) for name in columns]
    times = exp.Explode(this=exp.func("range", exp.cast(exp.column(COUNT, quoted=True), "bigint")))
    repeated = exp.select(*names, times.as_(COUNT, quoted=True)).from_(grouped.subquery("g"))
    final = exp.select(*(name.copy() for name in names)).from_(repeated.subquery("p"))
    lent = {RECODING: build_recoding_table(tuples, hierarchies, recoding)}
    lent |= {stand_in[name]: table for name, table in (pseudonyms or {}).items()}
    return ReleaseStatement(sql=final.sql(dialect="duckdb"), tables=lent)


def build_distinct_query(source: ReleaseSource, column: str) -> str:
    """Return the query for the distinct values of a column as text, which get pseudonyms."""
    text = exp.select(_cast_to_text(column).as_("v")).distinct()
    table = exp.to_identifier(source.table, quoted=True)
    known = exp.column(column, quoted=True).is_(exp.null()).not_()
    return text.from_(table).where(known).sql(dialect="duckdb")


def build_duplicate_query(source: ReleaseSource, column: str) -> str:
    """Return the query for one value of a column that several rows share."""
    known = exp.column(column, quoted=True).is_(exp.null()).not_()
    rows = exp.select(_cast_to_text(column)).from_(exp.to_identifier(source.table, quoted=True)).where(known)
    return rows.group_by(exp.Literal.number(1)).having("count(*) > 1").limit(1).sql(dialect="duckdb")


def _cast_to_text(name: str, table: str | None = None) -> exp.Expr:
    return exp.cast(exp.column(name, table=table, quoted=True), "text")


def _build_row_counts(source: ReleaseSource, columns: Sequence[str]) -> exp.Select:
    select = exp.select(
        *(exp.column(name, quoted=True) for name in columns),
        exp.Count(this=exp.Star()).as_(COUNT, quoted=True),
    ).from_(exp.to_identifier(source.table, quoted=True))
    select = select.where(*build_row_filters(source))
    return select.group_by(*(exp.Literal.number(place + 1) for place in range(len(columns))))


def _build_recoded_column(name: str, place: int, recoding: Recoding, number: str | None) -> exp.Expr:
    """Return the column of recoded labels; a missing value stays missing."""
    shown: exp.Expr = exp.column(f"g{place}", table="r")
    if MISSING.this in recoding.labels[place]:
        shown = exp.func("nullif", shown, MISSING)
    if number is not None:
        shown = exp.cast(exp.cast(shown, "text"), number)
    return shown.as_(name, quoted=True)


def _build_source_column(name: str) -> exp.Expr:
    return exp.column(name, table="c", quoted=True).as_(name, quoted=True)


def _build_sensitive_column(name: str) -> exp.Expr:
    """Return a sensitive column, with the empty text as NULL.

    Models count both as one missing value, so a release that distinguished them would show more than was
    judged: a class of NULL and a class of empty texts are equal to a model, and differ in the file.
    """
    known = exp.NEQ(this=_cast_to_text(name, "c"), expression=MISSING)
    value = exp.Case().when(known, exp.column(name, table="c", quoted=True))
    return exp.alias_(value, name, quoted=True)


def build_match_condition(source: ReleaseSource) -> exp.Expr:
    """Return the condition that a row of the table, `c`, matches a row of the recoding, `r`.

    Neither side is ever NULL.
    """
    return exp.and_(
        *(
            cast_to_text(name, table="c").eq(exp.column(f"q{place}", table="r"))
            for place, name in enumerate(source.quasi)
        )
    )


def build_recoding_table(tuples: Tuples, hierarchies: Sequence[Hierarchy], recoding: Recoding) -> pa.Table:
    """Return every published tuple with its values (q0, q1 …) and its labels (g0, g1 …)."""
    kept = np.flatnonzero(recoding.published & (tuples.counts > 0))
    columns = {
        f"q{place}": _encode_dictionary(tuples.codes[kept, place], hierarchy.values).cast(pa.string())
        for place, hierarchy in enumerate(hierarchies)
    } | {
        f"g{place}": _encode_dictionary(recoding.codes[kept, place], labels)
        for place, labels in enumerate(recoding.labels)
    }
    return pa.table(columns) if columns else pa.table({"q": np.zeros(len(kept), np.int8)})


def _encode_dictionary(codes: Codes, labels: Sequence[str]) -> pa.DictionaryArray:
    """Return labels as a dictionary array, which engines read, group and write several times faster.

    The dictionary holds used labels only: otherwise a file's dictionary, or a column's type, would disclose
    the values of suppressed rows. It is made from buffers, because `pa.array` imports pandas if installed.
    """
    used, at = np.unique(codes, return_inverse=True)
    texts = [labels[place].encode() for place in used.tolist()]
    ends = np.cumsum([0, *map(len, texts)], dtype=np.int32)
    words = pa.StringArray.from_buffers(len(texts), pa.py_buffer(ends), pa.py_buffer(b"".join(texts)))
    places = np.ascontiguousarray(at, np.int32)
    numbers = pa.Array.from_buffers(pa.int32(), len(places), [None, pa.py_buffer(places)])
    return pa.DictionaryArray.from_arrays(numbers, words)
