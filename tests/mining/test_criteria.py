"""Sensitivities are exact: no neighbour moves a score further, some come close, and none the other way."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import InvalidParameterError, RequestError
from discreet.mechanisms.sampling import Integers
from discreet.mining.split_criteria import (
    GRID,
    MAX_COUNT,
    Criterion,
    Gini,
    InformationGain,
    MajorityCount,
    SquaredError,
    make_criterion,
)

ALL: dict[str, tuple[Criterion, int, int]] = {
    "gini": (Gini(), 3, -1),
    "max": (MajorityCount(), 4, 1),
    "gain": (InformationGain(rows=3_000), 3, -1),
    "squared": (SquaredError(bins=7), 7, -1),
}
every = pytest.mark.parametrize("name", ALL)


def moved(criterion: Criterion, counts: Integers) -> Integers:
    """By how much the score of a split rises for a row more, of each class, on its first side."""
    classes = counts.shape[-1]
    return np.stack(
        [
            criterion.score_side(counts + one) - criterion.score_side(counts)
            for one in np.eye(classes, dtype=np.int64)
        ]
    )


@every
@given(data=st.data())
def test_no_row_moves_a_score_further_than_stated_or_the_other_way(name: str, data: st.DataObject) -> None:
    criterion, classes, sign = ALL[name]
    size = data.draw(st.sampled_from([1, 3, 20, 900, 10**6, 2 * MAX_COUNT]))
    counts = np.array([data.draw(st.lists(st.integers(0, size), min_size=classes, max_size=classes))])
    found = sign * moved(criterion, counts)
    assert found.min() >= 0
    assert found.max() <= criterion.sensitivity


@every
def test_some_row_moves_a_score_nearly_as_far(name: str) -> None:
    criterion, classes, sign = ALL[name]
    others = np.zeros((1, classes), np.int64)
    others[0, -1] = 2_999
    assert (sign * moved(criterion, others)).max() >= 0.99 * criterion.sensitivity


@every
def test_a_claim_of_half_the_size_is_found_wrong(name: str) -> None:
    criterion, classes, sign = ALL[name]
    generator = np.random.default_rng(4)
    counts = generator.integers(0, 2_000, (500, classes)) * generator.integers(0, 2, (500, classes))
    assert (sign * moved(criterion, counts)).max() > criterion.sensitivity / 2


@given(st.lists(st.integers(0, 5_000), min_size=2, max_size=5))
def test_scores_are_what_the_literature_defines(counts: list[int]) -> None:
    rows, table = sum(counts), np.array([counts])
    shares = [each / max(rows, 1) for each in counts]
    impurity = rows * (1 - sum(share**2 for share in shares)) if rows else 0
    entropy = -rows * sum(share * math.log2(share) for share in shares if share)
    assert Gini().score_side(table)[0] / GRID == pytest.approx(-impurity, abs=1 / GRID)
    assert MajorityCount().score_side(table)[0] == max(counts)
    assert InformationGain(rows=25_000).score_side(table)[0] / GRID == pytest.approx(
        -entropy, rel=0.02, abs=0.02 * rows + 1
    )
    target = np.repeat(np.arange(len(counts)), counts)
    squares = ((target - target.mean()) ** 2).sum() if rows else 0
    assert SquaredError(bins=len(counts)).score_side(table)[0] / GRID == pytest.approx(
        -squares, abs=1 / GRID, rel=1e-9
    )


def test_the_sensitivity_of_gain_is_that_of_the_declared_rows() -> None:
    for rows in (1, 2, 100, 32_561, 10**9):
        exact = rows * math.log2(rows) - (rows - 1) * math.log2(max(rows - 1, 1))
        assert InformationGain(rows=rows).sensitivity / GRID == pytest.approx(exact, rel=0.01, abs=1 / GRID)


def test_a_criterion_is_named_and_gain_needs_a_bound() -> None:
    with pytest.raises(
        InvalidParameterError, match="`criterion=` must be one of gini, max, gain; got entropy"
    ):
        make_criterion("entropy", 10)
    with pytest.raises(RequestError, match="needs a declared bound on the number of rows"):
        make_criterion("gain", None)
