"""Learned bounds: how tight ours are beside the published procedures of Google and Tumult, at one promise.

Google      ApproxBounds [WZLDSG19]: a histogram over 64 positive and 64 negative bins of powers of two,
            Laplace noise, the outermost bins above -ln(2 - 2 P**(1 / (bins - 1))) / epsilon, P = 1 - 1e-9.
Tumult      get_bounds: the first prefix sum of the bins of |x| above 95% of the total, by the sparse vector
            technique; noise of scale 4 / epsilon on every prefix sum and half of it on the limit. The bounds
            are symmetric around 0.

Both are proven for people who are added or removed, and are written here from their descriptions. A promise
about values is served by them at half of epsilon. Data: DISCREET_ADULT, else ../shared/data beside the
repository.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.audits import ADULT
from benchmarks.peers import uci_adult
from discreet.core.exact_values import Exact
from discreet.core.randomness import Randomness
from discreet.mechanisms.approximate_bounds import ApproximateBounds, PowerBins
from discreet.mechanisms.sampling import Integers
from discreet.mechanisms.sensitivity import ContributionBounds
from discreet.services.sample.hospital import SCHEMA, make_hospital

EPSILON, RUNS, SURE, SHARE = 0.05, 200, 1 - 1e-9, 0.95
HEADINGS = ("column", "procedure", "bounds", "× the true range", "rows clamped", "runs without bounds")
ABOUT = (
    f"At epsilon = {EPSILON} for values, {RUNS} runs each: the most frequent bounds, their width as a "
    "multiple of the width between the smallest and the largest value, and the rows that they clamp. "
    "Google's ApproxBounds and Tumult's get_bounds are written from their published descriptions and run at "
    "half of epsilon, as they are proven for people who are added or removed. Ours with a tail has Gaussian "
    "noise of the same zCDP cost."
)
Bounds = tuple[int, int] | None
BINS = PowerBins()


def learn_ours(rows: int, *, is_gaussian: bool) -> Callable[[Integers], Bounds]:
    """Return our procedure for people of at most this many rows."""
    learner = ApproximateBounds(
        epsilon=Fraction(EPSILON),
        sensitivity=ContributionBounds(rows=rows).count_sensitivity(),
        is_gaussian=is_gaussian,
    )
    random = Randomness()

    def learn(counts: Integers) -> Bounds:
        found = learner.release(Exact(counts), random).value
        if found.first is None or found.last is None:
            return None
        return BINS.get_first(found.first), BINS.get_last(found.last)

    return learn


def learn_by_google(rows: int) -> Callable[[Integers], Bounds]:
    """Return the procedure of ApproxBounds: its bins begin at a power of two, where ours begin above it."""
    scale = 2 * rows / EPSILON
    threshold = -math.log(2 - 2 * SURE ** (1 / (BINS.size - 1))) * scale
    generator = np.random.default_rng()

    def learn(counts: Integers) -> Bounds:
        passed = np.flatnonzero(counts + generator.laplace(0, scale, counts.size) > threshold)
        if not passed.size:
            return None
        first, last = BINS.get_first(int(passed[0])), BINS.get_last(int(passed[-1]))
        return (first - 1 if first > 1 else first), (last + 1 if last < 0 else last)

    return learn


def learn_by_tumult(rows: int) -> Callable[[Integers], Bounds]:
    """Return the procedure of get_bounds."""
    scale = 4 * 2 * rows / EPSILON
    generator = np.random.default_rng()
    middle = BINS.size // 2

    def learn(counts: Integers) -> Bounds:
        sums = np.cumsum(counts[middle:] + counts[:middle][::-1])
        limit = SHARE * sums[-1] + generator.laplace(0, scale / 2)
        passed = np.flatnonzero(sums + generator.laplace(0, scale, sums.size) >= limit)
        bound = 2 ** int(passed[0] if passed.size else sums.size - 1)
        return -bound, bound

    return learn


def rows(progress: Callable[[str], None]) -> list[tuple[str, ...]]:
    """Return a row for each column and procedure."""
    found: list[tuple[str, ...]] = []
    for name, values, most in _columns():
        counts = BINS.count(values.tolist())
        low, high = int(values.min()), int(values.max())
        for title, learn in (
            ("ours", learn_ours(most, is_gaussian=False)),
            ("ours, with a tail", learn_ours(most, is_gaussian=True)),
            ("Google", learn_by_google(most)),
            ("Tumult", learn_by_tumult(most)),
        ):
            progress(f"learning bounds: {name}, {title}")
            learned = Counter(learn(counts) for _ in range(RUNS))
            empty = learned.pop(None, 0)
            told = f"{name}, {low:,} to {high:,}"
            if not learned:
                found.append((told, title, "none", "", "", f"{empty / RUNS:.0%}"))
                continue
            (first, last) = learned.most_common(1)[0][0] or (0, 0)
            clamped = float(np.mean((values < first) | (values > last)))
            width = f"{(last - first) / (high - low):.2f}"
            found.append(
                (told, title, f"{first:,} to {last:,}", width, f"{clamped:.2%}", f"{empty / RUNS:.0%}")
            )
    return found


def _columns() -> list[tuple[str, Any, int]]:
    """Return names, values and the most rows of a person: Adult's numbers, and the sample's cost."""
    hospital = make_hospital()
    people, cost = hospital["person_id"].to_numpy(), hospital["cost"].to_numpy()
    most = SCHEMA.rows_per_person
    order = np.argsort(people, kind="stable")
    starts = np.searchsorted(people[order], people[order])
    kept = np.sort(order[np.arange(order.size) - starts < most])
    found = [(f"hospital.cost, {most} rows a person", cost[kept], most)]
    if ADULT.is_dir():
        adult, _ = uci_adult.rows(str(ADULT), "adult.data")
        found += [(f"Adult, {name}", np.asarray(adult[name], np.int64), 1) for name in uci_adult.BOUNDS]
    return found
