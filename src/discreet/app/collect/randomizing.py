"""Randomization of a column: one report for every client, charged to the ledger if a policy covers it.

Each client's value is randomized with fresh randomness from the operating system, and reports are sorted, so
that they do not reveal the order of rows. Reports of a policy's table are charged to its ledger before a row
is read; a request is refused before that, from text and policy alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from discreet.app.books import asking, opened
from discreet.app.collect.clients import Answers, Clients
from discreet.app.collect.report_files import Description, drafted, write_reports
from discreet.app.curator import Curator
from discreet.app.policies import promise_of
from discreet.app.publishing.table_request import find_source_table
from discreet.belief import Promise
from discreet.core.engine import Publisher
from discreet.core.errors import RequestError
from discreet.core.output_files import make_unwritable_error
from discreet.core.randomness import Randomness
from discreet.local import BASKETS
from discreet.local.design import require_kept
from discreet.local.forms import Reports
from discreet.local.operator import Operator


@dataclass(frozen=True, kw_only=True)
class Randomized:
    """The written reports and the number of clients; `other` is the stand-in for answers outside the domain.

    `entry` is the number of the ledger's entry, if one was charged.
    """

    description: Description
    clients: int
    path: Path
    other: str | float | None
    entry: int | None = None


def described(clients: Clients, operator: Operator | None, promise: Promise | None) -> Description:
    """Return the description for the given operator, or for the best one under the promise; read no data."""
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
        raise RequestError("There is no promise.", hint="Give --promise 1%:5%, or an --operator.")
    return promise


def randomize(
    clients: Clients, description: Description, path: Path, *, analyst: str | None = None
) -> Randomized:
    """Check the request, charge it, read and randomize the answers, and write the reports."""
    answers = clients.answers
    policy = answers.policy
    who = asking(policy, analyst) if policy is not None and policy.promise is not None else None
    with drafted(path) as draft, answers.open(*clients.also) as publisher:
        _require_elsewhere(answers, publisher, path)

        def work(random: Randomness) -> int:
            held = clients.held(description.operator, publisher)
            write_reports(path, draft, description, _reports(description.operator, held, random))
            return len(held)

        if policy is None or who is None:
            people = _plainly(work, path)
            return Randomized(description=description, clients=people, path=path, other=clients.other)
        text = f"collect randomize {answers.name} --column {answers.column}"
        with Curator(policy, ledger=opened(policy), engine=publisher, analyst=who) as curator:
            people, entry = curator.charged(
                f"{text} -o {path.absolute()}",
                text,
                description.operator.guarantee,
                lambda _, random: work(random),
                lambda _: b"",
                {"file": path.name},
            )
    return Randomized(
        description=description, clients=people, path=path, other=clients.other, entry=entry.number
    )


def _require_elsewhere(answers: Answers, publisher: Publisher, path: Path) -> None:
    """Raise if the output would overwrite the input or another table of the policy."""
    if publisher.is_source(path):
        raise RequestError(f"{path} is the input.", hint="Write to another file.")
    lost = None if answers.beside is None else find_source_table(answers.beside, str(path))
    if lost is not None:
        raise RequestError(f"{path} is the table {lost} of the policy.", hint="Write to another file.")


def _plainly(work: Callable[[Randomness], int], path: Path) -> int:
    """Randomize a file that is covered by no ledger."""
    try:
        return work(Randomness())
    except OSError as error:
        raise make_unwritable_error(path, error) from None


def _reports(operator: Operator, held: NDArray[Any], random: Randomness) -> Reports:
    if isinstance(operator, BASKETS):
        return operator.send(held, random)
    return operator.randomize(held, random)
