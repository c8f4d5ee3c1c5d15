"""Homogeneity: all rows that may be a victim's have the same sensitive value.

Knows       the victim's quasi-identifiers, and that the victim is in the release.
Learns      the value, with certainty, without knowing which row is the victim's.
Score       the share of people who are guessed right: by the value if it is certain, else by the commonest
            value of the release; the baseline guesses the commonest for everybody. `claimed` is the share of
            people whose value is certain, `precision` the share of those claims that are true, `recall` the
            share of all people with a true claim.
Stopped by  l-diversity of every kind, for l of 2 at least. Not by k-anonymity, however large k.

[MGKV06]    Machanavajjhala, Gehrke, Kifer & Venkitasubramaniam, l-Diversity, ICDE 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.attacks.claims import (
    Claims,
    build_findings,
    count_right_by_commonest,
    count_right_people,
    describe_values,
    find_commonest,
)
from discreet.attacks.findings import Findings
from discreet.attacks.match_sets import MatchSets


@dataclass(frozen=True, kw_only=True)
class Homogeneity:
    """Inference from match sets that have a single value of a column."""

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
