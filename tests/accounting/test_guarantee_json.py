"""A guarantee that is written into a ledger is read again as it was, or not at all."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import RepeatedDP
from discreet.accounting.amounts import format_fraction
from discreet.accounting.guarantee_json import guarantee_from_json, guarantee_to_json, is_serializable
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
from discreet.core.neighbor_relations import Relation

REALS = st.one_of(
    st.integers(1, 10), st.floats(5e-324, 100), st.fractions(Fraction(1, 10**9), 100).filter(lambda x: x > 0)
)
ABOVE_ONE = REALS.map(lambda x: x + 1).filter(lambda x: x > 1)  # not where a float rounds to 1
DELTAS = st.one_of(st.floats(0, 0.5), st.fractions(0, Fraction(1, 2)))
RELATIONS = st.sampled_from(Relation)
MEMBERS = st.one_of(
    st.builds(PureDP, epsilon=REALS, relation=RELATIONS),
    st.builds(LaplaceDP, epsilon=REALS, relation=RELATIONS),
    st.builds(ApproximateDP, epsilon=REALS, delta=DELTAS, relation=RELATIONS),
    st.builds(GaussianDP, mu=REALS, relation=RELATIONS),
    st.builds(DiscreteGaussianDP, variance=REALS, shift=st.integers(1, 99), relation=RELATIONS),
    st.builds(RenyiDP, order=ABOVE_ONE, epsilon=REALS, relation=RELATIONS),
    st.builds(ZeroConcentratedDP, rho=REALS, delta=DELTAS, relation=RELATIONS),
    st.builds(RepeatedDP, epsilon=REALS, delta=DELTAS, times=st.integers(1, 99), relation=RELATIONS),
)
GUARANTEES = st.one_of(
    MEMBERS, st.builds(GroupOf, member=MEMBERS, size=st.integers(2, 9), relation=RELATIONS)
)


@given(GUARANTEES)
def test_what_is_read_equals_what_was_written(guarantee: Guarantee) -> None:
    found = guarantee_from_json(guarantee_to_json(guarantee))
    assert found == guarantee
    assert type(found) is type(guarantee)
    assert found.relation is guarantee.relation
    assert guarantee_to_json(found) == guarantee_to_json(guarantee)


def test_numbers_are_written_as_the_fractions_that_they_are() -> None:
    written = json.loads(guarantee_to_json(PureDP(epsilon=0.1, relation=Relation.PRESENCE)))
    assert written == {
        "type": "PureDP",
        "epsilon": "3602879701896397/36028797018963968",
        "relation": "presence",
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"type": "QuantumDP", "epsilon": "1"}', "the kind QuantumDP, which this version does not know"),
        ('{"type": "PureDP", "epsilon": "x", "relation": "value"}', "is invalid"),
        ('{"type": "PureDP", "epsilon": "-1", "relation": "value"}', "is invalid"),
        ('{"type": "PureDP", "epsilon": "1/0", "relation": "value"}', "is invalid"),
        ('{"type": "PureDP", "epsilon": "1", "relation": "friend"}', "is invalid"),
        ('{"type": "PureDP", "epsilon": "1", "sigma": "1", "relation": "value"}', "is invalid"),
        ('{"epsilon": "1"}', "is invalid"),
        ("[]", "is invalid"),
        ("no", "is invalid"),
    ],
)
def test_what_cannot_be_read_is_refused_and_never_guessed(text: str, sentence: str) -> None:
    with pytest.raises(RequestError, match=sentence):
        guarantee_from_json(text)


def test_a_kind_of_ones_own_is_not_written() -> None:
    class PureDP:
        """Named like one of ours."""

        relation = Relation.VALUE

    assert not is_serializable(PureDP())  # type: ignore[arg-type]


def test_numbers_longer_than_any_mechanism_needs_are_refused() -> None:
    with pytest.raises(RequestError, match="fractions of at most"):
        format_fraction(Fraction(1, 3**10_000))
