"""Audit of a promise: realized posteriors of simulated attackers against the promised cap.

Knows       the mechanism, all other records, and that a claim about one person has the promise's prior.
Learns      its exact posterior from every output, by Bayes' rule.
Score       the claim is true in every run. The share of runs in which the posterior exceeds the promised one
            must be 0 under a promise without a tail, and at most its tail otherwise. With a tail the verdict
            uses a Clopper-Pearson interval: a promise that is kept is called broken with probability at most
            1 - confidence. Without one, a single run above the cap is enough.
Stopped by  a mechanism whose guarantee the promise admits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from discreet.attacks.epsilon_audit import DEFAULT_CONFIDENCE
from discreet.belief import Promise
from discreet.belief.odds import logit
from discreet.belief.wording import format_chance, format_percent_up
from discreet.core.binomial import clopper_pearson
from discreet.core.errors import require_parameter
from discreet.core.number_checks import require_probability

ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class PosteriorAudit:
    """The number of simulated attackers whose posterior exceeded the promised cap."""

    prior: float
    cap: float
    tail: float
    highest: float
    above_cap: int
    runs: int
    interval: tuple[float, float]
    confidence: float

    @property
    def fraction(self) -> float:
        """The share of attackers above the cap."""
        return self.above_cap / self.runs

    @property
    def holds(self) -> bool:
        """True unless the runs refute the promise."""
        return self.above_cap == 0 if self.tail == 0 else self.interval[0] <= self.tail

    @property
    def verdict(self) -> str:
        """The verdict in one sentence."""
        allowed = f"; a chance of {format_chance(self.tail)} is promised" if self.tail else ""
        ended = f"{self.above_cap:,} of {self.runs:,} attackers ended above {format_percent_up(self.cap)}{allowed}"
        reached = f"the highest belief was {format_percent_up(self.highest)}"
        return f"{'' if self.holds else 'The promise is broken: '}{ended}; {reached}."


def audit_posteriors(
    posteriors: Iterable[float] | NDArray[np.float64],
    promise: Promise,
    *,
    confidence: float = DEFAULT_CONFIDENCE,
) -> PosteriorAudit:
    """Judge posteriors of true claims whose prior was at most the promise's prior."""
    require_probability("audit_posteriors", "confidence", confidence)
    reached = np.asarray(list(posteriors) if not isinstance(posteriors, np.ndarray) else posteriors)
    believed = reached.size > 0 and bool(np.all((reached >= 0) & (reached <= 1)))
    require_parameter(
        believed, "audit_posteriors", "posteriors", f"{reached.size} values", "one or more probabilities"
    )
    above = int(np.count_nonzero(reached > promise.posterior * (1 + ROUNDING)))
    return PosteriorAudit(
        prior=promise.prior,
        cap=promise.posterior,
        tail=promise.tail,
        highest=float(reached.max()),
        above_cap=above,
        runs=int(reached.size),
        interval=clopper_pearson(above, int(reached.size), alpha=2 * (1 - confidence)),
        confidence=confidence,
    )


def compute_posteriors(prior: float, losses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the posteriors of a true claim after outputs with these losses.

    >>> compute_posteriors(0.01, np.array([0.0, np.log(99)])).round(4)
    array([0.01, 0.5 ])
    """
    require_probability("posterior_after_loss", "prior", prior)
    return np.asarray(scipy.special.expit(logit(prior) + losses))
