"""The continuous Laplace law that the documents calculate with; what is released is drawn by `mechanisms`."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class LaplaceLaw:
    """Noise around 0.

    >>> LaplaceLaw(scale=1).quantile(0.75) == math.log(2)
    True
    """

    scale: float

    def likelihood(self, output: float, truth: float) -> float:
        """The density of `output` around `truth`."""
        return math.exp(-abs(output - truth) / self.scale) / (2 * self.scale)

    def quantile(self, p: float) -> float:
        """For p of at least a half."""
        return -self.scale * math.log(2 * (1 - p))

    def within(self, alpha: float) -> float:
        """Pr[|noise| <= alpha]."""
        return -math.expm1(-alpha / self.scale)
