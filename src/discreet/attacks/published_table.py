"""A published table as its reader sees it: equivalence classes, their labels, sizes and sensitive values.

From a file     the engine groups the rows of a release by their labels.
From a recoding before anything is written: the same classes, from the tuples that would be published.

Labels are read by their text, and by the hierarchies that a reader is assumed to have: those of a custodian's
certificate, or none. A reader sees only what is published, so the totals of a sensitive column count
published rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from discreet.anonymity.equivalence_classes import EquivalenceClasses, SensitiveCounts, Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.recoding import Recoding, group_by_recoding
from discreet.attacks.engine_tables import Values, count_distinct_tuples
from discreet.core.engine import Publisher
from discreet.core.errors import DataError, RequestError


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedTable:
    """Class i has the labels `labels[j][classes.codes[i, j]]` in column j, and `classes.counts[i]` rows.

    If `person` names a column, counts are of people instead of rows.
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
    def equivalence_classes(self) -> EquivalenceClasses:
        """The equivalence classes from which privacy models and risks are computed."""
        return EquivalenceClasses(sizes=self.classes.counts, rows=self.rows, sensitive=self.classes.sensitive)


def read_release(
    engine: Publisher,
    table: str,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    hierarchies: Mapping[str, Hierarchy] | None = None,
    person: str | None = None,
) -> PublishedTable:
    """Read the classes of a release from the engine; counts are of people if `person` is given."""
    both = [name for name in quasi if name in sensitive]
    if not quasi or both:
        raise RequestError(
            f"attack: {both[0]} is named both as a quasi-identifier and as sensitive."
            if both
            else "attack: no column of the release is named as a quasi-identifier.",
            hint="Name quasi-identifiers, and different columns as sensitive.",
        )
    labels, classes = count_distinct_tuples(engine, table, quasi, sensitive, person=person)
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
    """Return the classes that a recoding would publish; counts are of people if the tuples' are."""
    classes, ids = group_by_recoding(tuples, recoding)
    if not len(classes):
        raise DataError(
            "attack: the recoding publishes nothing.", hint="Weaken the privacy models, or suppress less."
        )
    inside = np.flatnonzero(ids >= 0)[::-1]
    firsts = np.empty(len(classes), np.int64)
    firsts[ids[inside]] = inside
    return PublishedTable(
        columns=recoding.columns,
        labels=recoding.labels,
        classes=Tuples(
            codes=recoding.codes[firsts],
            counts=classes.sizes,
            sensitive={name: _recount_totals(column) for name, column in classes.sensitive.items()},
        ),
        hierarchies=dict(zip(recoding.columns, hierarchies, strict=True)),
        person=person,
    )


def _recount_totals(column: SensitiveCounts) -> SensitiveCounts:
    """Return a sensitive column with totals over the published rows."""
    totals = np.bincount(column.values, column.counts, len(column.names)).astype(np.int64)
    return replace(column, totals=totals)
