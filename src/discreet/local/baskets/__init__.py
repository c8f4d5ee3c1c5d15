"""Market baskets in the local model: itemset supports and association rules from randomized baskets.

One operator per file. Being listed in `BASKET_OPERATORS` earns the conformance suite of all operators.
"""

from discreet.local.baskets.basket_operator import BasketOperator
from discreet.local.baskets.basket_packing import pack_baskets
from discreet.local.baskets.cut_and_paste import CutAndPaste
from discreet.local.baskets.itemset_mining import (
    AssociationRule,
    FrequentItemset,
    FrequentItemsets,
    find_frequent_itemsets,
    find_rules,
)
from discreet.local.baskets.itemset_supports import ItemsetSupports, SupportEstimates
from discreet.local.baskets.select_a_size import SelectASize

BASKET_OPERATORS: tuple[type[BasketOperator], ...] = (
    SelectASize,
    CutAndPaste,
)

__all__ = [
    "BASKET_OPERATORS",
    "AssociationRule",
    "BasketOperator",
    "CutAndPaste",
    "FrequentItemset",
    "FrequentItemsets",
    "ItemsetSupports",
    "SelectASize",
    "SupportEstimates",
    "find_frequent_itemsets",
    "find_rules",
    "pack_baskets",
]
