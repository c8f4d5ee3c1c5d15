"""Tables in which each person says something of a few of many things: who rated what, how, and when.

A table is held as one sorted column: by title, then by day. All ratings of a title within some days are one
slice of it, found by bisection, so that a rating that an attacker knows of touches no rating that does not
fit it. People and titles are numbers from 0; a person's number is the place of a record, which the release
may call by a pseudonym. Someone who rated a title twice is scored for both.
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
    """`person[i]` gave `title[i]` so many `stars[i]` on `day[i]`; records may have `names`.

    Of `people` the last may have none: those of whom no rating is in the table.
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
        _columns(self, ("person", "title", "stars", "day"))
        if not self.person.size:
            raise RequestError("The table of ratings is empty.", hint="Give at least one rating.")
        _within(self, "person", 0, self.people)
        _within(self, "title", 0, self.titles)
        _within(self, "stars", 0, STARS)
        _within(self, "day", 0, DAYS)
        named = not self.names or int(self.person.max()) < len(self.names) <= self.people
        require_parameter(named, self, "names", f"{len(self.names)} names", "those of all who rated, or none")

    def name(self, record: int) -> str:
        return self.names[record] if self.names else f"{record}"

    @cached_property
    def support(self) -> Integers:
        """How many ratings each title has."""
        return np.bincount(self.title, minlength=self.titles)

    @cached_property
    def by_title(self) -> tuple[Integers, NDArray[np.int32], NDArray[np.int16]]:
        """The sorted keys, and the person and the stars that stand there."""
        keys = self.title * DAYS + self.day
        order = np.argsort(keys, kind="stable")
        return keys[order], self.person[order].astype(np.int32), self.stars[order].astype(np.int16)

    @cached_property
    def by_person(self) -> tuple[Integers, Integers]:
        """Where each person's ratings start, and their places in the columns."""
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.person, minlength=self.people))])
        return starts, np.argsort(self.person, kind="stable")

    def within(self, title: Integers, day: Integers, days: int | None) -> tuple[Integers, Integers]:
        """For each title and day: the slice of `by_title` no more than `days` away, or all of the title."""
        keys = self.by_title[0]
        first = title * DAYS + (np.clip(day - days, 0, DAYS) if days is not None else 0)
        last = title * DAYS + (np.clip(day + days, -1, DAYS - 1) if days is not None else DAYS - 1)
        return np.searchsorted(keys, first), np.searchsorted(keys, last, side="right")


@dataclass(frozen=True, kw_only=True, eq=False)
class Overheard:
    """What an attacker knows of some people's ratings: `victim[i]` of them said this of `title[i]`.

    `truth` holds each victim's record in the release, or NOBODY for one who is not in it; None where nobody
    knows. `names` are the victims', where they have some.
    """

    victim: Integers
    title: Integers
    stars: Integers
    day: Integers
    truth: Integers | None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _columns(self, ("victim", "title", "stars", "day"))
        if self.truth is not None:
            object.__setattr__(self, "truth", _whole(self, "truth", self.truth))
        if not self.victim.size or not self.victims:
            raise RequestError("Nothing is known of anybody.", hint="Give at least one rating of a victim.")
        _within(self, "victim", 0, self.victims)
        named = len(self.names) in (0, self.victims)
        require_parameter(named, self, "names", f"{len(self.names)} names", "as many as the victims, or none")

    @property
    def victims(self) -> int:
        if self.truth is not None:
            return self.truth.size
        return len(self.names) or int(self.victim.max()) + 1

    def name(self, victim: int) -> str:
        return self.names[victim] if self.names else f"victim {victim}"

    @property
    def sizes(self) -> Integers:
        """How many ratings are known of each victim."""
        return np.bincount(self.victim, minlength=self.victims)


def _columns(owner: object, names: tuple[str, ...]) -> None:
    for name in names:
        object.__setattr__(owner, name, _whole(owner, name, getattr(owner, name)))
    lengths = {name: getattr(owner, name).size for name in names}
    require_parameter(
        len(set(lengths.values())) == 1, owner, names[0], lengths, "a column as long as the others"
    )


def _whole(owner: object, name: str, values: ArrayLike) -> Integers:
    column = np.asarray(values)
    kind = column.dtype.kind if column.size else "i"
    require_parameter(
        column.ndim == 1 and kind in "iu", owner, name, f"{column.dtype}", "one column of integers"
    )
    return column.astype(np.int64, copy=False)


def _within(owner: object, name: str, low: int, high: int) -> None:
    column = getattr(owner, name)
    holds = bool(((column >= low) & (column < high)).all())
    require_parameter(holds, owner, name, "others", f"numbers from {low} to {high - 1}")
