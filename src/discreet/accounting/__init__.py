"""Accounting: the composition of many releases, and the check that one more stays within the promise.

`compose` is for parameters fixed in advance (a workload, a tree, a synthesis) and for reports: it returns the
tightest proven epsilon and the theorem that proves it. `Accountant` is for a ledger, where questions and
budgets are chosen along the way: a privacy filter that accepts a release only if the promise holds whatever
comes next.
"""

from discreet.accounting.accountant import Accountant
from discreet.accounting.composition import Composition, compose, compose_parallel
from discreet.accounting.loss_distribution import LossDistribution
from discreet.accounting.optimal_composition import RepeatedDP
from discreet.accounting.profile_inversion import find_least_epsilon

__all__ = [
    "Accountant",
    "Composition",
    "LossDistribution",
    "RepeatedDP",
    "compose",
    "compose_parallel",
    "find_least_epsilon",
]
