"""Claims about everybody of a match set, and how often they are right.

Where the knowledge holds the truth a claim is counted against it. Where it does not, the claim is taken to be
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
from discreet.attacks.attack import Finding, Findings, Points, Stated
from discreet.attacks.match_sets import MatchSets, Matrix

MOST_VICTIMS = 20
Holds = Callable[[Integers, Integers], NDArray[np.bool_]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Claims:
    """Claim i is about the people of match set `about[i]`; it is true of `right[i]` of them."""

    about: Integers
    prior: Floats
    posterior: Floats
    right: Floats
    said: Callable[[int], str]

    @property
    def gained(self) -> NDArray[np.bool_]:
        """Which of them are believed more than before."""
        return np.asarray(self.posterior > self.prior)


def findings(
    attack: Stated,
    sets: MatchSets,
    claims: Claims,
    *,
    column: str | None = None,
    attempted: Integers | None = None,
    baseline: float | None = None,
    figures: Mapping[str, float] | None = None,
    series: Mapping[str, Points] | None = None,
    supposed: bool = False,
) -> Findings:
    """How many people are guessed rightly, of those in the sets that were `attempted` (all that have people).

    Who nothing is claimed of is taken to have the commonest value of the release, as without it. Unless it is
    given, the baseline is how many of the same guesses are right if the claims are only as likely as before.
    Where facts are `supposed`, what follows from them alone is no belief that the release gives.
    """
    attempted = np.flatnonzero(sets.people > 0) if attempted is None else attempted
    people, claimed = int(sets.people[attempted].sum()), sets.people[claims.about]
    right, rest = float(claims.right.sum()), 0.0
    others = np.setdiff1d(attempted, claims.about, assume_unique=True)
    if column is not None and len(others):
        rest = usually_right(sets, column, others)
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
        victims=victims(sets, claims, scored=column is not None and column in sets.known.tuples.sensitive),
        figures={
            "claimed": int(claimed.sum()) / sets.known.people,
            "precision": right / int(claimed.sum()) if len(claimed) else 0.0,
            "recall": right / sets.known.people,
            "precision of guesses": _guessed(claims, claimed) if len(others) else baseline,
            "highest posterior": float(claims.posterior.max(initial=0.0)),
            **(figures or {}),
        },
        series=dict(series or {}),
        note="" if len(claimed) else "Nothing could be claimed of anybody.",
        believed=float(claims.posterior[claims.gained if supposed else ...].max(initial=0.0)),
        factor=_largest_factor(claims),
    )


def _guessed(claims: Claims, claimed: Integers) -> float:
    """How many of the claims are right if they are only as likely as before."""
    return float(claimed @ claims.prior) / int(claimed.sum()) if len(claimed) else 0.0


def _largest_factor(claims: Claims) -> float:
    before, after = claims.prior[claims.gained], claims.posterior[claims.gained]
    if ((after == 1) | (before == 0)).any():
        return math.inf
    return float((after * (1 - before) / (before * (1 - after))).max(initial=1.0))


def usually_right(sets: MatchSets, column: str, about: Integers) -> float:
    """How many people of some sets have the commonest value of the release."""
    shares = sets.shares(column)
    usual = int(shares.argmax())
    expected = np.full(len(about), shares[usual])
    return float(right_of(sets, column, about, expected, lambda _, value: value == usual).sum())


def victims(sets: MatchSets, claims: Claims, *, scored: bool) -> tuple[Finding, ...]:
    """A person of each of the sets of which the most was learned."""
    gains = claims.posterior - claims.prior
    most = np.argsort(-gains, kind="stable")[:MOST_VICTIMS]
    about = claims.about[most]
    names = sets.known.names(sets.examples(about)) if len(about) else []
    people, right = sets.people[about], claims.right[most]
    return tuple(
        Finding(
            victim=name,
            claim=claims.said(int(place)),
            prior=float(claims.prior[place]),
            posterior=float(claims.posterior[place]),
            truth=_truth(float(right[i]), int(people[i])) if scored else None,
        )
        for i, (name, place) in enumerate(zip(names, most.tolist(), strict=True))
    )


def _truth(right: float, people: int) -> bool | None:
    """Whether a claim is true of all that it is made about, or of none; else it depends on who it is."""
    return True if right == people else False if right == 0 else None


def right_of(sets: MatchSets, column: str, about: Integers, posterior: Floats, holds: Holds) -> Floats:
    """Of how many people each claim is true; `holds` tells whether claim i is true of those with value v.

    Who has several values that it is true of counts once for each, up to everybody of the set.
    """
    truth = sets.truth(column)
    if truth is None:
        return np.asarray(sets.people[about] * posterior)
    entries = truth[about].tocoo()
    true = holds(entries.row.astype(np.int64), entries.col.astype(np.int64))
    found = np.bincount(entries.row[true], entries.data[true], len(about)).astype(float)
    return np.asarray(np.minimum(found, sets.people[about]))


def said_values(column: str, names: tuple[str, ...], values: Integers) -> Callable[[int], str]:
    """The claims that a column has certain values."""
    return lambda i: f"{column} is {names[int(values[i])]}"


def ranked(matrix: Matrix) -> tuple[Integers, Integers, Floats]:
    """The entries of a matrix, the largest of each row first: their rows, columns and amounts."""
    entries = matrix.tocoo()
    order = np.lexsort((entries.col, -entries.data, entries.row))
    rows, columns = entries.row[order].astype(np.int64), entries.col[order].astype(np.int64)
    return rows, columns, entries.data[order]


def commonest(matrix: Matrix) -> tuple[Integers, Floats]:
    """The column of each row's largest entry, and the entry; every row has one."""
    rows, columns, amounts = ranked(matrix)
    firsts = np.searchsorted(rows, np.arange(matrix.shape[0]))
    return columns[firsts], amounts[firsts].astype(float)
