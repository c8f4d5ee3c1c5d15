"""Ratings of a release and known ratings of victims, read from two tables under shared codes.

Release     a row is a record's (a pseudonym's) rating of a title, with stars and date if there are such
            columns.
Register    a row is a known rating of a victim, in the same form. A column that either table lacks is not
            compared. `truth` is the victim's record, for scoring: a victim without one, or with one that the
            release lacks, is a stranger.
Ratings     numbers keep their distances, in steps of 1, 1/2, 1/10 or 1/100; words are equal or not.
Days        the day of dates and times; or integers that count days.
Join        in the engine: of the release, only ratings of titles in the register are read, and the numbers of
            all ratings and records. No other rating can match a known one.
Order       of rows has no effect: records, titles and victims are numbered in the order of their names.

Rows with a missing value in a compared column are left out, as are titles that the release lacks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from discreet.anonymity.hierarchies.label_parsing import parse_number
from discreet.attacks.attacker_knowledge import unknown_victim_error
from discreet.attacks.engine_tables import (
    DAY,
    DAYS,
    build_day_expressions,
    build_text_expression,
    combine_days,
    require_columns,
)
from discreet.attacks.ratings import NOBODY, STARS, Integers, KnownRatings, Ratings
from discreet.core.engine import Publisher
from discreet.core.errors import DataError, RequestError

STEPS = (1, 2, 10, 100)  # per star: whole stars, halves, tenths, hundredths
TITLES, RECORDS = "_discreet_titles", "_discreet_records"
READABLE = "Titles, ratings and dates must not be missing; write dates as 2005-12-31."


@dataclass(frozen=True, kw_only=True)
class RatingColumns:
    """A table and the roles of its columns; in a register, `person` is the victim and `truth` the record."""

    table: str
    title: str
    person: str | None = None
    rating: str | None = None
    date: str | None = None
    truth: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class RatingTables:
    """Ratings, known ratings of victims, the steps per star, and the rows that were left out."""

    released: Ratings
    known: KnownRatings
    steps_per_star: int | None
    dropped_rows: int
    dropped_known_rows: int


def read_rating_tables(
    engine: Publisher, release: RatingColumns, register: RatingColumns, where: Mapping[str, str] | None = None
) -> RatingTables:
    """Read both tables under shared codes; `where` keeps the register's rows with the given values."""
    shown, told = (
        _RatingRows.from_table(engine, release),
        _RatingRows.from_table(engine, register, where or {}),
    )
    rows, whole, people = shown.count_rows(engine)
    if not whole:
        raise DataError(f"attack: {release.table} has no complete rating.", hint=READABLE)
    lines, kept, _ = told.count_rows(engine)
    if where and not lines:
        raise unknown_victim_error(register.table, where)
    if not kept:
        raise DataError(f"attack: {register.table} has no complete rating.", hint=READABLE)
    known = told.read_complete(engine)
    titles = _sort_distinct(known["title"])
    given = shown.read_titles(engine, titles)
    known = known.filter(pc.is_in(known["title"], titles.take(given["place"].unique())))
    if not known.num_rows:
        raise RequestError(
            f"attack: {register.table} and {release.table} have no title in common.",
            hint="Spell titles the same way in both, or name the column with `title=`.",
        )
    records = _sort_distinct(
        given["person"], *(() if register.truth is None else shown.find_true_records(engine, known))
    )
    steps, ((stars, heard), (day, when)) = _scale_ratings(given, known)
    return RatingTables(
        released=_build_ratings(given, records, stars, day, people=people, titles=len(titles)),
        known=_build_known_ratings(known, titles, records, heard, when, register),
        steps_per_star=steps,
        dropped_rows=rows - whole,
        dropped_known_rows=lines - known.num_rows,
    )


def _build_ratings(
    rows: pa.Table, records: pa.Array, stars: Integers, day: Integers, *, people: int, titles: int
) -> Ratings:
    """Return the release's ratings, sorted; records without a rating of a known title have no name."""
    person, title = _index_values(rows["person"], records), np.asarray(rows["place"].to_numpy(), np.int64)
    order = np.lexsort((stars, person, day, title))
    return Ratings(
        person=person[order],
        title=title[order],
        stars=stars[order],
        day=day[order],
        people=people,
        titles=titles,
        names=tuple(records.to_pylist()),
    )


