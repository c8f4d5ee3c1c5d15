"""What every mechanism owes by being listed in `MECHANISMS`.

A mechanism that joins the tuple adds one line to EXAMPLES: the parameter that sets its noise, its other
parameters, and an exact input.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.attacks.neighbor_pairs import PAIR_BUILDERS
from discreet.core.errors import InvalidParameterError
from discreet.core.exact_values import Exact, Released
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.mechanisms import MECHANISMS
from discreet.mechanisms.approximate_bounds import PowerBins
from discreet.mechanisms.partition_selection import GroupCounts
from discreet.mechanisms.quantile import ValueCounts
from discreet.mechanisms.sensitivity import Sensitivity
from tests.conformance.inheritance import derives_from_protocols_alone

LABELS = ("Release", "Requires", "Guarantee", "Utility")
SCORES = np.array([73_123, 73_124, 73_120])
ROWS = ValueCounts(np.array([73_123, 73_124]), np.array([5, 6]))
EXAMPLES: dict[str, tuple[str, dict[str, Any], Any]] = {
    "DiscreteLaplace": ("epsilon", {"sensitivity": 1}, 73_123),
    "Laplace": ("epsilon", {"sensitivity": 1, "resolution": 1}, Fraction(73_123)),
    "DiscreteGaussian": ("variance", {"squared_sensitivity": 1}, 73_123),
    "Gaussian": ("sigma", {"sensitivity": 1, "resolution": 1}, Fraction(73_123)),
    "Exponential": ("epsilon", {"sensitivity": 1}, SCORES),
    "PermuteAndFlip": ("epsilon", {"sensitivity": 1}, SCORES),
    "NoisyMax": ("epsilon", {"sensitivity": 1}, SCORES),
    "RandomizedResponse": ("epsilon", {"values": 3}, 1),
    "Quantile": ("epsilon", {"low": 0, "high": 100_000}, ROWS),
    "SmoothMedian": ("epsilon", {"delta": 1e-6, "low": 0, "high": 100_000}, ROWS),
    "GroupSelection": (
        "epsilon",
        {"delta": 1e-6},
        GroupCounts(np.array(["one", "two"]), np.array([73_123, 2])),
    ),
    "ApproximateBounds": (
        "epsilon",
        {"sensitivity": Sensitivity(l1=2, squared_l2=2), "bins": PowerBins(least=0, most=4)},
        np.array([73_123, 0, 2]),
    ),
}

every_mechanism = pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.__name__)


def build(kind: Any, level: Any = Fraction(1, 2), **others: Any) -> Any:
    name, fixed, _ = EXAMPLES[kind.__name__]
    return kind(**{name: level}, **fixed, **others)


def secret_of(kind: Any) -> Any:
    return EXAMPLES[kind.__name__][2]


def test_every_listed_mechanism_has_an_example() -> None:
    assert sorted(EXAMPLES) == sorted(kind.__name__ for kind in MECHANISMS)


def test_every_listed_mechanism_can_be_audited() -> None:
    assert set(PAIR_BUILDERS) == set(MECHANISMS)


@every_mechanism
def test_module_states_release_requirement_guarantee_and_utility(kind: Any) -> None:
    lines = (sys.modules[kind.__module__].__doc__ or "").splitlines()
    starts = [line.split("  ")[0] for line in lines if line and not line.startswith(" ")]
    assert [label for label in starts if label in LABELS] == list(LABELS)
    for label in LABELS:
        assert len(next(line for line in lines if line.startswith(label)).removeprefix(label).strip()) > 20


@every_mechanism
def test_mechanism_is_a_frozen_keyword_only_dataclass(kind: Any) -> None:
    mechanism = build(kind)
    assert derives_from_protocols_alone(kind)
    assert all(field.kw_only for field in dataclasses.fields(kind))
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(mechanism, EXAMPLES[kind.__name__][0], 2)


@every_mechanism
def test_guarantee_says_for_which_neighbours_and_what_it_allows(kind: Any) -> None:
    guarantee = build(kind).guarantee
    assert isinstance(guarantee.relation, Relation)
    assert 0 <= guarantee.profile(0.5) < guarantee.profile(0.25) < 1
    twice = guarantee.for_group(2)
    assert twice.profile(0.5) > guarantee.profile(0.5)
    assert twice.relation is guarantee.relation
    if EXAMPLES[kind.__name__][0] == "epsilon":
        assert guarantee.profile(0.5) == float(getattr(guarantee, "delta", 0))
        assert guarantee.cap in (0.5, math.inf)


@every_mechanism
@pytest.mark.parametrize("relation", list(Relation))
def test_guarantee_is_for_the_relation_that_was_asked_for(kind: Any, relation: Relation) -> None:
    if "relation" in {each.name for each in dataclasses.fields(kind)}:
        assert build(kind, relation=relation).guarantee.relation is relation
    else:
        assert build(kind).guarantee.relation is Relation.VALUE


@every_mechanism
@pytest.mark.parametrize("level", [math.nan, 0, -1, -0.5, math.inf, -math.inf, "1", None, True])
def test_noise_that_promises_nothing_is_refused_by_name(kind: Any, level: Any) -> None:
    name = EXAMPLES[kind.__name__][0]
    with pytest.raises(InvalidParameterError, match=rf"^{kind.__name__}\.{name} must be .*; got .*\.$"):
        build(kind, level)


@every_mechanism
@pytest.mark.parametrize("level", [1, 0.5, Fraction(1, 3)])
def test_noise_may_be_set_by_any_number_and_is_kept_exactly(kind: Any, level: Any) -> None:
    assert getattr(build(kind, level), EXAMPLES[kind.__name__][0]) == Fraction(level)


@every_mechanism
def test_release_carries_the_guarantee_and_the_exact_value_does_not_print(
    kind: Any, random: Randomness
) -> None:
    mechanism, secret = build(kind), Exact(secret_of(kind))
    released = mechanism.release(secret, random)
    assert isinstance(released, Released)
    assert released.guarantee == mechanism.guarantee
    assert "73" not in repr(secret) + str(secret) + repr(mechanism)


@every_mechanism
def test_release_is_random(kind: Any) -> None:
    """No release is a function of the data alone: 200 equal ones have a chance below 1e-9."""
    mechanism, secret = build(kind), Exact(secret_of(kind))
    values = {content(mechanism.release(secret, Randomness()).value) for _ in range(200)}
    assert len(values) > 1


def content(value: Any) -> str:
    """What a released value holds; `Groups` do not print themselves."""
    return str(vars(value)) if isinstance(value, GroupCounts) else str(value)


@every_mechanism
def test_likelihoods_are_probabilities(kind: Any, random: Randomness) -> None:
    if not hasattr(kind, "likelihood"):
        pytest.skip(f"{kind.__name__} releases a table; its law is `mass`")
    mechanism, truth = build(kind), secret_of(kind)
    released = {mechanism.release(Exact(truth), random).value for _ in range(50)}
    chances = [mechanism.likelihood(output, truth) for output in released]
    assert all(0 < each < 1 for each in chances)
    if not hasattr(kind, "density"):  # of a law that a grid refines to, the likelihood is only proportional
        assert sum(chances) <= 1 + 1e-12
