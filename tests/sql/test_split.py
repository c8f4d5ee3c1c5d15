"""How epsilon is split: equally, or as columns are weighed; and never more of it than was given."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import InvalidParameterError
from discreet.core.guarantees import PureDP
from discreet.core.number_checks import Real
from discreet.sql.planner import QueryPlan, plan_query
from discreet.sql.refusal import Refusal
from tests.sql.example import LEAK, POLICY, PROMISE, TAILED

MIXED = (
    "SELECT sex, COUNT(*) AS n, AVG(height) AS h, SUM(height) AS s, MEDIAN(age) AS m, "
    "COUNT(*) + SUM(age) AS r FROM people GROUP BY sex HAVING MAX(age) > 3"
)
COLUMNS = ("n", "h", "s", "m", "r")


def planned(text: str, split: dict[str, Real] | None = None) -> QueryPlan:
    return plan_query(text, POLICY, PROMISE, epsilon=1, split=split)


def share(made: QueryPlan, place: int) -> Fraction:
    return sum((made.shares[name] for name in made.outputs[place].charged_names), Fraction(0))


def test_without_weights_everything_that_is_paid_for_gets_the_same() -> None:
    made = planned(MIXED)
    assert len(made.noisy_primitives) + len(made.value_selections) == 6
    assert {made.shares[name] for name in (*made.noisy_primitives, *made.value_selections)} == {
        Fraction(1, 6)
    }


def test_columns_that_share_nothing_get_epsilon_as_they_are_weighed() -> None:
    text = "SELECT sex, COUNT(*) AS n, AVG(height) AS h FROM people GROUP BY sex"
    made = planned(text, {"n": 1, "H": 3})
    assert [share(made, 0), share(made, 1)] == [Fraction(1, 4), Fraction(3, 4)]
    assert made.noisy_primitives["p0"].mechanism.guarantee == PureDP(
        epsilon=Fraction(1, 4), relation=PROMISE.secret
    )


@given(st.dictionaries(st.sampled_from(COLUMNS), st.fractions(Fraction(1, 50), 50), min_size=5))
def test_nothing_more_than_epsilon_is_spent_and_every_column_gets_its_part(split: dict[str, Real]) -> None:
    made = planned("SELECT COUNT(*) AS n, AVG(height) AS h, SUM(height) AS s, MEDIAN(age) AS m, "
                   "COUNT(*) + SUM(age) AS r FROM people", split)  # fmt: skip
    assert made.guarantee == PureDP(epsilon=1, relation=PROMISE.secret)
    total = sum(Fraction(weight) for weight in split.values())
    for place, name in enumerate("nhsm"):
        assert share(made, place) >= Fraction(split[name]) / total


def test_a_primitive_that_two_columns_need_has_the_larger_weight() -> None:
    text = "SELECT COUNT(*) AS n, AVG(age) AS a FROM patients"
    made = planned(text, {"n": 1, "a": 6})
    assert [made.shares[name] for name in ("p0", "p1")] == [Fraction(1, 2), Fraction(1, 2)]
    made = planned(text, {"n": 6, "a": 4})
    assert [made.shares[name] for name in ("p0", "p1")] == [Fraction(3, 4), Fraction(1, 4)]


def test_the_choice_of_groups_keeps_its_share() -> None:
    text = "SELECT trade, COUNT(*) AS n, SUM(age) AS s FROM people GROUP BY trade"
    for split in ({}, {"n": 1, "s": 99}):
        made = plan_query(text, POLICY, TAILED, epsilon=1, leak=LEAK, split=split)
        assert made.partition_selection is not None
        assert made.partition_selection.epsilon == Fraction(1, 3)


@pytest.mark.parametrize("name", ["sex", "x", "", "m0", "count"])
def test_what_is_no_measure_is_not_weighed(name: str) -> None:
    with pytest.raises(Refusal, match="no measure of the question") as refusal:
        planned(MIXED, {name: 1})
    assert "There are n, h, s, m, r." in refusal.value.hint


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf"), True, "1"])
def test_what_is_no_weight_is_refused(weight: Real) -> None:
    with pytest.raises(
        InvalidParameterError, match=r"^ask: `split=` must be a finite number above 0 for n; got"
    ):
        planned(MIXED, {"n": weight})


def test_another_split_is_another_question() -> None:
    assert planned(MIXED, {"n": 2}).release_key != planned(MIXED).release_key
    assert planned(MIXED, {"N": 2}).release_key == planned(MIXED, {"n": 2.0}).release_key


@pytest.mark.parametrize("split", [{"n": 1e300}, {"n": 1e-300}, {"m": Fraction(1, 10**30)}])
def test_weights_that_leave_a_column_nothing_worth_having_are_refused(split: dict[str, Real]) -> None:
    with pytest.raises(Refusal, match="too small a part of epsilon"):
        planned(MIXED, split)


def test_an_epsilon_that_is_nothing_is_refused() -> None:
    with pytest.raises(Refusal, match="too small a part of epsilon"):
        plan_query(MIXED, POLICY, PROMISE, epsilon=5e-324)


def test_a_confidence_that_no_interval_can_have_is_refused_before_anything_is_paid() -> None:
    with pytest.raises(InvalidParameterError, match=r"confidence=` must be at most 0\.999999999"):
        plan_query(MIXED, POLICY, PROMISE, epsilon=1, confidence=1 - 1e-16)
