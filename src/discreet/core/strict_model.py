"""The base class of all policy entries."""

from __future__ import annotations

from decimal import Decimal

from pydantic import BaseModel, ConfigDict


class StrictModel(BaseModel):
    """A frozen model that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


def is_moderate(number: Decimal) -> bool:
    """Return whether a decimal is small and short enough to be turned into a fraction."""
    # the fraction of 1e999999999 would write out all its zeros
    return number.is_finite() and abs(number.adjusted()) <= 30 and len(number.as_tuple().digits) <= 60
