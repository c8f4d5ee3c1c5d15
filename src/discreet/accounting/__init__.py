"""Accounting: the composition of many releases, and the check that one more stays within the promise.

`compose` is for parameters fixed in advance (a workload, a tree, a synthesis) and for reports: it returns the
tightest proven epsilon and the theorem that proves it. `Accountant` is for a ledger, where questions and
budgets are chosen along the way: a privacy filter that accepts a release only if the promise holds whatever
comes next.

The ledger is six files: `ledger` (reserve, settle, replay, read), `entries` (the rows of one transaction),
`budget` (shares, accounts and the budget check), `hash_chain`, `high_water_marks` and `ledger_backup`. A
budget check runs from `ledger` by `entries` and `budget` to the rule of the `accountant`. Storage is behind
`ledger_storage`: SQLite (`ledger_file`) or PostgreSQL (`ledger_database`, over `shared_database` and
`table_privileges`); marks are stored in `mark_files`.
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
