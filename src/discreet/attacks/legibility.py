"""Which labels of a release an attacker can read: by themselves or by a hierarchy they say whom they cover.

A label that cannot be read covers nobody, and an attack that takes this for safety gives a false all-clear.
So what cannot be read is told apart from what fits nobody:

    [20, 24], 2023-05, 130**   legible where a known value is a number, a day, or has a digit as they have
    Higher education           legible where it is a known value, or a label of the column's hierarchy
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from discreet.anonymity.hierarchies.date_periods import parse_day
from discreet.anonymity.hierarchies.generalization_hierarchy import TOP, Hierarchy
from discreet.anonymity.hierarchies.label_parsing import (
    DateRange,
    NumberRange,
    Reading,
    parse_number,
    parse_readings,
)
from discreet.attacks.known import Known
from discreet.attacks.matching import pairs
from discreet.attacks.published import PublishedTable

NUMBERS, DAYS, DIGITS = "numbers", "days", "digits"


@dataclass(frozen=True, kw_only=True)
class Illegible:
    """`unread` of the `labels` of a column cannot be read; all that is known lacks the `kind` they show."""

    column: str
    called: str
    unread: int
    labels: int
    kind: str | None = None

    @property
    def wholly(self) -> bool:
        return self.unread == self.labels


def illegible(
    published: PublishedTable, known: Known, columns: Mapping[str, str] | None = None
) -> tuple[Illegible, ...]:
    """The shared columns with labels that cannot be read; columns of which nothing is known are none."""
    found = []
    for place, other in pairs(published, known, columns or {}):
        name = published.columns[place]
        values = {value for value in known.values[other] if value}
        labels = [label for label in published.labels[place] if label not in ("", TOP)]
        named = values | _named(published.hierarchies.get(name))
        kinds = _kinds(values)
        unread = [label for label in labels if label not in named and not _read(label, kinds)]
        if unread and values:
            shown = [_kind(reading) for label in unread for reading in parse_readings(label)]
            found.append(
                Illegible(
                    column=name,
                    called=known.columns[other],
                    unread=len(unread),
                    labels=len(labels),
                    kind=shown[0] if shown else None,
                )
            )
    return tuple(found)


def _named(hierarchy: Hierarchy | None) -> set[str]:
    return set() if hierarchy is None else {label for level in hierarchy.labels for label in level}


def _kinds(values: Collection[str]) -> set[str | None]:
    """The kinds of which some value is; every text has characters to be masked."""
    kinds: set[str | None] = {None}
    if any(parse_number(value) is not None for value in values):
        kinds.add(NUMBERS)
    if any(parse_day(value) is not None for value in values):
        kinds.add(DAYS)
    if any(character.isdigit() for value in values for character in value):
        kinds.add(DIGITS)
    return kinds


def _read(label: str, kinds: Collection[str | None]) -> bool:
    return any(_kind(reading) in kinds for reading in parse_readings(label))


def _kind(reading: Reading) -> str | None:
    """What values must have to be compared with a label."""
    if isinstance(reading, NumberRange):
        return NUMBERS
    if isinstance(reading, DateRange):
        return DAYS
    return DIGITS if reading.text.isdigit() else None
