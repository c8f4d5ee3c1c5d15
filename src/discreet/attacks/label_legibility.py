"""Detection of labels that an attacker cannot read, by their text or by a hierarchy.

A label that cannot be read covers nobody, and an attack that took this for safety would give a false
all-clear. So labels that cannot be read are distinguished from labels that match nobody:

    [20, 24], 2023-05, 130**   legible if a known value is a number, a day, or has a digit respectively
    Higher education           legible if it is a known value, or a label of the column's hierarchy
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
from discreet.attacks.attacker_knowledge import AttackerKnowledge
from discreet.attacks.class_matching import pair_columns
from discreet.attacks.published_table import PublishedTable

NUMBERS, DAYS, DIGITS = "numbers", "days", "digits"


@dataclass(frozen=True, kw_only=True)
class IllegibleColumn:
    """A column of which `find_illegible_columns` of `total` labels cannot be read.

    `kind` is the kind of value that the labels show and that no known value has, if any.
    """

    column: str
    known_column: str
    illegible: int
    total: int
    kind: str | None = None

    @property
    def is_wholly_illegible(self) -> bool:
        """True if no label of the column can be read."""
        return self.illegible == self.total


def find_illegible_columns(
    published: PublishedTable, known: AttackerKnowledge, columns: Mapping[str, str] | None = None
) -> tuple[IllegibleColumn, ...]:
    """Return the shared columns with illegible labels, leaving out columns without any known value."""
    found = []
    for place, other in pair_columns(published, known, columns or {}):
        name = published.columns[place]
        values = {value for value in known.values[other] if value}
        labels = [label for label in published.labels[place] if label not in ("", TOP)]
        named = values | _hierarchy_labels(published.hierarchies.get(name))
        kinds = _value_kinds(values)
        unread = [label for label in labels if label not in named and not _is_readable(label, kinds)]
        if unread and values:
            shown = [_get_reading_kind(reading) for label in unread for reading in parse_readings(label)]
            found.append(
                IllegibleColumn(
                    column=name,
                    known_column=known.columns[other],
                    illegible=len(unread),
                    total=len(labels),
                    kind=shown[0] if shown else None,
                )
            )
    return tuple(found)


def _hierarchy_labels(hierarchy: Hierarchy | None) -> set[str]:
    return set() if hierarchy is None else {label for level in hierarchy.labels for label in level}


def _value_kinds(values: Collection[str]) -> set[str | None]:
    """Return the kinds of the values; masks (None) fit every text."""
    kinds: set[str | None] = {None}
    if any(parse_number(value) is not None for value in values):
        kinds.add(NUMBERS)
    if any(parse_day(value) is not None for value in values):
        kinds.add(DAYS)
    if any(character.isdigit() for value in values for character in value):
        kinds.add(DIGITS)
    return kinds


def _is_readable(label: str, kinds: Collection[str | None]) -> bool:
    return any(_get_reading_kind(reading) in kinds for reading in parse_readings(label))


def _get_reading_kind(reading: Reading) -> str | None:
    """Return the kind of value that a label can be compared with."""
    if isinstance(reading, NumberRange):
        return NUMBERS
    if isinstance(reading, DateRange):
        return DAYS
    return DIGITS if reading.text.isdigit() else None
