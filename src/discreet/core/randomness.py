"""The only source of randomness: the operating system's generator.

Everything random in the package is computed from the bytes of a `Randomness`. There is no seed here: a test
that needs repeatable bytes builds `Randomness(source=...)` from a generator of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Randomness:
    """Uniform bits, in the shapes that samplers need."""

    source: Callable[[int], bytes] = os.urandom

    def draw_words(self, count: int) -> NDArray[np.uint64]:
        """Return independent uniform 64-bit words."""
        return np.frombuffer(self.source(8 * count), dtype="<u8").astype(np.uint64, copy=False)

    def draw_bits(self, count: int) -> int:
        """Return a uniform integer of `count` bits, of any size."""
        size = (count + 7) // 8
        return int.from_bytes(self.source(size), "little") >> (8 * size - count)

    def draw_below(self, bound: int) -> int:
        """Return a uniform integer in [0, bound), by rejection."""
        width = (bound - 1).bit_length()
        while (draw := self.draw_bits(width)) >= bound:
            pass
        return draw


SYSTEM = Randomness()
