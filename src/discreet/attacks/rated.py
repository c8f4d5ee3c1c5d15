"""Ratings and what is known of some, read from two tables of an engine: both get the same numbers.

Release     a row says that a record (a pseudonym) rated a title; how, and when, where there are such columns.
Register    a row says what is known of a victim's rating, in the same words. A column that either table lacks
            is not compared. `truth` is the victims' record, for scoring: who has none there, or one that the
            release does not have, is a stranger.
Ratings     numbers keep their distances, in steps of 1, 1/2, 1/10 or 1/100; words are equal or not.
Days        of dates and times the day; or whole numbers that count days.

Rows of which something is missing that is compared are left out, and so are titles that the release lacks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from discreet.anonymity.hierarchies.labels import number
from discreet.attacks.counting import require_columns
from discreet.attacks.known import nobody_has
from discreet.attacks.ratings import NOBODY, STARS, Integers, Overheard, Ratings
from discreet.core.engine import Publisher
from discreet.core.errors import DataError, RequestError

STEPS = (1, 2, 10, 100)
EPOCH = "1970-01-01"


@dataclass(frozen=True, kw_only=True)
class Rated:
    """A table and what its columns are; of a register `person` is who is known, and `truth` their record."""

    table: str
    title: str
    person: str | None = None
    rating: str | None = None
    date: str | None = None
    truth: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Heard:
    """Ratings, what is known of some of them, how many `steps` one star has, and what was left out."""

    released: Ratings
    known: Overheard
    steps: int | None
    rows_left_out: int
    known_left_out: int


def read(engine: Publisher, release: Rated, register: Rated, where: dict[str, str] | None = None) -> Heard:
    """Both tables under shared numbers; `where` keeps the rows of the register that read so."""
    shown, rows = _rows(engine, release)
    told, lines = _rows(engine, register, where or {})
    if not shown.num_rows:
        raise DataError(f"attack: {release.table} has no rating that is whole.", hint=_READABLE)
    if where and not lines:
        raise nobody_has(register.table, where)
    if not told.num_rows:
        raise DataError(f"attack: {register.table} tells of no rating that is whole.", hint=_READABLE)
    titles = shown["title"].unique()
    told = told.filter(pc.is_in(told["title"], titles))
    if not told.num_rows:
        raise RequestError(
            f"attack: no title of {register.table} is one of {release.table}.",
            hint="Write titles alike in both, or name the column with --title.",
        )
    steps, ((stars, heard), (day, when)) = _scaled(shown, told)
    records = shown["person"].unique()
    released = Ratings(
        person=_places(shown["person"], records),
        title=_places(shown["title"], titles),
        stars=stars,
        day=day,
        people=len(records),
        titles=len(titles),
        names=tuple(records.to_pylist()),
    )
    victims = told["person"].unique()
    victim = _places(told["person"], victims)
    known = Overheard(
        victim=victim,
        title=_places(told["title"], titles),
        stars=heard,
        day=when,
        truth=None if register.truth is None else _truth(told, victim, records, register),
        names=tuple(victims.to_pylist()),
    )
    return Heard(
        released=released,
        known=known,
        steps=steps,
        rows_left_out=rows - shown.num_rows,
        known_left_out=lines - told.num_rows,
    )


_READABLE = "Titles, ratings and dates must be there; dates are written 2005-12-31."


def _rows(engine: Publisher, rated: Rated, where: dict[str, str] | None = None) -> tuple[pa.Table, int]:
    """The rows that are whole, and how many there are; who is not named is one person."""
    wanted = [rated.person, rated.title, rated.rating, rated.date, rated.truth]
    require_columns(engine, rated.table, [*(name for name in wanted if name is not None), *(where or {})])
    columns = {
        "person": exp.Literal.string("the victim") if rated.person is None else _text(rated.person),
        "title": _text(rated.title),
    }
    columns |= {} if rated.rating is None else {"rating": _text(rated.rating)}
    columns |= {} if rated.date is None else {"day": _day(rated.date)}
    whole = list(columns)
    columns |= {} if rated.truth is None else {"truth": _text(rated.truth)}
    select = exp.select(*(each.as_(name) for name, each in columns.items()))
    select = select.from_(exp.to_identifier(rated.table, quoted=True))
    for name, value in (where or {}).items():
        select = select.where(_text(name).eq(exp.Literal.string(value)))
    found = engine.count(select.sql(dialect="duckdb")).secret
    return found.drop_null() if whole == list(columns) else _whole(found, whole), found.num_rows


def _whole(found: pa.Table, columns: Sequence[str]) -> pa.Table:
    kept = pc.is_valid(found[columns[0]])
    for name in columns[1:]:
        kept = pc.and_(kept, pc.is_valid(found[name]))
    return found.filter(kept)


def _text(name: str) -> exp.Expr:
    """A column as text; an empty one says nothing."""
    return exp.func("nullif", exp.cast(exp.column(name, quoted=True), "text"), exp.Literal.string(""))


def _day(name: str) -> exp.Expr:
    """Days since 1970, from a date or a time; or a number of days as it is."""
    text = exp.cast(exp.column(name, quoted=True), "text")
    time = exp.TryCast(this=text, to=exp.DataType.build("timestamp"))
    since = exp.Anonymous(
        this="date_diff",
        expressions=[exp.Literal.string("day"), exp.cast(exp.Literal.string(EPOCH), "timestamp"), time],
    )
    return exp.func("coalesce", since, exp.TryCast(this=text.copy(), to=exp.DataType.build("bigint")))


def _places(column: pa.ChunkedArray, values: pa.Array) -> Integers:
    found = pc.index_in(column.combine_chunks(), value_set=values)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)


def _truth(told: pa.Table, victim: Integers, records: pa.Array, register: Rated) -> Integers:
    """The record of each victim, or NOBODY."""
    at = pc.index_in(told["truth"].combine_chunks(), value_set=records).fill_null(NOBODY)
    record = np.asarray(at.to_numpy(zero_copy_only=False), np.int64)
    truth = np.full(int(victim.max()) + 1, NOBODY)
    np.maximum.at(truth, victim, record)
    if (truth[victim] != record).any():
        raise DataError(
            f"attack: {register.table} gives somebody several {register.truth}.",
            hint="Every person that is known has one record, or none.",
        )
    return truth


def _scaled(
    shown: pa.Table, told: pa.Table
) -> tuple[int | None, tuple[tuple[Integers, Integers], tuple[Integers, Integers]]]:
    """Stars and days of both as numbers from 0; where a side has none, all are the same."""
    nothing = np.zeros(shown.num_rows, np.int64), np.zeros(told.num_rows, np.int64)
    steps, stars, days = None, nothing, nothing
    if "rating" in shown.column_names and "rating" in told.column_names:
        steps, stars = _stars(shown["rating"], told["rating"])
    if "day" in shown.column_names and "day" in told.column_names:
        one, other = (np.asarray(each["day"].to_numpy(), np.int64) for each in (shown, told))
        days = one - one.min(), other - one.min()
    return steps, (stars, days)


def _stars(shown: pa.ChunkedArray, told: pa.ChunkedArray) -> tuple[int | None, tuple[Integers, Integers]]:
    """Numbers in steps of which a star has `steps`; words by their place, of which only equal ones fit."""
    words = pa.chunked_array([*shown.chunks, *told.chunks]).unique()
    amounts = [number(word) for word in words.to_pylist()]
    if any(each is None for each in amounts):
        return None, (_places(shown, words), _places(told, words))
    scale = np.array([float(each) for each in amounts if each is not None])
    steps = next((each for each in STEPS if _is_whole(scale * each)), None)
    if steps is None or not math.isfinite(scale.sum()) or np.ptp(scale) * (steps or 1) >= STARS:
        raise DataError(
            "attack: ratings must be numbers with two decimals at most, and not far apart.",
            hint="Round them.",
        )
    codes = np.rint((scale - scale.min()) * steps).astype(np.int64)
    return steps, (codes[_places(shown, words)], codes[_places(told, words)])


def _is_whole(amounts: NDArray[np.float64]) -> bool:
    return bool((np.abs(amounts - np.rint(amounts)) < 1e-9).all())
