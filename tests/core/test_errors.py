"""Errors carry what to do next and the exit code; exact values never show."""

from __future__ import annotations

import pytest

from discreet.core.errors import BudgetError, DiscreetError, EngineFault, InvalidParameterError, RequestError
from discreet.core.exact_values import Exact, Released
from discreet.core.guarantees import PureDP


@pytest.mark.parametrize(
    ("kind", "exit_code"), [(RequestError, 2), (InvalidParameterError, 2), (BudgetError, 3)]
)
def test_each_family_has_its_exit_code(kind: type[DiscreetError], exit_code: int) -> None:
    error = kind("What is wrong.", hint="What to do.")
    assert error.exit_code == exit_code
    assert str(error) == "What is wrong. What to do."


def test_a_fault_tells_its_number_and_nothing_else() -> None:
    fault = EngineFault("The engine could not finish.", incident="00ff")
    assert fault.exit_code == 5
    assert (
        str(fault) == "The engine could not finish. The custodian's log has the details under incident 00ff."
    )


def test_an_invalid_parameter_is_also_a_value_error() -> None:
    with pytest.raises(ValueError, match=r"^PureDP\.epsilon must be a finite number .*; got nan\.$"):
        PureDP(epsilon=float("nan"))


def test_an_exact_value_shows_nowhere() -> None:
    exact = Exact(123_456_789)
    for shown in (repr(exact), str(exact), f"{exact}", f"{[exact]}", f"{ ({'x': exact}) }"):
        assert "123" not in shown


def test_exact_values_cannot_be_compared_by_equality() -> None:
    """Equality of two exact values is itself a fact about the data."""
    assert Exact(3) != Exact(3)


def test_a_released_value_carries_its_guarantee() -> None:
    assert Released(3, PureDP(epsilon=1)).guarantee.cap == 1.0
