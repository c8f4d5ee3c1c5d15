"""Clients with one number each, for a mean. The engine clamps, rounds to the grid and counts codes.

Range       from the policy's column, from --values LOW..HIGH, or from the given operator. A number outside is
            clamped without notice, as everywhere in a policy.
Missing     In a policy's table, an answer that is not a number has a stand-in: --other, or the low end if the
            policy says that every row has a number.
Grid        the numbers that the policy declares, if they are few enough; otherwise 65,537 points.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from discreet.belief import Promise
from discreet.core.engine import Publisher
from discreet.core.errors import DataError, RequestError
from discreet.core.number_checks import parse_number
from discreet.core.sql_quoting import quote_identifier
from discreet.local import MEAN_OPERATORS
from discreet.local.design import design_mean
from discreet.local.number_grids import DEFAULT_POINTS
from discreet.local.operator import MeanOperator, Operator
from discreet.mechanisms import get_mechanism_name
from discreet.mechanisms.sampling import Integers
from discreet.services.collect.clients import ANSWERS, AnswerColumn

NUMBER = r"[-+]?[0-9.]+(?:[eE][-+]?\d+)?"


@dataclass(frozen=True, kw_only=True)
class NumberClients:
    """Clients with one row each; `other` stands for answers that are not numbers, if any value does."""

    answers: AnswerColumn
    low: float
    high: float
    points: int = DEFAULT_POINTS
    other: float | None = None
    values: tuple[str, ...] = ()
    extra_columns: tuple[str, ...] = ()

    def choose_operator(self, promise: Promise) -> Operator:
        return design_mean(promise, 1, low=self.low, high=self.high, values=self.points)[0].operator

    def require_fit(self, operator: Operator) -> None:
        if not isinstance(operator, MEAN_OPERATORS):
            raise RequestError(
                f"{get_mechanism_name(type(operator))} does not estimate a mean.",
                hint=f"Choose from {', '.join(sorted(get_mechanism_name(kind) for kind in MEAN_OPERATORS))}, "
                "or leave --mean out.",
            )
        if (operator.low, operator.high) != (self.low, self.high):
            raise RequestError(
                f"The operator is for numbers from {operator.low:g} to {operator.high:g}; "
                f"{self.answers.column} goes from {self.low:g} to {self.high:g}."
            )

    def read_values(self, operator: Operator, publisher: Publisher) -> Integers:
        """Return the code of every number, sorted by code, so that the order of rows is not revealed."""
        typed = f"TRY_CAST(trim(CAST(a.{quote_identifier(self.answers.column)} AS VARCHAR)) AS DOUBLE)"
        rest = "NULL" if self.other is None else f"CAST({self.other!r} AS DOUBLE)"
        number = f"COALESCE(CASE WHEN isnan({typed}) THEN NULL ELSE {typed} END, {rest})"
        low, high = (f"CAST({end!r} AS DOUBLE)" for end in (self.low, self.high))
        part = f"(least(greatest(x, {low}), {high}) - {low}) / ({high} - {low})"
        # greatest and least ignore NULL, and would turn it into a bound
        code = f"CASE WHEN x IS NOT NULL THEN CAST(round({part} * {operator.values - 1}) AS BIGINT) END"
        found = publisher.count(
            f"SELECT {code} AS code, COUNT(*) AS people "
            f"FROM (SELECT {number} AS x FROM {quote_identifier(ANSWERS)} AS a) GROUP BY 1"
        ).secret
        return self._expand_counts(found["code"].to_pylist(), found["people"].to_pylist())

    def _expand_counts(self, codes: list[int | None], people: list[int]) -> Integers:
        column, counts = self.answers.column, dict(zip(codes, people, strict=True))
        if None in counts:
            raise DataError(
                f"Some answers in {column} are not numbers.",
                hint="Leave them out, or name a number that stands for them: --other NUMBER.",
            )
        if not counts and self.answers.policy is None:
            raise DataError(f"There is no answer in {column}.", hint="Name a file that has some.")
        ordered = sorted((code, count) for code, count in counts.items() if code is not None)
        return np.repeat(*np.array(ordered, np.int64).reshape(-1, 2).T)


def find_numbers(
    answers: AnswerColumn, values: str | None, operator: Operator | None, other: str | None
) -> NumberClients:
    """Return the clients with numbers, in the range of the request, the policy or the operator."""
    low, high, points = _find_range(answers, values, operator)
    rest = None if other is None else parse_number("--other", other)
    if rest is not None and not low <= rest <= high:
        raise RequestError(f"--other must be from {low:g} to {high:g}; got {rest:g}.")
    if rest is None and answers.policy is not None:
        rest = _find_stand_in(answers, low)
    return NumberClients(answers=answers, low=low, high=high, points=points, other=rest)


def _find_stand_in(answers: AnswerColumn, low: float) -> float:
    """Return the stand-in for a missing number in a policy's table, known before a row is read."""
    if answers.declaration.nulls is False:
        return low
    raise RequestError(
        f"No number is given that stands for a missing one of {answers.name}.{answers.column}.",
        hint="Give --other NUMBER, or declare nulls: false for the column.",
    )


def parse_range(name: str, text: str) -> tuple[float, float]:
    """Return the ends of a range such as 0..100.

    >>> parse_range("--values", "0..99.5")
    (0.0, 99.5)
    """
    found = re.fullmatch(rf"\s*({NUMBER}?)\s*\.\.\s*({NUMBER})\s*", text)
    if found is None:
        raise RequestError(f"For a mean, {name} must be a range such as 0..100.")
    low, high = (parse_number(name, end) for end in found.groups())
    if not low < high:
        raise RequestError(f"{name} must go upwards; got {low:g} to {high:g}.")
    return low, high


def _find_range(
    answers: AnswerColumn, values: str | None, operator: Operator | None
) -> tuple[float, float, int]:
    column = answers.declaration
    if answers.policy is not None:
        if values is not None:
            raise RequestError(f"The policy says which values {answers.column} has; --values is for files.")
        if column.grid_bounds is None or column.grid_bounds[0] == column.grid_bounds[1]:
            raise RequestError(
                f"The policy declares no bounds for {answers.name}.{answers.column}.",
                hint="Declare it as an integer or a decimal with low and high.",
            )
        low, high = column.grid_bounds
        return (
            float(low * column.grid_step),
            float(high * column.grid_step),
            min(high - low + 1, DEFAULT_POINTS),
        )
    if values is not None:
        return *parse_range("--values", values), DEFAULT_POINTS
    if isinstance(operator, MEAN_OPERATORS):
        means: MeanOperator = operator
        return means.low, means.high, means.values
    raise RequestError(
        f"{answers.column} has no bounds, and they are never taken from the data.",
        hint="Give --values 0..100, or a --policy that declares low and high.",
    )
