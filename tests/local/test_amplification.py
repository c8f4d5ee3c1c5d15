"""The amplification theorem and the bound from worst-case information, over random channels and priors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.belief import (
    Promise,
    bound_posterior_from_information,
    gamma,
    highest_posterior,
    sigmoid,
    worst_case_information_for_epsilon,
)
from discreet.local import (
    HadamardResponse,
    KaryResponse,
    LocalHashing,
    MatrixOperator,
    Rappor,
    SubsetSelection,
    UnaryEncoding,
)
from discreet.local.design import design_frequencies
from discreet.local.frequency_oracles import PureFrequencyOracle
from discreet.local.operator import Operator
from tests.statistical import power

SEEDS = st.integers(0, 10**6)
PRIORS = st.floats(0.001, 0.9)


def random_operator(seed: int) -> tuple[MatrixOperator, np.random.Generator]:
    """Rows between a common one and their own: some amplify little, some much."""
    generator = np.random.default_rng(seed)
    values, outputs = generator.integers(2, 7), generator.integers(2, 9)
    own, common = generator.dirichlet(np.ones(outputs), values), generator.dirichlet(np.ones(outputs))
    part = generator.uniform(0, 0.9)
    return MatrixOperator(rows=part * own + (1 - part) * common), generator


@given(SEEDS, PRIORS)
def test_no_property_is_breached_under_any_prior_where_gamma_is_below_the_bound(
    seed: int, rho1: float
) -> None:
    """Every property of every channel, with priors from even to nearly certain."""
    operator, generator = random_operator(seed)
    rho2 = highest_posterior(rho1, operator.epsilon)
    promise = Promise(rho1, min(rho2 + 1e-9, 1 - 1e-12))
    assert gamma(promise.prior, promise.posterior) >= operator.gamma
    prior = generator.dirichlet(np.full(operator.values, 10 ** generator.uniform(-1, 1)))
    codes = np.arange(1 << operator.values)[1:-1, None]
    properties = list((codes >> np.arange(operator.values) & 1).astype(bool))
    assert operator.find_breaches(prior, properties, promise) == ()


@given(SEEDS, PRIORS)
def test_some_prior_attains_the_bound_so_that_any_smaller_promise_is_breached(seed: int, rho1: float) -> None:
    """The prior that has just the two rows of the worst column's largest and smallest entry."""
    operator, _ = random_operator(seed)
    matrix = operator.matrix()
    worst = int(np.argmax(matrix.max(axis=0) / matrix.min(axis=0)))
    likely, unlikely = int(matrix[:, worst].argmax()), int(matrix[:, worst].argmin())
    prior = np.zeros(operator.values)
    prior[likely], prior[unlikely] = rho1, 1 - rho1
    (swing,) = operator.posterior_ranges(prior, [np.arange(operator.values) == likely])
    assert swing.highest == pytest.approx(highest_posterior(rho1, operator.epsilon), rel=1e-9)
    if swing.highest > rho1 * 1.0001:
        smaller = Promise(rho1, rho1 + 0.999 * (swing.highest - rho1))
        assert operator.find_breaches(prior, [np.arange(operator.values) == likely], smaller) == (swing,)


@given(SEEDS)
def test_no_posterior_passes_the_bound_from_worst_case_information(seed: int) -> None:
    operator, generator = random_operator(seed)
    prior = generator.dirichlet(np.ones(operator.values))
    information = operator.worst_case_information(prior)
    assert information <= worst_case_information_for_epsilon(operator.epsilon) + 1e-12
    codes = np.arange(1 << operator.values)[1:-1, None]
    for swing in operator.posterior_ranges(
        prior, list((codes >> np.arange(operator.values) & 1).astype(bool))
    ):
        if 0 < swing.prior < 1:
            assert swing.highest <= bound_posterior_from_information(swing.prior, information) + 1e-9


@given(st.floats(0.001, 0.4), st.floats(0.01, 0.5), st.integers(2, 40))
def test_every_operator_that_is_designed_for_a_promise_keeps_it(
    rho1: float, more: float, values: int
) -> None:
    promise = Promise(rho1, rho1 + more)
    for each in design_frequencies(promise, values, clients=1000):
        assert each.operator.gamma <= promise.gamma * (1 + 1e-12)
        assert promise.admits(each.operator.guarantee)


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 1, 5, 30])
@pytest.mark.parametrize(
    "kind", [KaryResponse, HadamardResponse, LocalHashing, UnaryEncoding, SubsetSelection]
)
def test_the_sampled_law_never_amplifies_by_more_than_was_asked_for(
    kind: type[PureFrequencyOracle], epsilon: float
) -> None:
    for values in (2, 7, 1000):
        found = kind.for_epsilon(epsilon, values).gamma
        assert found <= math.exp(epsilon) * (1 + 1e-15)
        assert math.log(found) == pytest.approx(epsilon, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("kind", [KaryResponse, HadamardResponse, UnaryEncoding, SubsetSelection])
def test_the_check_of_a_law_would_notice_a_fifth_more_epsilon(kind: type[PureFrequencyOracle]) -> None:
    """The conformance suite counts 200,000 reports of each value, column by column."""
    right, bolder = (kind.for_epsilon(epsilon, 5).matrix() for epsilon in (1.0, 1.2))
    found = [power(a, b, 200_000, family=right.size) for a, b in zip(right[0], bolder[0], strict=True)]
    assert max(found) > 1 - 1e-3


LARGE: tuple[Operator, ...] = (
    UnaryEncoding.for_epsilon(1, 200),
    SubsetSelection.for_epsilon(1, 200),
    Rappor(values=200),
)


@pytest.mark.parametrize("operator", LARGE, ids=lambda each: type(each).__name__)
def test_operators_whose_reports_cannot_be_listed_state_bounds(operator: Operator) -> None:
    prior = np.full(200, 1 / 200)
    holds = np.arange(200) < 20
    (swing,) = operator.posterior_ranges(prior, [holds])
    assert swing.prior == pytest.approx(0.1)
    assert swing.highest == pytest.approx(sigmoid(math.log(0.1 / 0.9) + operator.epsilon))
    assert operator.worst_case_information(prior) == worst_case_information_for_epsilon(operator.epsilon)
    keeping = Promise(0.1, swing.highest)
    assert operator.find_breaches(prior, [holds], keeping) == ()
    assert operator.find_breaches(prior, [holds], Promise(0.1, swing.highest - 0.01)) == (swing,)
    with pytest.raises(ValueError, match="too many different reports for a matrix"):
        operator.matrix()


def test_a_report_that_is_the_property_attains_the_bound_of_unary_encoding() -> None:
    operator, prior = UnaryEncoding.for_epsilon(1, 200), np.full(200, 1 / 200)
    holds = np.arange(200) < 20
    report = np.packbits(np.pad(holds, (0, 56)), bitorder="little").view(np.uint64)[None]
    (swing,) = operator.posterior_ranges(prior, [holds])
    assert operator.posterior(prior, report)[holds].sum() == pytest.approx(swing.highest)
