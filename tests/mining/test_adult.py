"""Accuracy on UCI Adult, against the best that was measured elsewhere; repeatable randomness."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import mining
from benchmarks.peers import uci_adult as data
from tests.conftest import seeded

TREE, BOOSTED = mining.BARS.values()


def mean(folder: Path, kind: str, epsilon: float, delta: float, runs: int) -> float:
    made = mining.planned(str(folder), kind, epsilon, delta)
    return float(np.mean([mining.accuracy(made, str(folder), seeded(run)) for run in range(runs)]))


def test_a_tree_and_a_forest_reach_their_bars_at_epsilon_1(adult: Path) -> None:
    assert mean(adult, "tree", 1, 0, runs=2) >= TREE[2] - 0.005
    assert mean(adult, "forest", 1, data.DELTA, runs=2) >= BOOSTED[2] - 0.005


@pytest.mark.night
@pytest.mark.parametrize(("epsilon", "bar"), list(zip(data.EPSILONS, TREE, strict=True)))
def test_one_tree_reaches_the_bar(adult: Path, epsilon: float, bar: float) -> None:
    assert mean(adult, "tree", epsilon, 0, data.RUNS) >= bar


@pytest.mark.night
@pytest.mark.parametrize(("epsilon", "bar"), list(zip(data.EPSILONS, BOOSTED, strict=True)))
def test_boosted_trees_reach_the_bar(adult: Path, epsilon: float, bar: float) -> None:
    assert mean(adult, "forest", epsilon, data.DELTA, data.RUNS) >= bar
