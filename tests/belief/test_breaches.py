"""Breaches and information: the theorems, over random channels, priors and all properties."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from discreet.belief import (
    amplification,
    bound_posterior,
    bound_posterior_from_information,
    compute_posteriors,
    find_downward_breaches,
    find_upward_breaches,
    find_worst_property,
    highest_posterior,
    mutual_information,
    worst_case_information,
    worst_case_information_for_epsilon,
)
from discreet.core.errors import InvalidParameterError
from tests.belief.finite import Floats, properties, random_channel

SEEDS = st.integers(0, 100_000)
ADMISSIBLE: dict[str, Callable[[Floats], Floats]] = {
    "log": np.log,
    "log2": np.log2,
    "t": lambda t: t,
    "t**2": lambda t: t**2,
    "-1/sqrt t": lambda t: -1 / np.sqrt(t),
    "|t - 1| / t": lambda t: np.abs(t - 1) / t,
    "1/t**2": lambda t: 1 / t**2,
}


def problem(seed: int, most: int = 5) -> tuple[np.random.Generator, Floats, Floats]:
    random = np.random.default_rng(seed)
    inputs, outputs = int(random.integers(2, most + 1)), int(random.integers(2, 6))
    return random, random_channel(random, inputs, outputs).matrix, random.dirichlet(np.full(inputs, 0.7))


@given(SEEDS)
def test_below_the_amplification_bound_no_property_is_breached_in_either_direction(seed: int) -> None:
    random, channel, prior = problem(seed)
    gamma = amplification(channel).overall
    rho1 = float(random.uniform(0.01, 0.9))
    if gamma < 1e9:
        rho2 = highest_posterior(rho1, math.log(gamma) + 1e-9)
        for holds in properties(prior.size):
            assert find_upward_breaches(channel, prior, holds, rho1, rho2) == ()
            assert find_downward_breaches(channel, prior, holds, rho1, rho2) == ()


@given(SEEDS)
def test_the_amplification_bound_is_attained_by_some_prior(seed: int) -> None:
    """All weight on the likeliest and the unlikeliest cause of the worst output."""
    _, channel, _ = problem(seed)
    found = amplification(channel)
    y = int(np.argmax(found.per_output))
    likely, unlikely = int(channel[:, y].argmax()), int(channel[:, y].argmin())
    prior, holds = np.zeros(len(channel)), np.arange(len(channel)) == likely
    prior[[likely, unlikely]] = 0.2, 0.8
    if 1.001 < found.overall < 1e9:
        reached = highest_posterior(0.2, math.log(found.overall))
        assert compute_posteriors(channel, prior, holds)[y] == pytest.approx(reached, rel=1e-9)
        # another output may come as near to the bound as the worst one
        after = 0.2 * channel[likely] / (0.2 * channel[likely] + 0.8 * channel[unlikely])
        worst = [int(each) for each in np.flatnonzero(after >= reached * (1 - 1e-6))]
        risen = find_upward_breaches(channel, prior, holds, 0.2, reached * (1 - 1e-6))
        assert y in worst
        assert [each.output for each in risen] == worst
        fallen = find_downward_breaches(channel, prior, ~holds, (1 - reached) * (1 + 1e-6), 0.8)
        least = np.flatnonzero(1 - after <= (1 - reached) * (1 + 1e-6))
        assert [each.output for each in fallen] == [int(each) for each in least]


def test_a_breach_is_strict() -> None:
    """Randomized response at gamma = 3 takes 1/4 to just 1/2: kept, not breached."""
    response = [[0.75, 0.25], [0.25, 0.75]]
    assert find_upward_breaches(response, [0.25, 0.75], [True, False], 0.25, 0.5) == ()
    (breach,) = find_upward_breaches(response, [0.25, 0.75], [True, False], 0.25, 0.499)
    assert (breach.output, breach.prior, breach.posterior) == (0, 0.25, 0.5)
    assert find_downward_breaches(response, [0.25, 0.75], [False, True], 0.5, 0.75) == ()
    (fall,) = find_downward_breaches(response, [0.25, 0.75], [False, True], 0.501, 0.75)
    assert (fall.output, fall.prior, fall.posterior) == (0, 0.75, 0.5)
    assert find_upward_breaches(response, [0.26, 0.74], [True, False], 0.25, 0.4) == ()


def test_amplification_of_outputs_that_exclude_or_never_occur() -> None:
    found = amplification([[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.5, 0.0]])
    assert found.per_output == (2.0, 2.0, math.inf, 1.0)
    assert found.overall == math.inf
    assert np.isnan(compute_posteriors([[1.0, 0.0], [1.0, 0.0]], [0.5, 0.5], [True, False])[1])


@given(SEEDS, st.floats(0.02, 0.8))
def test_worst_property_is_worse_than_all_others(seed: int, rho1: float) -> None:
    _, channel, prior = problem(seed)
    found = find_worst_property(channel, prior, rho1)
    allowed = [holds for holds in properties(prior.size) if prior[holds].sum() <= rho1]
    if found is None:
        assert not allowed
        return
    assert found.prior <= rho1 + 1e-9
    assert found.limit == found.posterior
    assert found.posterior == pytest.approx(
        max(compute_posteriors(channel, prior, each).max() for each in allowed)
    )
    holds = np.isin(np.arange(prior.size), found.values)
    assert compute_posteriors(channel, prior, holds)[found.output] == pytest.approx(found.posterior)


@settings(max_examples=20)
@given(SEEDS)
def test_worst_property_of_many_values_is_found_up_to_a_stated_limit(seed: int) -> None:
    random = np.random.default_rng(seed)
    channel, prior = random_channel(random, 30, 4).matrix, random.dirichlet(np.ones(30))
    found = find_worst_property(channel, prior, 0.2)
    assert found is not None
    assert found.posterior <= found.limit
    holds = np.isin(np.arange(30), found.values)
    assert prior[holds].sum() <= 0.2 + 1e-9
    assert compute_posteriors(channel, prior, holds)[found.output] == pytest.approx(found.posterior)
    for _ in range(200):
        other = np.zeros(30, np.bool_)
        for k in random.permutation(30):
            other[k] = prior[other].sum() + prior[k] <= 0.2
        assert compute_posteriors(channel, prior, other).max() <= found.limit + 1e-9


@pytest.mark.parametrize("name", ADMISSIBLE)
@settings(max_examples=25)
@given(seed=SEEDS)
def test_worst_case_information_bounds_every_upward_breach(name: str, seed: int) -> None:
    _, channel, prior = problem(seed)
    f = ADMISSIBLE[name]
    information = worst_case_information(channel, prior, f)
    for holds in properties(prior.size):
        before = float(prior[holds].sum())
        reached = float(compute_posteriors(channel, prior, holds).max())
        if 1e-6 < before < 1 - 1e-6:
            assert reached <= bound_posterior_from_information(before, information, f) + 1e-7
            assert reached <= bound_posterior(channel, prior, before, f) + 1e-7


@given(st.floats(0.05, 0.9), st.floats(0.01, 0.99))
def test_the_information_bound_is_tight_for_a_single_bit(rho1: float, share: float) -> None:
    """A two-valued secret, and an output that leads from rho1 to rho2: the bound gives back rho2."""
    rho2 = rho1 + (1 - rho1) * share
    divergence = rho2 * math.log(rho2 / rho1) + (1 - rho2) * math.log((1 - rho2) / (1 - rho1))
    assert bound_posterior_from_information(rho1, divergence) == pytest.approx(rho2, rel=1e-6)


def test_the_smaller_of_both_bounds_is_reported() -> None:
    prior = [0.1, 0.9]
    rare = [[0.3, 0.7], [0.1, 0.9]]
    by_information = bound_posterior_from_information(0.1, worst_case_information(rare, prior))
    assert bound_posterior(rare, prior, 0.1) == pytest.approx(
        min(by_information, highest_posterior(0.1, math.log(3)))
    )
    wide = [[1.0, 0.0, 0.0], [0.9, 0.05, 0.05]]
    assert amplification(wide).overall == math.inf
    assert bound_posterior(wide, [0.99, 0.01], 0.99) == 1.0
    assert bound_posterior(wide, [0.01, 0.99], 0.01) == bound_posterior_from_information(
        0.01, worst_case_information(wide, [0.01, 0.99])
    )


@given(SEEDS, st.floats(0.05, 4))
def test_no_channel_of_epsilon_says_more_than_stated(seed: int, epsilon: float) -> None:
    random = np.random.default_rng(seed)
    inputs = int(random.integers(2, 6))
    likelihoods = np.exp(-epsilon * random.choice([0.0, 1.0, random.uniform()], inputs))
    prior = random.dirichlet(np.full(inputs, 0.5))
    column = likelihoods / 2
    channel = np.column_stack([column, 1 - column])
    after = prior * column / (prior @ column)
    divergence = float(np.sum(after[after > 0] * np.log(after[after > 0] / prior[after > 0])))
    assert divergence <= worst_case_information_for_epsilon(epsilon) + 1e-12
    assert worst_case_information(channel, prior) >= divergence - 1e-12


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 3.0, 8.0])
def test_the_most_that_epsilon_can_say_is_attained(epsilon: float) -> None:
    p = np.linspace(1e-5, 1 - 1e-5, 400_001)
    q = p / (p + (1 - p) * math.exp(-epsilon))
    divergence = q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p))
    assert worst_case_information_for_epsilon(epsilon) == pytest.approx(float(divergence.max()), rel=1e-4)


@given(SEEDS)
def test_mutual_information_is_the_divergence_of_the_joint_law(seed: int) -> None:
    _, channel, prior = problem(seed)
    joint = prior[:, None] * channel
    product = prior[:, None] * (prior @ channel)[None, :]
    cells = joint > 0
    direct = float(np.sum(joint[cells] * np.log2(joint[cells] / product[cells])))
    assert mutual_information(channel, prior, np.log2) == pytest.approx(direct, abs=1e-12)
    assert (
        mutual_information(channel, prior, np.log2) <= worst_case_information(channel, prior, np.log2) + 1e-12
    )


@given(SEEDS)
def test_worst_case_information_does_not_grow_when_values_are_merged(seed: int) -> None:
    """Also where an output excludes a value: the limit of t f(t) at 0 counts, not only the support."""
    random = np.random.default_rng(seed)
    channel = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], random.dirichlet(np.ones(3))])
    prior = random.dirichlet(np.ones(3))
    weights = prior[:2] / prior[:2].sum()
    merged = np.vstack([weights @ channel[:2], channel[2]])
    coarse = [prior[:2].sum(), prior[2]]
    for f in ADMISSIBLE.values():
        assert worst_case_information(merged, coarse, f) <= worst_case_information(channel, prior, f) + 1e-9


@pytest.mark.parametrize(
    "f",
    [
        lambda t: -np.log(t),
        lambda t: 1 - t,
        np.sin,
        lambda t: np.full_like(t, math.nan),
        math.log,
        lambda t: "much",
        None,
    ],
    ids=["-log", "1-t", "sin", "nan", "of numbers", "text", "none"],
)
def test_information_refuses_an_f_that_is_not_admissible(f: Callable[[Floats], Floats]) -> None:
    with pytest.raises(InvalidParameterError, match=r"^`f=` must "):
        worst_case_information([[0.6, 0.4], [0.4, 0.6]], [0.5, 0.5], f)


@pytest.mark.parametrize(
    ("channel", "prior", "holds", "named"),
    [
        ([[0.5, 0.6], [0.5, 0.5]], [0.5, 0.5], [True, False], "`channel=` must be rows of probabilities"),
        ([[1.5, -0.5], [0.5, 0.5]], [0.5, 0.5], [True, False], "`channel=` must be rows of probabilities"),
        ([[math.nan, 1], [0.5, 0.5]], [0.5, 0.5], [True, False], "`channel=` must be rows of probabilities"),
        ([0.5, 0.5], [0.5, 0.5], [True, False], "`channel=` must be a matrix"),
        ([["a", "b"]], [1.0], [True], "`channel=` must be numbers"),
        ([[0.5, 0.5], [0.5, 0.5]], [0.5, 0.6], [True, False], "`prior=` must be probabilities that sum to 1"),
        ([[0.5, 0.5], [0.5, 0.5]], [1.0], [True, False], "`prior=` must be 2 probabilities"),
        ([[0.5, 0.5], [0.5, 0.5]], [0.5, 0.5], [True], "`has_property=` must be 2 booleans"),
        ([[0.5, 0.5], [0.5, 0.5]], [0.5, 0.5], [1, 0], "`has_property=` must be 2 booleans"),
    ],
)
def test_requires_distributions_and_a_property(
    channel: ArrayLike, prior: ArrayLike, holds: list[bool], named: str
) -> None:
    with pytest.raises(InvalidParameterError, match=rf"^{named}.*; got "):
        find_upward_breaches(channel, prior, holds, 0.1, 0.2)


@pytest.mark.parametrize(("rho1", "rho2"), [(0.2, 0.2), (0.3, 0.2), (0, 0.5), (0.5, math.nan)])
def test_requires_an_order_of_the_two_beliefs(rho1: float, rho2: float) -> None:
    for breaches in (find_upward_breaches, find_downward_breaches):
        with pytest.raises(InvalidParameterError, match=r"^`rho[12]=` must be .*; got "):
            breaches([[0.5, 0.5], [0.5, 0.5]], [0.5, 0.5], [True, False], rho1, rho2)


@pytest.mark.parametrize("bad", [-0.1, math.nan])
def test_information_must_be_possible(bad: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"^`information=` must be at least 0"):
        bound_posterior_from_information(0.1, bad)
