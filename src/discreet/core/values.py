"""What may leave and what may not.

An `Exact` value was computed from the data and stays inside; a `Released` one went through a mechanism and
carries the guarantee under which it did. Only mechanisms open an `Exact` (its `secret`); printing one shows
nothing, so that no log, message or traceback carries it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar

from discreet.core.guarantees import Guarantee

T_co = TypeVar("T_co", covariant=True)


class Exact(Generic[T_co]):
    """A value that may not leave: it is neither shown, compared, nor pickled.

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
    """A value that may leave, and what it was promised under."""

    value: T_co
    guarantee: Guarantee
