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

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.anonymity.classes import Codes, Integers, Sensitive, Tuples
from discreet.anonymity.hierarchies.hierarchy import Hierarchy
from discreet.core.engine import Publisher
from discreet.core.errors import DataError

COUNT = "_discreet_count"
MISSING = exp.Literal.string("")


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The table to publish, with its quasi-identifiers, sensitive columns, person column and population.

    Rows that lack a value of a `required` column are excluded.
    """

    table: str
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    person: str | None = None
    population: str | None = None
    required: tuple[str, ...] = ()


def rows_that_count(subject: Subject, table: str | None = None) -> list[exp.Expr]:
    """Return the conditions that select the rows which are counted."""
    person = [] if subject.person is None else [exp.column(subject.person, table=table, quoted=True)]
    known: list[exp.Expr] = [each.is_(exp.null()).not_() for each in person]
    return known + [exp.NEQ(this=text_of(name, table), expression=MISSING) for name in subject.required]


def text_of(name: str, table: str | None = None) -> exp.Expr:
    """Return a column cast to text, as hierarchies need it; NULL becomes the empty text."""
    return exp.func("coalesce", exp.cast(exp.column(name, table=table, quoted=True), "text"), MISSING)


def counting(subject: Subject, columns: Sequence[str], table: str | None = None) -> str:
    """Return the query that counts the units with each combination of the columns."""
    # rows of the population table are people already
    whole = table is not None or subject.person is None
    unit = exp.Star() if whole else exp.Distinct(expressions=[exp.column(subject.person or "", quoted=True)])
    select = exp.select(
        *(text_of(name).as_(f"c{place}") for place, name in enumerate(columns)),
        exp.Count(this=unit).as_(COUNT),
    ).from_(exp.to_identifier(table or subject.table, quoted=True))
    if table is None:
        select = select.where(*rows_that_count(subject))
    grouped = select.group_by(*(exp.Literal.number(place + 1) for place in range(len(columns))))
    return grouped.sql(dialect="duckdb")


def one_row_each(subject: Subject, columns: Sequence[str]) -> str:
    """Return the query that counts people by combination, each by the first of their sorted rows."""
    if subject.person is None:
        return counting(subject, columns)
    # the choice of a person's row depends on that person alone, as differential privacy requires
    person = exp.column(subject.person, quoted=True)
    names = [exp.column(f"c{place}") for place in range(len(columns))]
    rows = (
        exp.select(*(text_of(name).as_(f"c{place}") for place, name in enumerate(columns)))
        .distinct(person)
        .from_(exp.to_identifier(subject.table, quoted=True))
        .where(person.copy().is_(exp.null()).not_())
        .order_by(person.copy(), *(name.copy() for name in names))
    )
    counted = exp.select(*names, exp.Count(this=exp.Star()).as_(COUNT)).from_(rows.subquery("s"))
    return counted.group_by(*(name.copy() for name in names)).sql(dialect="duckdb")


@dataclass(frozen=True, kw_only=True, eq=False)
class Combinations:
    """The combinations of quasi-identifiers with their counts, in the table and in the population."""

    subject: Subject
    table: pa.Table
    population: pa.Table | None

    def values(self) -> dict[str, list[str]]:
        """Return the values of every quasi-identifier, which its hierarchy must cover."""
        known = [self.table, *([] if self.population is None else [self.population])]
        return {
            name: sorted({value for each in known for value in each.column(place).unique().to_pylist()})
            for place, name in enumerate(self.subject.quasi)
        }


def combine(engine: Publisher, subject: Subject) -> Combinations:
    """Count every combination of quasi-identifiers in the engine."""
    _require_one_tuple_each(engine, subject)
    table = engine.count(counting(subject, subject.quasi)).secret
    population = None
    if subject.population is not None:
        population = engine.count(counting(subject, subject.quasi, subject.population)).secret
    return Combinations(subject=subject, table=table, population=population)


def compress(engine: Publisher, found: Combinations, hierarchies: Sequence[Hierarchy]) -> Tuples:
    """Return the distinct tuples with their counts, sensitive values and population, sorted by code.

    The sorting makes all later steps independent of the order in which an engine returns groups. Rows with
    a value that its hierarchy does not cover, such as a missing one, are excluded.
    """
    subject = found.subject
    codes, counts, _ = _read(found.table, hierarchies)
    population = None
    if found.population is not None:
        people = _read(found.population, hierarchies)
        codes, counts, population = _with_population(codes, counts, *people[:2])
    else:
        order = in_order(codes)
        codes, counts = codes[order], counts[order]
    keys = _Keys(codes)
    sensitive = {
        name: keys.occurring(engine.count(counting(subject, (*subject.quasi, name))).secret, hierarchies)
        for name in subject.sensitive
    }
    if not counts.any():
        raise DataError("anonymize: the table is empty.", hint="Give a table with rows.")
    return Tuples(codes=codes, counts=counts, sensitive=sensitive, population=population)


def missed(engine: Publisher, found: Combinations, tuples: Tuples) -> int:
    """Return how many units are excluded from the tuples because they lack a value."""
    # without required columns every unit is counted; the difference lacks a value
    everybody = replace(found.subject, required=())
    total = engine.count(counting(everybody, ())).secret
    return int(total.column(COUNT)[0].as_py()) - tuples.rows


def with_column(tuples: Tuples, name: str, counted: pa.Table, hierarchies: Sequence[Hierarchy]) -> Tuples:
    """Return the tuples with one more sensitive column, counted together with the quasi-identifiers."""
    column = _Keys(tuples.codes).occurring(counted, hierarchies)
    return replace(tuples, sensitive={**tuples.sensitive, name: column})


def _read(table: pa.Table, hierarchies: Sequence[Hierarchy]) -> tuple[Codes, Integers, pa.ChunkedArray]:
    """Return the codes of the quasi-identifiers, the counts, and the column after the quasi-identifiers.

    Without such a column the counts themselves are returned in its place.
    """
    codes = _coded(table, hierarchies)
    counts = _integers(table.column(COUNT).combine_chunks())
    known = (codes >= 0).all(axis=1)
    if known.all():
        return codes, counts, table.column(len(hierarchies))
    return codes[known], counts[known], table.column(len(hierarchies)).filter(pa.array(known))


def _require_one_tuple_each(engine: Publisher, subject: Subject) -> None:
    if subject.person is None:
        return
    person = exp.column(subject.person, quoted=True)
    pairs = (
        exp.select(person.as_("p"), *(text_of(name).as_(f"c{j}") for j, name in enumerate(subject.quasi)))
        .distinct()
        .from_(exp.to_identifier(subject.table, quoted=True))
        .where(person.copy().is_(exp.null()).not_())
    )
    text = exp.select("count(*) AS pairs", "count(DISTINCT p) AS people").from_(pairs.subquery("s"))
    found = engine.count(text.sql(dialect="duckdb")).secret.to_pylist()[0]
    if found["pairs"] != found["people"]:
        raise DataError(
            f"anonymize: some people in {subject.table} have rows with different quasi-identifiers, so "
            "people cannot be counted by class.",
            hint="Publish a table with one row per person, give the columns that change another role, or "
            "count rows instead of people with --unit row.",
        )


def _coded(table: pa.Table, hierarchies: Sequence[Hierarchy]) -> Codes:
    """Return the positions of each column's values in its hierarchy."""
    columns = [_places(table.column(j), each) for j, each in enumerate(hierarchies)]
    return np.stack(columns, axis=1) if columns else np.zeros((table.num_rows, 0), np.int32)


