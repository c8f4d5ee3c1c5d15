"""Background knowledge: facts from elsewhere make some sensitive values of a victim improbable.

Knows       the victim's quasi-identifiers, that the victim is in the release, and facts: that people of some
            group never have a value, or have it `times` as often as others (Japanese and heart disease). If
            no fact is given: for every victim, the `ruled_out` other values that help most.
Learns      the value, from the rest of the match set: of 50 with HIV, 49 with pneumonia and 1 with
            bronchitis, an attacker who rules out pneumonia believes HIV with 50 in 51.
Score       the share of people who have the most probable remaining value; the baseline uses the most
            probable value of the whole release under the same facts. With facts, only the people they are
            about are counted.
Stopped by  recursive (c, l)-diversity: with l - 2 values ruled out the belief stays below c / (c + 1).
            Differential privacy, whatever is known about others.

The belief follows Bayes' rule: each row of the match set is the victim's with a probability proportional to
how often people of the victim's group have its value; facts about others of the set are ignored.

[MGKV06]    Machanavajjhala, Gehrke, Kifer & Venkitasubramaniam, l-Diversity, ICDE 2006.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from discreet.anonymity.equivalence_classes import Integers
from discreet.anonymity.recoding import Floats
from discreet.attacks.claims import (
    Claims,
    build_findings,
    count_right_people,
    describe_values,
    find_commonest,
    rank_entries,
)
from discreet.attacks.findings import Findings
from discreet.attacks.match_sets import MatchSets
from discreet.core.errors import RequestError
from discreet.core.number_checks import require_count, require_nonnegative


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A base rate: people with the values in `where` have `value` `times` as often as others; 0 is never.

    Without `where` the fact applies to everybody.
    """

    value: str
    times: float = 0.0
    where: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_nonnegative(self, "times", self.times)


@dataclass(frozen=True, kw_only=True)
class BackgroundKnowledge:
    """Inference of the most probable value of a column after facts, or after ruling values out."""

    column: str
    facts: tuple[Fact, ...] = ()
    ruled_out: int = 1

    name: ClassVar[str] = "background knowledge"
    knows: ClassVar[str] = "the quasi-identifiers of a person in the release, and what they do not have"
    learns: ClassVar[str] = "a sensitive value, from what is left of the rows that may be the person's"
    stopped_by: ClassVar[str] = "recursive (c, l)-diversity, for as many facts as it allows for"

    def __post_init__(self) -> None:
        require_count(self, "ruled_out", self.ruled_out)

    def run(self, sets: MatchSets) -> Findings:
        """Guess everybody's value from the values that remain."""
        return self._attack_with_facts(sets) if self.facts else self._attack_by_ruling_out(sets)

    def _attack_with_facts(self, sets: MatchSets) -> Findings:
        """Score guesses about the people to whom at least one fact applies."""
        parts, weights = self.group_by_facts(sets)
        divided = sets.refine(parts, len(weights))
        kind = np.zeros(len(divided), np.int64)
        kind[divided.group[divided.group >= 0]] = parts[divided.group >= 0]
        left = csr_array(divided.counts(self.column).multiply(weights[kind]))
        totals = left.sum(axis=1)
        about = np.flatnonzero((kind > 0) & (totals > 0) & (divided.people > 0))
        left, totals, kind = left[about], totals[about], kind[about]
        values, most = find_commonest(left)
        before = _normalize_rows(weights * divided.shares(self.column))[kind]
        posterior, usual = most / totals, before.argmax(axis=1)
        right = count_right_people(
            divided, self.column, about, posterior, lambda i, value: value == values[i]
        )
        expected = before[np.arange(len(about)), usual]
        guessed = count_right_people(
            divided, self.column, about, expected, lambda i, value: value == usual[i]
        )
        claims = Claims(
            set_ids=about,
            prior=before[np.arange(len(about)), values],
            posterior=posterior,
            right_people=right,
            describe=describe_values(self.column, divided.names(self.column), values),
        )
        people = int(divided.people[about].sum())
        baseline = float(guessed.sum()) / people if people else 0.0
        return build_findings(
            self,
            divided,
            claims,
            column=self.column,
            attempted_sets=about,
            baseline=baseline,
            facts_assumed=True,
        )

    def group_by_facts(self, sets: MatchSets) -> tuple[Integers, Floats]:
        """Return the set of facts about each known tuple, as a number (0: none), and its value weights."""
        names, known = sets.names(self.column), sets.known
        applies = np.zeros((len(known.tuples), len(self.facts)), np.bool_)
        for i, fact in enumerate(self.facts):
            if fact.value not in names:
                raise RequestError(
                    f"attack: the release has no {self.column} {fact.value}.", hint="Name one that it shows."
                )
            applies[:, i] = True
            for name, value in fact.where.items():
                if name not in known.columns:
                    raise RequestError(
                        f"attack: a fact is about {name}, which the attacker does not know.",
                        hint=f"Known are {', '.join(known.columns)}.",
                    )
                place = known.columns.index(name)
                fits = np.array([each == value for each in known.values[place]], np.bool_)
                applies[:, i] &= fits[known.tuples.codes[:, place]]
        patterns, parts = np.unique(applies, axis=0, return_inverse=True)
        weights = np.ones((len(patterns) + 1, len(names)))
        for i, fact in enumerate(self.facts):
            weights[1:, names.index(fact.value)] *= np.where(patterns[:, i], fact.times, 1.0)
        about = np.asarray(patterns.any(axis=1))[parts.reshape(-1)]
        return np.where(about, parts.reshape(-1) + 1, 0), weights

    def _attack_by_ruling_out(self, sets: MatchSets) -> Findings:
        """Score guesses of an attacker who rules out the most helpful values for each victim."""
        rows, columns, amounts = rank_entries(sets.counts(self.column))
        firsts, shares = np.searchsorted(rows, np.arange(len(sets))), sets.shares(self.column)
        near = np.arange(len(rows)) - firsts[rows] <= self.ruled_out
        kept = np.bincount(rows[near], amounts[near], len(sets))
        hidden = np.bincount(rows[near], shares[columns[near]], len(sets))
        top, most = columns[firsts], amounts[firsts]
        found, about = rows[near] * len(shares) + columns[near], np.flatnonzero(sets.people > 0)
        claims = Claims(
            set_ids=about,
            prior=(shares[top] / (1 - hidden + shares[top]))[about],
            posterior=(most / (sets.rows - kept + most))[about],
            right_people=count_right_people(
                sets,
                self.column,
                about,
                (kept / sets.rows)[about],
                lambda i, value: np.isin(about[i] * len(shares) + value, found),
            ),
            describe=describe_values(self.column, sets.names(self.column), top[about]),
        )
        guessed = self._compute_baseline(sets, about)
        return build_findings(self, sets, claims, column=self.column, baseline=guessed, facts_assumed=True)

    def _compute_baseline(self, sets: MatchSets, set_ids: Integers) -> float:
        """Return the success rate of ruling out values of the release as a whole."""
        shares = sets.shares(self.column)
        usual = np.argsort(-shares, kind="stable")[: self.ruled_out + 1]
        expected = np.full(len(set_ids), shares[usual].sum())
        right = count_right_people(
            sets, self.column, set_ids, expected, lambda _, value: np.isin(value, usual)
        )
        return float(right.sum()) / int(sets.people.sum()) if len(set_ids) else float(shares[usual].sum())


def _normalize_rows(weights: Floats) -> Floats:
    """Return rows scaled to sum to 1; a row in which every value is ruled out stays 0."""
    totals = weights.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0))
