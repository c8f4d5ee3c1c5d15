"""An independent judge: dictionaries, fractions and whole-number powers, straight from the definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Any

from mpmath import mp

from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy

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
        known = list(zip(chosen, values[: len(chosen)], strict=True))
        stack += [[*chosen, f] for f in grid if all(abs(f - g) <= between(here, value) for g, value in known)]
    return best


def equal(_x: str, _y: str) -> Fraction:
    return Fraction(1)


def ordered(names: Sequence[str]) -> Callable[[str, str], Fraction]:
    return lambda x, y: Fraction(abs(names.index(x) - names.index(y)), max(1, len(names) - 1))


def hierarchical(hierarchy: Hierarchy) -> Callable[[str, str], Fraction]:
    def between(x: str, y: str) -> Fraction:
        shared = next(
            i for i in range(hierarchy.height + 1) if hierarchy.generalize(x, i) == hierarchy.generalize(y, i)
        )
        return Fraction(shared, hierarchy.height)

    return between


def entropy_at_least(counts: Counts, l: Fraction) -> bool:
    """n**n >= l**n prod c**c, in whole numbers."""
    n = sum(counts.values())
    return bool(n**n * l.denominator**n >= l.numerator**n * prod(c**c for c in counts.values()))


@dataclass(frozen=True, kw_only=True)
class Case:
    """One class, the table that it is from, and how many people of the population share it."""

    counts: Counts
    totals: Counts
    names: Sequence[str]
    people: int

    @property
    def n(self) -> int:
        return sum(self.counts.values())

    @property
    def ranked(self) -> list[int]:
        return sorted(self.counts.values(), reverse=True)

    @property
    def p(self) -> dict[str, Fraction]:
        return frequencies(self.counts)

    @property
    def q(self) -> dict[str, Fraction]:
        return frequencies(self.totals)


def meets(model: Any, counts: Counts, totals: Counts, names: Sequence[str], people: int = 0) -> bool:
    """Whether one class meets a model."""
    present = {value: n for value, n in counts.items() if n}
    case = Case(counts=present, totals=totals, names=names, people=people)
    return bool(DEFINITIONS[type(model).__name__](model, case))


def _strict(model: Any, case: Case) -> bool:
    known = case.n if model.attacker == "prosecutor" else case.people
    return bool(known > 0 and Fraction(1, known) <= model.risk)


def _rare(model: Any, case: Case) -> bool:
    named = model.values or tuple(case.names)
    return case.n >= model.k and all(case.p.get(value, 0) <= model.alpha for value in named)


def _undisclosed(model: Any, case: Case) -> bool:
    with mp.workdps(60):
        bound = mp.exp(mp.mpf(model.delta.numerator) / model.delta.denominator)
        ratios = [case.p.get(value, Fraction(0)) / q for value, q in case.q.items()]
        return all(
            r > 0 and mp.mpf(r.numerator) / r.denominator < bound and bound * r.numerator > r.denominator
            for r in ratios
        )


def _likely(model: Any, case: Case) -> bool:
    return all(_alike(model, p, case.q[value]) for value, p in case.p.items() if p > case.q[value])


def _alike(model: Any, p: Fraction, q: Fraction) -> bool:
    gain = (p - q) / q
    with mp.workdps(60):
        cap = -mp.log(mp.mpf(q.numerator) / q.denominator)
        return gain <= model.beta and (not model.enhanced or mp.mpf(gain.numerator) / gain.denominator <= cap)


DEFINITIONS: dict[str, Callable[[Any, Case], Any]] = {
    "KAnonymity": lambda model, case: case.n >= model.k,
    "KMap": lambda model, case: case.people >= model.k,
    "DeltaPresence": lambda model, case: (
        case.people > 0 and model.delta_min <= Fraction(case.n, case.people) <= model.delta_max
    ),
    "DistinctDiversity": lambda model, case: len(case.counts) >= model.l,
    "ProbabilisticDiversity": lambda model, case: max(case.p.values()) <= 1 / model.l,
    "EntropyDiversity": lambda model, case: entropy_at_least(case.counts, model.l),
    "RecursiveDiversity": lambda model, case: case.ranked[0] < model.c * sum(case.ranked[model.l - 1 :]),
    "EqualCloseness": lambda model, case: distance(case.counts, case.totals, equal) <= model.t,
    "OrderedCloseness": lambda model, case: (
        distance(case.counts, case.totals, ordered(case.names)) <= model.t
    ),
    "HierarchicalCloseness": lambda model, case: (
        distance(case.counts, case.totals, hierarchical(model.hierarchy)) <= model.t
    ),
    "AlphaKAnonymity": _rare,
    "PSensitiveKAnonymity": lambda model, case: case.n >= model.k and len(case.counts) >= model.p,
    "DeltaDisclosure": _undisclosed,
    "BetaLikeness": _likely,
    "MInvariance": lambda model, case: case.n >= model.m and case.ranked[0] == 1,
    "StrictRisk": _strict,
}


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
