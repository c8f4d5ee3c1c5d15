"""Class inference: the commonest sensitive value among the rows that may be a victim's.

Knows       the victim's quasi-identifiers, and that the victim is in the release.
Learns      the value, believed by its share of the match set: 98 of 100 rows with HIV are a belief of 98%.
Score       the share of people who have the commonest value of their match set; the baseline is the share who
            have the commonest value of the release. `confident` is the share of people about whom a value is
            believed with at least `confidence`.
Stopped by  probabilistic l-diversity, up to a belief of 1/l; t-closeness, up to t above the table's shares.
            Not by distinct l-diversity: one row of each other value satisfies it.
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
from discreet.core.errors import require_parameter
from discreet.core.number_checks import is_real


@dataclass(frozen=True, kw_only=True)
class ClassInference:
    """Inference of everybody's most probable value of a column."""

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
