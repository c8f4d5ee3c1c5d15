"""Exact arithmetic on the counts of classes, vectorized over classes, without a loop over rows.

Products of counts are computed in 64 bits where the largest is known to fit, otherwise in Python integers.
A table of N rows and a class of n give products up to n N: 1e16 at 1e8 rows, where 64 bits hold 9e18.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers, SensitiveCounts
from discreet.anonymity.models.privacy_model import Floats, Verdicts
from discreet.core.errors import RequestError

LIMIT = 2**62  # products below this leave room for a sum of two
NEAR = 1e-9
"""Quotients of integers below 2**53 that differ relatively by less than this are compared as fractions."""
EDGE = 1e-6
"""Shares this close to 0 or 1 bound nothing: the relative error of the remainder would be too large."""


def require_sensitive(classes: EquivalenceClasses, column: str, model: str) -> SensitiveCounts:
    """Return the counts of a sensitive column; raise if it was not counted."""
    if column not in classes.sensitive:
        raise RequestError(
            f"{model} is about the column {column}, which is not a sensitive column.",
            hint="Give it the role sensitive in the policy.",
        )
    return classes.sensitive[column]


def require_population(classes: EquivalenceClasses, model: str) -> Integers:
    """Return the people who share each class's quasi-identifiers; raise without a population."""
    if classes.population is None:
        raise RequestError(f"{model} needs a population table.", hint="Name one with `population=`.")
    return classes.population


def multiply_exactly(left: Integers, right: Integers | int) -> Integers:
    """Return left * right, elementwise without overflow; Python integers where 64 bits might not suffice."""
    most = int(np.max(np.abs(left), initial=0)) * int(np.max(np.abs(right), initial=0))
    if most < LIMIT:
        return np.asarray(left * right)
    return np.asarray(left.astype(object) * right)


def is_at_most(left: Integers, right: Integers, bound: Fraction) -> Verdicts:
    """Return left <= bound * right, elementwise and exactly."""
    return np.asarray(
        multiply_exactly(left, bound.denominator) <= multiply_exactly(right, bound.numerator), np.bool_
    )


def is_below(left: Integers, right: Integers, bound: Fraction) -> Verdicts:
    """Return left < bound * right, elementwise and exactly."""
    return np.asarray(
        multiply_exactly(left, bound.denominator) < multiply_exactly(right, bound.numerator), np.bool_
    )


def compute_quotients(left: Integers, right: Integers) -> Floats:
    """Return left / right as floats; infinite where `right` is 0, and 0 where both are."""
    top, bottom = left.astype(np.float64), right.astype(np.float64)
    endless = np.where(top > 0, np.inf, 0.0)
    return np.divide(top, bottom, out=endless, where=bottom > 0)


def find_largest_quotient(left: Integers, right: Integers) -> Fraction:
    """Return the largest of the quotients left / right, exactly; every `right` is above 0."""
    rough = compute_quotients(left, right)
    close = np.flatnonzero(rough >= rough.max() * (1 - NEAR))
    return max(Fraction(int(left[i]), int(right[i])) for i in close)


# -- Class by class ------------------------------------------------------------------------------------------


def reduce_by_class(ufunc: np.ufunc, starts: Integers, amounts: NDArray[np.generic]) -> Integers:
    """Reduce each class's entries by one ufunc; 0 for a class without any."""
    filled = starts[1:] > starts[:-1]
    result = np.zeros(len(filled), amounts.dtype)
    result[filled] = ufunc.reduceat(amounts, starts[:-1][filled])
    return result


def count_rows(sensitive: SensitiveCounts) -> Integers:
    """Return the number of rows in each class."""
    return reduce_by_class(np.add, sensitive.starts, sensitive.counts)


def count_commonest(sensitive: SensitiveCounts) -> Integers:
    """Return the count of the commonest value of each class."""
    return reduce_by_class(np.maximum, sensitive.starts, sensitive.counts)


def count_distinct(sensitive: SensitiveCounts) -> Integers:
    """Return the number of different values in each class."""
    return np.diff(sensitive.starts)


def find_owners(sensitive: SensitiveCounts) -> Integers:
    """Return the class of each entry."""
    return np.repeat(np.arange(len(sensitive.starts) - 1), count_distinct(sensitive))


def all_entries_hold(sensitive: SensitiveCounts, holds: Verdicts) -> Verdicts:
    """Return for each class whether all its entries hold."""
    return np.asarray(reduce_by_class(np.add, sensitive.starts, (~holds).astype(np.int64)) == 0)


def sum_commonest(sensitive: SensitiveCounts, places: int) -> Integers:
    """Return the rows that the `places` commonest values of each class have together."""
    if places <= 0:
        return np.zeros(len(sensitive.starts) - 1, np.int64)
    most = int(sensitive.counts.max(initial=0)) + 1
    # one sort of class * most - count ranks all classes at once, the commonest value of each first
    keys = np.sort(multiply_exactly(find_owners(sensitive) + 1, most) - sensitive.counts)
    ranked = np.asarray((-keys) % most, np.int64)
    rank = np.arange(len(ranked)) - np.repeat(sensitive.starts[:-1], count_distinct(sensitive))
    return reduce_by_class(np.add, sensitive.starts, np.where(rank < places, ranked, 0))


def bound_rows_within_shares(
    classes: EquivalenceClasses, sensitive: SensitiveCounts, low: Floats | float, high: Floats | float
) -> Integers:
    """Bound the rows of each class that can be kept with a share from low[v] to high[v] of every value v.

    If several classes have such shares, so has their union. Hence of n rows, c of them with the value v, at
    most c / low[v] are kept; and as at most n - c are without v, at most (n - c) / (1 - high[v]). Where
    people have several values, counts of values bound nothing about people.
    """
    rows, kinds, held = count_rows(sensitive), count_distinct(sensitive), sensitive.counts
    least, most = (np.broadcast_to(np.asarray(part, float), sensitive.totals.shape) for part in (low, high))
    bound, free = least > EDGE, most < 1 - EDGE
    of_held = np.divide(1, least, out=np.full(len(least), np.inf), where=bound)
    of_others = np.divide(1, 1 - most, out=np.full(len(most), np.inf), where=free)
    others = np.repeat(rows, kinds) - held
    with np.errstate(invalid="ignore"):  # 0 of what is not bounded
        caps = np.fmin(held * of_held[sensitive.values], others * of_others[sensitive.values])
    caps[np.isnan(caps)] = np.inf
    found = np.where(kinds > 0, reduce_by_class(np.minimum, sensitive.starts, caps), np.inf)
    lacks = reduce_by_class(np.add, sensitive.starts, bound[sensitive.values].astype(np.int64)) < bound.sum()
    found[lacks & (kinds > 0)] = 0
    # rounded up by more than the error of the floats
    kept = np.minimum(found * (1 + NEAR) + NEAR, classes.sizes).astype(np.int64)
    return np.where(rows == classes.sizes, kept, classes.sizes)
