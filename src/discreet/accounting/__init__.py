"""Accounting: the composition of many releases, and the check that one more stays within the promise.

`compose` is for parameters fixed in advance (a workload, a tree, a synthesis) and for reports: it returns the
tightest proven epsilon and the theorem that proves it. `Accountant` is for a ledger, where questions and
budgets are chosen along the way: a privacy filter that accepts a release only if the promise holds whatever
comes next.
"""

from discreet.accounting.accountant import Accountant
from discreet.accounting.composition import Composition, compose, parallel
from discreet.accounting.inversion import least_epsilon
from discreet.accounting.loss_distribution import LossDistribution
from discreet.accounting.optimal import RepeatedDP

__all__ = [
    "Accountant",
    "Composition",
    "LossDistribution",
    "RepeatedDP",
    "compose",
    "least_epsilon",
    "parallel",
]
