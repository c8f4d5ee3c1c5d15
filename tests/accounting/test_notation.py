"""What is written into a ledger is read again as it was, or not at all."""

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import RepeatedDP
from discreet.accounting.notation import amount, fraction_text, knows, on_grid, read, write
from discreet.core.errors import RequestError
from discreet.core.guarantees import (
    ApproximateDP,
    DiscreteGaussianDP,
    GaussianDP,
    GroupOf,
    Guarantee,
    LaplaceDP,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from discreet.core.relations import Relation

REALS = st.one_of(
    st.integers(1, 10), st.floats(5e-324, 100), st.fractions(Fraction(1, 10**9), 100).filter(lambda x: x > 0)
)
DELTAS = st.one_of(st.floats(0, 0.5), st.fractions(0, Fraction(1, 2)))
RELATIONS = st.sampled_from(Relation)
MEMBERS = st.one_of(
    st.builds(PureDP, epsilon=REALS, relation=RELATIONS),
    st.builds(LaplaceDP, epsilon=REALS, relation=RELATIONS),
    st.builds(ApproximateDP, epsilon=REALS, delta=DELTAS, relation=RELATIONS),
    st.builds(GaussianDP, mu=REALS, relation=RELATIONS),
    st.builds(DiscreteGaussianDP, variance=REALS, shift=st.integers(1, 99), relation=RELATIONS),
    st.builds(RenyiDP, order=REALS.map(lambda x: x + 1), epsilon=REALS, relation=RELATIONS),
    st.builds(ZeroConcentratedDP, rho=REALS, delta=DELTAS, relation=RELATIONS),
    st.builds(RepeatedDP, epsilon=REALS, delta=DELTAS, times=st.integers(1, 99), relation=RELATIONS),
)
GUARANTEES = st.one_of(
    MEMBERS, st.builds(GroupOf, member=MEMBERS, size=st.integers(2, 9), relation=RELATIONS)
)


@given(GUARANTEES)
def test_what_is_read_equals_what_was_written(guarantee: Guarantee) -> None:
    found = read(write(guarantee))
    assert found == guarantee
    assert type(found) is type(guarantee)
    assert found.relation is guarantee.relation
    assert write(found) == write(guarantee)


def test_numbers_are_written_as_the_fractions_that_they_are() -> None:
    written = json.loads(write(PureDP(epsilon=0.1, relation=Relation.PRESENCE)))
    assert written == {
        "type": "PureDP",
        "epsilon": "3602879701896397/36028797018963968",
        "relation": "presence",
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"type": "QuantumDP", "epsilon": "1"}', "the kind QuantumDP, which this version does not know"),
        ('{"type": "PureDP", "epsilon": "x", "relation": "value"}', "is not one"),
        ('{"type": "PureDP", "epsilon": "-1", "relation": "value"}', "is not one"),
        ('{"type": "PureDP", "epsilon": "1/0", "relation": "value"}', "is not one"),
        ('{"type": "PureDP", "epsilon": "1", "relation": "friend"}', "is not one"),
        ('{"type": "PureDP", "epsilon": "1", "sigma": "1", "relation": "value"}', "is not one"),
        ('{"epsilon": "1"}', "is not one"),
        ("[]", "is not one"),
        ("no", "is not one"),
    ],
)
def test_what_cannot_be_read_is_refused_and_never_guessed(text: str, sentence: str) -> None:
    with pytest.raises(RequestError, match=sentence):
        read(text)


def test_a_kind_of_ones_own_is_not_written() -> None:
    class PureDP:
        """Named like one of ours."""

        relation = Relation.VALUE

    assert not knows(PureDP())  # type: ignore[arg-type]


def test_numbers_longer_than_any_mechanism_needs_are_refused() -> None:
    with pytest.raises(RequestError, match="fractions of at most"):
        fraction_text(Fraction(1, 3**10_000))


@given(st.one_of(st.floats(0, 1e6), st.decimals(0, 10, places=18), st.fractions(0, 9, max_denominator=1000)))
def test_usual_numbers_are_on_the_grid(value: float) -> None:
    assert on_grid(Fraction(value)) == Fraction(value)


@given(st.fractions(0, 9, max_denominator=10**40))
def test_the_grid_never_charges_less_and_hardly_more(value: Fraction) -> None:
    assert 0 <= on_grid(value) - value <= Fraction(1, 2**256)


def test_sums_stay_short_whatever_is_summed() -> None:
    total = sum((on_grid(Fraction(1, 10**6 + 2 * k + 1)) for k in range(3_000)), Fraction(0))
    assert len(fraction_text(total)) < 2_000


@given(st.floats(1e-12, 1e6))
def test_what_is_said_to_be_left_can_be_spent(left: float) -> None:
    said = float(amount(PureDP(epsilon=left)).removeprefix("epsilon "))
    assert left * (1 - 1e-5) <= said <= left


@given(st.floats(1e-12, 1e6))
def test_a_cost_is_not_said_to_be_less(cost: float) -> None:
    said = float(amount(PureDP(epsilon=cost), up=True).removeprefix("epsilon "))
    assert cost * (1 - 1e-11) <= said <= cost * (1 + 1e-5)


def test_an_amount_with_a_tail_is_rho_and_delta() -> None:
    assert amount(ZeroConcentratedDP(rho=Fraction(2, 3), delta=1e-9)) == "rho 0.666666 and delta 1e-9"
    assert amount(ZeroConcentratedDP(rho=math.pi, delta=0), up=True) == "rho 3.1416"
