"""Averaging: ask for the same counts again and again, so that the noise cancels out.

Knows       the mechanism, everyone but one person, and that this person is in one of two groups; believes the
            one with probability `prior`. The two groups' counts then differ by 1 between the two worlds.
Learns      all it can: with discrete Laplace noise an answer's loss is `rate` towards the group on whose side
            it fell, so only how many of the answers fell there matters, and that number is binomial: each
            falls on the true side with probability 1 / (1 + exp(-rate)).
Score       the expected posterior if the claim is true, by Bayes' rule on all answers; it is computed from
            the mechanism alone, no data is read.
Stopped by  a stored answer (it is one answer, however often it is read), and a budget that charges fresh
            noise: the posterior of k answers is at most that of a loss of k epsilon.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from discreet.belief.odds import logit
from discreet.core.numbers import Real, require_count, require_probability
from discreet.mechanisms.discrete_laplace import DiscreteLaplace


def expected_posterior(mechanism: DiscreteLaplace, *, prior: Real, answers: int, counts: int = 2) -> float:
    """What the attacker believes on average of a true claim, after fresh answers for each of the `counts`.

    >>> noise = DiscreteLaplace(epsilon=1, sensitivity=2)
    >>> [round(expected_posterior(noise, prior=0.01, answers=k), 3) for k in (1, 10, 100)]
    [0.016, 0.222, 0.997]
    """
    require_probability("expected_posterior", "prior", prior)
    require_count("expected_posterior", "answers", answers)
    require_count("expected_posterior", "counts", counts)
    from scipy.stats import binom  # takes a second to load, and nothing else here needs it

    draws, rate = answers * counts, float(mechanism.rate)
    on_its_side = np.arange(draws + 1)
    posterior = expit(logit(prior) + rate * (2 * on_its_side - draws))
    return float(binom.pmf(on_its_side, draws, expit(rate)) @ posterior)
