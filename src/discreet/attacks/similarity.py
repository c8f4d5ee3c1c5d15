"""Similarity: the sensitive values that may be a victim's differ, but have similar meanings.

Knows       the victim's quasi-identifiers, that the victim is in the release, and the meaning of values: the
            groups of a hierarchy (stomach diseases), or the order of numbers (salaries).
Learns      the smallest group below the top that contains all rows of the match set; or the range from the
            least to the largest number, if it contains at most a share `narrow` of the release's rows.
Score       the share of people who are guessed right: by the group or range if there is one, else by the
            commonest value of the release; the baseline is the success of these guesses by the release's
            shares.
Stopped by  t-closeness, with a distance by the hierarchy or by the order. Not by l-diversity of any kind.

[LLV07]     Li, Li & Venkatasubramanian, t-Closeness, ICDE 2007.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Integers
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.hierarchies.label_parsing import parse_number
from discreet.anonymity.models.class_counts import is_at_most
from discreet.anonymity.recoding import Floats
from discreet.attacks.claims import Claims, ClaimTest, build_findings, count_right_people
from discreet.attacks.findings import Findings
from discreet.attacks.match_sets import MatchSets
from discreet.core.errors import DataError, RequestError, require_parameter
from discreet.core.number_checks import coerce_positive_fraction


@dataclass(frozen=True, kw_only=True, eq=False)
class _CommonMeaning:
    """The common meaning of each match set's values, and whether it is informative.

    `contains_value` decides for match sets and values; `describe` writes the meaning of a set as text.
    """

    is_informative: NDArray[np.bool_]
    prior: Floats
    contains_value: ClaimTest
    describe: Callable[[int], str]


@dataclass(frozen=True, kw_only=True, eq=False)
class Similarity:
    """Inference of the common group of a match set's values by a hierarchy, or of their range without one."""

    column: str
    hierarchy: Hierarchy | None = None
    narrow: Fraction = Fraction(1, 3)

    name: ClassVar[str] = "similarity"
    knows: ClassVar[str] = "the quasi-identifiers of a person in the release, and what values mean"
    learns: ClassVar[str] = "what all sensitive values that may be the person's have in common"
    stopped_by: ClassVar[str] = "t-closeness with a distance by meaning"

    def __post_init__(self) -> None:
        coerce_positive_fraction(self, "narrow")
        require_parameter(0 < self.narrow < 1, self, "narrow", self.narrow, "a fraction between 0 and 1")

    def run(self, sets: MatchSets) -> Findings:
        """Claim the common meaning of everybody's possible values."""
        common = (
            self._find_common_ranges(sets)
            if self.hierarchy is None
            else self._find_common_groups(sets, self.hierarchy)
        )
        about = np.flatnonzero(common.is_informative & (sets.people > 0))
        certain = np.ones(len(about))
        claims = Claims(
            set_ids=about,
            prior=common.prior[about],
            posterior=certain,
            right_people=count_right_people(
                sets, self.column, about, certain, lambda i, value: common.contains_value(about[i], value)
            ),
            describe=lambda i: f"{self.column} is {common.describe(int(about[i]))}",
        )
        return build_findings(self, sets, claims, column=self.column)

    def _find_common_groups(self, sets: MatchSets, hierarchy: Hierarchy) -> _CommonMeaning:
        """Return the smallest group of the hierarchy that contains each match set's values."""
        totals, labels = sets.totals(self.column), self._list_labels_by_level(sets, hierarchy)
        entries = sets.counts(self.column)
        level, label = np.full(len(sets), -1), np.zeros(len(sets), np.int64)
        for rising in range(hierarchy.height, -1, -1):
            low, high = _find_row_extremes(entries.indptr, labels[rising][entries.indices])
            level, label = np.where(low == high, rising, level), np.where(low == high, low, label)
        prior = np.zeros(len(sets))
        for each in range(hierarchy.height + 1):
            part = np.bincount(labels[each], totals, len(hierarchy.labels[each])) / sets.published.rows
            prior[level == each] = part[label[level == each]]
        table = np.stack(labels)
        return _CommonMeaning(
            is_informative=(level >= 0) & (prior < 1),
            prior=prior,
            contains_value=lambda of, value: table[level[of], value] == label[of],
            describe=lambda of: hierarchy.labels[int(level[of])][int(label[of])],
        )

    def _list_labels_by_level(self, sets: MatchSets, hierarchy: Hierarchy) -> list[Integers]:
        """Return the label of every value of the release at every level."""
        places = np.array([hierarchy.positions.get(name, -1) for name in sets.names(self.column)], np.int64)
        if (places < 0).any():
            raise DataError(
                f"attack: the hierarchy {hierarchy.name} does not cover {int((places < 0).sum())} of the "
                f"values of {self.column}.",
                hint="Add them to it.",
            )
        return [codes[places].astype(np.int64) for codes in hierarchy.maps]

    def _find_common_ranges(self, sets: MatchSets) -> _CommonMeaning:
        """Return the range of each match set's numbers."""
        names = sets.names(self.column)
        numbers = [parse_number(name) for name in names]
        if any(each is None for each in numbers):
            raise RequestError(
                f"attack: {self.column} has values that are not numbers, so they have no range.",
                hint="Give a hierarchy that groups similar values.",
            )
        rank = np.argsort(np.argsort(np.array(numbers, object), kind="stable"), kind="stable")
        order = np.argsort(rank)
        entries = sets.counts(self.column)
        low, high = _find_row_extremes(entries.indptr, rank[entries.indices])
        below = np.concatenate([[0], np.cumsum(sets.totals(self.column)[order])])
        within = below[high + 1] - below[low]
        return _CommonMeaning(
            is_informative=is_at_most(within, np.full(len(sets), sets.published.rows), self.narrow),
            prior=within / sets.published.rows,
            contains_value=lambda of, value: (low[of] <= rank[value]) & (rank[value] <= high[of]),
            describe=lambda of: f"between {names[order[low[of]]]} and {names[order[high[of]]]}",
        )


def _find_row_extremes(starts: NDArray[Any], amounts: Integers) -> tuple[Integers, Integers]:
    """Return the least and the largest amount of each row; every row must have an entry."""
    if not len(starts) - 1:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return np.minimum.reduceat(amounts, starts[:-1]), np.maximum.reduceat(amounts, starts[:-1])
