"""Clients with one basket of items each: rows of basket and item, or a column of lists.

Person      A basket belongs to one person: in a policy's table whose people may have several rows, the basket
            column must be the person column.
Lists       Equal lists are counted, so the result grows with the number of distinct lists. The engine looks
            up the items.
Undeclared  In a policy's table, undeclared items and rows without a basket are ignored.
Missing     A missing item is no item, so a client without items has one row with none, or an empty list.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.belief import Promise
from discreet.core.engine import Publisher
from discreet.core.errors import DataError, RequestError
from discreet.core.sql_quoting import quote_identifier
from discreet.engines.duckdb_publisher import select_canonical_value
from discreet.local import BASKET_OPERATORS
from discreet.local.baskets.basket_packing import pack_pairs
from discreet.local.design import design_baskets
from discreet.local.operator import Operator
from discreet.mechanisms import get_mechanism_name
from discreet.mechanisms.sampling import Words
from discreet.services.collect.answer_columns import (
    ANSWERS,
    DOMAIN,
    AnswerColumn,
    find_file_source,
    require_one_row_each,
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
