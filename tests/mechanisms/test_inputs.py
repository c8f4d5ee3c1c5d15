"""What mechanisms take: integers, one dimension, a named relation; a refusal shows nothing of them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidParameterError
from discreet.core.exact_values import Exact
from discreet.core.guarantees import PureDP, convert_guarantee
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.partition_selection import GroupCounts, GroupSelection
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.sampling import sample_uniform_below
from discreet.mechanisms.sensitivity import ContributionBounds

MANY: list[Any] = [
    DiscreteLaplace(epsilon=Fraction(1), sensitivity=1),
    DiscreteGaussian(variance=Fraction(4), squared_sensitivity=Fraction(1), places=100),
    RandomizedResponse(epsilon=Fraction(1), values=4),
]


@pytest.mark.parametrize("mechanism", MANY)
@pytest.mark.parametrize(
    "values",
    [
        np.array([[4711], [2], [3]]),
        np.array([4711.5, 2.25]),
        np.array([4711], dtype=np.uint64),
        np.array(4711),
        [4711, 2],
    ],
)
def test_only_a_column_of_integers_is_taken(mechanism: Any, values: object, random: Randomness) -> None:
    """A matrix would share noise between rows by broadcasting; fractions would pass through unharmed."""
    with pytest.raises(InvalidParameterError, match="one-dimensional array of int64") as refusal:
        mechanism.release_many(Exact(values), random)
    assert "4711" not in str(refusal.value)


@pytest.mark.parametrize("mechanism", MANY)
@pytest.mark.parametrize("value", [47.11, "4711", None, True])
def test_only_an_integer_is_taken(mechanism: Any, value: object, random: Randomness) -> None:
    with pytest.raises(InvalidParameterError, match="must be an integer") as refusal:
        mechanism.release(Exact(value), random)
    assert "47" not in str(refusal.value)


def test_a_relation_may_be_given_by_name_and_means_the_same() -> None:
    named = ContributionBounds(rows=1, relation="value")  # type: ignore[arg-type]
    assert named.sum_sensitivity(low=-5, high=5, one_cell=True).l1 == 10
    assert DiscreteLaplace(epsilon=Fraction(1), sensitivity=1, relation="presence").guarantee == PureDP(  # type: ignore[arg-type]
        epsilon=1, relation=Relation.PRESENCE
    )
    with pytest.raises(Exception, match="says nothing about presence"):
        convert_guarantee(PureDP(epsilon=1), "presence")
    with pytest.raises(InvalidParameterError, match=r"^PureDP\.relation must be"):
        PureDP(epsilon=1, relation="nobody")  # type: ignore[arg-type]


def test_selected_keys_carry_no_trace_of_the_others(random: Randomness) -> None:
    selection = GroupSelection(epsilon=Fraction(1), delta=Fraction(1, 10**6))
    many = GroupCounts(np.array(["a", "b", "a very long name of one person"]), np.array([500, 500, 1]))
    few = GroupCounts(np.array(["a", "b"]), np.array([500, 500]))
    shown = [selection.release(Exact(groups), random).value for groups in (many, few)]
    assert shown[0].keys.dtype == shown[1].keys.dtype
    assert "long name" not in repr(many)


@pytest.mark.parametrize("bound", [0, -1, 2**62 + 1, 2**63 + 5])
def test_a_bound_beyond_what_integers_hold_is_refused(bound: int, random: Randomness) -> None:
    with pytest.raises(InvalidParameterError, match=r"^sample_uniform_below: `bound=` must be"):
        sample_uniform_below(bound, 5, random)
    with pytest.raises(InvalidParameterError, match=r"^RandomizedResponse\.values must be"):
        RandomizedResponse(epsilon=Fraction(1), values=bound)
