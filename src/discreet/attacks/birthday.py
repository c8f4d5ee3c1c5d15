"""Birthday attack: an update moves one person to another class, and the two releases differ by that person.

Knows       everybody's quasi-identifiers at both releases, such as dates of birth, so who changed class; and
            that sensitive values did not change.
Learns      the values of people who joined a class that nobody left: the values that it gained. And of people
            who left a class that nobody joined: the values that it lost. A person who moves alone is
            identified with certainty, however diverse the two classes are.
Score       the share of people who moved whose most probable value is right; the baseline is the better of
            the two releases alone.
Stopped by  m-invariance over the chain of releases; differential privacy. Not by any model of a single
            release.

Only classes whose labels overlap with no other are compared, because only their members are known.

[XT07]      Xiao & Tao, m-Invariance: towards privacy preserving re-publication, SIGMOD 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from discreet.anonymity.equivalence_classes import Integers
from discreet.attacks.findings import Findings
from discreet.attacks.intersection import TwoReleases, combine_releases
from discreet.attacks.match_sets import MatchSets, Matrix

NO_CLASS = -1


@dataclass(frozen=True, kw_only=True)
class Birthday:
    """Inference from the values by which a class changed, about the people who joined or left it."""

    column: str

    name: ClassVar[str] = "birthday"
    knows: ClassVar[str] = "who changed class between two releases of the same people"
    learns: ClassVar[str] = "the sensitive value of who came or went, from the difference of a class"
    stopped_by: ClassVar[str] = "m-invariance, or differential privacy over all releases together"

    def run(self, first: MatchSets, second: MatchSets) -> Findings:
        """Guess the value of everybody who changed class."""
        both = TwoReleases(first=first, second=second, column=self.column)
        classes = both.number_classes()
        was, now = _find_sole_classes(first), _find_sole_classes(second, classes)
        moved, gone, come = _find_movers(both, was, now)
        before, after = _count_values_by_class(both, classes)
        left = csr_array(both.counts[0].minimum(both.counts[1]))
        here, there = was[both.sets[0]], now[both.sets[1]]
        left = _cap_by_class_change(
            left, csr_array(after - before), np.where(moved & (gone[there] == 0), there, NO_CLASS)
        )
        left = _cap_by_class_change(
            left, csr_array(before - after), np.where(moved & (come[here] == 0), here, NO_CLASS)
        )
        return combine_releases(self, both, left, np.flatnonzero(moved & (np.diff(left.indptr) > 0)))


def _find_sole_classes(sets: MatchSets, classes: Integers | None = None) -> Integers:
    """Return the class of each match set that is a single class of no other set; -1 for the rest."""
    shared = np.bincount(sets.members, minlength=len(sets.published.classes))
    heads = sets.members[sets.starts[:-1]]
    single = (np.diff(sets.starts) == 1) & (shared[heads] == 1)
    return np.where(single, heads if classes is None else classes[heads], NO_CLASS)


def _find_movers(
    both: TwoReleases, earlier_classes: Integers, later_classes: Integers
) -> tuple[NDArray[np.bool_], Integers, Integers]:
    """Return which set pairs hold people who changed class, and how many left and joined each class."""
    people, number = both.first.known.tuples.counts, both.class_id_limit
    old, new = (
        np.append(of, NO_CLASS)[sets.group]
        for of, sets in ((earlier_classes, both.first), (later_classes, both.second))
    )
    changed = old != new
    left, joined = (changed & (of >= 0) for of in (old, new))
    here, there = earlier_classes[both.sets[0]], later_classes[both.sets[1]]
    gone = np.bincount(old[left], people[left], number).astype(np.int64)
    come = np.bincount(new[joined], people[joined], number).astype(np.int64)
    return (here >= 0) & (there >= 0) & (here != there), gone, come


def _count_values_by_class(both: TwoReleases, classes: Integers) -> tuple[Matrix, Matrix]:
    """Return the value counts of every class in both releases."""
    before = both.first.class_counts(both.column)
    after = both.recode_second(both.second.class_counts(both.column))
    shape = (both.class_id_limit, before.shape[1])
    ones = np.ones(after.shape[0], np.int64)
    moved = csr_array((ones, (classes, np.arange(len(classes)))), shape=(shape[0], len(classes)))
    return csr_array(
        (before.data, before.indices, _pad_row_starts(before.indptr, shape[0])), shape=shape
    ), csr_array(moved @ after)


def _pad_row_starts(starts: NDArray[Any], number: int) -> NDArray[Any]:
    """Return CSR row starts extended by empty rows up to `number` rows."""
    return np.concatenate([starts, np.full(number + 1 - len(starts), starts[-1])])


def _cap_by_class_change(left: Matrix, change: Matrix, classes: Integers) -> Matrix:
    """Return the value counts capped by the change of the class, for the pairs that have one."""
    having = np.flatnonzero(classes >= 0)
    limits = csr_array(
        change[classes[having]].maximum(csr_array((len(having), change.shape[1]), dtype=np.int64))
    )
    others = np.flatnonzero(classes < 0)
    stacked = vstack([left[others], left[having].minimum(limits)], format="csr")
    stacked.eliminate_zeros()
    return csr_array(stacked[np.argsort(np.concatenate([others, having]))])
