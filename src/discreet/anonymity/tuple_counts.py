"""Counting distinct tuples: the engine groups the rows, and only tuples of codes and counts come back.

Unit        the privacy unit that is counted: a row, or the person that a column names. A person with several
            rows counts once, so a class of five visits by one patient is a class of one. Every person must
            therefore have the same quasi-identifiers in all rows; a table where they differ is refused, and
            the custodian decides.
Missing     a row that lacks a value of a `required` column is excluded.
Population  the tuples of a population table are counted too. Those without a row in the table have a count of
            0: after generalization they may share a class with rows of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isnan

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.anonymity.equivalence_classes import Codes, Integers, SensitiveCounts, Tuples, order_codes
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.core.engine import Publisher
from discreet.core.errors import DataError

COUNT = "_discreet_count"
MISSING = exp.Literal.string("")


@dataclass(frozen=True, kw_only=True)
class ReleaseSource:
    """The table to publish, with its quasi-identifiers, sensitive columns, person column and population.

    Rows that lack a value of a `required` column are excluded.
    """

    table: str
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    person: str | None = None
    population: str | None = None
    required: tuple[str, ...] = ()


def build_row_filters(source: ReleaseSource, table: str | None = None) -> list[exp.Expr]:
    """Return the conditions that select the rows which are counted."""
    person = [] if source.person is None else [exp.column(source.person, table=table, quoted=True)]
    known: list[exp.Expr] = [each.is_(exp.null()).not_() for each in person]
    return known + [exp.NEQ(this=cast_to_text(name, table), expression=MISSING) for name in source.required]


def cast_to_text(name: str, table: str | None = None) -> exp.Expr:
    """Return a column cast to text, as hierarchies need it; NULL becomes the empty text."""
    return exp.func("coalesce", exp.cast(exp.column(name, table=table, quoted=True), "text"), MISSING)


def build_count_query(source: ReleaseSource, columns: Sequence[str], table: str | None = None) -> str:
    """Return the query that counts the units with each combination of the columns."""
    # rows of the population table are people already
    whole = table is not None or source.person is None
    unit = exp.Star() if whole else exp.Distinct(expressions=[exp.column(source.person or "", quoted=True)])
    select = exp.select(
        *(cast_to_text(name).as_(f"c{place}") for place, name in enumerate(columns)),
        exp.Count(this=unit).as_(COUNT),
    ).from_(exp.to_identifier(table or source.table, quoted=True))
    if table is None:
        select = select.where(*build_row_filters(source))
    grouped = select.group_by(*(exp.Literal.number(place + 1) for place in range(len(columns))))
    return grouped.sql(dialect="duckdb")


def build_first_row_count_query(source: ReleaseSource, columns: Sequence[str]) -> str:
    """Return the query that counts people by combination, each by the first of their sorted rows."""
    if source.person is None:
        return build_count_query(source, columns)
    # the choice of a person's row depends on that person alone, as differential privacy requires
    person = exp.column(source.person, quoted=True)
    names = [exp.column(f"c{place}") for place in range(len(columns))]
    rows = (
        exp.select(*(cast_to_text(name).as_(f"c{place}") for place, name in enumerate(columns)))
        .distinct(person)
        .from_(exp.to_identifier(source.table, quoted=True))
        .where(person.copy().is_(exp.null()).not_())
        .order_by(person.copy(), *(name.copy() for name in names))
    )
    counted = exp.select(*names, exp.Count(this=exp.Star()).as_(COUNT)).from_(rows.subquery("s"))
    return counted.group_by(*(name.copy() for name in names)).sql(dialect="duckdb")


@dataclass(frozen=True, kw_only=True, eq=False)
class Combinations:
    """The combinations of quasi-identifiers with their counts, in the table and in the population."""

    source: ReleaseSource
    table: pa.Table
    population: pa.Table | None

    def collect_values(self) -> dict[str, list[str]]:
        """Return the values of every quasi-identifier, which its hierarchy must cover."""
        known = [self.table, *([] if self.population is None else [self.population])]
        return {
            name: sorted({value for each in known for value in each.column(place).unique().to_pylist()})
            for place, name in enumerate(self.source.quasi)
        }


def count_combinations(engine: Publisher, source: ReleaseSource) -> Combinations:
    """Count every combination of quasi-identifiers in the engine."""
    _require_one_tuple_per_person(engine, source)
    table = engine.count(build_count_query(source, source.quasi)).secret
    population = None
    if source.population is not None:
        population = engine.count(build_count_query(source, source.quasi, source.population)).secret
    return Combinations(source=source, table=table, population=population)


def count_tuples(engine: Publisher, combinations: Combinations, hierarchies: Sequence[Hierarchy]) -> Tuples:
    """Return the distinct tuples with their counts, sensitive values and population, sorted by code.

    The sorting makes all later steps independent of the order in which an engine returns groups. Rows with
    a value that its hierarchy does not cover, such as a missing one, are excluded.
    """
    subject = combinations.source
    codes, counts, _ = _encode_counts(combinations.table, hierarchies)
    population = None
    if combinations.population is not None:
        people = _encode_counts(combinations.population, hierarchies)
        codes, counts, population = _merge_population(codes, counts, *people[:2])
    else:
        order = order_codes(codes)
        codes, counts = codes[order], counts[order]
    keys = _TupleIndex(codes)
    sensitive = {
        name: keys.count_sensitive(
            engine.count(build_count_query(subject, (*subject.quasi, name))).secret, hierarchies
        )
        for name in subject.sensitive
    }
    if not counts.any():
        raise DataError("anonymize: the table is empty.", hint="Give a table with rows.")
    return Tuples(codes=codes, counts=counts, sensitive=sensitive, population=population)


def count_excluded(engine: Publisher, combinations: Combinations, tuples: Tuples) -> int:
    """Return how many units are excluded from the tuples because they lack a value."""
    # without required columns every unit is counted; the difference lacks a value
    everybody = replace(combinations.source, required=())
    total = engine.count(build_count_query(everybody, ())).secret
    return int(total.column(COUNT)[0].as_py()) - tuples.rows


def add_sensitive_column(
    tuples: Tuples, name: str, counted: pa.Table, hierarchies: Sequence[Hierarchy]
) -> Tuples:
    """Return the tuples with one more sensitive column, counted together with the quasi-identifiers."""
    column = _TupleIndex(tuples.codes).count_sensitive(counted, hierarchies)
    return replace(tuples, sensitive={**tuples.sensitive, name: column})


def _encode_counts(
    table: pa.Table, hierarchies: Sequence[Hierarchy]
) -> tuple[Codes, Integers, pa.ChunkedArray]:
    """Return the codes of the quasi-identifiers, the counts, and the column after the quasi-identifiers.

    Without such a column the counts themselves are returned in its place.
    """
    codes = _encode_columns(table, hierarchies)
    counts = _to_integers(table.column(COUNT).combine_chunks())
    known = (codes >= 0).all(axis=1)
    if known.all():
        return codes, counts, table.column(len(hierarchies))
    return codes[known], counts[known], table.column(len(hierarchies)).filter(pa.array(known))


def _require_one_tuple_per_person(engine: Publisher, source: ReleaseSource) -> None:
    if source.person is None:
        return
    person = exp.column(source.person, quoted=True)
    pairs = (
        exp.select(person.as_("p"), *(cast_to_text(name).as_(f"c{j}") for j, name in enumerate(source.quasi)))
        .distinct()
        .from_(exp.to_identifier(source.table, quoted=True))
        .where(person.copy().is_(exp.null()).not_())
    )
    text = exp.select("count(*) AS pairs", "count(DISTINCT p) AS people").from_(pairs.subquery("s"))
    found = engine.count(text.sql(dialect="duckdb")).secret.to_pylist()[0]
    if found["pairs"] != found["people"]:
        raise DataError(
            f"anonymize: some people in {source.table} have rows with different quasi-identifiers, so "
            "people cannot be counted by class.",
            hint="Publish a table with one row per person, give the columns that change another role, or "
            'count rows instead of people with `unit="row"`.',
        )


def _encode_columns(table: pa.Table, hierarchies: Sequence[Hierarchy]) -> Codes:
    """Return the positions of each column's values in its hierarchy."""
    columns = [_encode_column(table.column(j), each) for j, each in enumerate(hierarchies)]
    return np.stack(columns, axis=1) if columns else np.zeros((table.num_rows, 0), np.int32)


