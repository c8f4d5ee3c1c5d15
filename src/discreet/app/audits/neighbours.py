"""Neighbouring databases that follow a policy, made up: what a question is audited on in place of real data.

Values      from the policy's bounds and declared values, and from the constants of the question, so that its
            conditions can be met. Every value is written as text, as from a CSV file.
            A column that may lack values does, unless the policy rules it out.
People      a few others, and one person who has rows of one kind here and of another there (or, where
            presence is the secret, is not there), as many as the policy lets one person have. The others are
            all alike every other time, and so is the person here: then one person who changes counts most
            for what is chosen by ranks.
Links       lead to rows of the same person: whatever others find their people by is a key of that person's
            own, and every row that names one names one of theirs.
Public      tables that are about nobody have a row for each value of their first column.
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

from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Column, ColumnType, Policy, Table
from discreet.core.randomness import Randomness
from discreet.sql.query_parser import parse_query

Row = dict[str, str | None]
Rows = dict[str, list[Row]]
Pools = dict[tuple[str, str], list[str | None]]

MOST_VALUES = 6
MOST_ROWS = 50
CROWDS = (0, 1, 2, 3, 5, 8, 14, 24)
VICTIM = 1
KEYS = 10_000
DAY = date(2020, 1, 1)


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Two databases that differ in one person."""

    here: Rows
    there: Rows


def neighbours(policy: Policy, sql: str, secret: Relation, random: Randomness) -> Iterator[Neighbours]:
    """One made-up pair after another."""
    wanted = _constants(sql)
    pools = pools_of(policy, lambda column, facts: _pool(facts, wanted.get(column.lower(), [])))
    draw = Draw(policy=policy, pools=pools, random=random)
    for size, alike in cycle(product(CROWDS, (True, False))):
        one = draw.rows(1) if alike else None
        others = draw.crowd(size, one)
        here = draw.person(VICTIM, one)
        there = draw.person(VICTIM) if secret is Relation.VALUE else {}
        yield Neighbours(here=_joined(policy, others, here), there=_joined(policy, others, there))


def written(policy: Policy, rows: Rows, folder: Path) -> Policy:
    """The same policy over these rows, as files in `folder`, with ledger and store in memory."""
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
class Draw:
    """Rows from the pools of values."""

    policy: Policy
    pools: Mapping[tuple[str, str], list[str | None]]
    random: Randomness

    def person(self, who: int, like: Rows | None = None) -> Rows:
        """All rows of one person: each its own, all alike, or `like` a row of each table."""
        return self._linked(who, self.rows(None) if like is None else self._repeated(like))

    def crowd(self, size: int, like: Rows | None = None) -> Rows:
        """People with one row in each table, and the tables that are about nobody."""
        people = [self._linked(VICTIM + 1 + other, like or self.rows(1)) for other in range(size)]
        found = {name: [row for rows in people for row in rows[name]] for name, _ in self._private()}
        public = [(name, table) for name, table in self.policy.tables.items() if table.person == "none"]
        return found | {name: self._public(name, table) for name, table in public}

    def rows(self, many: int | None) -> Rows:
        """So many rows in each table, or as many as one person may have; links lead nowhere yet."""
        found = {}
        for name, table in self._private():
            count, alike = many or _most(table), self.random.draw_below(2) == 0
            first = self._row(name, table)
            found[name] = [first if alike else self._row(name, table) for _ in range(count)]
        return found

    def _repeated(self, like: Rows) -> Rows:
        return {name: like[name] * _most(table) for name, table in self._private()}

    def _private(self) -> list[tuple[str, Table]]:
        return [(name, table) for name, table in self.policy.tables.items() if table.person != "none"]

    def _linked(self, who: int, rows: Rows) -> Rows:
        """The same rows as one person's own: with that person's name and keys, and links to those."""
        named = {
            name: [row | self._keys(name, who, place) for place, row in enumerate(rows[name])]
            for name, _ in self._private()
        }
        return {name: [row | self._links(name, named) for row in named[name]] for name, _ in self._private()}

    def _keys(self, name: str, who: int, place: int) -> Row:
        keys: Row = {column: str(who * KEYS + place) for column in self.policy.find_person_keys(name)}
        person = self.policy.tables[name].person_column
        return keys if person is None else keys | {person: str(who)}

    def _links(self, name: str, rows: Rows) -> Row:
        return {
            column: rows[link.table][self.random.draw_below(len(rows[link.table]))][link.column]
            for column, link in self.policy.find_person_links(name).items()
            if column != self.policy.tables[name].person_column
        }

    def _row(self, name: str, table: Table) -> Row:
        return {column: self._cell(name, column) for column in table.columns}

    def _public(self, name: str, table: Table) -> list[Row]:
        key = next(iter(table.columns))
        return [self._row(name, table) | {key: value} for value in self.pools[name, key] if value is not None]

    def _cell(self, table: str, column: str) -> str | None:
        pool = self.pools[table, column]
        return pool[self.random.draw_below(len(pool))]


