"""Randomizing a column: one report for every client, and the charge where a policy's promise is spent by it.

Each client's value is randomized with coins of its own, from the operating system, and reports leave sorted:
nothing of the order of rows gets through. Reports of a policy's table are charged to its ledger before they
are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from discreet.app.books import asking, opened
from discreet.app.collect.clients import Clients
from discreet.app.collect.report_files import Description, require_parquet, write_reports
from discreet.app.policies import promise_of
from discreet.belief import Promise
from discreet.core.errors import RequestError
from discreet.core.randomness import Randomness
from discreet.local import BASKETS
from discreet.local.design import require_kept
from discreet.local.forms import Reports
from discreet.local.operator import Operator


@dataclass(frozen=True, kw_only=True)
class Randomized:
    """What was written, of how many clients; `entry` is the ledger's, where it was charged."""

    description: Description
    clients: int
    path: Path
    entry: int | None


def described(clients: Clients, operator: Operator | None, promise: Promise | None) -> Description:
    """The operator that is given, or the best that keeps the promise; no data is read."""
    policy = clients.answers.policy
    if promise is None and policy is not None and policy.promise is not None:
        promise = promise_of(policy)
    operator = operator or clients.chosen(_required(promise))
    clients.require_fit(operator)
    if promise is not None:
        require_kept(operator, promise)
    operator.guarantee  # noqa: B018  (raises where there is none)
    column = clients.answers.column
    return Description(operator=operator, values=clients.values, column=column, promise=promise)


def _required(promise: Promise | None) -> Promise:
    if promise is None:
        raise RequestError("Nothing says what is promised.", hint="Give --promise 1%:5%, or an --operator.")
    return promise


def randomize(
    clients: Clients, description: Description, path: Path, *, analyst: str | None = None
) -> Randomized:
    """Look up, charge, randomize, write."""
    require_parquet(path)
    if not path.absolute().parent.is_dir():
        raise RequestError(f"There is no folder {path.parent}.", hint="Make it, or name another file.")
    policy = clients.answers.policy
    who = asking(policy, analyst) if policy is not None and policy.promise is not None else None
    held = clients.held(description.operator)
    with _charged(clients, description, path, who) as entry:
        write_reports(path, description, _reports(description.operator, held))
    return Randomized(description=description, clients=len(held), path=path, entry=entry)


def _reports(operator: Operator, held: NDArray[Any]) -> Reports:
    if isinstance(operator, BASKETS):
        return operator.send(held, Randomness())
    return operator.randomize(held, Randomness())


@contextmanager
def _charged(clients: Clients, description: Description, path: Path, who: str | None) -> Iterator[int | None]:
    """The entry under which the reports of a policy's table are charged."""
    policy = clients.answers.policy
    if policy is None or who is None:
        yield None
        return
    with opened(policy) as ledger:
        text = f"collect randomize {clients.answers.name} --column {clients.answers.column}"
        entry = ledger.reserve(who, f"{text} -o {path.absolute()}", text, description.operator.guarantee)
        yield entry.id
        ledger.settle(entry, b"", {"file": path.name})
