"""What every entry of a policy has in common."""

from __future__ import annotations

from decimal import Decimal

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """Frozen, and refuses keys that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


def is_moderate(number: Decimal) -> bool:
    """Whether a decimal is small and short enough to be turned into a fraction."""
    return number.is_finite() and abs(number.adjusted()) <= 30 and len(number.as_tuple().digits) <= 60
