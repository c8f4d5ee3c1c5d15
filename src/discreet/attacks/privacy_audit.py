"""Privacy audits by simulation: of a claimed epsilon, and of a promise.

Audit of epsilon: an empirical lower bound from the frequency of one event on two neighboring inputs.

Knows       the mechanism, and that the data is one of two neighboring tables.
Learns      a lower bound on the privacy loss: ln (Pr[event | D] - delta) / Pr[event | D'].
Score       the event is chosen on one half of the runs and counted on the other. Each probability is replaced
            by its one-sided Clopper-Pearson bound, so the result exceeds the true epsilon with probability at
            most 1 - confidence, whatever the mechanism and however the event was found.
Stopped by  a mechanism whose epsilon is what it claims. A bound below the claim proves nothing: another pair
            of neighbors, another event or more runs could show more.

Audit of a promise: realized posteriors of simulated attackers against the promised cap.

Knows       the mechanism, all other records, and that a claim about one person has the promise's prior.
Learns      its exact posterior from every output, by Bayes' rule.
Score       the claim is true in every run. The share of runs in which the posterior exceeds the promised one
            must be 0 under a promise without a tail, and at most its tail otherwise. With a tail the verdict
            uses a Clopper-Pearson interval: a promise that is kept is called broken with probability at most
            1 - confidence. Without one, a single run above the cap is enough.
Stopped by  a mechanism whose guarantee the promise admits.

[JUO20]     Jagielski, Ullman & Oprea, Auditing Differentially Private Machine Learning.
[DWWZK18]   Ding, Wang, Wang, Zhang & Kifer, Detecting Violations of Differential Privacy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from discreet.attacks.distinguishing_events import (
    Outputs,
    align_columns,
    choose_event,
    compute_epsilon_lower_bound,
    slice_runs,
)
from discreet.belief import Promise
from discreet.belief.odds import logit
from discreet.belief.wording import format_chance, format_number, format_percent, format_percent_up
from discreet.core.binomial import clopper_pearson
from discreet.core.errors import require_parameter
from discreet.core.number_checks import (
    DEFAULT_CONFIDENCE,
    Real,
    is_real,
    require_count,
    require_positive,
    require_probability,
)

__all__ = ["EpsilonAudit", "Sampler", "audit_epsilon", "compute_epsilon_lower_bound"]

Sampler = Callable[[int], Outputs]

DEFAULT_RUNS = 40_000
MIN_RUNS = 100
MOST_DIGITS = 17  # of a double; more digits than that distinguish nothing


@dataclass(frozen=True, kw_only=True)
class EpsilonAudit:
    """The result of an audit: with `confidence`, epsilon (at `delta`) is at least `lower_bound`."""

    claimed: float
    lower_bound: float
    confidence: float
    runs: int
    event_hits: tuple[int, int]
    delta: float = 0.0

    @property
    def holds(self) -> bool:
        """True unless the runs refute the claim."""
        return self.lower_bound <= self.claimed

    @property
    def verdict(self) -> str:
        """The verdict in one sentence; for a broken claim, a second one gives the false-alarm rate."""
        claimed, bound = self.formatted_bounds
        at = f" at delta {format_number(self.delta)}" if self.delta else ""
        shown = f"at least {bound}{at} with {format_percent(self.confidence)} confidence"
        if self.holds:
            return f"Epsilon is {shown}; {claimed} is claimed, and the runs do not contradict it."
        miss = 1 - self.confidence
        return (
            f"The claim is broken: epsilon is {shown}, and {claimed} is claimed. Of sound mechanisms up to "
            f"{format_chance(miss)} would be told the same at this confidence: run it again, with one of "
            f"{format_percent(1 - miss / 1000)}."
        )

    @property
    def formatted_bounds(self) -> tuple[str, str]:
        """The claim and the bound as text, with enough digits to tell them apart."""
        both = (self.claimed, self.lower_bound)
        for digits in range(3, MOST_DIGITS):
            claimed, bound = (format_number(each, digits) for each in both)
            if claimed != bound:
                break
        return claimed, bound


def audit_epsilon(
    sampler: Sampler,
    neighbor_sampler: Sampler,
    *,
    claimed: Real,
    delta: Real = 0,
    runs: int = DEFAULT_RUNS,
    confidence: float = DEFAULT_CONFIDENCE,
) -> EpsilonAudit:
    """Run a mechanism on two neighboring inputs, choose an event on half of the runs, count it on the rest.

    `sampler` and `neighbor_sampler` return as many independent outputs as requested: numbers, words, rows or
    tables.
    """
    require_positive("audit", "claimed", claimed)
    require_parameter(is_real(delta) and 0 <= delta < 1, "audit", "delta", delta, "a number in [0, 1)")
    require_count("audit", "runs", runs, minimum=MIN_RUNS)
    require_probability("audit", "confidence", confidence)
    miss, half = 1 - confidence, runs // 2
    first, second = align_columns(sampler(runs), neighbor_sampler(runs))
    require_parameter(
        bool(first), "audit", "here", "outputs without a value", "a draw of outputs that have values"
    )
    event = choose_event(
        slice_runs(first, 0, half), slice_runs(second, 0, half), miss=miss, delta=float(delta)
    )
    hits = event.count_hits(slice_runs(first, half, runs)), event.count_hits(slice_runs(second, half, runs))
    more, fewer = hits[::-1] if event.favors_neighbor else hits
    return EpsilonAudit(
        claimed=float(claimed),
        lower_bound=compute_epsilon_lower_bound(
            more, fewer, runs - half, error_rate=miss, delta=float(delta)
        ),
        confidence=confidence,
        runs=runs,
        event_hits=(more, fewer),
        delta=float(delta),
    )


ROUNDING = 1e-9  # of a posterior that was computed in floats


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
        cap = format_percent_up(self.cap)
        ended = f"{self.above_cap:,} of {self.runs:,} attackers ended above {cap}{allowed}"
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
    require_probability("compute_posteriors", "prior", prior)
    return np.asarray(scipy.special.expit(logit(prior) + losses))