def _build_known_ratings(
    known: pa.Table,
    titles: pa.Array,
    records: pa.Array,
    stars: Integers,
    day: Integers,
    register: RatingColumns,
) -> KnownRatings:
    victims = _sort_distinct(known["person"])
    victim, title = _index_values(known["person"], victims), _index_values(known["title"], titles)
    order = np.lexsort((stars, day, title, victim))
    return KnownRatings(
        victim=victim[order],
        title=title[order],
        stars=stars[order],
        day=day[order],
        truth=None if register.truth is None else _find_victim_records(known, victim, records, register),
        names=tuple(victims.to_pylist()),
    )


# -- Statements for the engine -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _RatingRows:
    """The rows of a table as SQL, with `person`, `title` and the other compared columns."""

    sql: str
    columns: tuple[str, ...]

    @staticmethod
    def from_table(
        engine: Publisher, roles: RatingColumns, where: Mapping[str, str] | None = None
    ) -> _RatingRows:
        """Return the rows of a table; without a person column they belong to one victim."""
        wanted = [roles.person, roles.title, roles.rating, roles.date, roles.truth]
        require_columns(engine, roles.table, [*(name for name in wanted if name is not None), *(where or {})])
        columns = {
            "person": exp.Literal.string("the victim")
            if roles.person is None
            else build_text_expression(roles.person),
            "title": build_text_expression(roles.title),
        }
        columns |= {} if roles.rating is None else {"rating": build_text_expression(roles.rating)}
        columns |= (
            {}
            if roles.date is None
            else build_day_expressions(roles.date, engine.column_types(roles.table)[roles.date])
        )
        columns |= {} if roles.truth is None else {"truth": build_text_expression(roles.truth)}
        select = exp.select(*(each.as_(name) for name, each in columns.items()))
        select = select.from_(exp.to_identifier(roles.table, quoted=True))
        for name, value in (where or {}).items():
            select = select.where(build_text_expression(name).eq(exp.Literal.string(value)))
        return _RatingRows(sql=f"({select.sql(dialect='duckdb')}) AS r", columns=tuple(columns))

    @property
    def completeness_condition(self) -> str:
        """The SQL condition that no compared value is missing; a day may be a date or a number."""
        needed = [name for name in self.columns if name not in (DAY, DAYS, "truth")]
        days = [f"r.{name} IS NOT NULL" for name in (DAY, DAYS) if name in self.columns]
        parts = [*(f"r.{name} IS NOT NULL" for name in needed), *([f"({' OR '.join(days)})"] if days else [])]
        return " AND ".join(parts)

    def count_rows(self, engine: Publisher) -> tuple[int, int, int]:
        """Return the numbers of rows, of complete rows, and of people with complete rows."""
        (row,) = engine.count(
            f"SELECT COUNT(*) AS n, COUNT(CASE WHEN {self.completeness_condition} THEN 1 END) AS kept, "
            f"COUNT(DISTINCT CASE WHEN {self.completeness_condition} THEN r.person END) AS people "
            f"FROM {self.sql}"
        ).secret.to_pylist()
        return int(row["n"]), int(row["kept"]), int(row["people"])

    def read_complete(self, engine: Publisher) -> pa.Table:
        """Return the complete rows."""
        columns = ", ".join(f"r.{name} AS {name}" for name in self.columns)
        return engine.count(f"SELECT {columns} FROM {self.sql} WHERE {self.completeness_condition}").secret

    def read_titles(self, engine: Publisher, titles: pa.Array) -> pa.Table:
        """Return the complete rows about some titles, each given by its index among them."""
        columns = ", ".join(f"r.{name} AS {name}" for name in self.columns if name != "title")
        return engine.count(
            f"SELECT t.place AS place, {columns} FROM {self.sql} "
            f"JOIN {TITLES} AS t ON t.title = r.title WHERE {self.completeness_condition}",
            {TITLES: pa.table({"title": titles, "place": np.arange(len(titles))})},
        ).secret

    def find_true_records(self, engine: Publisher, known: pa.Table) -> Iterator[pa.ChunkedArray]:
        """Yield the true records of victims that the release has."""
        records = _sort_distinct(known["truth"])
        if len(records):
            yield engine.count(
                f"SELECT DISTINCT r.person AS person FROM {self.sql} "
                f"JOIN {RECORDS} AS t ON t.person = r.person WHERE {self.completeness_condition}",
                {RECORDS: pa.table({"person": records})},
            ).secret["person"]


