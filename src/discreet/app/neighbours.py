"""Neighbouring databases that follow a policy, made up: what a question is audited on in place of real data.

Values      from the policy's bounds and declared values, and from the constants of the question, so that its
            conditions can be met. Every value is written as text, as from a CSV file.
People      a few others, and one person who has rows of one kind here and of another there (or, where
            presence is the secret, is not there), as many as the policy lets one person have.
Public      tables that are about nobody have a row for each value of their first column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from discreet.core.policy import Column, Kind, Policy, Table
from discreet.core.randomness import Randomness
from discreet.core.relations import Relation
from discreet.sql.parse import parse

Row = dict[str, str | None]
Rows = dict[str, list[Row]]

MOST_VALUES = 6
MOST_ROWS = 50
CROWDS = (0, 2, 7)
VICTIM = "1"
DAY = date(2020, 1, 1)


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Two databases that differ in one person."""

    here: Rows
    there: Rows


def neighbours(policy: Policy, sql: str, secret: Relation, random: Randomness) -> Iterator[Neighbours]:
    """One made-up pair after another."""
    pools = _pools(policy, sql)
    draw = _Draw(policy=policy, pools=pools, random=random)
    while True:
        others = draw.crowd(CROWDS[random.below(len(CROWDS))])
        here = draw.person()
        there = draw.person() if secret is Relation.VALUE else {}
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
        update={"tables": tables, "ledger": ":memory:", "store": ":memory:", "analysts": {}}
    )


@dataclass(frozen=True, kw_only=True)
class _Draw:
    """Rows from the pools of values."""

    policy: Policy
    pools: Mapping[tuple[str, str], list[str | None]]
    random: Randomness

    def person(self) -> Rows:
        """One person's rows in every table: all alike, or each its own."""
        return {name: self._rows(name, table) for name, table in self._private()}

    def crowd(self, size: int) -> Rows:
        found: Rows = {name: [] for name, _ in self._private()}
        for other in range(size):
            for name, table in self._private():
                row = self._row(name, table)
                found[name].append(row | _named(table, str(other + 2)))
        public = [(name, table) for name, table in self.policy.tables.items() if table.person == "none"]
        return found | {name: self._public(name, table) for name, table in public}

    def _private(self) -> list[tuple[str, Table]]:
        return [(name, table) for name, table in self.policy.tables.items() if table.person != "none"]

    def _rows(self, name: str, table: Table) -> list[Row]:
        if table.person == "row":
            return [self._row(name, table)]
        count = min(table.rows_per_person * (table.groups_per_person or 1), MOST_ROWS)
        alike, first = self.random.below(2) == 0, self._row(name, table)
        rows = [first if alike else self._row(name, table) for _ in range(count)]
        return [row | _named(table, VICTIM) for row in rows]

    def _row(self, name: str, table: Table) -> Row:
        return {column: self._cell(name, column) for column in table.columns}

    def _public(self, name: str, table: Table) -> list[Row]:
        key = next(iter(table.columns))
        return [self._row(name, table) | {key: value} for value in self.pools[name, key] if value is not None]

    def _cell(self, table: str, column: str) -> str | None:
        pool = self.pools[table, column]
        return pool[self.random.below(len(pool))]


def _joined(policy: Policy, others: Rows, person: Rows) -> Rows:
    return {name: [*others.get(name, []), *person.get(name, [])] for name in policy.tables}


def _pools(policy: Policy, sql: str) -> dict[tuple[str, str], list[str | None]]:
    wanted = _constants(sql)
    pools = {
        (name, column): _pool(facts, wanted.get(column.lower(), []))
        for name, table in policy.tables.items()
        for column, facts in table.columns.items()
    }
    for name, table in policy.tables.items():
        for column, link in table.links.items():
            pools[name, column] = pools[link.table, link.column]
    return pools


def _constants(sql: str) -> dict[str, list[str]]:
    """The constants that each column is compared with in the question."""
    found: dict[str, list[str]] = {}
    for literal in parse(sql).find_all(exp.Literal):
        around = literal.find_ancestor(exp.Predicate, exp.Case)
        for column in around.find_all(exp.Column) if around is not None else ():
            found.setdefault(column.name.lower(), []).append(literal.name)
    return found


def _pool(column: Column, constants: list[str]) -> list[str | None]:
    """Values that a column may hold, those at its ends first."""
    own = _VALUES[column.type](column)
    constants = [near for constant in constants for near in _near(column.type, constant)]
    if column.type is Kind.CATEGORY and column.values is not None:
        constants = [each for each in constants if each in column.values]
    found = dict.fromkeys([*own[:1], *own[-1:], *constants[:MOST_VALUES], *own[1:MOST_VALUES]])
    # what the question looks for is twice as likely as all else
    often = constants[:MOST_VALUES] * (2 * len(found))
    return [*found, *([None] if column.nulls else []), *often]


def _near(kind: Kind, constant: str) -> list[str]:
    """A constant and what lies just beside it, so that strict comparisons can be met on either side."""
    try:
        if kind in (Kind.INTEGER, Kind.DECIMAL):
            return [str(Decimal(constant) + step) for step in (0, 1, -1)]
        if kind in (Kind.DATE, Kind.TIMESTAMP):
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


_VALUES: dict[Kind, Callable[[Column], list[str]]] = {
    Kind.INTEGER: _numbers,
    Kind.DECIMAL: _numbers,
    Kind.CATEGORY: lambda column: list(column.values or ("a", "b")),
    Kind.TEXT: lambda _: ["a", "b"],
    Kind.DATE: _times,
    Kind.TIMESTAMP: _times,
    Kind.BOOLEAN: lambda _: ["true", "false"],
}


def _named(table: Table, person: str) -> Row:
    """What names the person; where another table does, which rows are whose is left to chance."""
    return {} if table.person_column is None else {table.person_column: person}
