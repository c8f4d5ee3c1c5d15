"""Exact binomial checks with a stated false-alarm rate, so that a red test is a bug and is never re-run."""

from __future__ import annotations

from scipy.stats import binom

FALSE_ALARM = 1e-9


def acceptance(probability: float, trials: int, *, family: int = 1) -> tuple[int, int]:
    """The counts that a true `probability` leaves with chance at most FALSE_ALARM over a family of checks."""
    miss = FALSE_ALARM / family / 2
    return int(binom.ppf(miss, trials, probability)), int(binom.isf(miss, trials, probability))


def assert_probability(hits: int, trials: int, probability: float, *, family: int = 1) -> None:
    low, high = acceptance(probability, trials, family=family)
    assert low <= hits <= high, f"{hits} of {trials} where {probability:.6g} allows {low} to {high}"


def power(probability: float, actual: float, trials: int, *, family: int = 1) -> float:
    """How surely the check for `probability` fails when the truth is `actual`."""
    low, high = acceptance(probability, trials, family=family)
    return float(binom.cdf(low - 1, trials, actual) + binom.sf(high, trials, actual))
