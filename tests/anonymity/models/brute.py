"""An independent judge: dictionaries, fractions and whole-number powers, straight from the definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import e, log, prod
from typing import Any

from mpmath import mp

from discreet.anonymity.hierarchies.hierarchy import Hierarchy

Counts = Mapping[str, int]


def frequencies(counts: Counts) -> dict[str, Fraction]:
    total = sum(counts.values())
    return {value: Fraction(n, total) for value, n in counts.items() if n}


def distance(p: Counts, q: Counts, between: Callable[[str, str], Fraction]) -> Fraction:
    """The earth mover's distance, by the definition: the best of the dual's corner potentials.

    The dual maximizes sum f (p - q) over f with f(x) - f(y) <= d(x, y). For a distance that is a multiple of
    1/h all corners take values in multiples of 1/h, so trying all of those is trying all corners.
    """
    values = sorted(set(p) | set(q))
    gap = {v: frequencies(p).get(v, Fraction(0)) - frequencies(q).get(v, Fraction(0)) for v in values}
    step = min((between(x, y) for x, y in combinations(values, 2)), default=Fraction(1))
    grid = [step * i for i in range(int(1 / step) + 1)]
    best = Fraction(0)
    stack: list[list[Fraction]] = [[]]
    while stack:
        chosen = stack.pop()
        if len(chosen) == len(values):
            best = max(best, sum((f * gap[v] for f, v in zip(chosen, values, strict=True)), Fraction(0)))
            continue
        here = values[len(chosen)]
        for f in grid:
            if all(
                abs(f - g) <= between(here, v) for g, v in zip(chosen, values[: len(chosen)], strict=True)
            ):
                stack.append([*chosen, f])
    return best


def equal(_x: str, _y: str) -> Fraction:
    return Fraction(1)


def ordered(names: Sequence[str]) -> Callable[[str, str], Fraction]:
    return lambda x, y: Fraction(abs(names.index(x) - names.index(y)), max(1, len(names) - 1))


def hierarchical(hierarchy: Hierarchy) -> Callable[[str, str], Fraction]:
    def between(x: str, y: str) -> Fraction:
        shared = next(i for i in range(hierarchy.height + 1) if hierarchy.label(x, i) == hierarchy.label(y, i))
        return Fraction(shared, hierarchy.height)

    return between


def entropy_at_least(counts: Counts, l: Fraction) -> bool:
    """n**n >= l**n prod c**c, in whole numbers."""
    n = sum(counts.values())
    return n**n * l.denominator**n >= l.numerator**n * prod(c**c for c in counts.values())


def meets(model: Any, counts: Counts, totals: Counts, names: Sequence[str], people: int = 0) -> bool:
    """Whether one class meets a model."""
    counts = {value: n for value, n in counts.items() if n}
    n, ranked, kind = sum(counts.values()), sorted(counts.values(), reverse=True), type(model).__name__
    p, q = frequencies(counts), frequencies(totals)
    if kind == "KAnonymity":
        return bool(n >= model.k)
    if kind == "KMap":
        return bool(people >= model.k)
    if kind == "DeltaPresence":
        return bool(people > 0 and model.delta_min <= Fraction(n, people) <= model.delta_max)
    if kind == "StrictRisk":
        known = n if model.attacker == "prosecutor" else people
        return bool(known > 0 and Fraction(1, known) <= model.risk)
    if kind == "DistinctDiversity":
        return len(counts) >= model.l
    if kind == "ProbabilisticDiversity":
        return bool(max(p.values()) <= 1 / model.l)
    if kind == "EntropyDiversity":
        return entropy_at_least(counts, model.l)
    if kind == "RecursiveDiversity":
        return bool(ranked[0] < model.c * sum(ranked[model.l - 1 :]))
    if kind == "EqualCloseness":
        return distance(counts, totals, equal) <= model.t
    if kind == "OrderedCloseness":
        return distance(counts, totals, ordered(names)) <= model.t
    if kind == "HierarchicalCloseness":
        return distance(counts, totals, hierarchical(model.hierarchy)) <= model.t
    if kind == "AlphaKAnonymity":
        named = model.values or tuple(names)
        return n >= model.k and all(p.get(value, 0) <= model.alpha for value in named)
    if kind == "DeltaDisclosure":
        with mp.workdps(60):
            bound = mp.exp(mp.mpf(model.delta.numerator) / model.delta.denominator)
            ratios = [p[v] / q[v] if v in p else Fraction(0) for v in q]
            return all(
                r > 0 and mp.mpf(r.numerator) / r.denominator < bound and bound * r.numerator > r.denominator
                for r in ratios
            )
    if kind == "BetaLikeness":
        return all(_alike(model, p[v], q[v]) for v in p if p[v] > q[v])
    if kind == "MInvariance":
        return n >= model.m and ranked[0] == 1
    raise AssertionError(f"no independent judge for {kind}")


def _alike(model: Any, p: Fraction, q: Fraction) -> bool:
    gain = (p - q) / q
    with mp.workdps(60):
        cap = -mp.log(mp.mpf(q.numerator) / q.denominator)
        return gain <= model.beta and (
            not model.enhanced or mp.mpf(gain.numerator) / gain.denominator <= cap
        )


def mean_risk(sizes: Sequence[int], people: Sequence[int]) -> Fraction:
    return sum((Fraction(f, F) for f, F in zip(sizes, people, strict=True)), Fraction(0)) / sum(sizes)


def least_suppressed(sizes: Sequence[int], people: Sequence[int], risk: Fraction) -> int:
    """The fewest rows that must go so that the mean risk of the rest is low enough: every set is tried."""
    places = range(len(sizes))
    best = sum(sizes)
    for size in range(len(sizes)):
        for gone in combinations(places, size):
            rest = [i for i in places if i not in gone]
            if mean_risk([sizes[i] for i in rest], [people[i] for i in rest]) <= risk:
                best = min(best, sum(sizes[i] for i in gone))
    return best


def entropy(counts: Counts) -> float:
    return -sum(float(p) * log(p) for p in frequencies(counts).values())


def effective(counts: Counts) -> float:
    return float(e ** entropy(counts))
