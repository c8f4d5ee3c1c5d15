"""Market baskets in the local model: itemset supports and association rules from randomized baskets.

One operator per file. Being listed in `BASKETS` earns the conformance suite of all operators.
"""

from discreet.local.baskets.cut_and_paste import CutAndPaste
from discreet.local.baskets.design import design_baskets
from discreet.local.baskets.mining import Frequent, Mined, Rule, frequent, rules
from discreet.local.baskets.operator import Baskets
from discreet.local.baskets.packing import packed
from discreet.local.baskets.select_a_size import SelectASize
from discreet.local.baskets.supports import Estimates, Supports

BASKETS: tuple[type[Baskets], ...] = (
    SelectASize,
    CutAndPaste,
)

__all__ = [
    "BASKETS",
    "Baskets",
    "CutAndPaste",
    "Estimates",
    "Frequent",
    "Mined",
    "Rule",
    "SelectASize",
    "Supports",
    "design_baskets",
    "frequent",
    "packed",
    "rules",
]
