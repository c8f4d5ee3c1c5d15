"""Randomization of a column: one report for every client, charged to the ledger if a policy covers it.

Each client's value is randomized with fresh randomness from the operating system, and reports are sorted, so
that they do not reveal the order of rows. Reports of a policy's table are charged to its ledger before a row
is read; a request is refused before that, from text and policy alone.

Clients hold one value of a list, one number or one basket each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from discreet.belief import Promise
from discreet.core.engine import Publisher
from discreet.core.errors import BudgetError, RequestError
from discreet.core.output_files import make_unwritable_error
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.local import BASKET_OPERATORS, MEAN_OPERATORS
from discreet.local.design import require_promise_kept
from discreet.local.operator import Operator
from discreet.local.report_formats import Reports
from discreet.services.budget_units import Charge, compute_charge
from discreet.services.collect.answer_columns import (
    AnswerColumn,
    add_stand_in,
    find_answers,
    find_domain,
    require_one_row_each,
    require_stand_in_listed,
)
from discreet.services.collect.clients import (
    BasketClients,
    CategoryClients,
    Clients,
    find_basket_clients,
    find_numbers,
)
from discreet.services.collect.collect_requests import RandomizeRequest
from discreet.services.collect.operators import load_operator
from discreet.services.collect.report_files import ReportDescription, open_draft, write_reports
from discreet.services.curator import Curator
from discreet.services.ledgers import open_ledger
from discreet.services.policies import get_promise, resolve_analyst
from discreet.services.source_tables import find_source_table

VERB = "collect randomize"


@dataclass(frozen=True, kw_only=True)
class RandomizeResult:
    """The written reports and the number of clients; `other` is the stand-in for answers outside the domain.

    `entry` is the number of the ledger's entry, and `charge` its cost, if one was charged.
    """

    description: ReportDescription
    clients: int
    path: Path
    other: str | float | None
    entry: int | None = None
    charge: Charge | None = None


@dataclass(frozen=True, kw_only=True)
class RandomizePlan:
    """How a column would be randomized; `charge` is the cost to the policy that covers it, if one does."""

    description: ReportDescription
    charge: Charge | None


def randomize_column(request: RandomizeRequest) -> RandomizeResult:
    """Check the request, charge it, read and randomize the answers, and write the reports."""
    clients, description = _prepare_randomization(request)
    return write_randomized_reports(
        clients, description, request.out, analyst=request.analyst, spend_all=request.spend_all
    )


def plan_randomization(request: RandomizeRequest) -> RandomizePlan:
    """Return the operator, and the cost to the promise; reads no data and charges nothing."""
    clients, description = _prepare_randomization(request)
    policy, who = _find_charged_analyst(clients.answers, request.analyst)
    if policy is None or who is None:
        return RandomizePlan(description=description, charge=None)
    with open_ledger(policy) as ledger:
        charge = compute_charge(ledger, who, description.operator.guarantee)
    return RandomizePlan(description=description, charge=charge)


def _prepare_randomization(request: RandomizeRequest) -> tuple[Clients, ReportDescription]:
    operator, stated = (None, None) if request.operator is None else load_operator(request.operator)
    clients = find_clients(request, operator)
    return clients, describe_randomization(clients, operator, request.promise or stated)


def _find_charged_analyst(answers: AnswerColumn, analyst: str | None) -> tuple[Policy | None, str | None]:
    """Return the policy and the analyst who is charged; None where no promise covers the answers."""
    policy = answers.policy
    if policy is None or policy.promise is None:
        return None, None
    return policy, resolve_analyst(policy, analyst)


def find_clients(request: RandomizeRequest, operator: Operator | None) -> Clients:
    """Return the clients; an operator for means or baskets decides their kind."""
    if request.size is not None or request.basket is not None or isinstance(operator, BASKET_OPERATORS):
        return _find_basket_clients(request, operator)
    answers = find_answers(request)
    require_one_row_each(answers)
    if request.mean or isinstance(operator, MEAN_OPERATORS):
        if request.values_from is not None:
            raise RequestError(
                "The numbers of a mean are a range, not a list.", hint='Give `values="0..100"`.'
            )
        return find_numbers(answers, request, operator)
    values, other = add_stand_in(answers, find_domain(answers, request), request.other)
    return CategoryClients(answers=answers, values=values, other=other)


def _find_basket_clients(request: RandomizeRequest, operator: Operator | None) -> BasketClients:
    if request.mean:
        raise RequestError("Baskets have no mean.", hint="Leave `mean=` out, or `size=` and `basket=`.")
    size = request.size
    if size is None and isinstance(operator, BASKET_OPERATORS):
        size = operator.size
    if size is None:
        raise RequestError(
            "The number of items used per basket is missing.",
            hint="Give `size=5`: with fewer items, each support is estimated better.",
        )
    answers = find_answers(request)
    values = find_domain(answers, request)
    require_stand_in_listed(values, request.other)
    return find_basket_clients(answers, values, size, request.basket, request.other)


def describe_randomization(
    clients: Clients, operator: Operator | None, promise: Promise | None
) -> ReportDescription:
    """Return the description for the given operator, or for the best one under the promise; read no data."""
    policy = clients.answers.policy
    if promise is None and policy is not None and policy.promise is not None:
        promise = get_promise(policy)
    operator = operator or clients.choose_operator(_require_promise(promise))
    clients.require_fit(operator)
    if promise is not None:
        require_promise_kept(operator, promise)
    operator.guarantee  # noqa: B018  (raises where there is none)
    column = clients.answers.column
    return ReportDescription(operator=operator, values=clients.values, column=column, promise=promise)


def _require_promise(promise: Promise | None) -> Promise:
    if promise is None:
        raise RequestError("There is no promise.", hint='Give `promise="1%:5%"`, or an `operator=`.')
    return promise


def write_randomized_reports(
    clients: Clients,
    description: ReportDescription,
    path: Path,
    *,
    analyst: str | None = None,
    spend_all: bool = False,
) -> RandomizeResult:
    """Charge the randomization if a policy covers it, randomize the answers, and write the reports.

    Raises RequestError if nothing of the promise would be left, unless `spend_all` confirms it.
    """
    answers = clients.answers
    policy, who = _find_charged_analyst(answers, analyst)
    with open_draft(path) as draft, answers.open_publisher(*clients.extra_columns) as publisher:
        _require_other_output(answers, publisher, path)

        def write_randomized_values(random: Randomness) -> int:
            held = clients.read_values(description.operator, publisher)
            write_reports(path, draft, description, _randomize_values(description.operator, held, random))
            return len(held)

        if policy is None or who is None:
            people = _run_without_ledger(write_randomized_values, path)
            return RandomizeResult(description=description, clients=people, path=path, other=clients.other)
        text = f"collect randomize {answers.name} --column {answers.column}"
        with Curator(policy, ledger=open_ledger(policy), engine=publisher, analyst=who) as curator:
            charge = compute_charge(curator.ledger, who, description.operator.guarantee)
            if not charge.fits:
                raise BudgetError(
                    f"{VERB}: this costs {charge}.", hint="Give a smaller promise by `promise=`."
                )
            if charge.leaves_nothing and not spend_all:
                raise RequestError(
                    f"{VERB}: this costs {charge}.",
                    hint='Give a smaller promise, such as `promise="1%:2%"`, or confirm it by `spend_all=`.',
                )
            people, entry = curator.charge_and_release(
                f"{text} -o {path.absolute()}",
                text,
                description.operator.guarantee,
                lambda _, random: write_randomized_values(random),
                lambda _: b"",
                {"file": path.name},
                verb=VERB,
            )
    return RandomizeResult(
        description=description,
        clients=people,
        path=path,
        other=clients.other,
        entry=entry.number,
        charge=charge,
    )


def _require_other_output(answers: AnswerColumn, publisher: Publisher, path: Path) -> None:
    """Raise if the output would overwrite the input or another table of the policy."""
    if publisher.is_source(path):
        raise RequestError(f"{path} is the input.", hint="Write to another file.")
    lost = None if answers.nearby_policy is None else find_source_table(answers.nearby_policy, str(path))
    if lost is not None:
        raise RequestError(f"{path} is the table {lost} of the policy.", hint="Write to another file.")


def _run_without_ledger(work: Callable[[Randomness], int], path: Path) -> int:
    try:
        return work(Randomness())
    except OSError as error:
        raise make_unwritable_error(path, error) from None


def _randomize_values(operator: Operator, values: NDArray[Any], random: Randomness) -> Reports:
    if isinstance(operator, BASKET_OPERATORS):
        return operator.randomize_baskets(values, random)
    return operator.randomize(values, random)