def _encode_column(column: pa.ChunkedArray, hierarchy: Hierarchy) -> Codes:
    encoded = column.combine_chunks().dictionary_encode()
    words = encoded.dictionary.to_pylist()
    places = np.array([hierarchy.positions.get(word, -1) for word in words], np.int32)
    return places[_to_integers(encoded.indices)] if len(places) else np.zeros(0, np.int32)


def _to_integers(array: pa.Array) -> Integers:
    """Return an Arrow array without nulls as integers; unlike `to_numpy`, this does not import pandas."""
    return np.from_dlpack(array).astype(np.int64, copy=False)


def _merge_population(
    codes: Codes, counts: Integers, others: Codes, people: Integers
) -> tuple[Codes, Integers, Integers]:
    every, places = np.unique(np.concatenate([codes, others]), axis=0, return_inverse=True)
    places = places.reshape(-1)
    here, there = np.zeros(len(every), np.int64), np.zeros(len(every), np.int64)
    np.add.at(here, places[: len(codes)], counts)
    np.add.at(there, places[len(codes) :], people)
    return every, here, there


class _TupleIndex:
    """Index of tuples by their codes."""

    def __init__(self, codes: Codes) -> None:
        self._order = order_codes(codes)
        self._sorted = _pack_codes(codes[self._order])

    def find(self, codes: Codes) -> Integers:
        found: Integers = self._order[np.searchsorted(self._sorted, _pack_codes(codes))]
        return found

    def count_sensitive(self, counted: pa.Table, hierarchies: Sequence[Hierarchy]) -> SensitiveCounts:
        """Count each value of the column after the quasi-identifiers, for each tuple."""
        codes, counts, column = _encode_counts(counted, hierarchies)
        return _build_sensitive_counts(self.find(codes), len(self._order), column, counts)


