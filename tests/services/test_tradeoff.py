"""The trade-off: every cap on belief beside the error that it costs, from plan and policy alone."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.accountant import Accountant
from discreet.belief import Promise
from discreet.core.errors import RequestError
from discreet.core.guarantees import PureDP
from discreet.rendering.tradeoff_chart import HEIGHT, LEFT, TOP, WIDTH, TradeoffPlot, draw_tradeoff
from discreet.services.plans import compute_expected_errors
from discreet.services.tradeoff import compute_tradeoff, list_caps
from discreet.sql.planner import plan_query
from tests.sql.example import POLICY, PROMISE, TAILED

COUNT = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"


def test_less_belief_costs_more_error() -> None:
    found = compute_tradeoff(COUNT, POLICY, PROMISE)
    assert all(
        one.posterior < two.posterior and one.error >= two.error for one, two in pairwise(found.points)
    )
    assert found.points[0].error > 5 * found.points[-1].error


def test_the_promised_cap_is_on_the_curve_with_the_error_of_its_plan() -> None:
    found = compute_tradeoff(COUNT, POLICY, PROMISE)
    own = found.points[found.promised_index]
    assert own.posterior == PROMISE.posterior
    made = plan_query(COUNT, POLICY, PROMISE, epsilon=Accountant(PROMISE).epsilon_per_question(1))
    assert own.error == compute_expected_errors(made)[0].error95
    assert found.describe_point(own) == f"To promise at most 5% costs ± {own.error:g} rows."


def test_questions_share_the_budget_of_a_cap() -> None:
    one, many = (compute_tradeoff(COUNT, POLICY, PROMISE, questions=number) for number in (1, 20))
    assert many.points[many.promised_index].epsilon == pytest.approx(
        one.points[one.promised_index].epsilon / 20
    )
    assert many.points[many.promised_index].error > 10 * one.points[one.promised_index].error
    assert "after 20 questions like this one" in many.describe_point(many.points[0])


def test_an_error_that_hangs_on_the_rows_of_a_group_takes_their_least_number() -> None:
    sql = "SELECT AVG(height) AS h FROM people"
    with pytest.raises(RequestError, match="does not follow from the question alone"):
        compute_tradeoff(sql, POLICY, PROMISE)
    found = compute_tradeoff(sql, POLICY, PROMISE, least_rows=1_000)
    assert found.unit == "in h"


def test_a_rank_is_off_by_rows() -> None:
    found = compute_tradeoff("SELECT MEDIAN(age) AS m FROM people", POLICY, PROMISE)
    assert found.unit == "rows of the rank of m"


@pytest.mark.parametrize("promise", [PROMISE, TAILED], ids=["pure", "tailed"])
@pytest.mark.parametrize("questions", [1, 7])
def test_equal_parts_fit_together_and_leave_next_to_nothing(promise: Promise, questions: int) -> None:
    accountant = Accountant(promise)
    part = PureDP(epsilon=accountant.epsilon_per_question(questions), relation=promise.secret)
    assert accountant.has_room_for(part, times=questions)
    more = PureDP(epsilon=part.epsilon * 2, relation=promise.secret)
    assert not accountant.has_room_for(more, times=questions)


@given(prior=st.floats(1e-6, 0.99), share=st.floats(0.01, 0.99))
def test_caps_rise_from_the_prior_and_hold_the_promised_one(prior: float, share: float) -> None:
    own = prior + (1 - prior) * share
    found = list_caps(prior, own)
    assert own in found
    assert all(one < two for one, two in pairwise(found))
    assert prior < found[0]
    assert found[-1] < 1
    assert len(found) >= 5


def test_the_point_is_drawn_on_the_curve() -> None:
    found = compute_tradeoff(COUNT, POLICY, PROMISE)
    x, y = TradeoffPlot(tradeoff=found).get_position(found.points[3])
    picture = draw_tradeoff(found, 3)
    assert f'cx="{x:.1f}" cy="{y:.1f}"' in picture
    (curve,) = re.findall(r'<path d="M([^"]*)" stroke="#0072B2"', picture)
    places = [tuple(map(float, each.split(","))) for each in curve.split("L")]
    assert places[3] == pytest.approx((x - LEFT, y - TOP), abs=1e-3)
    assert f'transform="translate({LEFT:.0f},{TOP:.0f})"' in picture
    for each in found.points:
        left, top = TradeoffPlot(tradeoff=found).get_position(each)
        assert 0 < left < WIDTH
        assert 0 < top < HEIGHT
