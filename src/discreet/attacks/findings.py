"""The common form of attacks: stated knowledge in, beliefs about named people out.

An attack states what its attacker *knows* and *learns*, how it is *scored*, and what it is *stopped by*. It
returns its finding about each victim, its success rate, and the success rate of guessing: a success rate
without its baseline has no meaning.

Findings from real data are computed from real data, so they are for the custodian only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

Points = tuple[tuple[float, float], ...]


class AttackDescription(Protocol):
    """The description that every attack carries: its name, its knowledge, its gain and its defence."""

    @property
    def name(self) -> str: ...

    @property
    def knows(self) -> str: ...

    @property
    def learns(self) -> str: ...

    @property
    def stopped_by(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The belief about one victim after the attack: the claim that gained the most."""

    victim: str
    claim: str
    prior: float
    posterior: float
    truth: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The result of one attack.

    `success` is the share of `attempts` that were right, `baseline` the share that guessing without the
    release gets right. `interval` contains the success with 95% confidence if the attempts are a sample, and
    equals the success if they are everybody. `figures` are the attack's own numbers by name, `series` its
    curves as points. `overall_posterior` and `overall_odds_factor` cover all claims; if they are None,
    `victims` is the complete list.
    """

    attack: str
    knows: str
    learns: str
    stopped_by: str
    success: float
    baseline: float
    attempts: int
    interval: tuple[float, float]
    victims: tuple[Finding, ...] = ()
    figures: dict[str, float] = field(default_factory=dict)
    series: dict[str, Points] = field(default_factory=dict)
    note: str = ""
    overall_posterior: float | None = None
    overall_odds_factor: float | None = None

    @property
    def highest_posterior(self) -> float:
        """The highest posterior of a claim; 0 if no claim is believed more than before."""
        if self.overall_posterior is not None:
            return self.overall_posterior
        return max((each.posterior for each in self.victims if each.posterior > each.prior), default=0.0)

    @property
    def largest_odds_factor(self) -> float:
        """The largest factor by which the odds of a claim grew; infinity if a claim became certain."""
        if self.overall_odds_factor is not None:
            return self.overall_odds_factor
        return max((compute_odds_factor(each.prior, each.posterior) for each in self.victims), default=1.0)

    @property
    def gain(self) -> float:
        """The share of the baseline's errors that the attack avoids: 0 for none, 1 for all."""
        return (self.success - self.baseline) / (1 - self.baseline) if self.baseline < 1 else 0.0


def compute_odds_factor(prior: float, posterior: float) -> float:
    """Return the factor by which the odds grew from `prior` to `posterior`; at least 1.

    >>> compute_odds_factor(0.01, 0.05), compute_odds_factor(0.5, 1.0)
    (5.210..., inf)
    """
    if posterior <= prior:
        return 1.0
    return math.inf if posterior == 1 or prior == 0 else posterior * (1 - prior) / (prior * (1 - posterior))


def select_strongest(victims: Sequence[Finding], limit: int = 20) -> tuple[Finding, ...]:
    """Return the findings with the largest gain in belief, largest first."""
    return tuple(sorted(victims, key=lambda each: (each.prior - each.posterior, each.victim))[:limit])
