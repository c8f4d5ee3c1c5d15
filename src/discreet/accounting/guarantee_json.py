"""Guarantees as JSON, exactly, as ledgers and certificates hold them.

    {"type": "GaussianDP", "mu": "1/20", "relation": "value"}

The class, and each of its parameters as an exact fraction; a double is the fraction that it is. Reading
returns an equal guarantee. An unknown class (written by a newer version) is refused, never guessed.
"""

from __future__ import annotations

import json
from dataclasses import fields
from fractions import Fraction
from typing import Any

from discreet.accounting.amounts import format_fraction
from discreet.accounting.optimal_composition import RepeatedDP
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

# class and field names are written into ledgers, so they must never change
KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        PureDP,
        LaplaceDP,
        ApproximateDP,
        GaussianDP,
        DiscreteGaussianDP,
        RenyiDP,
        ZeroConcentratedDP,
        GroupOf,
        RepeatedDP,
    )
}
WHOLE = ("shift", "size", "times")


def guarantee_to_json(guarantee: Guarantee) -> str:
    """Return a guarantee as JSON text.

    >>> guarantee_to_json(PureDP(epsilon=0.5))
    '{"type": "PureDP", "epsilon": "1/2", "relation": "value"}'
    """
    return json.dumps(_to_json_object(guarantee))


def guarantee_from_json(text: str) -> Guarantee:
    """Return the guarantee of a JSON text.

    >>> guarantee_from_json('{"type": "PureDP", "epsilon": "1/2", "relation": "value"}')
    PureDP(epsilon=Fraction(1, 2), relation=<Relation.VALUE: 'value'>)
    """
    try:
        found: Guarantee = _from_json_object(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError, ZeroDivisionError):
        raise RequestError(
            "A guarantee in this ledger is invalid.",
            hint="Restore the file from a backup; until then treat the promise as spent.",
        ) from None
    return found


def is_serializable(guarantee: Guarantee) -> bool:
    """Return whether this class of guarantee can be written."""
    member = getattr(guarantee, "member", None)
    return KINDS.get(type(guarantee).__name__) is type(guarantee) and (
        member is None or is_serializable(member)
    )


def _to_json_object(guarantee: Guarantee) -> dict[str, Any]:
    text: dict[str, Any] = {"type": type(guarantee).__name__}
    for name in (each.name for each in fields(guarantee)):  # type: ignore[arg-type]
        value = getattr(guarantee, name)
        if name == "member":
            text[name] = _to_json_object(value)
        elif name == "relation":
            text[name] = value.value
        else:
            text[name] = format_fraction(value)
    return text


def _from_json_object(text: dict[str, Any]) -> Any:
    name = text.pop("type")
    if name not in KINDS:
        raise RequestError(
            f"This ledger holds a guarantee of the kind {name}, which this version does not know.",
            hint="Open it with the version that wrote it, or a newer one.",
        )
    values: dict[str, object] = {}
    for key, value in text.items():
        if key == "member":
            values[key] = _from_json_object(value)
        elif key == "relation":
            values[key] = Relation(value)
        else:
            values[key] = int(value) if key in WHOLE else Fraction(value)
    return KINDS[name](**values)
