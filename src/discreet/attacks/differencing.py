"""Differencing: the same count with and without one person.

Knows       a condition that only the victim's row meets, and the mechanism if there is one.
Learns      COUNT(claim) - COUNT(claim and not the victim), which is 1 if the claim is true and else 0, plus
            the noise of two answers.
Score       how often the more probable side of each victim's claim is true; the baseline is the commoner
            side.
Stopped by  noise on every count, and a budget over all counts: two answers reveal at most what they cost.
            Refusing small counts does not stop it, because both counts are large.

[Denning82] Denning, Cryptography and Data Security, chapter 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from discreet.attacks.findings import Findings
from discreet.attacks.query_attacks import (
    Answerer,
    Noise,
    Victim,
    ask_count,
    compute_claim_posterior,
    require_victims,
    score_claims,
)
from discreet.core.number_checks import require_probability


@dataclass(frozen=True, kw_only=True)
class Differencing:
    """Two counts for each victim; `noise` is the attacker's model of the noise of each answer."""

    table: str
    claim: str
    prior: float = 0.5
    noise: Noise | None = None

    name: ClassVar[str] = "differencing"
    knows: ClassVar[str] = "a condition that only the victim meets"
    learns: ClassVar[str] = "whether a claim about the victim is true, from two large counts"
    stopped_by: ClassVar[str] = "noise on every count and a budget over all of them"

    def __post_init__(self) -> None:
        require_probability(self, "prior", self.prior)

    def run(self, answerer: Answerer, victims: Sequence[Victim]) -> Findings:
        """Ask two questions for each victim and score the posteriors."""
        require_victims(self, victims)
        all_of_them = ask_count(answerer, self.table, self.claim)
        found, refused = [], 0
        for victim in victims:
            others = ask_count(answerer, self.table, f"({self.claim}) AND NOT ({victim.where})")
            answered = all_of_them is not None and others is not None
            refused += not answered
            found.append(all_of_them - others if answered else None)  # type: ignore[operator]
        posteriors = [
            compute_claim_posterior(each, answer_count=2, noise=self.noise, prior=self.prior)
            for each in found
        ]
        return score_claims(
            self, victims, posteriors, claim=self.claim, prior=self.prior, figures={"refused": refused}
        )
