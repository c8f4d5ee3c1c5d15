"""Parameters from a cap on belief: what is chosen keeps it, and anything weaker would not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.anonymity.models import (
    EqualCloseness,
    MeasuredModel,
    ProbabilisticDiversity,
    RecursiveDiversity,
)
from discreet.anonymity.models.posterior_cap import (
    PosteriorCap,
    choose_capped_model,
    choose_closeness,
)
from discreet.core.errors import InvalidParameterError, RequestError
from tests.anonymity.models import brute
from tests.anonymity.models.tables import sensitive, table

NAMES = tuple("abcdef")
COUNTS = st.fixed_dictionaries({name: st.integers(0, 12) for name in NAMES}).filter(
    lambda counts: sum(counts.values()) > 0
)
EVEN = sensitive([dict.fromkeys(NAMES, 10)])


@given(st.lists(COUNTS, min_size=1, max_size=4), st.fractions(Fraction(1, 10), Fraction(9, 10)))
def test_no_class_that_is_published_passes_the_cap(classes: list[dict[str, int]], cap: Fraction) -> None:
    counted = table(classes, names=NAMES)
    values = counted.sensitive["disease"]
    within = values.totals.max() <= cap * values.totals.sum()
    for kind in ("probabilistic", "recursive", *(["equal"] if within else [])):
        model = choose_capped_model(PosteriorCap(cap=cap, kind=kind), values, column="disease")
        for each, kept in zip(classes, model.judge(counted), strict=True):
            if kept:
                assert max(brute.frequencies(each).values()) <= cap


@given(COUNTS, st.fractions(Fraction(1, 10), Fraction(9, 10)), st.integers(0, 3))
def test_recursive_diversity_allows_for_values_that_are_ruled_out(
    counts: dict[str, int], cap: Fraction, ruled_out: int
) -> None:
    counted = table([counts], names=NAMES)
    asked = PosteriorCap(cap=cap, kind="recursive")
    model = choose_capped_model(asked, counted.sensitive["disease"], column="disease")
    assert isinstance(model, RecursiveDiversity)
    if replace(model, l=2 + ruled_out).judge(counted)[0]:
        ranked = sorted(counts.values(), reverse=True)
        left = [ranked[0], *ranked[1 + ruled_out :]]
        assert Fraction(ranked[0], sum(left)) < cap


def test_a_fifth_gives_five_diverse_classes() -> None:
    chosen = [
        choose_capped_model(PosteriorCap(cap=0.2, kind=kind), EVEN, column="disease")
        for kind in ("probabilistic", "recursive", "equal")
    ]
    expected: list[MeasuredModel] = [
        ProbabilisticDiversity(column="disease", l=Fraction(5)),
        RecursiveDiversity(column="disease", c=Fraction(1, 4), l=2),
        EqualCloseness(column="disease", t=Fraction(1, 5) - Fraction(1, 6)),
    ]
    assert chosen == expected


def test_no_t_is_chosen_where_the_table_itself_passes_the_cap() -> None:
    skewed = sensitive([{"a": 9, "b": 1}])
    with pytest.raises(RequestError, match="commonest value is more frequent") as said:
        choose_closeness(0.2, skewed, column="disease")
    assert "9" not in str(said.value)


@pytest.mark.parametrize("distance", ["ordered", "hierarchical"])
def test_distances_that_cap_no_belief_are_refused_with_the_reason(distance: str) -> None:
    with pytest.raises(RequestError, match=r"on average, not the belief .* 85%.*equal distance"):
        choose_closeness(0.5, EVEN, column="disease", distance=distance)


@pytest.mark.parametrize("cap", [0, 1, -0.1, 2, float("nan"), "20%", None])
def test_a_cap_that_is_no_probability_is_refused(cap: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"cap must be a probability between 0 and 1; got"):
        choose_capped_model(PosteriorCap(cap=cap), EVEN, column="disease")
