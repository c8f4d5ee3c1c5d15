"""The whole law of tiny streams: no transcript tells neighbours apart by more than epsilon; twins' do."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from discreet.accounting.composition import compose
from discreet.attacks.privacy_audit import Sampler, audit_epsilon
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.mining.stream import StreamPlan, median_mechanism, multiplicative_weights, online_answerer
from discreet.mining.stream.sparse_vector import SparseVectorRun
from discreet.mining.stream.stream_plan import plan_method
from discreet.mining.stream.universe import Universe
from discreet.mining.tabulation.noise_budget import NoiseBudget
from tests.conftest import seeded
from tests.mining.stream.worlds import asked, declared, largest_loss, law, tiny, told
from tests.statistical import FALSE_ALARM, assert_probability

HERE, THERE = (2, 1, 1, 0), (1, 2, 1, 0)
QUESTIONS = asked([1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 0])
RUNS, AUDITED = 1_200, 1_000
METHODS = pytest.mark.parametrize("method", ["median", "weights"])


@pytest.fixture(autouse=True)
def _coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid of 64 steps, so that every value of the noise can be gone through."""
    monkeypatch.setattr(median_mechanism, "GRID", 64)
    monkeypatch.setattr(median_mechanism, "HARDNESS_THRESHOLD", 16)


def narrow(method: str, updates: int) -> StreamPlan:
    """A stream that finds one row much: its test then tells as much as it may."""
    plan = tiny(method, updates=updates, questions=9, cells=4, size=4)
    assert plan.sparse_vector is not None
    sensitivity = median_mechanism.compute_grid_sensitivity(1, 2) if method == "median" else 1
    width = 2 if method == "median" else 1
    return replace(plan, width=width, sparse_vector=replace(plan.sparse_vector, sensitivity=sensitivity))


def epsilon_of(plan: StreamPlan) -> float:
    return float(compose(plan.parts, delta=0).epsilon)


@METHODS
@pytest.mark.parametrize("updates", [1, 2])
def test_no_transcript_is_likelier_on_a_neighbour_by_more_than_epsilon(method: str, updates: int) -> None:
    plan = narrow(method, updates)
    assert epsilon_of(plan) == pytest.approx(1)
    assert 0.5 < largest_loss(plan, (HERE, THERE), QUESTIONS, passes=updates) <= 1 + 1e-9


@METHODS
def test_a_twin_that_does_not_count_its_updates_passes_epsilon(method: str) -> None:
    assert largest_loss(narrow(method, 1), (HERE, THERE), QUESTIONS, passes=3) > 1.2


@METHODS
def test_a_twin_whose_test_has_hardly_any_noise_passes_epsilon(method: str) -> None:
    plan = narrow(method, 1)
    assert plan.sparse_vector is not None
    bare = replace(
        plan.sparse_vector,
        threshold_epsilon=99 * plan.sparse_vector.threshold_epsilon,
        score_epsilon=99 * plan.sparse_vector.score_epsilon,
    )
    assert largest_loss(replace(plan, sparse_vector=bare), (HERE, THERE), QUESTIONS, passes=1) > 1.2


@METHODS
def test_what_is_told_follows_the_law(method: str, random: Randomness) -> None:
    plan = narrow(method, 2)
    expected = law(plan, HERE, QUESTIONS, passes=2)
    seen = Counter(told(plan, HERE, QUESTIONS, random) for _ in range(RUNS))
    likely = {each: chance for each, chance in expected.items() if chance > 0.005}
    assert len(likely) >= 5
    for each, chance in likely.items():
        assert_probability(seen[each], RUNS, chance, family=len(likely))


@METHODS
def test_a_twin_that_forgets_the_noise_of_its_test_tells_neighbours_apart_for_certain(method: str) -> None:
    plan = narrow(method, 1)
    here, there = (law(plan, each, QUESTIONS, passes=1, noisy=False) for each in (HERE, THERE))
    assert any(min(here[each], there[each]) == 0 < max(here[each], there[each]) for each in here)


class Uncounted(SparseVectorRun):
    """A broken twin: its updates never end."""

    is_exhausted = False


@pytest.mark.night
@METHODS
def test_an_audit_bears_a_stream_out_and_catches_one_that_does_not_count_its_updates(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = -(10**6)
    monkeypatch.setattr(median_mechanism, "HARDNESS_THRESHOLD", everything)
    monkeypatch.setattr(multiplicative_weights, "PASSES", 1)
    width = 2 if method == "median" else everything
    plan = replace(tiny(method, updates=1, questions=40, cells=6, size=2), width=width)
    moved = asked(*[(first, 1 - first, *rest) for first in (0, 1) for rest in product((0, 1), repeat=4)])

    def side(counts: tuple[int, ...], random: Randomness) -> Sampler:
        def drawn(runs: int) -> list[object]:
            transcripts = (told(plan, counts, moved, random) for _ in range(runs))
            return [[count for _, count in each] for each in transcripts]

        return drawn

    def audited() -> float:
        sides = side((40, 39, 30, 30, 30, 30), seeded(1)), side((39, 40, 30, 30, 30, 30), seeded(2))
        return audit_epsilon(*sides, claimed=1, runs=AUDITED, confidence=1 - FALSE_ALARM).lower_bound

    assert audited() <= 1
    monkeypatch.setattr(online_answerer, "SparseVectorRun", Uncounted)
    assert audited() > 1


@METHODS
def test_in_concentrated_terms_all_parts_together_cost_the_budget(method: str) -> None:
    budget = NoiseBudget(amount=Fraction(1, 100), is_pure=False, relation=Relation.PRESENCE)
    universe = Universe.from_table(declared(4).tables["t"], ["x"], bins={})
    plan = plan_method(method, "t", universe, budget, questions=50, updates=6)
    rhos = [often * part.zcdp.rho for part, often in plan.parts.items()]  # type: ignore[attr-defined]
    spent = sum(map(Fraction, rhos), Fraction(0))
    assert 0.9 * budget.amount < spent <= budget.amount
    assert plan.guarantee == budget.guarantee
