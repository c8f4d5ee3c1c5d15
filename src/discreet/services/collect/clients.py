"""Clients: the people whose values are randomized. Each holds one value of a list, one number, or one basket.

The engine looks up values, rounds numbers and counts codes. What differs by the kind of client is in a class
of `Clients`: the best operator, whether a given operator fits, and the values in the operator's input form.

Range       of numbers, from the policy's column, from `values` of the request, or from the given operator. A
            number outside is clamped without notice, as everywhere in a policy.
Missing     In a policy's table, an answer that is not a number has a stand-in: `other` of the request, or the
            low end if the policy says that every row has a number.
Grid        the numbers that the policy declares, if they are few enough; otherwise 65,537 points.
Baskets     Rows of basket and item, or a column of lists. A basket belongs to one person: in a policy's table
            whose people may have several rows, the basket column must be the person column. Equal lists are
            counted, so the result grows with the number of distinct lists. Undeclared items and rows without
            a basket are ignored. A missing item is no item, so a client without items has one row with none,
            or an empty list.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.belief import Promise
from discreet.core.engine import Publisher
from discreet.core.errors import DataError, RequestError
from discreet.core.number_checks import parse_number
from discreet.core.sql_quoting import quote_identifier
from discreet.engines.published_columns import select_canonical_value
from discreet.local import BASKET_OPERATORS, MEAN_OPERATORS
from discreet.local.baskets.basket_packing import pack_pairs
from discreet.local.design import design_baskets, design_frequencies, design_mean
from discreet.local.estimates import FrequencyOracle, MeanOperator
from discreet.local.mean_estimation import DEFAULT_POINTS
from discreet.local.operator import Operator
from discreet.mechanisms import get_mechanism_name
from discreet.mechanisms.sampling import Integers, Words
from discreet.services.collect.answer_columns import (
    ANSWERS,
    DOMAIN,
    MISSING,
    AnswerColumn,
    find_file_source,
    make_declared_values_error,
    require_one_row_each,
)
from discreet.services.collect.collect_requests import RandomizeRequest, parse_range

MAX_ERROR_RATIO = 1.05  # among nearly equal designs the one with the shortest report is taken


class Clients(Protocol):
    """The common interface of all kinds of clients."""

    @property
    def answers(self) -> AnswerColumn:
        """The column that holds their answers."""

    @property
    def values(self) -> tuple[str, ...]:
        """The names of the codes, if they have names."""

    @property
    def other(self) -> str | float | None:
        """The stand-in for an answer that is missing or outside the domain, if there is one."""

    @property
    def extra_columns(self) -> tuple[str, ...]:
        """Columns that are read besides the answers."""

    def choose_operator(self, promise: Promise) -> Operator:
        """Return the best operator under a promise; no data is read."""

    def require_fit(self, operator: Operator) -> None:
        """Raise if an operator has another domain, or if nothing can be learned from its reports."""

    def read_values(self, operator: Operator, publisher: Publisher) -> NDArray[Any]:
        """Return each client's value in the operator's input form.

        A plain file is refused if a value is outside the domain; a policy's table never is.
        """


@dataclass(frozen=True, kw_only=True)
class CategoryClients:
    """Clients with one row each; `other` stands for answers outside the list, if any value does."""

    answers: AnswerColumn
    values: tuple[str, ...]
    other: str | None = None
    extra_columns: tuple[str, ...] = ()

    def choose_operator(self, promise: Promise) -> Operator:
        """Return the operator with the shortest reports among those with almost the least error."""
        designs = design_frequencies(promise, len(self.values), 1)
        near = [each for each in designs if each.error <= MAX_ERROR_RATIO * designs[0].error]
        return min(near, key=lambda each: each.bits).operator

    def require_fit(self, operator: Operator) -> None:
        if operator.values != len(self.values):
            raise RequestError(
                f"The operator is for {operator.values:,} values; {self.answers.column} has "
                f"{len(self.values):,}{self._missing_value_note}."
            )
        cast("FrequencyOracle", operator).variance(1 / 2, 1)  # raises where nothing can be learned

    @property
    def _missing_value_note(self) -> str:
        return ", the missing one among them" if self.answers.policy and self.other == MISSING else ""

    def read_values(self, operator: Operator, publisher: Publisher) -> Integers:
        """Return the code of every answer, sorted by code, so that the order of rows is not revealed."""
        codes = pa.table({"value": list(self.values), "code": np.arange(len(self.values))})
        found = publisher.count(
            f"SELECT d.code, COUNT(*) AS people FROM {quote_identifier(ANSWERS)} AS a "
            f"LEFT JOIN {quote_identifier(DOMAIN)} AS d ON d.value = {self.answers.text_sql} GROUP BY d.code",
            {DOMAIN: codes},
        ).secret
        counts, outside = np.zeros(len(self.values), np.int64), 0
        for code, people in zip(found["code"].to_pylist(), found["people"].to_pylist(), strict=True):
            if code is None:
                outside = people
            else:
                counts[code] = people
        return np.repeat(np.arange(counts.size), self._complete_counts(counts, outside))

    def _complete_counts(self, counts: Integers, outside: int) -> Integers:
        column = self.answers.column
        if outside and self.other is None:
            raise DataError(
                f"Some answers in {column} are not among the {len(self.values):,} values.",
                hint="Add the missing values, or name a value that stands for the rest: `other=VALUE`.",
            )
        if self.other is not None:
            counts[self.values.index(self.other)] += outside
        if not counts.any() and self.answers.policy is None:
            raise DataError(f"There is no answer in {column}.", hint="Name a file that has some.")
        return counts


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
                "or leave `mean=` out.",
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
                hint="Leave them out, or name a number that stands for them: `other=NUMBER`.",
            )
        if not counts and self.answers.policy is None:
            raise DataError(f"There is no answer in {column}.", hint="Name a file that has some.")
        ordered = sorted((code, count) for code, count in counts.items() if code is not None)
        return np.repeat(*np.array(ordered, np.int64).reshape(-1, 2).T)


def find_numbers(
    answers: AnswerColumn, request: RandomizeRequest, operator: Operator | None
) -> NumberClients:
    """Return the clients with numbers, in the range of the request, the policy or the operator."""
    low, high, points = _find_range(answers, request.values, operator)
    rest = None if request.other is None else parse_number("`other=`", request.other)
    if rest is not None and not low <= rest <= high:
        raise RequestError(f"`other=` must be from {low:g} to {high:g}; got {rest:g}.")
    if rest is None and answers.policy is not None:
        rest = _find_stand_in(answers, low)
    return NumberClients(answers=answers, low=low, high=high, points=points, other=rest)


def _find_stand_in(answers: AnswerColumn, low: float) -> float:
    """Return the stand-in for a missing number in a policy's table, known before a row is read."""
    if answers.declaration.nulls is False:
        return low
    raise RequestError(
        f"No number is given that stands for a missing one of {answers.name}.{answers.column}.",
        hint="Give `other=NUMBER`, or declare nulls: false for the column.",
    )


