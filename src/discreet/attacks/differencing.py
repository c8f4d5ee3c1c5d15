"""Differencing: two counts that differ by one person reveal that person.

A tracker pads counts that a curator would refuse as too small.
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
from discreet.core.errors import RequestError
from discreet.core.number_checks import require_probability


@dataclass(frozen=True, kw_only=True)
class Differencing:
    """Two counts for each victim; `noise` is the attacker's model of the noise of each answer.

    Knows       a condition that only the victim's row meets, and the mechanism if there is one.
    Learns      COUNT(claim) - COUNT(claim and not the victim), which is 1 if the claim is true and else 0,
                plus the noise of two answers.
    Score       how often the more probable side of each victim's claim is true; the baseline is the commoner
                side.
    Stopped by  noise on every count, and a budget over all counts: two answers reveal at most what they cost.
                Refusing small counts does not stop it, because both counts are large.

    [Denning82] Denning, Cryptography and Data Security, chapter 6.
    """

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


@dataclass(frozen=True, kw_only=True)
class Tracker:
    """Trackers tried in turn until both sides of one are answered, then two counts for each victim.

    Knows       a condition that only the victim's row meets, and conditions T that about half of the rows
                meet.
    Learns      COUNT(C) for any C, as COUNT(C or T) + COUNT(C or not T) - COUNT(T) - COUNT(not T); for C the
                victim and the claim, that is 1 if the claim is true and else 0, plus the noise of four
                answers.
    Score       how often the more probable side of each victim's claim is true; the baseline is the commoner
                side.
    Stopped by  noise on every count, and a budget over all counts. Not by refusing counts below k and above n
                - k: any T that 2k to n - 2k rows meet opens such a table to every question [DDS79].

    [DDS79]     Denning, Denning & Schwartz, The Tracker: A Threat to Statistical Database Security.
    """

    table: str
    claim: str
    trackers: tuple[str, ...]
    prior: float = 0.5
    noise: Noise | None = None

    name: ClassVar[str] = "tracker"
    knows: ClassVar[str] = "a condition that only the victim meets, and one that about half of the rows meet"
    learns: ClassVar[str] = "whether a claim about the victim is true, though counts that small are refused"
    stopped_by: ClassVar[str] = "noise on every count and a budget over all of them; not a least count"

    def __post_init__(self) -> None:
        require_probability(self, "prior", self.prior)
        if not self.trackers:
            raise RequestError(
                "tracker: no condition that many rows meet is given.", hint="Give one or more."
            )

    def run(self, answerer: Answerer, victims: Sequence[Victim]) -> Findings:
        """Find a tracker, then ask two questions for each victim."""
        require_victims(self, victims)
        direct = [
            ask_count(answerer, self.table, self._build_target_condition(victim)) for victim in victims[:1]
        ]
        opened = self._find_answered_tracker(answerer)
        found = [self._count_by_padding(answerer, victim, opened) for victim in victims]
        posteriors = [
            compute_claim_posterior(each, answer_count=4, noise=self.noise, prior=self.prior)
            for each in found
        ]
        figures = {
            "direct questions refused": float(direct[0] is None),
            "refused": float(sum(each is None for each in found)),
        }
        return score_claims(self, victims, posteriors, claim=self.claim, prior=self.prior, figures=figures)

    def _find_answered_tracker(self, answerer: Answerer) -> tuple[str, int] | None:
        """Return an answered tracker and the number of all rows from its two sides, or None."""
        for tracker in self.trackers:
            sides = [ask_count(answerer, self.table, where) for where in (tracker, f"NOT ({tracker})")]
            if sides[0] is not None and sides[1] is not None:
                return tracker, sides[0] + sides[1]
        return None

    def _count_by_padding(
        self, answerer: Answerer, victim: Victim, answered_tracker: tuple[str, int] | None
    ) -> int | None:
        """Return the victim's count from the two padded counts, or None if one is refused."""
        if answered_tracker is None:
            return None
        tracker, rows = answered_tracker
        target = self._build_target_condition(victim)
        padded = [
            ask_count(answerer, self.table, f"{target} OR {side}") for side in _build_both_sides(tracker)
        ]
        return None if padded[0] is None or padded[1] is None else padded[0] + padded[1] - rows

    def _build_target_condition(self, victim: Victim) -> str:
        return f"(({victim.where}) AND ({self.claim}))"


def _build_both_sides(tracker: str) -> tuple[str, str]:
    return f"({tracker})", f"NOT ({tracker})"
