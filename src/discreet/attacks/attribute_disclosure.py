"""Attribute disclosure: a sensitive value follows from the rows that may be a victim's, whichever is theirs.

Homogeneity     these rows all have the same value
Class inference one value is the commonest among them
Skewness        a value is far commoner among them than in the release
Similarity      their values differ, but have similar meanings

The attacker knows the victim's quasi-identifiers, and so the rows that match them (`match_sets`).
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
from discreet.attacks.claims import (
    Claims,
    ClaimTest,
    build_findings,
    count_right_by_commonest,
    count_right_people,
    describe_values,
    find_commonest,
)
from discreet.attacks.findings import Findings
from discreet.attacks.match_sets import MatchSets
from discreet.core.errors import DataError, RequestError, require_parameter
from discreet.core.number_checks import coerce_positive_fraction, is_real


@dataclass(frozen=True, kw_only=True)
class Homogeneity:
    """Inference from match sets that have a single value of a column.

    Knows       the victim's quasi-identifiers, and that the victim is in the release.
    Learns      the value, with certainty, without knowing which row is the victim's.
    Score       the share of people who are guessed right: by the value if it is certain, else by the
                commonest value of the release; the baseline guesses the commonest for everybody. `claimed` is
                the share of people whose value is certain, `precision` the share of those claims that are
                true, `recall` the share of all people with a true claim.
    Stopped by  l-diversity of every kind, for l of 2 at least. Not by k-anonymity, however large k.

    [MGKV06]    Machanavajjhala, Gehrke, Kifer & Venkitasubramaniam, l-Diversity, ICDE 2006.
    """

    column: str

    name: ClassVar[str] = "homogeneity"
    knows: ClassVar[str] = "the quasi-identifiers of a person in the release"
    learns: ClassVar[str] = "a sensitive value, with certainty"
    stopped_by: ClassVar[str] = "l-diversity"

    def run(self, sets: MatchSets) -> Findings:
        """Claim the value of everybody whose matching rows agree."""
        shares, (values, most) = sets.shares(self.column), find_commonest(sets.counts(self.column))
        about = np.flatnonzero((most == sets.rows) & (sets.people > 0) & (shares[values] < 1))
        claimed, certain = values[about], np.ones(len(about))
        claims = Claims(
            set_ids=about,
            prior=shares[claimed],
            posterior=certain,
            right_people=count_right_people(
                sets, self.column, about, certain, lambda i, value: value == claimed[i]
            ),
            describe=describe_values(self.column, sets.names(self.column), claimed),
        )
        everyone = np.flatnonzero(sets.people > 0)
        guessed = count_right_by_commonest(sets, self.column, everyone) / max(int(sets.people.sum()), 1)
        return build_findings(self, sets, claims, column=self.column, baseline=guessed)


@dataclass(frozen=True, kw_only=True)
class Skewness:
    """Inference of the value that gained the most, if it became `factor` times as probable.

    Knows       the victim's quasi-identifiers, that the victim is in the release, and the release's own
                shares.
    Learns      that a value is `factor` times as probable as for anybody else: in a class of half flu and
                half cancer, 50% if 1% of all have the flu.
    Score       the share of people who are guessed right: by the value whose belief rose the most, if it rose
                by that factor, else by the commonest value of the release; the baseline is the success of
                these guesses by the release's shares. `precision` is the share of claims that are true.
    Stopped by  t-closeness, β-likeness, δ-disclosure. Not by l-diversity, which may even cause it.

    [LLV07]     Li, Li & Venkatasubramanian, t-Closeness, ICDE 2007.
    """

    column: str
    factor: float = 2.0
    values: tuple[str, ...] = ()

    name: ClassVar[str] = "skewness"
    knows: ClassVar[str] = "the quasi-identifiers of a person in the release, and the release's shares"
    learns: ClassVar[str] = "that a sensitive value is far likelier than for others"
    stopped_by: ClassVar[str] = "t-closeness"

    def __post_init__(self) -> None:
        holds = is_real(self.factor) and self.factor > 1
        require_parameter(holds, self, "factor", self.factor, "a number above 1")

    def run(self, sets: MatchSets) -> Findings:
        """Claim the value whose belief rose the most, among `values` or among all."""
        shares, names = sets.shares(self.column), sets.names(self.column)
        unknown = [value for value in self.values if value not in names]
        if unknown:
            raise RequestError(
                f"attack: the release has no {self.column} {unknown[0]}.", hint="Name values that it shows."
            )
        matter = np.array([not self.values or name in self.values for name in names])
        entries = sets.counts(self.column).tocoo()
        posterior = entries.data / sets.rows[entries.row]
        gained = posterior >= self.factor * shares[entries.col]
        rises = np.where(gained & matter[entries.col], posterior - shares[entries.col], -1.0)
        order = np.lexsort((entries.col, -rises, entries.row))
        best = order[np.searchsorted(entries.row[order], np.arange(len(sets)))]
        best = best[(rises[best] > 0) & (sets.people > 0)]
        about, values = entries.row[best].astype(np.int64), entries.col[best].astype(np.int64)
        claims = Claims(
            set_ids=about,
            prior=shares[values],
            posterior=posterior[best],
            right_people=count_right_people(
                sets, self.column, about, posterior[best], lambda i, value: value == values[i]
            ),
            describe=describe_values(self.column, names, values),
        )
        largest = float((claims.posterior / claims.prior).max(initial=1.0))
        return build_findings(self, sets, claims, column=self.column, figures={"largest factor": largest})


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
    """Inference of the common group of a match set's values by a hierarchy, or of their range without one.

    Knows       the victim's quasi-identifiers, that the victim is in the release, and the meaning of values:
                the groups of a hierarchy (stomach diseases), or the order of numbers (salaries).
    Learns      the smallest group below the top that contains all rows of the match set; or the range from
                the least to the largest number, if it contains at most a share `narrow` of the release's
                rows.
    Score       the share of people who are guessed right: by the group or range if there is one, else by the
                commonest value of the release; the baseline is the success of these guesses by the release's
                shares.
    Stopped by  t-closeness, with a distance by the hierarchy or by the order. Not by l-diversity of any kind.

    [LLV07]     Li, Li & Venkatasubramanian, t-Closeness, ICDE 2007.
    """

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


@dataclass(frozen=True, kw_only=True)
class ClassInference:
    """Inference of everybody's most probable value of a column.

    Knows       the victim's quasi-identifiers, and that the victim is in the release.
    Learns      the value, believed by its share of the match set: 98 of 100 rows with HIV are a belief of
                98%.
    Score       the share of people who have the commonest value of their match set; the baseline is the share
                who have the commonest value of the release. `confident` is the share of people about whom a
                value is believed with at least `confidence`.
    Stopped by  probabilistic l-diversity, up to a belief of 1/l; t-closeness, up to t above the table's
                shares. Not by distinct l-diversity: one row of each other value satisfies it.
    """

    column: str
    confidence: float = 0.9

    name: ClassVar[str] = "class inference"
    knows: ClassVar[str] = "the quasi-identifiers of a person in the release"
    learns: ClassVar[str] = "a sensitive value, by its share of the rows that may be the person's"
    stopped_by: ClassVar[str] = "probabilistic l-diversity or t-closeness"

    def __post_init__(self) -> None:
        holds = is_real(self.confidence) and 0 < self.confidence <= 1
        require_parameter(holds, self, "confidence", self.confidence, "a probability above 0 and at most 1")

    def run(self, sets: MatchSets) -> Findings:
        """Guess the value of everybody who matches at least one row."""
        shares, (values, most) = sets.shares(self.column), find_commonest(sets.counts(self.column))
        about = np.flatnonzero(sets.people > 0)
        guess, posterior = values[about], (most / sets.rows)[about]
        claims = Claims(
            set_ids=about,
            prior=shares[guess],
            posterior=posterior,
            right_people=count_right_people(
                sets, self.column, about, posterior, lambda i, value: value == guess[i]
            ),
            describe=describe_values(self.column, sets.names(self.column), guess),
        )
        people = sets.people[about]
        sure = people[posterior >= self.confidence].sum()
        return build_findings(
            self,
            sets,
            claims,
            column=self.column,
            baseline=count_right_by_commonest(sets, self.column, about) / max(int(people.sum()), 1),
            figures={"confident": int(sure) / sets.known.people},
        )