def _find_range(
    answers: AnswerColumn, values: str | None, operator: Operator | None
) -> tuple[float, float, int]:
    column = answers.declaration
    if answers.policy is not None:
        if values is not None:
            raise make_declared_values_error(answers)
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
        return *parse_range("`values=`", values), DEFAULT_POINTS
    if isinstance(operator, MEAN_OPERATORS):
        means: MeanOperator = operator
        return means.low, means.high, means.values
    raise RequestError(
        f"{answers.column} has no bounds, and they are never taken from the data.",
        hint='Give `values="0..100"`, or a `policy=` that declares low and high.',
    )


@dataclass(frozen=True, kw_only=True)
class BasketClients:
    """Clients with baskets; `values` are the items, `basket` the basket column, or None for lists."""

    answers: AnswerColumn
    values: tuple[str, ...]
    size: int
    basket: str | None = None
    other: str | None = None

    @property
    def extra_columns(self) -> tuple[str, ...]:
        return () if self.basket is None else (self.basket,)

    def choose_operator(self, promise: Promise) -> Operator:
        return design_baskets(promise, len(self.values), self.size, 1)[0].operator

    def require_fit(self, operator: Operator) -> None:
        if not isinstance(operator, BASKET_OPERATORS):
            raise RequestError(
                f"{get_mechanism_name(type(operator))} does not randomize baskets.",
                hint="Choose from "
                f"{', '.join(sorted(get_mechanism_name(kind) for kind in BASKET_OPERATORS))}.",
            )
        if operator.items != len(self.values):
            raise RequestError(
                f"The operator is for {operator.items:,} items; {self.answers.column} has "
                f"{len(self.values):,}."
            )
        if operator.size != self.size:
            raise RequestError(f"The operator is for baskets of {operator.size}; `size=` is {self.size}.")
        operator.variance(1, 1)  # raises where nothing can be learned

    def read_values(self, operator: Operator, publisher: Publisher) -> Words:
        """Return a row of bits for every basket."""
        codes = pa.table({"value": list(self.values), "code": np.arange(len(self.values))})
        kind = publisher.column_types(ANSWERS)[self.answers.column].partition("[")[0]
        found = publisher.count(self._build_query(kind), {DOMAIN: codes}).secret
        if self.answers.policy is None:
            self._require_known_items(found)
        return _pack_clients(found, len(self.values))

    def _build_query(self, kind: str) -> str:
        """Return the query of baskets and item codes; `kind` is the items' SQL type.

        Equal numbers are grouped under any one of them, so -0.0 and 0.0 must have the same text.
        """
        text = self.answers.cast_to_declared_type("item")
        number = "basket" if self.basket is None else "dense_rank() OVER (ORDER BY basket)"
        kept = "" if self.answers.policy is None else "WHERE basket IS NOT NULL"
        looked_up = (
            f"SELECT basket, people, item IS NOT NULL AS given, {self._code_sql} AS code "
            "FROM (SELECT basket, "
            f"people, {select_canonical_value('item', kind)} FROM ({self._rows_sql()}) AS several) "
            "AS bought "
            f"LEFT JOIN {quote_identifier(DOMAIN)} AS d ON d.value = {text}"
        )
        return (
            f"SELECT DISTINCT {number} AS basket, people, code, "
            "given AND code IS NULL AS strange, basket IS NULL AS lost "
            f"FROM ({looked_up}) AS looked_up {kept}"
        )

    @property
    def _code_sql(self) -> str:
        """The SQL of an item's code; a missing item has none, even with a stand-in for unlisted items."""
        if self.other is None:
            return "d.code"
        return f"COALESCE(d.code, CASE WHEN item IS NOT NULL THEN {self.values.index(self.other)} END)"

    def _rows_sql(self) -> str:
        """Return the query of basket, number of people with it, and item; an empty list has one row without.

        `array_length` of NULL is NULL, so a client without a list has no items either.
        """
        item, rows = quote_identifier(self.answers.column), quote_identifier(ANSWERS)
        if self.basket is not None:
            return (
                f"SELECT {quote_identifier(self.basket)} AS basket, 1 AS people, {item} AS item FROM {rows}"
            )
        alike = f"SELECT {item} AS items, COUNT(*) AS people FROM {rows} GROUP BY {item}"
        numbered = (
            f"SELECT row_number() OVER (ORDER BY items) AS basket, people, items FROM ({alike}) AS alike"
        )
        some = "CASE WHEN array_length(items) > 0 THEN items ELSE [NULL] END"
        return f"SELECT basket, people, unnest({some}) AS item FROM ({numbered}) AS numbered"

    def _require_known_items(self, found: pa.Table) -> None:
        if found.num_rows == 0:
            raise DataError("There is no basket.", hint="Name a file that has some.")
        strange, lost = (pc.any(found[name]).as_py() for name in ("strange", "lost"))
        if lost:
            raise DataError("Some rows have no basket.", hint="Leave them out.")
        if strange:
            raise DataError(
                f"Some items in {self.answers.column} are not among the {len(self.values):,} listed ones.",
                hint="Add the missing items, or name an item that stands for the rest: `other=ITEM`.",
            )


