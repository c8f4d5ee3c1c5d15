"""Randomizing a column: one report for every answer, and the charge where a policy's promise is spent by it.

Each answer is randomized with coins of its own, from the operating system. Answers come as counts of each
value and reports leave sorted: nothing of the order of rows gets through. Reports of a policy's table are
charged to its ledger before they are written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.accounting.ledger import SOLE_ANALYST, Ledger
from discreet.app.collect.clients import Clients
from discreet.app.collect.report_files import Description, require_parquet, write_reports
from discreet.app.policies import promise_of
from discreet.belief import Promise
from discreet.core.errors import RequestError
from discreet.core.randomness import Randomness
from discreet.local.design import design, require_kept
from discreet.local.operator import Operator

SLACK = 1.05


@dataclass(frozen=True, kw_only=True)
class Randomized:
    """What was written, of how many clients; `entry` is the ledger's, where it was charged."""

    description: Description
    clients: int
    path: Path
    entry: int | None


def chosen(promise: Promise, values: int) -> Operator:
    """Of the operators with almost the least error under the promise, that with the shortest reports."""
    designs = design(promise, values, 1)
    near = [each for each in designs if each.error <= SLACK * designs[0].error]
    return min(near, key=lambda each: each.bits).operator


def described(clients: Clients, operator: Operator | None, promise: Promise | None) -> Description:
    """The operator that is given, or the best that keeps the promise; no data is read."""
    if promise is None and clients.policy is not None and clients.policy.promise is not None:
        promise = promise_of(clients.policy)
    operator = operator or chosen(_required(promise), len(clients.values))
    if operator.values != len(clients.values):
        raise RequestError(
            f"The operator is for {operator.values:,} values; {clients.column} has {len(clients.values):,}."
        )
    if promise is not None:
        require_kept(operator, promise)
    operator.guarantee  # noqa: B018  (raises where there is none)
    return Description(operator=operator, values=clients.values, column=clients.column, promise=promise)


def _required(promise: Promise | None) -> Promise:
    if promise is None:
        raise RequestError("Nothing says what is promised.", hint="Give --promise 1%:5%, or an --operator.")
    return promise


def randomize(
    clients: Clients, description: Description, path: Path, *, analyst: str | None = None
) -> Randomized:
    """Count, charge, randomize, write."""
    require_parquet(path)
    if not path.absolute().parent.is_dir():
        raise RequestError(f"There is no folder {path.parent}.", hint="Make it, or name another file.")
    counts = clients.count()
    codes = np.repeat(np.arange(counts.size), counts)
    with _charged(clients, description, path, analyst) as entry:
        write_reports(path, description, description.operator.randomize(codes, Randomness()))
    return Randomized(description=description, clients=codes.size, path=path, entry=entry)


@contextmanager
def _charged(
    clients: Clients, description: Description, path: Path, analyst: str | None
) -> Iterator[int | None]:
    """The entry under which the reports of a policy's table are charged."""
    policy = clients.policy
    if policy is None or policy.promise is None:
        yield None
        return
    shares = {name: each.share for name, each in policy.analysts.items()}
    with Ledger(policy.ledger, promise_of(policy), analysts=shares or None) as ledger:
        who = analyst or SOLE_ANALYST
        text = f"collect randomize {clients.name} --column {clients.column}"
        entry = ledger.reserve(who, f"{text} -o {path.absolute()}", text, description.operator.guarantee)
        yield entry.id
        ledger.settle(entry, b"", {"file": path.name})