def _places(column: pa.ChunkedArray, hierarchy: Hierarchy) -> Codes:
    encoded = column.combine_chunks().dictionary_encode()
    words = encoded.dictionary.to_pylist()
    places = np.array([hierarchy.places.get(word, -1) for word in words], np.int32)
    return places[_integers(encoded.indices)] if len(places) else np.zeros(0, np.int32)


def _integers(array: pa.Array) -> Integers:
    """Return an Arrow array without nulls as integers; unlike `to_numpy`, this does not import pandas."""
    return np.from_dlpack(array).astype(np.int64, copy=False)


def _with_population(
    codes: Codes, counts: Integers, others: Codes, people: Integers
) -> tuple[Codes, Integers, Integers]:
    every, places = np.unique(np.concatenate([codes, others]), axis=0, return_inverse=True)
    places = places.reshape(-1)
    here, there = np.zeros(len(every), np.int64), np.zeros(len(every), np.int64)
    np.add.at(here, places[: len(codes)], counts)
    np.add.at(there, places[len(codes) :], people)
    return every, here, there


def in_order(codes: Codes) -> Integers:
    """Return the positions that sort tuples by their codes, column by column."""
    found: Integers = np.lexsort(codes.T[::-1]) if codes.shape[1] else np.arange(len(codes))
    return found


class _Keys:
    """Index of tuples by their codes."""

    def __init__(self, codes: Codes) -> None:
        self._order = in_order(codes)
        self._sorted = _packed(codes[self._order])

    def places(self, codes: Codes) -> Integers:
        found: Integers = self._order[np.searchsorted(self._sorted, _packed(codes))]
        return found

    def occurring(self, counted: pa.Table, hierarchies: Sequence[Hierarchy]) -> Sensitive:
        """Count each value of the column after the quasi-identifiers, for each tuple."""
        codes, counts, column = _read(counted, hierarchies)
        return _sensitive(self.places(codes), len(self._order), column, counts)


def _packed(codes: Codes) -> np.ndarray:
    """Return each row of codes as bytes that sort like the row; codes are never negative."""
    big = np.ascontiguousarray(codes.astype(">i4"))
    width = big.shape[1] * 4
    return big.view(f"S{width}").reshape(-1) if width else np.zeros(len(codes), "S1")


def _sensitive(rows: Integers, tuples: int, column: pa.ChunkedArray, counts: Integers) -> Sensitive:
    encoded = column.combine_chunks().dictionary_encode()
    names = encoded.dictionary.to_pylist()
    rank = np.empty(len(names), np.int32)
    order = sorted(range(len(names)), key=lambda place: natural(names[place]))
    rank[order] = np.arange(len(names))
    codes = rank[_integers(encoded.indices)]
    sort = np.lexsort((codes, rows))
    starts = np.searchsorted(rows[sort], np.arange(tuples + 1)).astype(np.int64)
    totals = np.bincount(codes, weights=counts, minlength=len(names)).astype(np.int64)
    return Sensitive(
        starts=starts,
        values=codes[sort].astype(np.int32),
        counts=counts[sort],
        totals=totals,
        names=tuple(names[place] for place in order),
    )


def natural(text: str) -> tuple[int, float, str]:
    """Return a sort key that puts numbers first, in numeric order."""
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text
