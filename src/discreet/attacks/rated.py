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
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from discreet.anonymity.hierarchies.label_parsing import parse_number
from discreet.attacks.columns import DAY, DAYS, days_in, days_of, text_in
from discreet.attacks.counting import require_columns
from discreet.attacks.known import nobody_has
from discreet.attacks.ratings import NOBODY, STARS, Integers, Overheard, Ratings
from discreet.core.engine import Publisher
from discreet.core.errors import DataError, RequestError

STEPS = (1, 2, 10, 100)
TITLES, RECORDS = "_discreet_titles", "_discreet_records"
READABLE = "Titles, ratings and dates must not be missing; write dates as 2005-12-31."


@dataclass(frozen=True, kw_only=True)
class Rated:
    """A table and the roles of its columns; in a register, `person` is the victim and `truth` the record."""

    table: str
    title: str
    person: str | None = None
    rating: str | None = None
    date: str | None = None
    truth: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Heard:
    """Ratings, known ratings of victims, the number of `steps` per star, and the rows that were left out."""

    released: Ratings
    known: Overheard
    steps: int | None
    rows_left_out: int
    known_left_out: int


def read(engine: Publisher, release: Rated, register: Rated, where: dict[str, str] | None = None) -> Heard:
    """Read both tables under shared codes; `where` keeps the register's rows with the given values."""
    shown, told = _Rows.of(engine, release), _Rows.of(engine, register, where or {})
    rows, whole, people = shown.counted(engine)
    if not whole:
        raise DataError(f"attack: {release.table} has no complete rating.", hint=READABLE)
    lines, kept, _ = told.counted(engine)
    if where and not lines:
        raise nobody_has(register.table, where)
    if not kept:
        raise DataError(f"attack: {register.table} has no complete rating.", hint=READABLE)
    known = told.all(engine)
    titles = _in_order(known["title"])
    given = shown.about(engine, titles)
    known = known.filter(pc.is_in(known["title"], titles.take(given["place"].unique())))
    if not known.num_rows:
        raise RequestError(
            f"attack: {register.table} and {release.table} have no title in common.",
            hint="Spell titles the same way in both, or name the column with --title.",
        )
    records = _in_order(given["person"], *(() if register.truth is None else shown.found(engine, known)))
    steps, ((stars, heard), (day, when)) = _scaled(given, known)
    return Heard(
        released=_released(given, records, stars, day, people=people, titles=len(titles)),
        known=_overheard(known, titles, records, heard, when, register),
        steps=steps,
        rows_left_out=rows - whole,
        known_left_out=lines - known.num_rows,
    )


def _released(
    given: pa.Table, records: pa.Array, stars: Integers, day: Integers, *, people: int, titles: int
) -> Ratings:
    """Return the release's ratings, sorted; records without a rating of a known title have no name."""
    person, title = _places(given["person"], records), np.asarray(given["place"].to_numpy(), np.int64)
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


def _overheard(
    known: pa.Table, titles: pa.Array, records: pa.Array, stars: Integers, day: Integers, register: Rated
) -> Overheard:
    victims = _in_order(known["person"])
    victim, title = _places(known["person"], victims), _places(known["title"], titles)
    order = np.lexsort((stars, day, title, victim))
    return Overheard(
        victim=victim[order],
        title=title[order],
        stars=stars[order],
        day=day[order],
        truth=None if register.truth is None else _truth(known, victim, records, register),
        names=tuple(victims.to_pylist()),
    )


