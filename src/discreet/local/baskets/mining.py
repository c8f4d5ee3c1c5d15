"""Frequent itemsets and association rules, from randomized baskets.

Frequent    An itemset is found if its support is significantly above `min_support`
            (`ItemsetSupports.find_exceeding`), and all its subsets were found (Apriori: no support exceeds
            that of a subset). So found itemsets are almost surely frequent; undecidable ones are left out.
Rule        given -> then, of a found itemset: of the baskets that hold `given`, a share of at least
            `strength` (the literature's confidence) also holds `then`. It is found if the support of both
            minus `strength` times that of `given` is significantly above 0; its error accounts for their
            correlation.
Doubt       The error probability of each test, by size k. The probability of any false discovery is at most
            1 - confidence: it is divided among the sizes, and there among *all* itemsets of the size (for
            rules, all ways to divide them), since the candidates were chosen by the same reports.

[AS94]      Agrawal & Srikant, Fast Algorithms for Mining Association Rules.
[ESAG02]    Evfimievski, Srikant, Agrawal & Gehrke, Privacy Preserving Mining of Association Rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, groupby
from math import comb

import numpy as np

from discreet.core.errors import require_parameter
from discreet.core.number_checks import require_count, require_probability
from discreet.local.baskets.supports import LONGEST, Supports
from discreet.local.estimates import CONFIDENCE, Figure, figure

Itemset = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Frequent:
    """An itemset whose support is significantly above the minimum."""

    itemset: Itemset
    support: Figure


@dataclass(frozen=True, kw_only=True)
class Mined:
    """The frequent itemsets; those of k items exceed `min_support` except with probability doubts[k - 1]."""

    least: float
    confidence: float
    doubts: tuple[float, ...]
    found: tuple[Frequent, ...]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule: baskets that hold `given` also hold `then`, with the estimated strength."""

    given: Itemset
    then: Itemset
    support: Figure
    strength: Figure


def frequent(supports: Supports, least: float, *, longest: int = 3, confidence: float = CONFIDENCE) -> Mined:
    """Return the significantly frequent itemsets of up to `max_size` items, by size, then in order."""
    require_probability("frequent", "least", least)
    require_probability("frequent", "confidence", confidence)
    require_count("frequent", "longest", longest)
    most = min(longest, supports.operator.size)
    require_parameter(most <= LONGEST, "frequent", "longest", longest, f"at most {LONGEST}")
    doubts = tuple((1 - confidence) / (most * comb(supports.operator.items, k)) for k in range(1, most + 1))
    found: list[Frequent] = []
    level: list[Itemset] = [(item,) for item in range(supports.operator.items)]
    for doubt in doubts:
        passed = _passing(supports, level, least, doubt, confidence)
        found += passed
        level = list(candidates([each.itemset for each in passed]))
        if not level:
            break
    return Mined(least=least, confidence=confidence, doubts=doubts, found=tuple(found))


def rules(supports: Supports, mined: Mined, strength: float) -> tuple[Rule, ...]:
    """Return the rules of frequent itemsets that significantly hold with at least this strength."""
    require_probability("rules", "strength", strength)
    known = {each.itemset: each.support for each in mined.found}
    return tuple(
        rule
        for itemset in known
        for given in _parts(itemset)
        if (rule := _rule(supports, mined, known, itemset, given, strength)) is not None
    )


def candidates(level: list[Itemset]) -> Iterator[Itemset]:
    """Return the itemsets, one item longer, all of whose subsets are in the level, which is sorted.

    >>> list(candidates([(0, 1), (0, 2), (1, 2), (1, 3)]))
    [(0, 1, 2)]
    """
    known = set(level)
    for prefix, group in groupby(level, key=lambda each: each[:-1]):
        for first, second in combinations([each[-1] for each in group], 2):
            longer = (*prefix, first, second)
            # the two subsets that it was joined from are in the level by construction
            if all(longer[:i] + longer[i + 1 :] in known for i in range(len(prefix))):
                yield longer


def _passing(
    supports: Supports, level: list[Itemset], least: float, doubt: float, confidence: float
) -> list[Frequent]:
    above = np.flatnonzero(supports.exceed(np.array(level), least, doubt)).tolist()
    if not above:
        return []
    found = supports.each([level[i] for i in above])
    return [
        Frequent(itemset=level[i], support=figure(float(support), float(error), confidence))
        for i, support, error in zip(above, found.supports, found.errors, strict=True)
    ]


def _rule(
    supports: Supports,
    mined: Mined,
    known: dict[Itemset, Figure],
    itemset: Itemset,
    given: Itemset,
    strength: float,
) -> Rule | None:
    k = len(itemset)
    if not supports.holds(itemset, given, strength, mined.doubts[k - 1] / (2**k - 2)):
        return None
    ratio = known[itemset].value / known[given].value
    # a ratio of means: to first order, its error is that of the excess at the ratio itself
    off = supports.rest(itemset, given, ratio)[1] / known[given].value
    then = tuple(item for item in itemset if item not in given)
    return Rule(given=given, then=then, support=known[itemset], strength=figure(ratio, off, mined.confidence))


def _parts(itemset: Itemset) -> Iterator[Itemset]:
    for size in range(1, len(itemset)):
        yield from combinations(itemset, size)
