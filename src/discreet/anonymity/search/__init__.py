"""Full-domain generalization: one level for every column, the best node of the lattice, or all minimal ones.

A search walks the lattice of nodes over counted tuples and proves its result, or reports that it could not
(`lattice_search`, `minimal_generalizations`). An objective measures the loss of a node.
Recodings with different levels for different tuples are in `anonymity.recodings`.
"""

from discreet.anonymity.search.exploration import GeneralizationList, SearchResult, Solution
from discreet.anonymity.search.full_domain import group_at_levels, recode_at_levels
from discreet.anonymity.search.lattice_search import search_lattice
from discreet.anonymity.search.minimal_generalizations import find_minimal_generalizations
from discreet.anonymity.search.objectives import OBJECTIVES, Objective, find_objective

__all__ = [
    "OBJECTIVES",
    "GeneralizationList",
    "Objective",
    "SearchResult",
    "Solution",
    "find_minimal_generalizations",
    "find_objective",
    "group_at_levels",
    "recode_at_levels",
    "search_lattice",
]
