"""Average risk: the mean of what is published, and how little is left out for it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.anonymity.equivalence_classes import EquivalenceClasses
from discreet.anonymity.models import Attacker, AverageRisk, DistinctDiversity, KAnonymity, Model, judge_all
from tests.anonymity.models import brute
from tests.anonymity.models.tables import table

RISKS = st.sampled_from([Fraction(1, n) for n in (2, 3, 5, 8)] + [Fraction(2, 5), Fraction(3, 7)])
SIZES = st.lists(st.integers(1, 12), min_size=1, max_size=7)


def published(model: AverageRisk, sizes: list[int], people: list[int] | None) -> np.ndarray:
    population = None if people is None else np.array(people, np.int64)
    classes = EquivalenceClasses(sizes=np.array(sizes, np.int64), rows=sum(sizes), population=population)
    return model.judge(classes)


@given(SIZES, RISKS)
def test_prosecutor_suppresses_the_fewest_rows_that_any_choice_of_classes_does(
    sizes: list[int], risk: Fraction
) -> None:
    kept = published(AverageRisk(risk=risk), sizes, None)
    left = [size for size, stays in zip(sizes, kept, strict=True) if stays]
    assert not left or brute.mean_risk(left, left) <= risk
    assert sum(sizes) - sum(left) == brute.least_suppressed(sizes, sizes, risk)


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(0, 12)), min_size=1, max_size=6), RISKS)
def test_journalist_suppresses_less_than_one_class_more_than_the_fewest_rows(
    classes: list[tuple[int, int]], risk: Fraction
) -> None:
    sizes, people = [f for f, _ in classes], [f + spare for f, spare in classes]
    kept = published(AverageRisk(risk=risk, attacker=Attacker.JOURNALIST), sizes, people)
    stay = np.flatnonzero(kept)
    if stay.size:
        assert brute.mean_risk([sizes[i] for i in stay], [people[i] for i in stay]) <= risk
    gone = [size for size, stays in zip(sizes, kept, strict=True) if not stays]
    assert sum(gone) < brute.least_suppressed(sizes, people, risk) + max(gone, default=1)


@given(SIZES, RISKS, st.data())
def test_prosecutor_never_suppresses_more_rows_after_a_merge(
    sizes: list[int], risk: Fraction, data: st.DataObject
) -> None:
    if len(sizes) < 2:
        return
    i, j = sorted(data.draw(st.sets(st.integers(0, len(sizes) - 1), min_size=2, max_size=2)))
    merged = [*sizes[:i], *sizes[i + 1 : j], *sizes[j + 1 :], sizes[i] + sizes[j]]
    model = AverageRisk(risk=risk)
    before, after = (np.array(each)[~published(model, each, None)].sum() for each in (sizes, merged))
    assert after <= before


def test_a_mean_that_is_exactly_the_threshold_is_met() -> None:
    assert published(AverageRisk(risk=Fraction(1, 3)), [3, 3, 3], None).all()
    assert published(AverageRisk(risk=Fraction(1, 3), attacker="journalist"), [1, 2, 6], [3, 3, 3]).all()  # type: ignore[arg-type]
    assert not published(AverageRisk(risk=Fraction("0.3333333333333333")), [3, 3, 3], None).all()


def test_a_mean_of_a_hundred_thousand_different_classes_is_decided() -> None:
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 50, 100_000)
    people = sizes + rng.integers(0, 1_000, 100_000)
    model = AverageRisk(risk=Fraction(1, 1_000), attacker=Attacker.MARKETER)
    kept = published(model, sizes.tolist(), people.tolist())
    assert 0 < kept.sum() < len(sizes)
    assert (sizes[kept] / people[kept]).sum() <= 1e-3 * sizes[kept].sum()


def test_marketer_looks_at_the_population_where_there_is_one() -> None:
    model = AverageRisk(risk=Fraction(1, 4), attacker=Attacker.MARKETER)
    assert not published(model, [1, 1], None).any()
    assert published(model, [1, 1], [4, 4]).all()


def test_population_smaller_than_the_table_counts_as_the_table() -> None:
    """A person of the table is one of the population, whatever the population's table lacks."""
    model = AverageRisk(risk=Fraction(1, 2), attacker=Attacker.JOURNALIST)
    assert published(model, [2, 3], [0, 1]).all()


def test_averages_hold_for_what_the_other_models_leave() -> None:
    """The one large class is left out by diversity, and without it the mean of the rest is too high."""
    classes = table([{"a": 100}, {"a": 1, "b": 1}, {"a": 1, "b": 1}])
    mean, diverse = AverageRisk(risk=Fraction(1, 4)), DistinctDiversity(column="disease", l=2)
    assert mean.judge(classes).all()
    assert diverse.judge(classes).tolist() == [False, True, True]
    assert not judge_all(classes, [mean, diverse]).any()


@given(SIZES, RISKS, RISKS)
def test_several_averages_all_hold_for_what_is_published(
    sizes: list[int], first: Fraction, second: Fraction
) -> None:
    people = [size + 3 * (place % 3) for place, size in enumerate(sizes)]
    classes = EquivalenceClasses(sizes=np.array(sizes), rows=sum(sizes), population=np.array(people))
    models: list[Model] = [
        AverageRisk(risk=first),
        AverageRisk(risk=second, attacker=Attacker.JOURNALIST),
        KAnonymity(k=2),
    ]
    kept = np.flatnonzero(judge_all(classes, models))
    if kept.size:
        left, living = [sizes[i] for i in kept], [people[i] for i in kept]
        assert min(left) >= 2
        assert brute.mean_risk(left, left) <= first
        assert brute.mean_risk(left, living) <= second


def test_no_model_keeps_every_class() -> None:
    assert judge_all(table([{"a": 1}, {"b": 1}]), []).tolist() == [True, True]


@pytest.mark.parametrize("attacker", ["prosecutor", "journalist", "marketer"])
def test_belief_says_that_no_single_row_is_covered(attacker: str) -> None:
    model = AverageRisk(risk=Fraction(1, 4), attacker=attacker)  # type: ignore[arg-type]
    assert "no single one" in model.belief
