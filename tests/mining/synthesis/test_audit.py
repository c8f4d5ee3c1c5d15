"""Audits of everything that a synthesis releases, on the neighbours that are worst; broken twins are caught.

Rows are computed from the chosen sets and the noisy counts alone, so these are what is audited: which sets,
and all their counts.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks.privacy_audit import audit_epsilon
from discreet.core.exact_values import Exact
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import Integers
from discreet.mining.synthesis import aim, mst
from discreet.mining.synthesis.graphical_model import (
    GraphicalModel,
    estimate_rows,
    fit_model,
    pool_measurements,
)
from discreet.mining.synthesis.marginal_measurement import MarginalMeasurer
from discreet.mining.tabulation.cells import Columns
from discreet.mining.tabulation.noise_budget import NoiseBudget
from tests.conftest import seeded
from tests.statistical import FALSE_ALARM

SHAPE = (2, 2)
SETS: tuple[Columns, ...] = ((0,), (1,), (0, 1))
EPSILON = Fraction(1)
RUNS = 600


def marginals(cells: Integers) -> Exact[dict[Columns, Integers]]:
    return Exact({(0,): cells.sum(axis=1), (1,): cells.sum(axis=0), (0, 1): cells})


def transcript(cells: Integers, budget: NoiseBudget, quality: str, random: Randomness) -> dict[str, float]:
    """Every set that was measured and its counts, weighted by their precision, as an attacker would."""
    measuring = MarginalMeasurer(marginals=marginals(cells), budget=budget, random=random)

    def fitted(start: GraphicalModel | None, steps: int) -> GraphicalModel:
        del steps
        rows = estimate_rows(measuring.measurements)
        return fit_model(SHAPE, measuring.measurements, {}, rows=rows, start=start, steps=0)

    if quality == "best":
        aim.fit_aim(measuring, SETS, 2, fitted, lambda _: None)
    else:
        mst.fit_mst(measuring, SETS[2:], SHAPE, fitted)
    return {
        f"{each.columns}:{place}": float(count)
        for each in pool_measurements(measuring.measurements)
        for place, count in enumerate(each.counts.reshape(-1))
    }


def drawn(
    cells: list[list[int]], budget: NoiseBudget, quality: str, seed: int
) -> Callable[[int], list[dict[str, float]]]:
    random, table = seeded(seed), np.array(cells, np.int64)
    return lambda runs: [transcript(table, budget, quality, random) for _ in range(runs)]


NEIGHBOURS = {
    Relation.PRESENCE: ([[2, 0], [0, 0]], [[3, 0], [0, 0]]),
    Relation.VALUE: ([[3, 0], [0, 0]], [[2, 0], [0, 1]]),
}
UNBOUNDED = {
    Relation.PRESENCE: ([[2, 0], [0, 0]], [[42, 0], [0, 0]]),
    Relation.VALUE: ([[42, 0], [0, 0]], [[2, 0], [0, 40]]),
}


@pytest.mark.parametrize(
    ("quality", "relation"),
    [
        ("lean", Relation.PRESENCE),
        pytest.param("lean", Relation.VALUE, marks=pytest.mark.night),
        pytest.param("best", Relation.PRESENCE, marks=pytest.mark.night),
    ],
)
def test_what_is_released_keeps_its_epsilon_and_does_not_where_a_person_has_forty_rows(
    quality: str, relation: Relation
) -> None:
    budget = NoiseBudget(amount=EPSILON, is_pure=True, relation=relation)
    kept, broken = (
        audit_epsilon(
            drawn(pair[relation][0], budget, quality, 1),
            drawn(pair[relation][1], budget, quality, 2),
            claimed=float(EPSILON),
            runs=RUNS,
            confidence=1 - FALSE_ALARM,
        )
        for pair in (NEIGHBOURS, UNBOUNDED)
    )
    assert kept.holds
    assert not broken.holds


def test_an_audit_comes_close_to_the_epsilon_of_one_measured_set() -> None:
    budget = NoiseBudget(amount=EPSILON, is_pure=True)

    def measured(cells: list[list[int]], seed: int) -> Callable[[int], list[list[float]]]:
        random, exact = seeded(seed), marginals(np.array(cells, np.int64))

        def once() -> list[float]:
            measuring = MarginalMeasurer(marginals=exact, budget=budget, random=random)
            return measuring.measure((0, 1), budget).counts.reshape(-1).tolist()

        return lambda runs: [once() for _ in range(runs)]

    here, there = NEIGHBOURS[Relation.PRESENCE]
    found = audit_epsilon(
        measured(here, 1), measured(there, 2), claimed=1, runs=12_000, confidence=1 - FALSE_ALARM
    )
    assert 0.6 < found.lower_bound <= 1
