"""Full-domain generalization at given levels: the classes and the recoding of a node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.anonymity.equivalence_classes import Codes, EquivalenceClasses, Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.models import Model, judge_all
from discreet.anonymity.recoding import Recoding
from discreet.anonymity.search.grouping_kernels import sum_by_group
from discreet.anonymity.search.node_tables import LazySensitiveCounts, NodeTables


def group_at_levels(
    tuples: Tuples, hierarchies: Sequence[Hierarchy], levels: Sequence[int]
) -> EquivalenceClasses:
    """Return the equivalence classes after generalization, with their sensitive counts."""
    return _partition_tuples(tuples, hierarchies, levels)[0]


def recode_at_levels(
    tuples: Tuples, hierarchies: Sequence[Hierarchy], levels: Sequence[int], models: Sequence[Model]
) -> Recoding:
    """Return the recoding at given levels; classes that break a model are suppressed."""
    classes, inverse = _partition_tuples(tuples, hierarchies, levels)
    codes = np.empty_like(tuples.codes)
    for j, (hierarchy, level) in enumerate(zip(hierarchies, levels, strict=True)):
        codes[:, j] = hierarchy.maps[level][tuples.codes[:, j]]
    return Recoding(
        columns=tuple(hierarchy.name for hierarchy in hierarchies),
        labels=tuple(hierarchy.labels[level] for hierarchy, level in zip(hierarchies, levels, strict=True)),
        codes=codes,
        published=judge_all(classes, models, classes.sizes > 0)[inverse],
        levels=tuple(levels),
    )


def _partition_tuples(
    tuples: Tuples, hierarchies: Sequence[Hierarchy], levels: Sequence[int]
) -> tuple[EquivalenceClasses, Codes]:
    """Return the classes, and the class of every tuple."""
    sizes, inverse = NodeTables(Tuples(codes=tuples.codes, counts=tuples.counts), hierarchies).partition(
        levels
    )
    occurring = LazySensitiveCounts(tuples.sensitive, inverse, len(sizes))
    people = tuples.population
    classes = EquivalenceClasses(
        sizes=sizes,
        rows=tuples.rows,
        sensitive={name: occurring[name] for name in tuples.sensitive},
        population=None if people is None else sum_by_group(inverse, people, len(sizes)),
    )
    return classes, inverse
