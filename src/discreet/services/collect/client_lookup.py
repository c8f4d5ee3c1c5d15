"""Look-up of the clients for a request: values of a list, numbers, or baskets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from discreet.core.errors import RequestError
from discreet.local import BASKET_OPERATORS, MEAN_OPERATORS
from discreet.local.operator import Operator
from discreet.services.collect.basket_clients import BasketClients, find_basket_clients
from discreet.services.collect.category_clients import CategoryClients
from discreet.services.collect.clients import (
    Clients,
    add_stand_in,
    find_answers,
    find_domain,
    require_one_row_each,
    require_stand_in_listed,
)
from discreet.services.collect.number_clients import find_numbers


@dataclass(frozen=True, kw_only=True)
class ClientsRequest:
    """The options of `collect randomize` that describe the clients."""

    table: str
    column: str
    policy: Path | None = None
    values: str | None = None
    values_from: Path | None = None
    other: str | None = None
    mean: bool = False
    size: int | None = None
    basket: str | None = None
    engine: str | None = None


def find_clients(request: ClientsRequest, operator: Operator | None) -> Clients:
    """Return the clients; an operator for means or baskets decides their kind."""
    if request.size is not None or request.basket is not None or isinstance(operator, BASKET_OPERATORS):
        return _find_basket_clients(request, operator)
    answers = find_answers(request.table, request.column, request.policy, request.engine)
    require_one_row_each(answers)
    if request.mean or isinstance(operator, MEAN_OPERATORS):
        if request.values_from is not None:
            raise RequestError("The numbers of a mean are a range, not a list.", hint="Give --values 0..100.")
        return find_numbers(answers, request.values, operator, request.other)
    values = find_domain(answers, request.values, request.values_from)
    values, other = add_stand_in(answers, values, request.other)
    return CategoryClients(answers=answers, values=values, other=other)


def _find_basket_clients(request: ClientsRequest, operator: Operator | None) -> BasketClients:
    if request.mean:
        raise RequestError("Baskets have no mean.", hint="Leave --mean out, or --size and --basket.")
    size = request.size
    if size is None and isinstance(operator, BASKET_OPERATORS):
        size = operator.size
    if size is None:
        raise RequestError(
            "The number of items used per basket is missing.",
            hint="Give --size 5: with fewer items, each support is estimated better.",
        )
    answers = find_answers(request.table, request.column, request.policy, request.engine)
    values = find_domain(answers, request.values, request.values_from)
    require_stand_in_listed(values, request.other)
    return find_basket_clients(answers, values, size, request.basket, request.other)
