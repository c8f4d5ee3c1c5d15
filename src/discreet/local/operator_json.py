"""Operators as JSON objects, stored beside the reports that they made.

Form        {"operator": "kary-response", "values": 128, "truth": "386641…/18446744073709551616"}: the kind,
            and each of its parameters; probabilities are exact fractions, so that reading restores exactly
            the same law. Unknown kinds and parameters are refused.
Short       Instead of its law, an operator may be given by an `epsilon`: {"operator": "kary-response",
            "values": 128, "epsilon": 1}. Fractions may be written as numbers: "truth": 0.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from inspect import signature
from typing import Any

import numpy as np

from discreet.core.errors import RequestError
from discreet.local import OPERATORS
from discreet.local.operator import Operator
from discreet.mechanisms import get_mechanism_name

OPERATORS_BY_NAME: dict[str, type[Operator]] = {get_mechanism_name(kind): kind for kind in OPERATORS}


def operator_to_json(operator: Operator) -> dict[str, Any]:
    """Return an operator as a JSON object.

    >>> from discreet.local import TwoPointMean
    >>> operator_to_json(TwoPointMean(values=3, truth=0.75))
    {'operator': 'two-point-mean', 'values': 3, 'truth': '3/4', 'low': -1.0, 'high': 1.0}
    """
    given = {each.name: getattr(operator, each.name) for each in fields(operator) if each.init}  # type: ignore[arg-type]
    return {
        "operator": get_mechanism_name(type(operator)),
        **{name: _to_json_value(value) for name, value in given.items()},
    }


def operator_from_json(data: Mapping[str, Any]) -> Operator:
    """Return the operator that a JSON object describes.

    >>> operator_from_json({"operator": "kary-response", "values": 4, "truth": "1/2"}).gamma
    3.0
    """
    name, given = data.get("operator"), {key: value for key, value in data.items() if key != "operator"}
    kind = OPERATORS_BY_NAME.get(str(name))
    if kind is None:
        raise RequestError(
            f"There is no operator {name}.", hint=f"Choose from {', '.join(sorted(OPERATORS_BY_NAME))}."
        )
    exact = {key: _parse_fractions(value) for key, value in given.items()}
    try:
        return kind.for_epsilon(**exact) if "epsilon" in exact else kind(**exact)  # type: ignore[attr-defined]
    except (TypeError, AttributeError):
        raise RequestError(
            f"{name} has other parameters than {', '.join(given) or 'none'}.",
            hint=f"Give {_list_parameters(kind)}.",
        ) from None


def _list_parameters(kind: type[Operator]) -> str:
    """Return the parameters of a kind, and those of its constructor from an epsilon."""
    law = ", ".join(each.name for each in fields(kind) if each.init)  # type: ignore[arg-type]
    under = getattr(kind, "for_epsilon", None)
    if under is None:
        return law
    needed = [name for name, each in signature(under).parameters.items() if each.default is each.empty]
    return f"{law}; or {', '.join(needed)}"


def _to_json_value(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple):
        return [_to_json_value(each) for each in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _parse_fractions(value: Any) -> Any:
    if isinstance(value, list):
        return [_parse_fractions(each) for each in value]
    try:
        return Fraction(value) if isinstance(value, str) else value
    except (ValueError, ZeroDivisionError):
        raise RequestError(f"{value} is not a number.", hint="Write a probability as 1/2 or 0.5.") from None
