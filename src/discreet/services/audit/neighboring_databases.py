"""Generated neighboring databases that conform to a policy: questions are audited on them, not on real data.

Values      from the policy's bounds and declared values, and from the constants of the question, so that its
            conditions can be met. Every value is written as text, as from a CSV file.
            A column has NULLs, unless the policy rules them out.
People      a few others, and one person (the victim) whose rows differ between the two databases; if presence
            is the secret, the victim has no rows in the second. The victim has as many rows as the policy
            allows. In every other pair all rows of the first database are equal: then one person's change has
            the most effect on what is chosen by rank.
Links       lead to rows of the same person: every person has keys of their own, and a row links only to keys
            of its own person.
Public      tables about no person have a row for each value of their first column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import cycle, product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from discreet.core.column_entry import Column, ColumnType
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.core.table_entry import Table
from discreet.sql.query_parser import parse_query

Row = dict[str, str | None]
Rows = dict[str, list[Row]]
Pools = dict[tuple[str, str], list[str | None]]

MAX_POOL_VALUES = 6
MOST_PERSON_ROWS = 50
CROWD_SIZES = (0, 1, 2, 3, 5, 8, 14, 24)
VICTIM = 1
KEYS_PER_PERSON = 10_000
DEFAULT_DAY = date(2020, 1, 1)


@dataclass(frozen=True, kw_only=True)
class NeighboringDatabases:
    """Two databases that differ in one person's rows."""

    rows: Rows
    neighbor_rows: Rows


def generate_neighbors(
    policy: Policy, sql: str, secret: Relation, random: Randomness
) -> Iterator[NeighboringDatabases]:
    """Yield pairs of neighboring databases without end, cycling through `CROWD_SIZES`."""
    wanted = _collect_constants(sql)
    pools = build_value_pools(
        policy, lambda column, facts: _build_pool(facts, wanted.get(column.lower(), []))
    )
    draw = RowGenerator(policy=policy, pools=pools, random=random)
    for size, alike in cycle(product(CROWD_SIZES, (True, False))):
        one = draw.generate_rows(1) if alike else None
        others = draw.generate_crowd(size, one)
        here = draw.generate_person(VICTIM, one)
        there = draw.generate_person(VICTIM) if secret is Relation.VALUE else {}
        yield NeighboringDatabases(
            rows=_merge_rows(policy, others, here), neighbor_rows=_merge_rows(policy, others, there)
        )


def write_database(policy: Policy, rows: Rows, folder: Path) -> Policy:
    """Write the rows as files in `folder`; return the policy over them, with ledger and store in memory."""
    folder.mkdir()
    tables = {}
    for name, table in policy.tables.items():
        path = folder / f"{name}.parquet"
        columns = {column: [row.get(column) for row in rows[name]] for column in table.columns}
        pq.write_table(
            pa.table({column: pa.array(cells, pa.string()) for column, cells in columns.items()}), path
        )
        tables[name] = table.model_copy(update={"source": str(path)})
    return policy.model_copy(
        update={
            "engine": "duckdb",
            "tables": tables,
            "ledger": ":memory:",
            "store": ":memory:",
            "analysts": {},
        }
    )


@dataclass(frozen=True, kw_only=True)
class RowGenerator:
    """A generator of rows from pools of values."""

    policy: Policy
    pools: Mapping[tuple[str, str], list[str | None]]
    random: Randomness

    def generate_person(self, person_id: int, template: Rows | None = None) -> Rows:
        """Return all rows of one person: random, or copies of the `template` row of each table."""
        return self._link_rows(
            person_id, self.generate_rows(None) if template is None else self._repeat_template(template)
        )

    def generate_crowd(self, size: int, template: Rows | None = None) -> Rows:
        """Return the rows of `size` people, one in each table, and the rows of public tables."""
        people = [
            self._link_rows(VICTIM + 1 + other, template or self.generate_rows(1)) for other in range(size)
        ]
        found = {
            name: [row for rows in people for row in rows[name]] for name, _ in self._list_private_tables()
        }
        public = [(name, table) for name, table in self.policy.tables.items() if table.person == "none"]
        return found | {name: self._generate_public_rows(name, table) for name, table in public}

    def generate_rows(self, row_count: int | None) -> Rows:
        """Return `row_count` rows of each table, or as many as one person may have; sets no links."""
        found = {}
        for name, table in self._list_private_tables():
            count, alike = row_count or _max_person_rows(table), self.random.draw_below(2) == 0
            first = self._generate_row(name, table)
            found[name] = [first if alike else self._generate_row(name, table) for _ in range(count)]
        return found

    def _repeat_template(self, template: Rows) -> Rows:
        return {name: template[name] * _max_person_rows(table) for name, table in self._list_private_tables()}

    def _list_private_tables(self) -> list[tuple[str, Table]]:
        return [(name, table) for name, table in self.policy.tables.items() if table.person != "none"]

    def _link_rows(self, person_id: int, rows: Rows) -> Rows:
        """Return the rows with the person's identifier and keys, and links to those keys."""
        named = {
            name: [row | self._make_keys(name, person_id, place) for place, row in enumerate(rows[name])]
            for name, _ in self._list_private_tables()
        }
        return {
            name: [row | self._choose_links(name, named) for row in named[name]]
            for name, _ in self._list_private_tables()
        }

    def _make_keys(self, name: str, person_id: int, place: int) -> Row:
        keys: Row = {
            column: str(person_id * KEYS_PER_PERSON + place) for column in self.policy.find_person_keys(name)
        }
        person = self.policy.tables[name].person_column
        return keys if person is None else keys | {person: str(person_id)}

    def _choose_links(self, name: str, rows: Rows) -> Row:
        return {
            column: rows[link.table][self.random.draw_below(len(rows[link.table]))][link.column]
            for column, link in self.policy.find_person_links(name).items()
            if column != self.policy.tables[name].person_column
        }

    def _generate_row(self, name: str, table: Table) -> Row:
        return {column: self._choose_cell(name, column) for column in table.columns}

    def _generate_public_rows(self, name: str, table: Table) -> list[Row]:
        key = next(iter(table.columns))
        return [
            self._generate_row(name, table) | {key: value}
            for value in self.pools[name, key]
            if value is not None
        ]

    def _choose_cell(self, table: str, column: str) -> str | None:
        pool = self.pools[table, column]
        return pool[self.random.draw_below(len(pool))]


