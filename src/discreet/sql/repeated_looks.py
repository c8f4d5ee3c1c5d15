"""What the stated confidence means where one quantity was measured several times.

The first measurement of a quantity, and the newest one shown alone, have the interval of their own noise.
That noise was drawn after whoever asked had decided to ask, so with probability 1 - beta it is inside, given
everything that was released before: the statement of any answer.

The mean of all measurements also has noise that was seen before the last was bought. Whoever buys until the
mean pleases chooses when to stop by that noise, and then the mean of the last look may miss more often than
any mean of a number of looks that was fixed in advance: the worst of six misses in 14% of cases, not 5%.
So the n-th mean of a quantity, after n + 1 measurements, has the miss probability beta / (n (n + 1)).

Statement   With probability 1 - beta *all* means of a quantity that are ever printed are inside their
            intervals; so is therefore the last one, whatever rule decided when to stop: the shares of all
            means add up to beta. The number of measurements is public, since each was charged.
Epsilons    This is proven for epsilons that the noise did not choose. If they are chosen by it too, a mean
            could be worse off where the new epsilon is small; but a mean is printed only where its interval,
            at its share of beta, is narrower than that of each single measurement at beta. Someone who knows
            the truth and picks the epsilon that makes the second mean miss, if any does, has it miss in
            4.0% of cases at 95%; at the level of 656 rows at once, in up to 1.4 times their beta.
Several     A statement about several quantities divides by the number of different later measurements in
            all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from math import lcm

import numpy as np

from discreet.mechanisms.combined_noise import CombinedNoise, describe_error
from discreet.mechanisms.measurement_combination import combine_measurements, spend_on_look
from discreet.mechanisms.sampling import Integers
from discreet.sql.interval_estimates import ReleasedPrimitive

LARGEST = 1 << 62  # of numbers in 64 bits


def share_of_look(beta: float, looks: Collection[int]) -> float:
    """Return the miss probability of a statement about means that `looks` later measurements are part of.

    >>> share_of_look(0.05, ()), share_of_look(0.05, {2})
    (0.05, 0.025)
    """
    return spend_on_look(beta, len(looks)) if looks else beta


def divide_confidence(confidence: float, looks: Collection[int]) -> float:
    """Return the confidence at which an interval is computed that is stated at `confidence`."""
    return 1 - share_of_look(1 - confidence, looks) if looks else confidence


def average_measurements(parts: Sequence[ReleasedPrimitive], looks: Collection[int]) -> ReleasedPrimitive:
    """Return the mean of measurements of one quantity, the oldest first, by inverse variance.

    `looks` are the entries of all but the first. Numbers and weights stay exact: the mean is in whole parts
    of a common denominator.
    """
    if len(parts) == 1:
        return parts[0]
    errors = [describe_error(each.noise, unit=Fraction(1, each.weight_denominator)) for each in parts]
    weights = [
        weight / each.weight_denominator
        for weight, each in zip(combine_measurements(*errors).weights, parts, strict=True)
    ]
    denominator = lcm(*(weight.denominator for weight in weights))
    factors = [int(weight * denominator) for weight in weights]
    noise = CombinedNoise.from_weights(
        (each.noise, factor) for each, factor in zip(parts, factors, strict=True)
    )
    # of Python's own integers where 64 bits may not be enough
    numbers: Integers = np.zeros(parts[0].numbers.shape, _choose_type(parts, factors))
    for each, factor in zip(parts, factors, strict=True):
        numbers = numbers + each.numbers.astype(numbers.dtype) * factor
    return ReleasedPrimitive(
        numbers=numbers,
        noise=replace(noise, looks=noise.looks | {*looks}),
        weight_denominator=denominator,
    )


def _choose_type(parts: Sequence[ReleasedPrimitive], factors: Sequence[int]) -> type:
    largest = sum(
        factor * int(np.abs(each.numbers.astype(object)).max(initial=0))
        for each, factor in zip(parts, factors, strict=True)
    )
    return np.int64 if largest < LARGEST else object