def pools_of(policy: Policy, pool: Callable[[str, Column], list[str | None]]) -> Pools:
    """The values of every column, those of a link being the ones of what it names."""
    pools = {
        (name, column): pool(column, facts)
        for name, table in policy.tables.items()
        for column, facts in table.columns.items()
    }
    for name, table in policy.tables.items():
        for column, link in table.links.items():
            pools[name, column] = pools[link.table, link.column]
    return pools


def _joined(policy: Policy, others: Rows, person: Rows) -> Rows:
    return {name: [*others.get(name, []), *person.get(name, [])] for name in policy.tables}


def _constants(sql: str) -> dict[str, list[str]]:
    """The constants that each column is compared with in the question."""
    found: dict[str, list[str]] = {}
    for literal in parse_query(sql).find_all(exp.Literal):
        around = literal.find_ancestor(exp.Predicate, exp.Case)
        for column in around.find_all(exp.Column) if around is not None else ():
            found.setdefault(column.name.lower(), []).append(literal.name)
    return found


def _pool(column: Column, constants: list[str]) -> list[str | None]:
    """Values that a column may hold, those at its ends first."""
    own = _VALUES[column.type](column)
    constants = [near for constant in constants for near in _near(column.type, constant)]
    if column.type is ColumnType.CATEGORY and column.values is not None:
        constants = [each for each in constants if each in column.values]
    found = dict.fromkeys([*own[:1], *own[-1:], *constants[:MOST_VALUES], *own[1:MOST_VALUES]])
    # what the question looks for is twice as likely as all else; where it looks for nothing, the ends are
    often = (constants[:MOST_VALUES] or [own[0], own[-1]]) * (2 * len(found))
    return [*found, *([None] if column.nulls is not False else []), *often]


def _near(kind: ColumnType, constant: str) -> list[str]:
    """A constant and what lies just beside it, so that strict comparisons can be met on either side."""
    try:
        if kind in (ColumnType.INTEGER, ColumnType.DECIMAL):
            return [str(Decimal(constant) + step) for step in (0, 1, -1)]
        if kind in (ColumnType.DATE, ColumnType.TIMESTAMP):
            return [str(datetime.fromisoformat(constant) + timedelta(days=step)) for step in (0, 1, -1)]
    except (ArithmeticError, ValueError):
        return []
    return [constant]


def _numbers(column: Column) -> list[str]:
    if column.low is None or column.high is None:
        return ["0", "1"]
    low, high = Decimal(str(column.low)), Decimal(str(column.high))
    return [str(low), str((low + high) // 2), str(high)]


def _times(column: Column) -> list[str]:
    low, high = column.low, column.high
    if isinstance(low, date | datetime) and isinstance(high, date | datetime):
        return [low.isoformat(), high.isoformat()]
    return [DAY.isoformat(), (DAY + timedelta(days=1)).isoformat()]


_VALUES: dict[ColumnType, Callable[[Column], list[str]]] = {
    ColumnType.INTEGER: _numbers,
    ColumnType.DECIMAL: _numbers,
    ColumnType.CATEGORY: lambda column: list(column.values or ("a", "b")),
    ColumnType.TEXT: lambda _: ["a", "b"],
    ColumnType.DATE: _times,
    ColumnType.TIMESTAMP: _times,
    ColumnType.BOOLEAN: lambda _: ["true", "false"],
}


def _most(table: Table) -> int:
    """How many rows one person has."""
    if table.person == "row":
        return 1
    return min(table.rows_per_person * (table.groups_per_person or 1), MOST_ROWS)