# -- Numbers ------------------------------------------------------------------------------------------------


def _sort_distinct(*columns: pa.ChunkedArray) -> pa.Array:
    """Return the distinct texts of columns, sorted."""
    chunks = [chunk for column in columns for chunk in column.cast(pa.string()).chunks]
    values = pa.chunked_array(chunks, pa.string()).drop_null().unique()
    return values.take(pc.sort_indices(values))


def _index_values(column: pa.ChunkedArray, values: pa.Array) -> Integers:
    found = pc.index_in(column.combine_chunks(), value_set=values)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)


def _find_victim_records(
    known_rows: pa.Table, victim: Integers, records: pa.Array, register: RatingColumns
) -> Integers:
    """Return the record of each victim, or NOBODY."""
    at = pc.index_in(known_rows["truth"].combine_chunks(), value_set=records).fill_null(NOBODY)
    record = np.asarray(at.to_numpy(zero_copy_only=False), np.int64)
    truth = np.full(int(victim.max()) + 1, NOBODY)
    np.maximum.at(truth, victim, record)
    if (truth[victim] != record).any():
        raise DataError(
            f"attack: {register.table} gives one person several values of {register.truth}.",
            hint="Give each person one record, or none.",
        )
    return truth


def _scale_ratings(
    released_rows: pa.Table, known_rows: pa.Table
) -> tuple[int | None, tuple[tuple[Integers, Integers], tuple[Integers, Integers]]]:
    """Return stars and days of both tables as numbers from 0; all equal if a table has none."""
    nothing = np.zeros(released_rows.num_rows, np.int64), np.zeros(known_rows.num_rows, np.int64)
    steps, stars, days = None, nothing, nothing
    if "rating" in released_rows.column_names and "rating" in known_rows.column_names:
        steps, stars = _scale_stars(released_rows["rating"], known_rows["rating"])
    if all({DAY, DAYS} & set(each.column_names) for each in (released_rows, known_rows)):
        one, other = combine_days(released_rows), combine_days(known_rows)
        days = one - one.min(), other - one.min()
    return steps, (stars, days)


def _scale_stars(
    released_stars: pa.ChunkedArray, known_stars: pa.ChunkedArray
) -> tuple[int | None, tuple[Integers, Integers]]:
    """Return numbers in units of 1 / `steps_per_star` star; words by index, which match if equal."""
    words = pa.chunked_array([*released_stars.chunks, *known_stars.chunks]).unique()
    amounts = [parse_number(word) for word in words.to_pylist()]
    if any(each is None for each in amounts):
        return None, (_index_values(released_stars, words), _index_values(known_stars, words))
    scale = np.array([float(each) for each in amounts if each is not None])
    steps = next((each for each in STEPS if _is_whole(scale * each)), None)
    if steps is None or not math.isfinite(scale.sum()) or np.ptp(scale) * (steps or 1) >= STARS:
        raise DataError(
            f"attack: ratings must have at most two decimals and span less than {STARS:,} steps.",
            hint="Round them.",
        )
    codes = np.rint((scale - scale.min()) * steps).astype(np.int64)
    return steps, (codes[_index_values(released_stars, words)], codes[_index_values(known_stars, words)])


def _is_whole(amounts: NDArray[np.float64]) -> bool:
    return bool((np.abs(amounts - np.rint(amounts)) < 1e-9).all())
