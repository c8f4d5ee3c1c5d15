"""Amounts are summed exactly, and are not printed as less than is charged, or more than is left."""

import math
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import Accountant
from discreet.accounting.amounts import format_amount, format_fraction, round_up_to_grid
from discreet.accounting.ledger import Ledger
from discreet.belief import Promise
from discreet.core.errors import BudgetError
from discreet.core.guarantees import PureDP, ZeroConcentratedDP


@given(st.one_of(st.floats(0, 1e6), st.decimals(0, 10, places=18), st.fractions(0, 9, max_denominator=1000)))
def test_usual_numbers_are_on_the_grid(value: float) -> None:
    assert round_up_to_grid(Fraction(value)) == Fraction(value)


@given(st.fractions(0, 9, max_denominator=10**40))
def test_the_grid_never_charges_less_and_hardly_more(value: Fraction) -> None:
    assert 0 <= round_up_to_grid(value) - value <= Fraction(1, 2**256)


def test_sums_stay_short_whatever_is_summed() -> None:
    total = sum((round_up_to_grid(Fraction(1, 10**6 + 2 * k + 1)) for k in range(3_000)), Fraction(0))
    assert len(format_fraction(total)) < 2_000


@given(st.floats(1e-12, 1e6))
def test_what_is_said_to_be_left_can_be_spent(left: float) -> None:
    said = float(format_amount(PureDP(epsilon=left)).removeprefix("epsilon "))
    assert left * (1 - 1e-5) <= said <= left


@given(st.floats(1e-12, 1e6))
def test_a_cost_is_not_said_to_be_less(cost: float) -> None:
    said = float(format_amount(PureDP(epsilon=cost), up=True).removeprefix("epsilon "))
    assert cost * (1 - 1e-11) <= said <= cost * (1 + 1e-5)


def test_an_amount_with_a_tail_is_rho_and_delta() -> None:
    assert format_amount(ZeroConcentratedDP(rho=Fraction(2, 3), delta=1e-9)) == "rho 0.666666 and delta 1e-9"
    assert format_amount(ZeroConcentratedDP(rho=math.pi, delta=0), up=True) == "rho 3.1416"


@pytest.mark.parametrize("tail", [0, 1e-6])
def test_accountant_and_ledger_name_the_same_amounts(tail: float) -> None:
    promise, spent, wanted = Promise(0.01, 0.05, tail=tail), PureDP(epsilon=0.2), PureDP(epsilon=9)
    with pytest.raises(BudgetError) as alone:
        Accountant(promise).spend(spent).spend(wanted)
    with Ledger(":memory:", promise) as ledger:
        ledger.reserve("analyst", "first", "SELECT 1", spent)
        with pytest.raises(BudgetError) as booked:
            ledger.reserve("analyst", "second", "SELECT 2", wanted)
    named = [re.findall(r"(?:epsilon|rho|delta) [0-9.e-]+[0-9]", str(each.value)) for each in (alone, booked)]
    assert named[0] == named[1]
    assert len(named[0]) >= 3


def test_a_refusal_says_what_can_still_be_spent() -> None:
    accountant = Accountant(Promise(0.01, 0.05)).spend(PureDP(epsilon=0.3))
    with pytest.raises(BudgetError) as refused:
        accountant.spend(PureDP(epsilon=9))
    left = re.search(r"at most epsilon ([0-9.]+) is accepted", str(refused.value))
    assert left is not None
    assert accountant.has_room_for(PureDP(epsilon=Fraction(left[1])))
