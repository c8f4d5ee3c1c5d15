"""A published table as its reader has it: classes, what they show, how large they are, what is in them.

From a file     the engine groups the rows of a release by what they show.
From a recoding before anything is written: the same classes, from the tuples that would be published.

Labels are read by their text, and by the hierarchies that a reader is taken to have: those of a custodian's
certificate, or none. A reader sees what is published and no more, so the totals of a sensitive column are
those of the rows that are shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from discreet.anonymity.equivalence_classes import EquivalenceClasses, SensitiveCounts, Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.recoding import Recoding
from discreet.anonymity.tuple_grouping import group_by_recoding
from discreet.attacks.counting import Values, counted
from discreet.core.engine import Publisher
from discreet.core.errors import DataError, RequestError


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedTable:
    """Class i shows `labels[j][classes.codes[i, j]]` in column j, in `classes.counts[i]` rows.

    Where `person` names a column, people are counted and not rows.
    """

    columns: tuple[str, ...]
    labels: Values
    classes: Tuples
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    person: str | None = None

    @property
    def rows(self) -> int:
        return self.classes.rows

    @property
    def as_classes(self) -> EquivalenceClasses:
        """What models and risks are computed from."""
        return EquivalenceClasses(sizes=self.classes.counts, rows=self.rows, sensitive=self.classes.sensitive)

    def shown(self, place: int) -> tuple[str, ...]:
        """The labels of a class."""
        codes = self.classes.codes[place].tolist()
        return tuple(labels[code] for labels, code in zip(self.labels, codes, strict=True))


def from_release(
    engine: Publisher,
    table: str,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    hierarchies: Mapping[str, Hierarchy] | None = None,
    person: str | None = None,
) -> PublishedTable:
    """The classes of a release that the engine holds under a name; of people, where it names the `person`."""
    both = [name for name in quasi if name in sensitive]
    if not quasi or both:
        raise RequestError(
            f"attack: {both[0]} cannot be known and sensitive at once."
            if both
            else "attack: no column of the release is said to be known to an attacker.",
            hint="Name the quasi-identifiers, and beside them the sensitive columns.",
        )
    labels, classes = counted(engine, table, quasi, sensitive, person=person)
    if not len(classes):
        raise DataError(f"attack: the release {table} is empty.", hint="Give a table with rows.")
    return PublishedTable(
        columns=tuple(quasi),
        labels=labels,
        classes=classes,
        hierarchies=dict(hierarchies or {}),
        person=person,
    )


def from_recoding(
    tuples: Tuples, recoding: Recoding, hierarchies: Sequence[Hierarchy], person: str | None = None
) -> PublishedTable:
    """The classes that a recoding would publish; of people, where tuples count those."""
    classes, ids = group_by_recoding(tuples, recoding)
    if not len(classes):
        raise DataError("attack: the recoding publishes nothing.", hint="Ask for less, or suppress less.")
    inside = np.flatnonzero(ids >= 0)[::-1]
    firsts = np.empty(len(classes), np.int64)
    firsts[ids[inside]] = inside
    return PublishedTable(
        columns=recoding.columns,
        labels=recoding.labels,
        classes=Tuples(
            codes=recoding.codes[firsts],
            counts=classes.sizes,
            sensitive={name: _as_shown(column) for name, column in classes.sensitive.items()},
        ),
        hierarchies=dict(zip(recoding.columns, hierarchies, strict=True)),
        person=person,
    )


def _as_shown(column: SensitiveCounts) -> SensitiveCounts:
    totals = np.bincount(column.values, column.counts, len(column.names)).astype(np.int64)
    return replace(column, totals=totals)
