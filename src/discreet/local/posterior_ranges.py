"""Posterior ranges: how far reports move the belief in a property, and which moves breach a promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.belief.promise import Promise

ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class PosteriorRange:
    """A property's prior, and its posteriors after the reports that raise and lower it most."""

    prior: float
    highest: float
    lowest: float

    def is_breach(self, promise: Promise) -> bool:
        """Return True for an upward or a downward breach, up to float rounding."""
        up, down = 1 + ROUNDING, 1 - ROUNDING
        upward = self.prior <= promise.prior * up and self.highest > promise.posterior * up
        downward = self.prior >= promise.posterior * down and self.lowest < promise.prior * down
        return upward or downward


def find_breaches(ranges: Sequence[PosteriorRange], promise: Promise) -> tuple[PosteriorRange, ...]:
    """Return the ranges that breach the promise."""
    return tuple(each for each in ranges if each.is_breach(promise))
