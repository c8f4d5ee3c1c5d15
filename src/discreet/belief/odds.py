"""Odds: belief is additive in log-odds, and a privacy loss bounds the amount that is added.

Definition  logit p = ln(p / (1 - p)), sigmoid its inverse. A claim of prior p, after a release with a loss of
            at most `loss` between "true" and "false", ends between sigmoid(logit p - loss) and
            sigmoid(logit p + loss), for every property of the person, not for single values only.
gamma       of (prior, posterior) is the factor between their odds, and ln gamma the loss that leads from one
            to the other [EGS03].
Gain        posterior - prior is largest at p = 1 / (1 + exp(loss / 2)), where it is tanh(loss / 4).
Any release Before anything is released, the chance that a posterior will reach rho2 is at most rho1 / rho2,
            whatever the mechanism: the posterior's expectation is the prior (Markov's inequality).

[EGS03]     Evfimievski, Gehrke & Srikant, Limiting Privacy Breaches in Privacy Preserving Data Mining.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from discreet.core.argument_types import refuse_wrong_types
from discreet.core.errors import require_parameter
from discreet.core.number_checks import Real, is_real, require_probability


class Gain(NamedTuple):
    """The largest growth of a belief, and the prior at which it occurs."""

    gain: float
    prior: float


def logit(p: Real) -> float:
    """Return the natural logarithm of the odds of p.

    >>> logit(0.5)
    0.0
    """
    require_probability("logit", "p", p)
    return math.log(p) - math.log1p(-p)


@refuse_wrong_types
def sigmoid(x: float) -> float:
    """Return the probability whose log-odds are x, without overflow."""
    require_parameter(not math.isnan(x), "sigmoid", "x", x, "a number")
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    return math.exp(x) / (1 + math.exp(x))


def log_gamma(prior: Real, posterior: Real) -> float:
    """Return logit posterior - logit prior, without cancellation where the two are close or tiny.

    >>> log_gamma(0.01, 0.05)
    1.6506...
    """
    require_probability("gamma", "prior", prior)
    require_probability("gamma", "posterior", posterior)
    growth = (posterior - prior) / float(prior) / (1 - posterior)
    if -0.5 < growth < math.inf:
        return math.log1p(growth)
    return logit(posterior) - logit(prior)


def gamma(prior: Real, posterior: Real) -> float:
    """Return the factor from the odds of `prior` to those of `posterior`.

    >>> round(gamma(0.01, 0.05), 9)
    5.210526316
    """
    loss = log_gamma(prior, posterior)
    return math.exp(loss) if loss < 709 else math.inf


def highest_posterior(prior: Real, loss: Real) -> float:
    """Return the largest posterior of a claim after a release whose loss is at most `loss`.

    >>> round(highest_posterior(0.01, 1.6), 4)
    0.0476
    """
    p = _check_prior_and_loss("highest_posterior", prior, loss)
    return p / (p + (1 - p) * math.exp(-loss))


def lowest_posterior(prior: Real, loss: Real) -> float:
    """Return the smallest posterior of a claim after a release whose loss is at most `loss`."""
    p = _check_prior_and_loss("lowest_posterior", prior, loss)
    shrunk = p * math.exp(-loss)
    return shrunk / (shrunk + (1 - p))


def largest_gain(epsilon: Real) -> Gain:
    """Return the largest growth of any belief under `epsilon`.

    >>> largest_gain(4)
    Gain(gain=0.761..., prior=0.119...)
    """
    _check_prior_and_loss("largest_gain", 0.5, epsilon, name="epsilon")
    return Gain(gain=math.tanh(epsilon / 4), prior=sigmoid(-float(epsilon) / 2))


def bound_chance_of_reaching(prior: Real, posterior: Real) -> float:
    """Return a bound, before any release, on the probability that `posterior` will be reached."""
    require_probability("bound_chance_of_reaching", "prior", prior)
    require_probability("bound_chance_of_reaching", "posterior", posterior)
    return min(1.0, prior / float(posterior))


def _check_prior_and_loss(owner: str, prior: Real, loss: Real, *, name: str = "loss") -> float:
    require_probability(owner, "prior", prior)
    holds = (is_real(loss) or loss == math.inf) and loss >= 0
    require_parameter(holds, owner, name, loss, "a number of at least 0")
    return float(prior)
