"""What may leave and what may not.

An `Exact` value was computed from the data and stays inside; a `Released` one went through a mechanism and
carries the guarantee under which it did. Only mechanisms open an `Exact` (its `secret`); printing one shows
nothing, so that no log, message or traceback carries it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from discreet.core.guarantees import Guarantee

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, eq=False)
class Exact(Generic[T_co]):
    """A value that may not leave.

    >>> Exact(41)
    Exact()
    """

    secret: T_co = field(repr=False)


@dataclass(frozen=True, eq=False)
class Released(Generic[T_co]):
    """A value that may leave, and what it was promised under."""

    value: T_co
    guarantee: Guarantee
