"""Full-domain generalization at given levels: the classes and the recoding of a node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.anonymity.classes import Classes, Codes, Tuples
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.models import Model, judge_all
from discreet.anonymity.recoding import Recoding
from discreet.anonymity.search.kernels import added
from discreet.anonymity.search.tables import Occurring, Tables


def classes_of(tuples: Tuples, hierarchies: Sequence[Hierarchy], levels: Sequence[int]) -> Classes:
    """Return the equivalence classes after generalization, with their sensitive counts."""
    return _partitioned(tuples, hierarchies, levels)[0]


def recoding_of(
    tuples: Tuples, hierarchies: Sequence[Hierarchy], levels: Sequence[int], models: Sequence[Model]
) -> Recoding:
    """Return the recoding at given levels; classes that break a model are suppressed."""
    classes, inverse = _partitioned(tuples, hierarchies, levels)
    codes = np.empty_like(tuples.codes)
    for j, (hierarchy, level) in enumerate(zip(hierarchies, levels, strict=True)):
        codes[:, j] = hierarchy.maps[level][tuples.codes[:, j]]
    return Recoding(
        columns=tuple(hierarchy.name for hierarchy in hierarchies),
        labels=tuple(hierarchy.labels[level] for hierarchy, level in zip(hierarchies, levels, strict=True)),
        codes=codes,
        kept=judge_all(classes, models, classes.sizes > 0)[inverse],
        levels=tuple(levels),
    )


def _partitioned(
    tuples: Tuples, hierarchies: Sequence[Hierarchy], levels: Sequence[int]
) -> tuple[Classes, Codes]:
    """Return the classes, and the class of every tuple."""
    sizes, inverse = Tables(Tuples(codes=tuples.codes, counts=tuples.counts), hierarchies).partition(levels)
    occurring = Occurring(tuples.sensitive, inverse, len(sizes))
    people = tuples.population
    classes = Classes(
        sizes=sizes,
        rows=tuples.rows,
        sensitive={name: occurring[name] for name in tuples.sensitive},
        population=None if people is None else added(inverse, people, len(sizes)),
    )
    return classes, inverse