def build_value_pools(policy: Policy, build_pool: Callable[[str, Column], list[str | None]]) -> Pools:
    """Return the pool of values of every column; a link has the pool of the column that it references."""
    pools = {
        (name, column): build_pool(column, facts)
        for name, table in policy.tables.items()
        for column, facts in table.columns.items()
    }
    for name, table in policy.tables.items():
        for column, link in table.links.items():
            pools[name, column] = pools[link.table, link.column]
    return pools


def _merge_rows(policy: Policy, others: Rows, person: Rows) -> Rows:
    return {name: [*others.get(name, []), *person.get(name, [])] for name in policy.tables}


def _collect_constants(sql: str) -> dict[str, list[str]]:
    """Return the constants that the question compares with each column."""
    found: dict[str, list[str]] = {}
    for literal in parse_query(sql).find_all(exp.Literal):
        around = literal.find_ancestor(exp.Predicate, exp.Case)
        for column in around.find_all(exp.Column) if around is not None else ():
            found.setdefault(column.name.lower(), []).append(literal.name)
    return found


def _build_pool(column: Column, constants: list[str]) -> list[str | None]:
    """Return values that a column may hold, its bounds first; values may repeat, as weights."""
    own = _VALUES_BY_TYPE[column.type](column)
    constants = [near for constant in constants for near in _list_neighboring_values(column.type, constant)]
    if column.type is ColumnType.CATEGORY and column.values is not None:
        constants = [each for each in constants if each in column.values]
    found = dict.fromkeys([*own[:1], *own[-1:], *constants[:MAX_POOL_VALUES], *own[1:MAX_POOL_VALUES]])
    # Constants of the question (or else the bounds) are drawn at least twice as often as all other values.
    often = (constants[:MAX_POOL_VALUES] or [own[0], own[-1]]) * (2 * len(found))
    return [*found, *([None] if column.nulls is not False else []), *often]


def _list_neighboring_values(kind: ColumnType, constant: str) -> list[str]:
    """Return a constant and the values next to it, so that strict comparisons are met on either side."""
    try:
        if kind in (ColumnType.INTEGER, ColumnType.DECIMAL):
            return [str(Decimal(constant) + step) for step in (0, 1, -1)]
        if kind in (ColumnType.DATE, ColumnType.TIMESTAMP):
            return [str(datetime.fromisoformat(constant) + timedelta(days=step)) for step in (0, 1, -1)]
    except (ArithmeticError, ValueError):
        return []
    return [constant]


def _list_number_values(column: Column) -> list[str]:
    if column.low is None or column.high is None:
        return ["0", "1"]
    low, high = Decimal(str(column.low)), Decimal(str(column.high))
    return [str(low), str((low + high) // 2), str(high)]


def _list_time_values(column: Column) -> list[str]:
    low, high = column.low, column.high
    if isinstance(low, date | datetime) and isinstance(high, date | datetime):
        return [low.isoformat(), high.isoformat()]
    return [DEFAULT_DAY.isoformat(), (DEFAULT_DAY + timedelta(days=1)).isoformat()]


_VALUES_BY_TYPE: dict[ColumnType, Callable[[Column], list[str]]] = {
    ColumnType.INTEGER: _list_number_values,
    ColumnType.DECIMAL: _list_number_values,
    ColumnType.CATEGORY: lambda column: list(column.values or ("a", "b")),
    ColumnType.TEXT: lambda _: ["a", "b"],
    ColumnType.DATE: _list_time_values,
    ColumnType.TIMESTAMP: _list_time_values,
    ColumnType.BOOLEAN: lambda _: ["true", "false"],
}


def _max_person_rows(table: Table) -> int:
    """Return the number of rows that one person may have, at most `MOST_PERSON_ROWS`."""
    if table.person == "row":
        return 1
    return min(table.rows_per_person * (table.groups_per_person or 1), MOST_PERSON_ROWS)
