"""Look-up of the clients for a request: values of a list, numbers, or baskets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from discreet.app.collect.basket_rows import BasketRows, find_baskets
from discreet.app.collect.categories import Categories
from discreet.app.collect.clients import (
    Clients,
    domain_of,
    find_answers,
    require_among,
    require_one_row_each,
    with_stand_in,
)
from discreet.app.collect.numbers import find_numbers
from discreet.core.errors import RequestError
from discreet.local import BASKETS, MEANS
from discreet.local.operator import Operator


@dataclass(frozen=True, kw_only=True)
class Asked:
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


def find_clients(asked: Asked, operator: Operator | None) -> Clients:
    """Return the clients; an operator for means or baskets decides their kind."""
    if asked.size is not None or asked.basket is not None or isinstance(operator, BASKETS):
        return _baskets(asked, operator)
    answers = find_answers(asked.table, asked.column, asked.policy, asked.engine)
    require_one_row_each(answers)
    if asked.mean or isinstance(operator, MEANS):
        if asked.values_from is not None:
            raise RequestError("The numbers of a mean are a range, not a list.", hint="Give --values 0..100.")
        return find_numbers(answers, asked.values, operator, asked.other)
    values = domain_of(answers, asked.values, asked.values_from)
    values, other = with_stand_in(answers, values, asked.other)
    return Categories(answers=answers, values=values, other=other)


def _baskets(asked: Asked, operator: Operator | None) -> BasketRows:
    if asked.mean:
        raise RequestError("Baskets have no mean.", hint="Leave --mean out, or --size and --basket.")
    size = asked.size
    if size is None and isinstance(operator, BASKETS):
        size = operator.size
    if size is None:
        raise RequestError(
            "The number of items used per basket is missing.",
            hint="Give --size 5: with fewer items, each support is estimated better.",
        )
    answers = find_answers(asked.table, asked.column, asked.policy, asked.engine)
    values = domain_of(answers, asked.values, asked.values_from)
    require_among(values, asked.other)
    return find_baskets(answers, values, size, asked.basket, asked.other)
