"""Sparse rating tables: each person rates a few of many titles, with stars and a day.

A table is sorted by title, then by day. All ratings of a title within some days are one slice, found by
bisection, so a known rating touches only ratings that match it. People and titles are numbers from 0; a
person's number is the index of a record, which the release may identify by a pseudonym. A person who rated a
title twice is scored for both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.errors import RequestError, require_parameter
from discreet.core.number_checks import require_count

Integers = NDArray[np.int64]
NOBODY = -1
DAYS = 1 << 20  # more than any calendar has; a day and its title make one sortable number
STARS = 1 << 15


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratings:
    """`person[i]` gave `title[i]` `stars[i]` stars on `day[i]`; records may have `names`.

    The last of `people` may have no rating in the table.
    """

    person: Integers
    title: Integers
    stars: Integers
    day: Integers
    people: int
    titles: int
    names: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        require_count(self, "people", self.people)
        require_count(self, "titles", self.titles)
        _convert_columns(self, ("person", "title", "stars", "day"))
        if not self.person.size:
            raise RequestError("The table of ratings is empty.", hint="Give at least one rating.")
        _require_range(self, "person", 0, self.people)
        _require_range(self, "title", 0, self.titles)
        _require_range(self, "stars", 0, STARS)
        _require_range(self, "day", 0, DAYS)
        named = not self.names or int(self.person.max()) < len(self.names) <= self.people
        require_parameter(named, self, "names", f"{len(self.names)} names", "those of all who rated, or none")

    def name_record(self, record: int) -> str:
        """Return the name of a record, or its number."""
        return self.names[record] if self.names else f"{record}"

    @cached_property
    def support(self) -> Integers:
        """The number of ratings of each title."""
        return np.bincount(self.title, minlength=self.titles)

    @cached_property
    def title_index(self) -> tuple[Integers, NDArray[np.int32], NDArray[np.int16]]:
        """The sort keys, and the person and stars at each position."""
        keys = self.title * DAYS + self.day
        order = np.argsort(keys, kind="stable")
        return keys[order], self.person[order].astype(np.int32), self.stars[order].astype(np.int16)

    def find_ranges(self, title: Integers, day: Integers, days: int | None) -> tuple[Integers, Integers]:
        """Return, for each title and day, the slice of the title index within `days`, or the whole title."""
        keys = self.title_index[0]
        first = title * DAYS + (np.clip(day - days, 0, DAYS) if days is not None else 0)
        last = title * DAYS + (np.clip(day + days, -1, DAYS - 1) if days is not None else DAYS - 1)
        return np.searchsorted(keys, first), np.searchsorted(keys, last, side="right")


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownRatings:
    """An attacker's known ratings: victim `victim[i]` rated `title[i]`.

    `truth` holds each victim's record in the release, or NOBODY for a victim without one; None if unknown.
    `names` are the victims' names, if known.
    """

    victim: Integers
    title: Integers
    stars: Integers
    day: Integers
    truth: Integers | None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _convert_columns(self, ("victim", "title", "stars", "day"))
        if self.truth is not None:
            object.__setattr__(self, "truth", _to_integers(self, "truth", self.truth))
        if not self.victim.size or not self.victim_count:
            raise RequestError("No rating of a victim is known.", hint="Give at least one.")
        _require_range(self, "victim", 0, self.victim_count)
        named = len(self.names) in (0, self.victim_count)
        require_parameter(named, self, "names", f"{len(self.names)} names", "as many as the victims, or none")

    @property
    def victim_count(self) -> int:
        """The number of victims."""
        if self.truth is not None:
            return self.truth.size
        return len(self.names) or int(self.victim.max()) + 1

    def name_victim(self, victim: int) -> str:
        """Return the name of a victim, or a number."""
        return self.names[victim] if self.names else f"victim {victim}"

    @property
    def sizes(self) -> Integers:
        """The number of known ratings of each victim."""
        return np.bincount(self.victim, minlength=self.victim_count)


def _convert_columns(owner: object, names: tuple[str, ...]) -> None:
    for name in names:
        object.__setattr__(owner, name, _to_integers(owner, name, getattr(owner, name)))
    lengths = {name: getattr(owner, name).size for name in names}
    require_parameter(
        len(set(lengths.values())) == 1, owner, names[0], lengths, "a column as long as the others"
    )


def _to_integers(owner: object, name: str, values: ArrayLike) -> Integers:
    column = np.asarray(values)
    kind = column.dtype.kind if column.size else "i"
    require_parameter(
        column.ndim == 1 and kind in "iu", owner, name, f"{column.dtype}", "one column of integers"
    )
    return column.astype(np.int64, copy=False)


def _require_range(owner: object, name: str, low: int, high: int) -> None:
    column = getattr(owner, name)
    holds = bool(((column >= low) & (column < high)).all())
    require_parameter(holds, owner, name, "others", f"numbers from {low} to {high - 1}")
