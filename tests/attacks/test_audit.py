"""The audit's lower bound is rarely above the truth, and close to it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.attacks.audit import epsilon_lower_bound
from discreet.core.errors import InvalidParameterError


def test_the_bound_exceeds_the_truth_no_more_often_than_stated() -> None:
    generator = np.random.Generator(np.random.Philox(7))
    runs, trials, miss = 2_000, 500, 0.2
    hits, others = generator.binomial(trials, 0.6, runs), generator.binomial(trials, 0.3, runs)
    above = sum(
        epsilon_lower_bound(int(a), int(b), trials, miss=miss) > math.log(2)
        for a, b in zip(hits, others, strict=True)
    )
    assert above <= miss * runs


def test_the_bound_comes_close_with_many_trials() -> None:
    assert 0.97 < epsilon_lower_bound(731_059, 268_941, 1_000_000, miss=1e-9) < 1.0


@pytest.mark.parametrize(("hits", "others"), [(0, 0), (0, 100), (100, 100), (50, 50)])
def test_no_evidence_gives_no_loss(hits: int, others: int) -> None:
    assert epsilon_lower_bound(hits, others, 100, miss=0.05) == 0.0


@pytest.mark.parametrize(
    ("hits", "others", "trials", "miss"), [(-1, 0, 10, 0.1), (11, 0, 10, 0.1), (1, 1, 0, 0.1), (1, 1, 10, 0)]
)
def test_impossible_counts_are_refused(hits: int, others: int, trials: int, miss: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"^epsilon_lower_bound\."):
        epsilon_lower_bound(hits, others, trials, miss=miss)