def _pack_clients(found: pa.Table, items: int) -> Words:
    """Return a row of bits for each client, from pairs of basket and code."""
    baskets = found["basket"].to_numpy() - 1
    held = pc.is_valid(found["code"]).to_numpy()
    codes = pc.drop_null(found["code"]).to_numpy()
    people = np.zeros(int(baskets.max(initial=-1)) + 1, np.int64)
    people[baskets] = found["people"].to_numpy()
    different = pack_pairs(baskets[held], codes, people.size, items)
    return np.repeat(different, people, axis=0)


def find_basket_clients(
    answers: AnswerColumn, values: tuple[str, ...], size: int, basket: str | None, other: str | None
) -> BasketClients:
    """Return the clients with baskets for a request; no data is read."""
    if basket is None:
        require_one_row_each(answers)
        answers = replace(answers, has_lists=True)
        _require_lists(answers)
    elif answers.policy is None:
        find_file_source(answers.source.source, basket)
    elif answers.source.person_column != basket:
        raise RequestError(
            f"A person of {answers.name} may have several baskets, and each report would cost the promise "
            "once more.",
            hint="Name the column that names the person, and declare it as person of the table.",
        )
    return BasketClients(answers=answers, values=values, size=size, basket=basket, other=other)


def _require_lists(answers: AnswerColumn) -> None:
    """Raise if a column does not hold lists, by its type in the file's header or the engine's catalog."""
    with answers.open_publisher() as publisher:
        kind = publisher.column_types(ANSWERS)[answers.column]
    if not kind.endswith("]"):
        raise RequestError(
            f"Column {answers.column} has no lists of items.",
            hint="Name the column that identifies a row's basket: `basket=COLUMN`.",
        )
