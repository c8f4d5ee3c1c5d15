"""Half-widths of linear parts and ends of ratios for many rows, from the laws of their noise.

Pieces     regions of one part that contain each other are cut into disjoint pieces: the noise of a piece has
           the sum of the weights of all regions that it lies in. Pieces are independent. Regions about which
           nothing is known are put into different *groups*; groups share the probability of a miss.
Laws       rows with equal numbers of cells and equal weights, up to a common factor, have the same law, which
           is computed once. If there are too many laws, numbers of cells are rounded up: another independent
           term never narrows a sum (`mechanisms.noise_laws`, Unimodal). If there are still too many, every
           piece gets its share of the miss probability.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.linear_combinations import LinearCombination, round_up
from discreet.mechanisms.noise_laws import Floats
from discreet.mechanisms.ratio_bounds import RatioNoise
from discreet.sql.noisy_regions import are_disjoint, contains_region
from discreet.sql.noisy_values import Term

Noises = Mapping[tuple[str, str], LinearCombination]
Ends = tuple[Floats, Floats]

MOST_LAWS, MOST_RATIO_LAWS = 400, 16
COARSE = 1.03, 1.25  # growth of the numbers of cells that counts are rounded up to
OUTWARD = 1 + 1e-12  # covers the rounding of weights that are divided by their common factor
ALIKE = 1e-12


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """Independent pieces: their sources, and for each row their weights and numbers of cells.

    `weights` has one array for each form whose noise they make up: one, or the top and bottom of a ratio.
    """

    sources: tuple[tuple[str, str], ...]
    weights: tuple[NDArray[np.float64], ...]
    counts: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class NumberedTerm:
    """A term with the numbers of its rows: weights in each form, and its count of cells."""

    term: Term
    weights: tuple[Floats, ...]
    counts: Floats


def group_terms(terms: Sequence[NumberedTerm]) -> list[list[NumberedTerm]]:
    """Return groups of terms within which any two regions of one source are nested or disjoint."""
    groups: list[list[NumberedTerm]] = []
    for each in terms:
        for group in groups:
            if all(_are_related(each.term, other.term) for other in group):
                group.append(each)
                break
        else:
            groups.append([each])
    return groups


def _are_related(one: Term, other: Term) -> bool:
    return (
        one.source != other.source
        or are_disjoint(one.region, other.region)
        or contains_region(one.region, other.region)
        or contains_region(other.region, one.region)
    )


def cut_pieces(group: Sequence[NumberedTerm]) -> Pieces:
    """Return the independent pieces of a group of terms."""
    parents: list[int | None] = []
    for place, each in enumerate(group):
        outer = [
            other
            for other, candidate in enumerate(group)
            if other != place
            and candidate.term.source == each.term.source
            and contains_region(candidate.term.region, each.term.region)
            # of two equal regions the later one contains the earlier
            and (other > place or not contains_region(each.term.region, candidate.term.region))
        ]
        # the closest is the one that all others contain
        closest = [
            one
            for one in outer
            if all(
                other == one
                or (
                    contains_region(group[other].term.region, group[one].term.region)
                    and (other > one or group[other].term.region != group[one].term.region)
                )
                for other in outer
            )
        ]
        parents.append(closest[0] if closest else None)
    counts = [each.counts.astype(np.float64) for each in group]
    rest = [each.copy() for each in counts]
    for place, parent in enumerate(parents):
        if parent is not None:
            rest[parent] -= counts[place]
    weights = []
    for form in range(len(group[0].weights)):
        total = []
        for place, each in enumerate(group):
            found, above = each.weights[form].copy(), parents[place]
            while above is not None:
                found, above = found + group[above].weights[form], parents[above]
            total.append(found)
        weights.append(np.array(total))
    return Pieces(
        sources=tuple(each.term.source for each in group),
        weights=tuple(weights),
        counts=np.maximum(np.array(rest), 0.0),
    )


# -- Linear -------------------------------------------------------------------------------------------------


def find_half_widths(pieces: Pieces, noises: Noises, beta: float) -> Floats:
    """Return the half-width of each row's sum over its pieces."""
    weights, counts = np.abs(pieces.weights[0]), pieces.counts
    weights = np.where(counts > 0, weights, 0.0)
    counts = np.where(weights > 0, counts, 0.0)
    unknown = ~np.isfinite(weights).all(axis=0) | ~np.isfinite(counts).all(axis=0)
    weights, counts = (np.where(unknown, 0.0, each) for each in (weights, counts))
    scale = weights.max(axis=0, initial=0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(scale > 0, weights / scale, 0.0)
    places, first = _find_distinct([*shares, *counts], MOST_LAWS)
    if first is None:
        counts = _round_up_counts(counts, COARSE[0])
        places, first = _find_distinct([*shares, *counts], MOST_LAWS)
    if first is None:
        return np.where(unknown, np.nan, _add_half_widths(pieces.sources, weights, counts, noises, beta))
    widths = np.array(
        [
            round_up(_combine(pieces.sources, shares[:, row], counts[:, row], noises).half_width(beta))
            for row in first
        ]
    )
    is_exact = (shares * scale == weights).all(axis=0)
    return np.where(unknown, np.nan, widths[places] * scale * np.where(is_exact, 1.0, OUTWARD))


def _combine(
    sources: Sequence[tuple[str, str]], weights: Floats, counts: Floats, noises: Noises
) -> LinearCombination:
    """Return the error of a sum over pieces."""
    groups = [
        (term.law, Fraction(weight) * term.coefficient, term.copies * int(count))
        for source, weight, count in zip(sources, weights.tolist(), counts.tolist(), strict=True)
        if weight and count
        for term in noises[source].terms
    ]
    return LinearCombination.from_counts(groups)


def _add_half_widths(
    sources: Sequence[tuple[str, str]], weights: Floats, counts: Floats, noises: Noises, beta: float
) -> Floats:
    """Return a union bound: half-widths of the pieces, each at its share of the miss probability."""
    total = np.zeros(weights.shape[1])
    for source, weight, count in zip(sources, weights, counts, strict=True):
        total += weight * find_equal_half_widths(noises[source], count, beta / len(sources))
    return total


def find_equal_half_widths(noise: LinearCombination, counts: Floats, beta: float) -> Floats:
    """Return half-widths of sums of so many cells; many different counts are rounded up."""
    places, first = _find_distinct([counts], MOST_LAWS)
    if first is None:
        counts = _round_up_counts(counts, COARSE[0])
        places, first = _find_distinct([counts], 1 << 62)
    assert first is not None
    return np.array([_find_equal_half_width(noise, int(counts[row]), beta) for row in first])[places]


@lru_cache(maxsize=4_096)
def _find_equal_half_width(noise: LinearCombination, cells: int, beta: float) -> float:
    groups = [(term.law, term.coefficient, term.copies * cells) for term in noise.terms]
    return round_up(LinearCombination.from_counts(groups).half_width(beta))


def _round_up_counts(counts: Floats, growth: float) -> Floats:
    """Return counts above 100 rounded up to the next of a series."""
    exponents = np.ceil(np.log(np.maximum(counts, 1) / 100) / np.log(growth) - 1e-9)
    rounded = np.ceil(100 * growth ** np.maximum(exponents, 0))
    return np.where(counts > 100, np.maximum(rounded, counts), counts)


def _find_distinct(columns: Sequence[Floats], most: int) -> tuple[NDArray[np.intp], NDArray[np.intp] | None]:
    """Return for each row the place of its law, and a row of each law; None if there are more than `most`."""
    places = np.zeros(len(columns[0]), dtype=np.int64)
    if places.size == 0:
        return places, places
    for column in columns:
        if (column == column[0]).all():
            continue
        _, inverse = np.unique(column, return_inverse=True)
        inverse = inverse.reshape(-1)
        if inverse.max() >= most:
            return places, None
        _, places = np.unique(places * (inverse.max() + 1) + inverse, return_inverse=True)
        places = places.reshape(-1)
        if places.max() >= most:
            return places, None
    _, first = np.unique(places, return_index=True)
    return places, first


# -- Ratios -------------------------------------------------------------------------------------------------


def find_ratio_ends(
    pieces: Pieces, tops: Floats, bottoms: Floats, noises: Noises, beta: float, limits: tuple[float, float]
) -> Ends | None:
    """Return the ends of each row's ratio by Fieller; None if its form is not one whose law is known."""
    counts = pieces.counts
    top, bottom = (np.where(counts > 0, each, 0.0) for each in pieces.weights)
    counts = np.where((top != 0) | (bottom != 0), counts, 0.0)
    known = np.isfinite(top).all(axis=0) & np.isfinite(bottom).all(axis=0) & np.isfinite(counts).all(axis=0)
    top, bottom, counts = (np.where(known, each, 0.0) for each in (top, bottom, counts))
    scales = [
        np.where(each > 0, each, 1.0) for each in (np.abs(w).max(axis=0, initial=0.0) for w in (top, bottom))
    ]
    above, below = top / scales[0], bottom / scales[1]
    places, first = _find_distinct([*above, *below, *counts], MOST_RATIO_LAWS)
    if first is None:
        counts = _round_up_counts(counts, COARSE[1])
        places, first = _find_distinct([*above, *below, *counts], MOST_RATIO_LAWS)
    if first is None:
        return None
    known &= np.isfinite(tops) & np.isfinite(bottoms)
    low, high = np.full(tops.shape, np.nan), np.full(tops.shape, np.nan)
    factor = scales[0] / scales[1]
    for place, row in enumerate(first.tolist()):
        rows = np.flatnonzero((places == place) & known)
        law = _RatioLaw.from_pieces(pieces.sources, above[:, row], below[:, row], counts[:, row], noises)
        if law is None:
            return None
        bounds = tuple(each / factor[row] for each in limits) if _is_alike(factor[rows]) else None
        ends = law.find_ends(
            tops[rows] / scales[0][rows], bottoms[rows] / scales[1][rows], beta, bounds or (-np.inf, np.inf)
        )
        low[rows], high[rows] = (end * factor[rows] for end in ends)
    return np.maximum(low, limits[0]), np.minimum(high, limits[1])


def _is_alike(numbers: Floats) -> bool:
    return bool(numbers.size == 0 or (numbers == numbers[0]).all())


@dataclass(frozen=True, kw_only=True)
class _RatioLaw:
    """The noise of a ratio `shift` + `scale` * S / N, with S and N in the form of `RatioNoise`."""

    noise: RatioNoise
    scale: float = 1.0
    shift: float = 0.0

    @classmethod
    def from_pieces(
        cls,
        sources: Sequence[tuple[str, str]],
        above: Floats,
        below: Floats,
        counts: Floats,
        noises: Noises,
    ) -> _RatioLaw | None:
        """Return the law; None if top and bottom share noise in another way than a part and its whole."""
        shared = (above != 0) & (below != 0) & (counts > 0)
        alone = _combine(sources, np.where(shared, 0.0, above), counts, noises)
        rest = _combine(sources, np.where(shared, 0.0, below), counts, noises)
        common = _combine(sources, np.where(shared, below, 0.0), counts, noises)
        if not shared.any():
            return cls(noise=RatioNoise(first=alone, second=rest))
        ratios = above[shared] / below[shared]
        if np.ptp(ratios) > ALIKE * np.abs(ratios).max():
            return None
        ratio = float(ratios[0])
        if not alone.terms:
            return cls(noise=RatioNoise(first=common, second=rest, is_share=True), scale=ratio)
        if not rest.terms:
            return cls(noise=RatioNoise(first=alone, second=common), shift=ratio)
        return None

    def find_ends(self, s: Floats, n: Floats, beta: float, limits: tuple[float, float]) -> Ends:
        """Return the ends of the ratios s / n."""
        if self.scale != 1.0 or self.shift:
            limits = (-np.inf, np.inf)
        one, other = self.noise.find_intervals(
            (s - self.shift * n) / self.scale, n, beta, low=limits[0], high=limits[1]
        )
        ends = one * self.scale + self.shift, other * self.scale + self.shift
        margin = OUTWARD - 1
        low, high = np.minimum(*ends), np.maximum(*ends)
        with np.errstate(invalid="ignore"):
            return (
                np.where(np.isfinite(low), low - margin * np.abs(low), low),
                np.where(np.isfinite(high), high + margin * np.abs(high), high),
            )


def divide_intervals(top: Ends, bottom: Ends) -> Ends:
    """Return the range of quotients of two intervals; infinite where the divisor may be 0."""
    with np.errstate(all="ignore"):
        quotients = [s / n for s in top for n in bottom]
    crosses = (bottom[0] <= 0) & (bottom[1] >= 0)
    low, high = np.minimum.reduce(quotients), np.maximum.reduce(quotients)
    return np.where(crosses, -np.inf, low), np.where(crosses, np.inf, high)
