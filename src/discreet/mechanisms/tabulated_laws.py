"""Laws of weighted sums of independent noise, as tables with a stated error.

X = sum of c_j (Z_j1 + … + Z_jm_j) over terms (law of Z_j, coefficient c_j > 0, copies m_j). Its transform is
the product of phi_j(c_j t)**m_j: positive, and 1 at 0. All laws are symmetric, so signs of weights do not
matter.

Chernoff    Pr[|X| >= x] <= 2 exp(K(t) - t x) for every t, with K(t) = sum of m_j ln E[exp(c_j t Z_j)]. The
            least x at which this is beta is min over t of (K(t) + ln(2 / beta)) / t. Each t gives a valid
            bound, so the search for the best one need not be exact.
Lattice     If X is a multiple of a step g, and few steps reach far enough, the law of X / g modulo N is one
            inverse FFT of the transform at 2 pi t / N. It equals the law of X except where |X| >= g N / 2.
Smoothed    Otherwise U is added: independent, |U| <= delta, a sum of 16 uniform numbers with transform
            psi(t) = sinc(delta t / 16)**16. X + U has a density whose Fourier series converges fast; rounded
            to multiples of w, its law modulo N w is again one FFT. What is tabulated differs from X by at
            most `slack` = delta + w / 2.

Error       A table's law is that of a variable within `slack` of X, except for a total variation of at most
            `error`, the sum of
            aliasing    Chernoff's bound on what wraps around;
            truncation  the frequencies left out: |psi(t)| <= (16 / (delta t))**16, the rounding contributes a
                        factor of at most 2 / (w t), and phi_j(c_j t) decreases until t = pi / c_j;
            rounding    a transform exp(L) whose L is a sum over D terms, each to a relative error of 64 u, is
                        off by |L| exp(L) (D + 64) u <= (D + 64) u (u = 2**-53). An error a in the angle moves
                        it by at most a E|X|. The L1 error of N values is at most the L2 error of the
                        transforms, plus sqrt(N) 16 u log2(N) for the FFT (Higham, Theorem 24.2), plus N u for
                        the cumulative sums.
            So a half-width found in the table, plus `slack`, covers with at least the stated probability.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from typing import NamedTuple

import numpy as np

from discreet.mechanisms.noise_laws import Floats, NoiseLaw

UNIT = 2.0**-53
ALIASED = 1e-10  # the probability that may wrap around
TRUNCATED = 1e-11
LARGEST_LATTICE = 1 << 16
LARGEST_WORK = 10_000_000  # evaluations of transforms for one table: about a quarter of a second
UNIFORMS = 16
STEPS_PER_DEVIATION = 400
SMOOTHINGS = (150, 40, 10)  # delta is a standard deviation divided by one of these
CHUNK = 1 << 20
MOST_CACHED = 256  # different terms of a sum whose law is cached: longer keys would fill the memory


class NoiseTerm(NamedTuple):
    """`copies` independent numbers of one law, of unit 1, each multiplied by `coefficient` > 0."""

    law: NoiseLaw
    coefficient: Fraction
    copies: int


Terms = tuple[NoiseTerm, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class TabulatedLaw:
    """Probabilities of 0, 1, 2, … steps; those of -1, -2, … are the same."""

    step: Fraction
    masses: Floats
    slack: Fraction
    error: float

    @cached_property
    def inside(self) -> Floats:
        """Pr[|X| <= i steps] for i = 0, 1, …, up to `error`."""
        return np.asarray(self.masses[0] + 2 * (np.cumsum(self.masses) - self.masses[0]))

    def find_half_width(self, beta: float) -> Fraction | None:
        """Return an h with Pr[|X| > h] <= beta; None where beta is too small for the table."""
        enough = self.inside >= 1 - beta + self.error
        place = int(np.argmax(enough))
        return place * self.step + self.slack if enough[place] else None

    def bound_miss(self, half_width: Fraction) -> float:
        """Return an upper bound on Pr[|X| > half_width]."""
        place = math.floor((half_width - self.slack) / self.step)
        if place < 0:
            return 1.0
        return min(1.0, max(0.0, 1 - float(self.inside[min(place, self.inside.size - 1)])) + self.error)


def compute_variance(terms: Terms) -> float:
    """Return the variance of the weighted sum."""
    return math.fsum(term.copies * float(term.coefficient) ** 2 * term.law.step_variance for term in terms)


def find_common_step(terms: Terms) -> Fraction:
    """Return the largest number of which every coefficient is a multiple."""
    bottom = math.lcm(*(term.coefficient.denominator for term in terms))
    return Fraction(reduce(math.gcd, (int(term.coefficient * bottom) for term in terms)), bottom)


def find_chernoff_reach(terms: Terms, beta: float) -> float:
    """Return an x with Pr[|X| >= x] <= beta, from moments alone: wider than the law by a third or more."""
    limit = min(term.law.rate_limit / float(term.coefficient) for term in terms)
    needed = math.log(2 / beta)
    # a sub-Gaussian sum would have its best t at `steepest`; heavier tails have it below
    scale = math.fsum(term.copies * float(term.coefficient) ** 2 * term.law.moment_scale for term in terms)
    steepest = math.sqrt(2 * needed / scale) * 1.05
    high = min(steepest, 0.9999 * limit)
    t = np.geomspace(high / 60, high, 40)
    best = t[int(np.argmin(_compute_reaches(terms, t, needed)))]
    fine = np.minimum(best * np.linspace(0.92, 1.09, 18), high)
    # rounding moves the exponent by far less than a part in 10**9
    return float(_compute_reaches(terms, fine, needed).min()) * (1 + 1e-9)


def _compute_reaches(terms: Terms, t: Floats, needed: float) -> Floats:
    total = np.zeros_like(t)
    for law, coefficients, counts in _group_by_law(terms):
        for part in _split_columns(coefficients.size, t.size):
            total += law.bound_log_moments(np.outer(t, coefficients[part])) @ counts[part]
    return np.asarray((total + needed) / t)


def _group_by_law(terms: Terms) -> Iterator[tuple[NoiseLaw, Floats, Floats]]:
    groups: dict[NoiseLaw, list[tuple[float, float]]] = {}
    for term in terms:
        groups.setdefault(term.law, []).append((float(term.coefficient), float(term.copies)))
    for law, pairs in groups.items():
        columns = np.array(pairs, dtype=np.float64)
        yield law, columns[:, 0], columns[:, 1]


def _split_columns(columns: int, rows: int) -> Iterator[slice]:
    width = max(1, CHUNK // max(1, rows))
    return (slice(start, start + width) for start in range(0, columns, width))


def tabulate_terms(terms: Terms) -> TabulatedLaw | None:
    """Return the table of a weighted sum; None if it would take too much work.

    >>> from discreet.mechanisms.noise_laws import DiscreteLaplaceLaw
    >>> law = DiscreteLaplaceLaw(rate=Fraction(1, 20))
    >>> tabulate_terms((NoiseTerm(law, Fraction(1), 656),)).find_half_width(0.05)
    Fraction(1420, 1)
    """
    return (_tabulate_terms if len(terms) <= MOST_CACHED else _tabulate_terms.__wrapped__)(terms)


@lru_cache(maxsize=256)
def _tabulate_terms(terms: Terms) -> TabulatedLaw | None:
    reach, step = find_chernoff_reach(terms, ALIASED), find_common_step(terms)
    if 2 * reach / step + 2 <= LARGEST_LATTICE:
        return _tabulate_lattice(terms, step, reach)
    deviation = math.sqrt(compute_variance(terms))
    for divisor in SMOOTHINGS:
        table = _tabulate_smoothed(terms, reach, deviation, delta=deviation / divisor)
        if table is not None:
            return table
    return None


def _round_up_to_power(size: float) -> int:
    return 1 << max(4, math.ceil(math.log2(size)))


def _bound_rounding(size: int, distinct: int) -> float:
    """Return the bound on rounding errors of the transforms, the FFT and the cumulative sums."""
    return math.sqrt(size) * UNIT * (distinct + 64 + 16 * math.log2(size)) + size * UNIT


def _tabulate_lattice(terms: Terms, step: Fraction, reach: float) -> TabulatedLaw:
    size = _round_up_to_power(2 * reach / step + 2)
    t = np.arange(size // 2 + 1)
    logs = np.zeros(t.size)
    for term in terms:
        # whole numbers reduce the angle exactly
        turns = t * (int(term.coefficient / step) % size) % size
        turns = np.where(turns > size // 2, turns - size, turns)
        logs += term.copies * term.law.compute_log_transform(2 * math.pi * turns / size)
    masses = np.fft.irfft(np.exp(logs), n=size)[: size // 2]
    error = ALIASED + _bound_rounding(size, len(terms))
    return TabulatedLaw(step=step, masses=masses, slack=Fraction(0), error=error)


def _tabulate_smoothed(terms: Terms, reach: float, deviation: float, *, delta: float) -> TabulatedLaw | None:
    period = 2 * (reach + 2 * delta)
    size = _round_up_to_power(period * STEPS_PER_DEVIATION / deviation)
    width = period / size
    last, truncation = _choose_frequencies(terms, period, width, delta)
    if last is None or last * len(terms) > LARGEST_WORK:
        return None
    t = np.arange(1, last + 1)
    angles = np.asarray(2 * math.pi / period * t, dtype=np.float64)
    damping = _compute_damping(angles, delta, width)
    coefficients = np.exp(_compute_log_transforms(terms, angles)) * damping
    # an even function: frequencies t and -t, folded modulo the size of the table
    folded = np.bincount(t % size, coefficients, size) + np.bincount(-t % size, coefficients, size)
    folded[0] += 1
    masses = np.fft.irfft(folded[: size // 2 + 1], n=size)[: size // 2]
    angle_error = 4 * UNIT * angles * deviation * math.sqrt(len(terms))
    moved = np.abs(damping) * ((len(terms) + 64 + 2 * UNIFORMS) * UNIT + angle_error)
    folds = math.ceil((2 * last + 1) / size)
    rounding = math.sqrt(2 * folds * float((moved**2).sum())) + _bound_rounding(size, len(terms))
    return TabulatedLaw(
        step=Fraction(width),
        masses=masses,
        # doubles of this size are off by far less than a millionth of the slack
        slack=Fraction((delta + width / 2) * (1 + 1e-6)),
        error=ALIASED + truncation + rounding,
    )


def _compute_damping(angles: Floats, delta: float, width: float) -> Floats:
    """Return the transform of U, times that of a uniform number of the width of one step."""
    # NumPy's sinc(x) is sin(pi x) / (pi x)
    return np.asarray(
        np.sinc(delta * angles / (UNIFORMS * math.pi)) ** UNIFORMS * np.sinc(width * angles / (2 * math.pi))
    )


def _compute_log_transforms(terms: Terms, angles: Floats) -> Floats:
    logs = np.zeros_like(angles)
    for law, coefficients, counts in _group_by_law(terms):
        for part in _split_columns(coefficients.size, angles.size):
            turned = np.outer(angles, coefficients[part])
            turned -= 2 * math.pi * np.rint(turned / (2 * math.pi))
            logs += law.compute_log_transform(turned) @ counts[part]
    return logs


def _bound_log_transforms(terms: Terms, edges: Floats) -> Floats:
    """Return a bound on the log transform from each edge to the next; 0 for terms that may rise there."""
    logs, upper = np.zeros_like(edges), np.append(edges[1:], math.inf)
    for law, coefficients, counts in _group_by_law(terms):
        for part in _split_columns(coefficients.size, edges.size):
            decreases = np.outer(upper, coefficients[part]) <= math.pi
            turned = np.where(decreases, np.outer(edges, coefficients[part]), 0.0)
            logs += law.compute_log_transform(turned) @ counts[part]
    return logs


def _choose_frequencies(terms: Terms, period: float, width: float, delta: float) -> tuple[int | None, float]:
    """Return how many frequencies the series needs, and a bound on the sum of the others.

    From one edge to the next, each left-out term is at most the bound at the lower one. Beyond the last
    edge, the sum of (16 / (delta t))**16 2 / (w t) is at most its integral.
    """
    lowest, highest = 2 * math.pi / period, UNIFORMS * 40 / delta
    edges = np.geomspace(lowest, highest, math.ceil(math.log(highest / lowest) / math.log(1.08)))
    spline = np.minimum(1.0, UNIFORMS / (delta * edges)) ** UNIFORMS
    factors = spline * np.minimum(1.0, 2 / (width * edges))
    bounds = np.exp(_bound_log_transforms(terms, edges)) * factors
    nodes = np.diff(edges) / lowest + 1
    beyond = period / math.pi * edges[-1] * factors[-1] / UNIFORMS
    left_out = np.append((2 * bounds[:-1] * nodes)[::-1].cumsum()[::-1], 0.0) + beyond
    enough = left_out <= TRUNCATED
    place = int(np.argmax(enough))
    if not enough[place]:
        return None, 1.0
    return math.ceil(edges[place] / lowest), float(left_out[place])


def combine_equal_terms(terms: Sequence[NoiseTerm]) -> Terms:
    """Return the terms with those of equal law and coefficient counted together, in a fixed order."""
    counts: dict[tuple[NoiseLaw, Fraction], int] = {}
    for law, coefficient, copies in terms:
        counts[law, coefficient] = counts.get((law, coefficient), 0) + copies
    texts = {law: str(law) for law, _ in counts}
    groups = [NoiseTerm(law, coefficient, copies) for (law, coefficient), copies in counts.items()]
    return tuple(sorted(groups, key=lambda each: (each.coefficient, texts[each.law])))
