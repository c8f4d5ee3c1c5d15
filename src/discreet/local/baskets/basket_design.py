"""Design for baskets: find the operator that keeps a promise with the least error of an itemset's support.

The error is that of an itemset that few baskets hold, in whole or in part: every estimated support has at
least this noise, and it is what a strict promise makes large.
"""

from __future__ import annotations

import math

from discreet.belief.promise import Promise
from discreet.core.number_checks import require_count
from discreet.local.baskets.basket_operator import BasketOperator
from discreet.local.baskets.cut_and_paste import MIN_EPSILON, CutAndPaste
from discreet.local.baskets.select_a_size import SelectASize
from discreet.local.design import Design, compute_client_epsilon


def design_baskets(
    promise: Promise, items: int, size: int, clients: int, itemset: int = 2
) -> tuple[Design[BasketOperator], ...]:
    """Return the operators that keep the promise, best first; baskets have at most `size` of the items.

    >>> best = design_baskets(Promise(0.05, 0.5), items=1000, size=5, clients=1_000_000)[0]
    >>> type(best.operator).__name__, round(best.error, 5)
    ('SelectASize', 0.00228)
    """
    require_count("design_baskets", "clients", clients)
    epsilon = compute_client_epsilon(promise)
    made: list[BasketOperator] = [SelectASize.for_epsilon(epsilon, items, size, itemset)]
    if epsilon >= MIN_EPSILON:
        made.append(CutAndPaste.for_epsilon(epsilon, items, size, itemset))
    k = min(size, itemset)
    found = [
        Design(operator=each, error=math.sqrt(each.variance(k, clients)), bits=each.items)
        for each in made
        if each.contrast(k)  # under a strict promise cut-and-paste shows too few items at once
    ]
    return tuple(sorted(found, key=lambda each: each.error))
