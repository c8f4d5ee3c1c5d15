"""Claims about everybody of a match set, and their success rate.

If the attacker's knowledge includes the truth, claims are counted against it. If not, a claim is taken to be
right as often as it is believed, which is exact for people who are in the release with that match set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Integers
from discreet.anonymity.recoding import Floats
from discreet.attacks.findings import AttackDescription, Finding, Findings, Points
from discreet.attacks.match_sets import MatchSets, Matrix

MOST_VICTIMS = 20  # a report lists so many, those whose odds grew most
ClaimTest = Callable[[Integers, Integers], NDArray[np.bool_]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Claims:
    """Claim i is about the people of match set `set_ids[i]` and is true of `right_people[i]` of them."""

    set_ids: Integers
    prior: Floats
    posterior: Floats
    right_people: Floats
    describe: Callable[[int], str]

    @property
    def has_gained(self) -> NDArray[np.bool_]:
        """For each claim, whether it is believed more than before."""
        return np.asarray(self.posterior > self.prior)


def build_findings(
    attack: AttackDescription,
    sets: MatchSets,
    claims: Claims,
    *,
    column: str | None = None,
    attempted_sets: Integers | None = None,
    baseline: float | None = None,
    figures: Mapping[str, float] | None = None,
    series: Mapping[str, Points] | None = None,
    facts_assumed: bool = False,
) -> Findings:
    """Return the findings for some claims, over the people of the `attempted_sets` (default: all).

    A person without a claim is guessed to have the commonest value of the release, as without the attack.
    Unless it is given, the baseline is the success of the same guesses if claims are only as probable as
    before. With `facts_assumed`, a belief that follows from the facts alone is not a gain from the release.
    """
    attempted_sets = np.flatnonzero(sets.people > 0) if attempted_sets is None else attempted_sets
    people, claimed = int(sets.people[attempted_sets].sum()), sets.people[claims.set_ids]
    right, rest = float(claims.right_people.sum()), 0.0
    others = np.setdiff1d(attempted_sets, claims.set_ids, assume_unique=True)
    if column is not None and len(others):
        rest = count_right_by_commonest(sets, column, others)
    if baseline is None:
        baseline = (float(claimed @ claims.prior) + rest) / people if people else 0.0
    success = (right + rest) / people if people else baseline
    return Findings(
        attack=attack.name,
        knows=attack.knows,
        learns=attack.learns,
        stopped_by=attack.stopped_by,
        success=success,
        baseline=baseline,
        attempts=people,
        interval=(success, success),
        victims=select_victims(
            sets, claims, has_truth=column is not None and column in sets.known.tuples.sensitive
        ),
        figures={
            "claimed": int(claimed.sum()) / sets.known.people,
            "precision": right / int(claimed.sum()) if len(claimed) else 0.0,
            "recall": right / sets.known.people,
            "precision of guesses": _compute_prior_precision(claims, claimed) if len(others) else baseline,
            "highest posterior": float(claims.posterior.max(initial=0.0)),
            **(figures or {}),
        },
        series=dict(series or {}),
        note="" if len(claimed) else "Nothing could be claimed of anybody.",
        overall_posterior=float(
            claims.posterior[claims.has_gained if facts_assumed else ...].max(initial=0.0)
        ),
        overall_odds_factor=_largest_odds_factor(claims),
    )


def _compute_prior_precision(claims: Claims, claimed_people: Integers) -> float:
    """Return the share of claims that would be right if claims were only as probable as before."""
    return float(claimed_people @ claims.prior) / int(claimed_people.sum()) if len(claimed_people) else 0.0


def _largest_odds_factor(claims: Claims) -> float:
    """Return the largest factor by which the odds of a claim grew."""
    before, after = claims.prior[claims.has_gained], claims.posterior[claims.has_gained]
    if ((after == 1) | (before == 0)).any():
        return math.inf
    return float((after * (1 - before) / (before * (1 - after))).max(initial=1.0))


def count_right_by_commonest(sets: MatchSets, column: str, set_ids: Integers) -> float:
    """Return how many people of some sets have the commonest value of the release."""
    shares = sets.shares(column)
    usual = int(shares.argmax())
    expected = np.full(len(set_ids), shares[usual])
    return float(count_right_people(sets, column, set_ids, expected, lambda _, value: value == usual).sum())


def select_victims(sets: MatchSets, claims: Claims, *, has_truth: bool) -> tuple[Finding, ...]:
    """Return a finding for one person of each set with the largest gains."""
    gains = claims.posterior - claims.prior
    most = np.argsort(-gains, kind="stable")[:MOST_VICTIMS]
    about = claims.set_ids[most]
    names = sets.known.name_people(sets.find_examples(about)) if len(about) else []
    people, right = sets.people[about], claims.right_people[most]
    return tuple(
        Finding(
            victim=name,
            claim=claims.describe(int(place)),
            prior=float(claims.prior[place]),
            posterior=float(claims.posterior[place]),
            truth=_common_truth(float(right[i]), int(people[i])) if has_truth else None,
        )
        for i, (name, place) in enumerate(zip(names, most.tolist(), strict=True))
    )


def _common_truth(right: float, people: int) -> bool | None:
    """Return the truth of a claim if it is the same for all people concerned, else None."""
    return True if right == people else False if right == 0 else None


def count_right_people(
    sets: MatchSets, column: str, set_ids: Integers, posterior: Floats, is_true: ClaimTest
) -> Floats:
    """Return the number of people each claim is true of; `is_true` decides claim i for people with value v.

    A person with several matching values counts once for each, up to the number of people in the set.
    """
    truth = sets.true_counts(column)
    if truth is None:
        return np.asarray(sets.people[set_ids] * posterior)
    entries = truth[set_ids].tocoo()
    true = is_true(entries.row.astype(np.int64), entries.col.astype(np.int64))
    found = np.bincount(entries.row[true], entries.data[true], len(set_ids)).astype(float)
    return np.asarray(np.minimum(found, sets.people[set_ids]))


def describe_values(column: str, names: tuple[str, ...], values: Integers) -> Callable[[int], str]:
    """Return a function that writes claim i: the column has a certain value."""
    return lambda i: f"{column} is {names[int(values[i])]}"


def rank_entries(matrix: Matrix) -> tuple[Integers, Integers, Floats]:
    """Return the rows, columns and amounts of a matrix's entries, the largest of each row first."""
    entries = matrix.tocoo()
    order = np.lexsort((entries.col, -entries.data, entries.row))
    rows, columns = entries.row[order].astype(np.int64), entries.col[order].astype(np.int64)
    return rows, columns, entries.data[order]


def find_commonest(matrix: Matrix) -> tuple[Integers, Floats]:
    """Return the column and the amount of each row's largest entry; every row must have an entry."""
    rows, columns, amounts = rank_entries(matrix)
    firsts = np.searchsorted(rows, np.arange(matrix.shape[0]))
    return columns[firsts], amounts[firsts].astype(float)
