"""The continuous Laplace distribution of the documents' calculations; releases use `mechanisms` instead."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ContinuousLaplace:
    """Laplace noise around 0.

    >>> ContinuousLaplace(scale=1).quantile(0.75) == math.log(2)
    True
    """

    scale: float

    def likelihood(self, output: float, truth: float) -> float:
        """Return the density of `output` given the true value `truth`."""
        return math.exp(-abs(output - truth) / self.scale) / (2 * self.scale)

    def quantile(self, p: float) -> float:
        """Return the p-quantile, for p of at least 1/2."""
        return -self.scale * math.log(2 * (1 - p))

    def probability_within(self, alpha: float) -> float:
        """Return Pr[|noise| <= alpha]."""
        return -math.expm1(-alpha / self.scale)
