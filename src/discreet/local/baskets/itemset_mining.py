"""Frequent itemsets and association rules, from randomized baskets.

Frequent    An itemset is found if its support is significantly above `min_support`
            (`ItemsetSupports.find_exceeding`), and all its subsets were found (Apriori: no support exceeds
            that of a subset). So found itemsets are almost surely frequent; undecidable ones are left out.
Rule        given -> then, of a found itemset: of the baskets that hold `antecedent`, a share of at least
            `min_strength` (the literature's confidence) also holds `consequent`. It is found if the support
            of both minus `min_strength` times that of `antecedent` is significantly above 0; its error
            accounts for their correlation.
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
from discreet.core.number_checks import DEFAULT_CONFIDENCE, require_count, require_probability
from discreet.local.baskets.itemset_supports import MAX_ITEMSET_SIZE, ItemsetSupports
from discreet.local.estimates import NormalEstimate, make_normal_estimate

Itemset = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class FrequentItemset:
    """An itemset whose support is significantly above the minimum."""

    itemset: Itemset
    support: NormalEstimate


@dataclass(frozen=True, kw_only=True)
class FrequentItemsets:
    """The frequent itemsets; those of k items exceed `min_support` except with probability doubts[k - 1]."""

    min_support: float
    confidence: float
    doubts: tuple[float, ...]
    itemsets: tuple[FrequentItemset, ...]


@dataclass(frozen=True, kw_only=True)
class AssociationRule:
    """A rule: baskets that hold `antecedent` also hold `consequent`, with the estimated strength."""

    antecedent: Itemset
    consequent: Itemset
    support: NormalEstimate
    strength: NormalEstimate


def find_frequent_itemsets(
    supports: ItemsetSupports,
    min_support: float,
    *,
    max_size: int = 3,
    confidence: float = DEFAULT_CONFIDENCE,
) -> FrequentItemsets:
    """Return the significantly frequent itemsets of up to `max_size` items, by size, then in order."""
    require_probability("collect mine", "min_support", min_support)
    require_probability("collect mine", "confidence", confidence)
    require_count("collect mine", "max_size", max_size)
    most = min(max_size, supports.operator.size)
    require_parameter(
        most <= MAX_ITEMSET_SIZE, "collect mine", "max_size", max_size, f"at most {MAX_ITEMSET_SIZE}"
    )
    doubts = tuple((1 - confidence) / (most * comb(supports.operator.items, k)) for k in range(1, most + 1))
    found: list[FrequentItemset] = []
    level: list[Itemset] = [(item,) for item in range(supports.operator.items)]
    for doubt in doubts:
        passed = _test_candidates(supports, level, min_support, doubt, confidence)
        found += passed
        level = list(generate_candidates([each.itemset for each in passed]))
        if not level:
            break
    return FrequentItemsets(
        min_support=min_support, confidence=confidence, doubts=doubts, itemsets=tuple(found)
    )


def find_rules(
    supports: ItemsetSupports, frequent: FrequentItemsets, min_strength: float
) -> tuple[AssociationRule, ...]:
    """Return the rules of frequent itemsets that significantly hold with at least this strength."""
    require_probability("collect mine", "min_strength", min_strength)
    known = {each.itemset: each.support for each in frequent.itemsets}
    return tuple(
        rule
        for itemset in known
        for given in _iterate_antecedents(itemset)
        if (rule := _test_rule(supports, frequent, known, itemset, given, min_strength)) is not None
    )


def generate_candidates(level: list[Itemset]) -> Iterator[Itemset]:
    """Return the itemsets, one item longer, all of whose subsets are in the level, which is sorted.

    >>> list(generate_candidates([(0, 1), (0, 2), (1, 2), (1, 3)]))
    [(0, 1, 2)]
    """
    known = set(level)
    for prefix, group in groupby(level, key=lambda each: each[:-1]):
        for first, second in combinations([each[-1] for each in group], 2):
            longer = (*prefix, first, second)
            # the two subsets that it was joined from are in the level by construction
            if all(longer[:i] + longer[i + 1 :] in known for i in range(len(prefix))):
                yield longer


def _test_candidates(
    supports: ItemsetSupports, level: list[Itemset], min_support: float, doubt: float, confidence: float
) -> list[FrequentItemset]:
    above = np.flatnonzero(supports.find_exceeding(np.array(level), min_support, doubt)).tolist()
    if not above:
        return []
    found = supports.estimate_each([level[i] for i in above])
    return [
        FrequentItemset(
            itemset=level[i], support=make_normal_estimate(float(support), float(error), confidence)
        )
        for i, support, error in zip(above, found.supports, found.errors, strict=True)
    ]


def _test_rule(
    supports: ItemsetSupports,
    mined: FrequentItemsets,
    known: dict[Itemset, NormalEstimate],
    itemset: Itemset,
    given: Itemset,
    strength: float,
) -> AssociationRule | None:
    k = len(itemset)
    if not supports.is_rule_significant(itemset, given, strength, mined.doubts[k - 1] / (2**k - 2)):
        return None
    ratio = known[itemset].value / known[given].value
    # a ratio of means: to first order, its error is that of the excess at the ratio itself
    off = supports.estimate_excess(itemset, given, ratio)[1] / known[given].value
    then = tuple(item for item in itemset if item not in given)
    return AssociationRule(
        antecedent=given,
        consequent=then,
        support=known[itemset],
        strength=make_normal_estimate(ratio, off, mined.confidence),
    )


def _iterate_antecedents(itemset: Itemset) -> Iterator[Itemset]:
    for size in range(1, len(itemset)):
        yield from combinations(itemset, size)