# -- Statements for the engine -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """The rows of a table as SQL, with `person`, `title` and the other compared columns."""

    text: str
    columns: tuple[str, ...]

    @staticmethod
    def of(engine: Publisher, rated: Rated, where: dict[str, str] | None = None) -> _Rows:
        """Return the rows of a table; without a person column they belong to one victim."""
        wanted = [rated.person, rated.title, rated.rating, rated.date, rated.truth]
        require_columns(engine, rated.table, [*(name for name in wanted if name is not None), *(where or {})])
        columns = {
            "person": exp.Literal.string("the victim") if rated.person is None else text_in(rated.person),
            "title": text_in(rated.title),
        }
        columns |= {} if rated.rating is None else {"rating": text_in(rated.rating)}
        columns |= (
            {} if rated.date is None else days_in(rated.date, engine.column_types(rated.table)[rated.date])
        )
        columns |= {} if rated.truth is None else {"truth": text_in(rated.truth)}
        select = exp.select(*(each.as_(name) for name, each in columns.items()))
        select = select.from_(exp.to_identifier(rated.table, quoted=True))
        for name, value in (where or {}).items():
            select = select.where(text_in(name).eq(exp.Literal.string(value)))
        return _Rows(text=f"({select.sql(dialect='duckdb')}) AS r", columns=tuple(columns))

    @property
    def whole(self) -> str:
        """The SQL condition that no compared value is missing; a day may be a date or a number."""
        needed = [name for name in self.columns if name not in (DAY, DAYS, "truth")]
        days = [f"r.{name} IS NOT NULL" for name in (DAY, DAYS) if name in self.columns]
        parts = [*(f"r.{name} IS NOT NULL" for name in needed), *([f"({' OR '.join(days)})"] if days else [])]
        return " AND ".join(parts)

    def counted(self, engine: Publisher) -> tuple[int, int, int]:
        """Return the numbers of rows, of complete rows, and of people with complete rows."""
        (row,) = engine.count(
            f"SELECT COUNT(*) AS n, COUNT(CASE WHEN {self.whole} THEN 1 END) AS kept, "
            f"COUNT(DISTINCT CASE WHEN {self.whole} THEN r.person END) AS people FROM {self.text}"
        ).secret.to_pylist()
        return int(row["n"]), int(row["kept"]), int(row["people"])

    def all(self, engine: Publisher) -> pa.Table:
        """Return the complete rows."""
        columns = ", ".join(f"r.{name} AS {name}" for name in self.columns)
        return engine.count(f"SELECT {columns} FROM {self.text} WHERE {self.whole}").secret

    def about(self, engine: Publisher, titles: pa.Array) -> pa.Table:
        """Return the complete rows about some titles, each given by its index among them."""
        columns = ", ".join(f"r.{name} AS {name}" for name in self.columns if name != "title")
        return engine.count(
            f"SELECT t.place AS place, {columns} FROM {self.text} "
            f"JOIN {TITLES} AS t ON t.title = r.title WHERE {self.whole}",
            {TITLES: pa.table({"title": titles, "place": np.arange(len(titles))})},
        ).secret

    def found(self, engine: Publisher, known: pa.Table) -> Iterator[pa.ChunkedArray]:
        """Yield the true records of victims that the release has."""
        records = _in_order(known["truth"])
        if len(records):
            yield engine.count(
                f"SELECT DISTINCT r.person AS person FROM {self.text} "
                f"JOIN {RECORDS} AS t ON t.person = r.person WHERE {self.whole}",
                {RECORDS: pa.table({"person": records})},
            ).secret["person"]


# -- Numbers ------------------------------------------------------------------------------------------------


def _in_order(*columns: pa.ChunkedArray) -> pa.Array:
    """Return the distinct texts of columns, sorted."""
    chunks = [chunk for column in columns for chunk in column.cast(pa.string()).chunks]
    values = pa.chunked_array(chunks, pa.string()).drop_null().unique()
    return values.take(pc.sort_indices(values))


def _places(column: pa.ChunkedArray, values: pa.Array) -> Integers:
    found = pc.index_in(column.combine_chunks(), value_set=values)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)


def _truth(told: pa.Table, victim: Integers, records: pa.Array, register: Rated) -> Integers:
    """Return the record of each victim, or NOBODY."""
    at = pc.index_in(told["truth"].combine_chunks(), value_set=records).fill_null(NOBODY)
    record = np.asarray(at.to_numpy(zero_copy_only=False), np.int64)
    truth = np.full(int(victim.max()) + 1, NOBODY)
    np.maximum.at(truth, victim, record)
    if (truth[victim] != record).any():
        raise DataError(
            f"attack: {register.table} gives one person several values of {register.truth}.",
            hint="Give each person one record, or none.",
        )
    return truth


def _scaled(
    shown: pa.Table, told: pa.Table
) -> tuple[int | None, tuple[tuple[Integers, Integers], tuple[Integers, Integers]]]:
    """Return stars and days of both tables as numbers from 0; all equal if a table has none."""
    nothing = np.zeros(shown.num_rows, np.int64), np.zeros(told.num_rows, np.int64)
    steps, stars, days = None, nothing, nothing
    if "rating" in shown.column_names and "rating" in told.column_names:
        steps, stars = _stars(shown["rating"], told["rating"])
    if all({DAY, DAYS} & set(each.column_names) for each in (shown, told)):
        one, other = days_of(shown), days_of(told)
        days = one - one.min(), other - one.min()
    return steps, (stars, days)


def _stars(shown: pa.ChunkedArray, told: pa.ChunkedArray) -> tuple[int | None, tuple[Integers, Integers]]:
    """Return numbers in units of 1 / `steps` star; words by index, of which only equal ones match."""
    words = pa.chunked_array([*shown.chunks, *told.chunks]).unique()
    amounts = [parse_number(word) for word in words.to_pylist()]
    if any(each is None for each in amounts):
        return None, (_places(shown, words), _places(told, words))
    scale = np.array([float(each) for each in amounts if each is not None])
    steps = next((each for each in STEPS if _is_whole(scale * each)), None)
    if steps is None or not math.isfinite(scale.sum()) or np.ptp(scale) * (steps or 1) >= STARS:
        raise DataError(
            f"attack: ratings must have at most two decimals and span less than {STARS:,} steps.",
            hint="Round them.",
        )
    codes = np.rint((scale - scale.min()) * steps).astype(np.int64)
    return steps, (codes[_places(shown, words)], codes[_places(told, words)])


def _is_whole(amounts: NDArray[np.float64]) -> bool:
    return bool((np.abs(amounts - np.rint(amounts)) < 1e-9).all())
