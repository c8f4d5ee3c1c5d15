"""Strategies and workloads: sensitivities and errors by a second route, and the choice between them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import inf, sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.guarantees import PureDP, ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import Integers
from discreet.mining.tabulation import workloads
from discreet.mining.tabulation.noise_budget import NoiseBudget, compute_deviation
from discreet.mining.tabulation.workloads import (
    Strategy,
    Workload,
    make_direct,
    make_hierarchical,
    make_identity,
    make_total,
)
from tests.mining.synthesis.tables import opened, people, policy_of

MATRICES = (
    st.integers(1, 5)
    .flatmap(
        lambda cells: st.lists(
            st.lists(st.integers(0, 1), min_size=cells, max_size=cells), min_size=1, max_size=5
        )
    )
    .map(lambda rows: np.array(rows, np.int64))
    .filter(lambda matrix: bool(matrix.any()))
)
PURE = NoiseBudget(amount=Fraction(1), is_pure=True)


def largest_move(matrix: Integers, rows: int, relation: Relation) -> tuple[int, int]:
    """By trying every person: rows in any cells, and others, as many or not, where they are replaced."""
    cells = matrix.shape[1]
    tables = [
        np.bincount(each, minlength=cells)
        for k in range(rows + 1)
        for each in product(range(cells), repeat=k)
    ]
    others = tables if relation is Relation.VALUE else [np.zeros(cells, np.int64)]
    moves = [matrix @ (one - two) for one in tables for two in others]
    return max(int(np.abs(each).sum()) for each in moves), max(int((each**2).sum()) for each in moves)


@given(MATRICES, st.sampled_from(list(Relation)), st.integers(1, 2))
def test_no_person_moves_the_measured_counts_further_than_claimed_and_some_do_so_far(
    matrix: Integers, relation: Relation, rows: int
) -> None:
    claimed = Strategy(name="any", matrix=matrix).compute_sensitivity(
        NoiseBudget(amount=Fraction(1), is_pure=True, rows_per_person=rows, relation=relation)
    )
    l1, squared = largest_move(matrix, rows, relation)
    assert (claimed.l1, claimed.squared_l2) == (max(l1, rows), max(squared, rows**2))


@given(MATRICES, st.integers(0, 99))
def test_the_stated_variance_is_that_of_the_estimate(matrix: Integers, seed: int) -> None:
    strategy = Strategy(name="any", matrix=matrix)
    weights = np.random.default_rng(seed).integers(0, 3, (2, len(matrix)))
    asked = (weights @ matrix).astype(np.float64)
    reconstruction = asked @ np.linalg.pinv(matrix.astype(np.float64))
    variance = compute_deviation(PURE.make_noise(strategy.compute_sensitivity(PURE))) ** 2
    assert strategy.compute_variance(asked, PURE) == pytest.approx(
        (reconstruction**2).sum(axis=1) * variance, abs=1e-6
    )


@given(MATRICES, st.integers(0, 99))
def test_without_noise_what_a_strategy_can_answer_is_answered_exactly(matrix: Integers, seed: int) -> None:
    cells = np.random.default_rng(seed).integers(0, 50, matrix.shape[1])
    found = Strategy(name="any", matrix=matrix).estimate_cells((matrix @ cells).astype(np.float64))
    assert matrix @ found == pytest.approx(matrix @ cells, abs=1e-6)


def test_what_a_strategy_cannot_answer_has_no_finite_error() -> None:
    cell = np.array([[1.0, 0.0, 0.0]])
    assert make_total(3).compute_variance(cell, PURE)[0] == inf
    assert make_identity(3).compute_variance(cell, PURE)[0] < inf


def test_a_hierarchy_counts_cells_runs_and_everything() -> None:
    assert make_hierarchical(5, 2).matrix.sum(axis=1).tolist() == [1] * 5 + [2, 2, 1] + [4, 1] + [5]
    assert make_direct(np.array([[1, 0], [1, 0], [1, 1]])).matrix.tolist() == [[1, 0], [1, 1]]


def plan_of(
    workload: Workload, columns: list[str], epsilon: int = 1, bins: int = 64
) -> workloads.WorkloadPlan:
    budget = PureDP(epsilon=epsilon, relation=Relation.PRESENCE)
    return workloads.plan_workload(policy_of(), "people", columns, workload, budget, bins=bins)


def test_the_strategy_of_least_error_is_chosen_before_anything_is_read() -> None:
    cells = plan_of(Workload.from_marginals([64], [[0]]), ["age"])
    everything = plan_of(Workload.from_marginals([64], [[]]), ["age"])
    few = plan_of(Workload.from_marginals([2, 20], [[0], []]), ["sex", "age"], bins=20)
    assert cells.strategy.name == "identity"
    assert everything.strategy.name in ("total", "direct")
    assert few.strategy.name == "direct"
    for plan in (cells, everything, few):
        assert plan.errors[plan.strategy.name] == min(plan.errors.values())
    gaussian = ZeroConcentratedDP(rho=Fraction(1, 100), relation=Relation.PRESENCE)
    ranges = workloads.plan_workload(
        policy_of(), "people", ["age"], Workload.from_ranges(64), gaussian, bins=64
    )
    assert ranges.strategy.name.startswith("hierarchical")
    assert ranges.errors[ranges.strategy.name] < 0.9 * ranges.errors["identity"]


def test_answers_are_consistent_and_as_wrong_as_was_said(tmp_path: Path, random: Randomness) -> None:
    real = people(2_000)
    with opened(tmp_path, real) as (policy, engine):
        workload = Workload.from_marginals([2, 10], [[0], [1], []])
        plan = workloads.plan_workload(
            policy, "people", ["sex", "age"], workload, PureDP(epsilon=2, relation=Relation.PRESENCE), bins=10
        )
        found = workloads.answer_workload(plan, policy, engine, random)
        assert len(engine.asked) == 1
    assert found.answers[:2].sum() == pytest.approx(found.answers[-1])
    assert found.answers[2:12].sum() == pytest.approx(found.answers[-1])
    truth = [real.column("sex").to_pylist().count(each) for each in "fm"]
    # a sum of independent noises passes 20 deviations of its own with probability below 1e-9
    assert np.all(np.abs(found.answers[:2] - truth) < 20 * plan.deviations[:2])
    assert sqrt(float((plan.deviations**2).mean())) == pytest.approx(plan.errors[plan.strategy.name])


def test_workloads_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="at most 2,048"):
        Workload.from_marginals([100, 100], [[0]])
    with pytest.raises(InvalidParameterError, match="0 and 1 alone"):
        Workload(shape=(2,), questions=np.array([[1, 2]]))
    with pytest.raises(InvalidParameterError, match="rows of 2 cells"):
        Workload(shape=(2,), questions=np.ones((1, 3), np.int64))
    with pytest.raises(InvalidParameterError, match="the columns' bins"):
        plan_of(Workload.from_ranges(7), ["age"])
    with pytest.raises(RequestError, match="no table nobody"):
        workloads.plan_workload(policy_of(), "nobody", ["age"], Workload.from_ranges(5), PureDP(epsilon=1))
