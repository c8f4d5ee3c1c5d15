"""What an attack is: stated knowledge in, beliefs about named people out.

An attack says what its attacker *knows* and *learns*, how it is *scored*, and what it is *stopped by*. It
returns what it found about each victim, and how often it was right beside how often guessing would have been:
a number without its baseline says nothing.

Everything here is computed from real data where it is run on real data, so findings are the custodian's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

Points = tuple[tuple[float, float], ...]


class Stated(Protocol):
    """What every attack says of itself."""

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
    """What is now believed of one victim: the claim that gained the most."""

    victim: str
    claim: str
    prior: float
    posterior: float
    truth: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What one attack found.

    `success` is the share of `attempts` that were right, `baseline` what guessing without the release gets;
    `interval` holds the success with 95% where attempts are a sample, and is the success itself where they
    are everybody. `figures` are numbers of the attack's own, by name; `series` are its curves, as points.
    `believed` and `factor` are of all claims; where they are not given, the victims are all there are.
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
    believed: float | None = None
    factor: float | None = None

    @property
    def highest(self) -> float:
        """The highest belief that it comes to; 0 where it claims nothing, or nothing more than before."""
        if self.believed is not None:
            return self.believed
        return max((each.posterior for each in self.victims if each.posterior > each.prior), default=0.0)

    @property
    def odds(self) -> float:
        """The largest factor by which the odds of a claim grew; infinity where it became certain."""
        if self.factor is not None:
            return self.factor
        return max((odds_factor(each.prior, each.posterior) for each in self.victims), default=1.0)

    @property
    def gain(self) -> float:
        """How much of what guessing leaves open the attack finds: 0 is nothing, 1 everything."""
        return (self.success - self.baseline) / (1 - self.baseline) if self.baseline < 1 else 0.0


def odds_factor(prior: float, posterior: float) -> float:
    """
    >>> odds_factor(0.01, 0.05), odds_factor(0.5, 1.0)
    (5.210..., inf)
    """
    if posterior <= prior:
        return 1.0
    return math.inf if posterior == 1 or prior == 0 else posterior * (1 - prior) / (prior * (1 - posterior))


def strongest(victims: Sequence[Finding], most: int = 20) -> tuple[Finding, ...]:
    """Those of whom the most was learned, first."""
    return tuple(sorted(victims, key=lambda each: (each.prior - each.posterior, each.victim))[:most])
