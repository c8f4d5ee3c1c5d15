"""Exact values, which may not leave, and released values, which may.

An `Exact` value was computed from the data and stays inside; a `Released` one went through a mechanism and
carries that mechanism's guarantee. Only mechanisms read the `secret` of an `Exact`; printing one shows
nothing, so that no log, message or traceback contains it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

if TYPE_CHECKING:
    from discreet.core.guarantees import Guarantee

T_co = TypeVar("T_co", covariant=True)


class Exact(Generic[T_co]):
    """A value that may not leave: it cannot be shown, compared or pickled.

    >>> Exact(41)
    Exact()
    """

    __slots__ = ("secret",)

    def __init__(self, secret: T_co) -> None:
        self.secret = secret

    def __repr__(self) -> str:
        return "Exact()"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an exact value may not leave, so it is not pickled")


@dataclass(frozen=True, eq=False)
class Released(Generic[T_co]):
    """A value that may leave, with the guarantee it was released under."""

    value: T_co
    guarantee: Guarantee
