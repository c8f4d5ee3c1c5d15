"""Full-domain generalization: one level for every column, the best of all choices, or all minimal ones.

A search walks the lattice of nodes over counted tuples, proves what it can (`optimal`, `minimal`) and says
where it cannot (`heuristic`). What is lost by a node is an objective; recodings in which tuples differ in how
far they are generalized are in `anonymity.recodings`.
"""

from discreet.anonymity.search.generalized import classes_of, recoding_of
from discreet.anonymity.search.minimal import minimal
from discreet.anonymity.search.objectives import OBJECTIVES, Objective
from discreet.anonymity.search.optimal import search
from discreet.anonymity.search.solution import Found, Solution

__all__ = ["OBJECTIVES", "Found", "Objective", "Solution", "classes_of", "minimal", "recoding_of", "search"]