def _pack_codes(codes: Codes) -> np.ndarray:
    """Return each row of codes as bytes that sort like the row; codes are never negative."""
    big = np.ascontiguousarray(codes.astype(">i4"))
    width = big.shape[1] * 4
    return big.view(f"S{width}").reshape(-1) if width else np.zeros(len(codes), "S1")


def _build_sensitive_counts(
    rows: Integers, tuples: int, column: pa.ChunkedArray, counts: Integers
) -> SensitiveCounts:
    encoded = column.combine_chunks().dictionary_encode()
    names = encoded.dictionary.to_pylist()
    rank = np.empty(len(names), np.int32)
    order = sorted(range(len(names)), key=lambda place: natural_sort_key(names[place]))
    rank[order] = np.arange(len(names))
    codes = rank[_to_integers(encoded.indices)]
    sort = np.lexsort((codes, rows))
    starts = np.searchsorted(rows[sort], np.arange(tuples + 1)).astype(np.int64)
    totals = np.bincount(codes, weights=counts, minlength=len(names)).astype(np.int64)
    return SensitiveCounts(
        starts=starts,
        values=codes[sort].astype(np.int32),
        counts=counts[sort],
        totals=totals,
        names=tuple(names[place] for place in order),
    )


def natural_sort_key(text: str) -> tuple[int, float, str]:
    """Return a sort key that puts numbers first, in numeric order, and NaN after the others.

    NaN is neither below nor above a number, so by itself it would leave the numbers around it unsorted, and
    with them the order by which an ordered distance is measured.

    >>> sorted(["b", "10", "nan", "9", "inf", "a"], key=natural_sort_key)
    ['9', '10', 'inf', 'nan', 'a', 'b']
    """
    try:
        number = float(text)
    except ValueError:
        return 1, 0.0, text
    return 0, inf if isnan(number) else number, text
