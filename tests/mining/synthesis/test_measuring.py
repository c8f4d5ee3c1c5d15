"""Measuring: scores move as little as is claimed, and nothing passes the budget."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.exact_values import Exact
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import Integers
from discreet.mining.attributes import Attribute
from discreet.mining.schema import Schema
from discreet.mining.synthesis import aim, mst
from discreet.mining.synthesis.graphical_model import GraphicalModel, estimate_rows, fit_model
from discreet.mining.synthesis.marginal_measurement import Candidate, MarginalMeasurer, score_candidates
from discreet.mining.tabulation.cells import Columns
from discreet.mining.tabulation.noise_budget import NoiseBudget
from tests.mining.synthesis.tables import counter_of

SHAPE = (2, 3, 4)
SETS: tuple[Columns, ...] = ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))
SCHEMA = Schema(
    attributes=tuple(
        Attribute.category(f"c{place}", map(str, range(size)), has_missing_bin=False)
        for place, size in enumerate(SHAPE)
    )
)
PURE = NoiseBudget(amount=Fraction(1), is_pure=True)
CONCENTRATED = NoiseBudget(amount=Fraction(1, 10), is_pure=False)
ROWS = st.lists(st.tuples(*(st.integers(0, size - 1) for size in SHAPE)), max_size=12)


def marginals_of(rows: list[tuple[int, ...]]) -> Exact[dict[Columns, Integers]]:
    counts = counter_of(SCHEMA, np.array(rows, np.int16).reshape(-1, 3)).count_marginals(
        [tuple(f"c{place}" for place in each) for each in SETS]
    )
    return Exact(dict(zip(SETS, counts.secret, strict=True)))


def candidates(seed: int) -> list[Candidate]:
    dice = np.random.default_rng(seed)
    return [
        Candidate(
            columns=each,
            expected=dice.normal(3, 4, [SHAPE[place] for place in each]),
            allowance=float(dice.normal(0, 5)),
        )
        for each in SETS
    ]


@given(
    ROWS,
    st.lists(st.tuples(*(st.integers(0, size - 1) for size in SHAPE)), min_size=1, max_size=3),
    st.integers(0, 99),
)
def test_an_added_person_moves_each_score_by_at_most_its_rows(
    others: list[tuple[int, ...]], person: list[tuple[int, ...]], seed: int
) -> None:
    moved = np.abs(
        score_candidates(marginals_of(others + person), candidates(seed)).secret
        - score_candidates(marginals_of(others), candidates(seed)).secret
    )
    bound = NoiseBudget(
        amount=Fraction(1), is_pure=True, rows_per_person=3, relation=Relation.PRESENCE
    ).sensitivity.l1
    assert np.all(moved <= bound)


@given(ROWS, st.tuples(ROWS.map(lambda rows: rows[:2]), ROWS.map(lambda rows: rows[:2])), st.integers(0, 99))
def test_a_replaced_person_moves_each_score_by_at_most_twice_as_much(
    others: list[tuple[int, ...]],
    person: tuple[list[tuple[int, ...]], list[tuple[int, ...]]],
    seed: int,
) -> None:
    before, after = (
        score_candidates(marginals_of(others + each), candidates(seed)).secret for each in person
    )
    bound = NoiseBudget(
        amount=Fraction(1), is_pure=True, rows_per_person=2, relation=Relation.VALUE
    ).sensitivity.l1
    assert np.all(np.abs(after - before) <= bound)


@pytest.mark.parametrize(("relation", "there"), [(Relation.PRESENCE, []), (Relation.VALUE, [(1, 2, 3)])])
def test_the_claimed_sensitivity_of_a_score_is_attained(
    relation: Relation, there: list[tuple[int, ...]]
) -> None:
    empty = [Candidate(columns=each, expected=np.zeros([SHAPE[p] for p in each])) for each in SETS]
    full = [
        Candidate(columns=each, expected=marginals_of([(1, 2, 3)]).secret[each].astype(np.float64))
        for each in SETS
    ]
    known = empty if relation is Relation.PRESENCE else full
    moved = (
        score_candidates(marginals_of([(0, 0, 0)]), known).secret
        - score_candidates(marginals_of(there), known).secret
    )
    assert moved.max() == NoiseBudget(amount=Fraction(1), is_pure=True, relation=relation).sensitivity.l1


def test_what_would_pass_the_budget_is_stopped_before_it_happens(random: Randomness) -> None:
    measuring = MarginalMeasurer(marginals=marginals_of([(0, 0, 0)]), budget=PURE, random=random)
    measuring.measure((0,), PURE.take_share(Fraction(2, 3)))
    with pytest.raises(RuntimeError, match="more than its budget"):
        measuring.measure((1,), PURE.take_share(Fraction(1, 2)))
    with pytest.raises(RuntimeError, match="more than its budget"):
        measuring.select(candidates(1), PURE.take_share(Fraction(1, 2)))
    assert len(measuring.measurements) == 1


@pytest.mark.parametrize(
    "budget", [PURE, CONCENTRATED, NoiseBudget(amount=Fraction(3, 7), is_pure=False, rows_per_person=4)]
)
@pytest.mark.parametrize("quality", ["lean", "best"])
def test_the_whole_budget_is_spent_and_no_more(budget: NoiseBudget, quality: str, random: Randomness) -> None:
    rows = np.random.default_rng(1).integers(0, 2, (400, 3))
    measuring = MarginalMeasurer(
        marginals=marginals_of([tuple(row) for row in rows.tolist()]), budget=budget, random=random
    )

    def fitted(start: GraphicalModel | None, steps: int) -> GraphicalModel:
        del steps
        rows = estimate_rows(measuring.measurements)
        return fit_model(SHAPE, measuring.measurements, {}, rows=rows, start=start, steps=5)

    if quality == "best":
        aim.fit_aim(measuring, SETS, 3, fitted, lambda _: None)
    else:
        mst.fit_mst(measuring, SETS[3:6], SHAPE, fitted)
    assert measuring.spent == budget.amount


def test_parts_of_a_budget_cost_what_their_mechanisms_say() -> None:
    part = CONCENTRATED.take_share(Fraction(1, 3))
    assert part.make_noise().guarantee == part.guarantee
    assert 0 <= part.amount - part.make_selection(1).zcdp.rho < Fraction(1, 10**15)
    assert PURE.take_share(Fraction(1, 3)).make_noise().guarantee == PURE.take_share(Fraction(1, 3)).guarantee
    assert (
        PURE.take_share(Fraction(1, 3)).make_selection(5).guarantee
        == PURE.take_share(Fraction(1, 3)).guarantee
    )


@given(st.floats(0.01, 5), st.sampled_from([1e-12, 1e-9, 1e-6, 1e-3]))
def test_a_budget_within_epsilon_and_delta_is_the_largest_that_is(epsilon: float, delta: float) -> None:
    budget = NoiseBudget.from_epsilon(epsilon=epsilon, delta=delta)
    assert budget.guarantee.profile(epsilon) <= delta
    assert budget.take_share(Fraction(1001, 1000)).guarantee.profile(epsilon) > delta
