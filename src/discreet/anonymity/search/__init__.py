"""Full-domain generalization: one level for every column, the best node of the lattice, or all minimal ones.

A search walks the lattice of nodes over counted tuples and proves its result (`optimal_search`,
`minimal_nodes`), or reports that it could not (`heuristic_search`). An objective measures the loss of a node.
Recodings with different levels for different tuples are in `anonymity.recodings`.
"""

from discreet.anonymity.search.generalized import classes_of, recoding_of
from discreet.anonymity.search.minimal import minimal
from discreet.anonymity.search.objectives import OBJECTIVES, Objective
from discreet.anonymity.search.optimal import search
from discreet.anonymity.search.solution import Found, Solution

__all__ = ["OBJECTIVES", "Found", "Objective", "Solution", "classes_of", "minimal", "recoding_of", "search"]
