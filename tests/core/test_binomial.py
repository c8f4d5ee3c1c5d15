"""The interval of Clopper and Pearson, by the binomial law itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from discreet.core.binomial import clopper_pearson
from discreet.core.errors import RequestError


@pytest.mark.parametrize("trials", [1, 7, 60])
@pytest.mark.parametrize("miss", [0.05, 1e-9])
def test_the_interval_holds_every_probability_as_often_as_it_says(trials: int, miss: float) -> None:
    hits = np.arange(trials + 1)
    low, high = clopper_pearson(hits, trials, alpha=miss)
    for true in np.linspace(0, 1, 101):
        outside = (true < low) | (true > high)
        assert stats.binom.pmf(hits, trials, true)[outside].sum() <= miss * (1 + 1e-9)


def test_its_ends_are_rejected_by_half_of_what_it_misses_and_no_more() -> None:
    low, high = clopper_pearson(3, 20)
    assert stats.binom.sf(2, 20, low) == pytest.approx(0.025)
    assert stats.binom.cdf(3, 20, high) == pytest.approx(0.025)


def test_many_events_have_the_intervals_of_each() -> None:
    low, high = clopper_pearson(np.array([0, 3, 20]), 20, alpha=0.01)
    assert list(zip(low, high, strict=True)) == [clopper_pearson(each, 20, alpha=0.01) for each in (0, 3, 20)]


@pytest.mark.parametrize(("hits", "trials"), [(-1, 3), (4, 3), (0, 0)])
def test_counts_that_cannot_be_are_refused(hits: int, trials: int) -> None:
    with pytest.raises(RequestError):
        clopper_pearson(hits, trials)
