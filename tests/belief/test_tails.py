"""Tails: against every event of small mechanisms, and against the examples that the folklore fails on."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

from discreet.belief import smallest_gamma, tail_probability
from discreet.belief.tail_bounds import smallest_loss, tail_probability_beyond_loss
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.guarantees import (
    ApproximateDP,
    DiscreteGaussianDP,
    GaussianDP,
    GroupOf,
    Guarantee,
    LaplaceDP,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from discreet.core.neighbor_relations import Relation
from tests.belief.finite import Channel, Floats, OneWay, events, properties, random_channel

GUARANTEES: list[Guarantee] = [
    PureDP(epsilon=1),
    LaplaceDP(epsilon=0.3),
    ApproximateDP(epsilon=Fraction(1, 2), delta=1e-7),
    GaussianDP(mu=0.4),
    GaussianDP(mu=4),
    DiscreteGaussianDP(variance=Fraction(9), shift=2),
    RenyiDP(order=8, epsilon=0.2),
    ZeroConcentratedDP(rho=0.05, delta=1e-8),
    GroupOf(member=ZeroConcentratedDP(rho=0.01), size=3, relation=Relation.VALUE),
    random_channel(np.random.default_rng(5), 2, 6),
]


def most_probable_breach(true: Floats, false: Floats, gamma: float) -> float:
    """The largest P(S) with P(S) >= gamma Q(S), S randomized: best ratios first, the last in part."""
    order = np.argsort(false / true)
    gains, hit = gamma * false[order] - true[order], np.cumsum(true[order])
    debt = np.cumsum(gains)
    if debt[0] > 0:
        return 0.0
    last = int(np.flatnonzero(debt <= 0)[-1])
    if last == len(order) - 1:
        return 1.0
    return float(hit[last] + true[order][last + 1] * -debt[last] / gains[last + 1])


@given(st.integers(0, 100_000), st.floats(0.01, 4))
def test_tail_is_the_probability_of_the_worst_post_processing(seed: int, loss: float) -> None:
    random = np.random.default_rng(seed)
    channel = random_channel(random, 2, int(random.integers(2, 7)))
    p, q = channel.matrix
    there, back = OneWay(channel.matrix), OneWay(channel.matrix[::-1])
    found, exact = tail_probability(there, math.exp(loss)), most_probable_breach(p, q, math.exp(loss))
    if abs(loss - there.cap) > 1e-6:
        assert found == pytest.approx(exact, rel=1e-6, abs=1e-12)
    assert tail_probability(channel, math.exp(loss)) >= max(found, tail_probability(back, math.exp(loss))) * (
        1 - 1e-9
    )


@settings(max_examples=40)
@given(st.integers(0, 100_000), st.floats(0.05, 3))
def test_tail_covers_every_property_prior_and_event(seed: int, loss: float) -> None:
    """What an attacker sees is one event; a breach is one after which the odds grew by more than gamma."""
    random = np.random.default_rng(seed)
    inputs, outputs = int(random.integers(2, 5)), int(random.integers(2, 6))
    channel = random_channel(random, inputs, outputs)
    bound = tail_probability(channel, math.exp(loss))
    prior = random.dirichlet(np.full(inputs, 0.5))
    for holds in properties(inputs):
        true = prior[holds] @ channel.matrix[holds] / prior[holds].sum()
        false = prior[~holds] @ channel.matrix[~holds] / prior[~holds].sum()
        for event in events(outputs):
            hit, miss = true[event].sum(), false[event].sum()
            if hit > math.exp(loss) * miss * (1 + 1e-12):
                assert hit <= bound + 1e-12


def test_tail_where_the_folklore_is_false() -> None:
    """A (1, .001)-DP mechanism whose loss exceeds 1 not with probability .001 but .731."""
    delta = 0.001
    above = (math.e + delta) / (1 + math.e)
    twisted = Channel(np.array([[above, 1 - above], [1 - above, above]]))
    assert twisted.profile(1.0) == pytest.approx(delta)
    assert twisted.cap > 1
    assert above == pytest.approx(0.731, abs=5e-4)
    assert tail_probability(twisted, math.e) >= above
    assert tail_probability(ApproximateDP(epsilon=1, delta=delta), math.e) >= above


@pytest.mark.parametrize(("sigma", "raw", "breach"), [(2.9813, 1e-6, 2.59e-6), (2.6593, 1.32e-5, 3.39e-5)])
def test_tail_covers_a_published_threshold_that_the_raw_loss_does_not(
    sigma: float, raw: float, breach: float
) -> None:
    """Publish only whether the noisy output passes t, the least t for which that tells too much."""
    gamma = 0.05 * 0.99 / (0.01 * 0.95)

    def too_telling(t: float) -> float:
        return float(norm.logsf(t - 1, scale=sigma) - norm.logsf(t, scale=sigma)) - math.log(gamma)

    least = brentq(too_telling, 0, 60)
    passed = float(norm.sf(least - 1, scale=sigma))
    assert passed == pytest.approx(breach, rel=5e-3)
    assert tail_probability(GaussianDP(mu=1 / sigma), gamma) == pytest.approx(passed, rel=1e-9, abs=0)
    assert norm.sf(sigma * math.log(gamma) - 1 / (2 * sigma)) == pytest.approx(raw, rel=5e-3)


@given(st.floats(0.01, 3), st.floats(1e-9, 0.1), st.floats(0.01, 3))
def test_tail_of_approximate_dp_is_delta_over_the_distance(epsilon: float, delta: float, more: float) -> None:
    """Past epsilon it is delta / (1 - exp(epsilon - ln gamma)), or less by looking below epsilon."""
    bound = tail_probability_beyond_loss(ApproximateDP(epsilon=epsilon, delta=delta), epsilon + more)
    stated = delta / -math.expm1(-more)
    assert bound <= stated * (1 + 1e-9)
    if stated < 0.5:
        assert bound == pytest.approx(stated, rel=1e-9, abs=0)


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("share", [1e-5, 1e-3, 0.1, 0.6])
def test_smallest_gamma_is_where_the_tail_begins_to_fit(guarantee: Guarantee, share: float) -> None:
    loss = smallest_loss(guarantee, share)
    assert tail_probability_beyond_loss(guarantee, loss) <= share * (1 + 1e-9)
    if loss > 1e-6:
        assert tail_probability_beyond_loss(guarantee, loss * (1 - 1e-6)) > share
    assert smallest_gamma(guarantee, share) == pytest.approx(math.exp(loss))


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda each: type(each).__name__)
def test_tail_never_grows_with_gamma(guarantee: Guarantee) -> None:
    tails = [tail_probability(guarantee, gamma) for gamma in np.geomspace(1, 1e4, 60).tolist()]
    assert tails[0] == pytest.approx(1)
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in itertools.pairwise(tails))


def test_a_pure_guarantee_has_no_tail_from_its_cap_on_and_attains_it_below() -> None:
    assert tail_probability(PureDP(epsilon=1), math.exp(1)) == 0
    assert tail_probability(PureDP(epsilon=1), math.exp(1 - 1e-9)) == pytest.approx(
        math.e / (1 + math.e), rel=1e-6
    )
    assert tail_probability(LaplaceDP(epsilon=1), math.exp(1 - 1e-9)) == pytest.approx(0.5, rel=1e-4)
    assert smallest_gamma(PureDP(epsilon=1), 0) == pytest.approx(math.e)


def test_no_gamma_keeps_a_tail_that_delta_already_fills() -> None:
    leaking = ApproximateDP(epsilon=1, delta=1e-6)
    assert smallest_gamma(leaking, 0) == smallest_gamma(leaking, 1e-6) == math.inf
    assert tail_probability(leaking, math.inf) == pytest.approx(1e-6)


def test_losses_beyond_what_a_float_can_exponentiate_are_answered() -> None:
    twice = GroupOf(member=GaussianDP(mu=60), size=2, relation=Relation.VALUE)
    assert 0 <= tail_probability_beyond_loss(twice, 744.0) <= 1
    assert smallest_gamma(PureDP(epsilon=800), 0) == math.inf


@pytest.mark.parametrize("bad", [0.99, -1, math.nan, "2", None])
def test_gamma_must_be_at_least_one(bad: float) -> None:
    with pytest.raises(
        InvalidParameterError, match=r"^tail_probability: `gamma=` must be .* at least 1; got "
    ):
        tail_probability(PureDP(epsilon=1), bad)


@pytest.mark.parametrize("bad", [1, -0.1, math.nan, "0"])
def test_a_tail_must_be_below_one(bad: float) -> None:
    with pytest.raises(
        InvalidParameterError, match=r"^smallest_gamma: `tail=` must be a number in \[0, 1\); got "
    ):
        smallest_gamma(PureDP(epsilon=1), bad)


@pytest.mark.parametrize(
    ("guarantee", "epsilon", "delta"),
    [
        (ZeroConcentratedDP(rho=0.05), -60.0, 1.0),
        (ZeroConcentratedDP(rho=2_000), 1.0, 1.0),
        (GaussianDP(mu=1e-9), 500.0, 0.0),
        (ApproximateDP(epsilon=1, delta=0).for_group(1_000), 1_000.0, 0.0),
    ],
)
def test_profiles_are_answered_far_from_their_scale(
    guarantee: Guarantee, epsilon: float, delta: float
) -> None:
    assert guarantee.profile(epsilon) == pytest.approx(delta, abs=1e-6)


def test_a_delta_that_grows_beyond_all_floats_is_refused_for_the_group() -> None:
    with pytest.raises(RequestError, match="says nothing about a group of 1000"):
        ApproximateDP(epsilon=1, delta=1e-300).for_group(1_000)
