"""Intersection: two releases about the same people, each safe on its own, are combined.

Knows       the victim's quasi-identifiers at both times, that the victim is in both releases, and that the
            sensitive value did not change.
Learns      the values that both match sets share; often there is one. A value of x rows in one release and y
            in the other belongs to at most min(x, y) people who are in both, and is believed by its share of
            these minima. The share is exact if nobody else is in the overlap, and no more than each release
            reveals if the two are equal. Where a person may have several rows, rows are an upper bound on
            people.
Score       the share of people whose most probable value is right; the baseline is the better of the two
            releases alone.
Stopped by  m-invariance over the chain of releases; differential privacy, whose losses add up. Not by
            k-anonymity, l-diversity or t-closeness of each release.

[GKS08]     Ganta, Kasiviswanathan & Smith, Composition attacks and auxiliary information, KDD 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from discreet.anonymity.equivalence_classes import Integers
from discreet.attacks.attack import Findings, Stated
from discreet.attacks.claims import Claims, commonest, findings, right_of, said_values
from discreet.attacks.match_sets import MatchSets, Matrix
from discreet.attacks.two_releases import TwoReleases


@dataclass(frozen=True, kw_only=True)
class Intersection:
    """Inference from the values that both match sets of a person share."""

    column: str

    name: ClassVar[str] = "intersection"
    knows: ClassVar[str] = "the quasi-identifiers of a person who is in both releases"
    learns: ClassVar[str] = "a sensitive value, from what both releases leave possible"
    stopped_by: ClassVar[str] = "m-invariance, or differential privacy over all releases together"

    def run(self, first: MatchSets, second: MatchSets) -> Findings:
        """Guess the value of everybody who matches rows of both releases."""
        both = TwoReleases(first=first, second=second, column=self.column)
        counts = both.counts
        left = csr_array(counts[0].minimum(counts[1]))
        return combined(self, both, left, np.flatnonzero(np.diff(left.indptr) > 0))


def combined(attack: Stated, both: TwoReleases, left: Matrix, about: Integers) -> Findings:
    """Return findings from how many people of each pair of match sets may have each value."""
    pairs, column = both.pairs, both.column
    about = about[pairs.people[about] > 0]
    values, most = commonest(left[about])
    posterior = most / left[about].sum(axis=1)
    alone = [
        np.asarray(counts[about, values]).reshape(-1) / np.maximum(counts[about].sum(axis=1), 1)
        for counts in both.counts
    ]
    people = int(pairs.people[about].sum())
    claims = Claims(
        about=about,
        prior=np.maximum(*alone),
        posterior=posterior,
        right=right_of(pairs, column, about, posterior, lambda i, value: value == values[i]),
        said=said_values(column, pairs.names(column), values),
    )
    certain = int(pairs.people[about[posterior == 1]].sum())
    return findings(
        attack,
        pairs,
        claims,
        column=column,
        attempted=about,
        baseline=max(both.single(about)) / people if people else 0.0,
        figures={"certain": certain / pairs.known.people},
    )
