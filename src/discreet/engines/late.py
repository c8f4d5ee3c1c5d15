"""Deferred encoding: where no store is written, encode a column per group instead of per row.

An engine that encodes in every statement pays for each row what it could pay for each group. So where every
row is a person of its own, encodings are deferred (`clamping.defer_encoding`,
`dialects.deferred_columns`): text is grouped as it is and compared with the declared values afterwards,
unless it has so many distinct values that its groups would take longer than its rows; exact numbers are
summed before they become steps. A statement that needs the value of such a column is written again with that
column encoded; in the end all of them are, and it is the statement that every engine runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from discreet.core.policy import Policy, Role, Table
from discreet.engines import encoding
from discreet.engines.connection import quoted
from discreet.engines.dialects import kinds, marks
from discreet.engines.dialects.checking import Statements, remembered
from discreet.engines.dialects.dialect import Dialect
from discreet.engines.dialects.expressions import NotEncodedError
from discreet.engines.dialects.kinds import Family, Kind, Late
from discreet.engines.dialects.statements import Relation, Written
from discreet.engines.relations import SOURCE, Origin

LATE = "_discreet_late"


class Own(Protocol):
    """An engine's own table, as it can be read."""

    def origin(self, declared: list[str] | None = None, late: frozenset[str] = frozenset()) -> Origin:
        """Return the table with its declared columns; NaN may remain in deferred ones."""

    def repeats(self, column: str) -> bool:
        """Return whether a column has few distinct values, so that grouping by it makes few groups."""


@dataclass(frozen=True, kw_only=True)
class LateTable:
    """A table of the policy in which the encoding of some columns is deferred."""

    name: str
    table: Table
    own: Own
    dialect: Dialect

    @cached_property
    def columns(self) -> dict[str, encoding.Late]:
        """The columns whose encoding can be deferred, with their deferred encodings."""
        types = self.own.origin(list(self.table.columns)).types
        found = {
            column: encoding.late(entry, column, types[column])
            for column, entry in self.table.columns.items()
            if entry.role is not Role.IDENTIFIER and (entry.values is None or self.own.repeats(column))
        }
        return {column: late for column, late in found.items() if late is not None}

    def called(self, late: frozenset[str]) -> str:
        """Return a unique name for the table with these columns deferred; JSON keeps any names distinct."""
        return self.dialect.called(f"{LATE} {json.dumps([self.name, *sorted(late)])}")

    def definition(self, late: frozenset[str]) -> Written:
        """Return the table's SELECT with these columns deferred and all others encoded."""
        origin = self.own.origin(list(self.table.columns), late)
        outputs = []
        for column, entry in self.table.columns.items():
            if column in late:
                outputs.append(f"{self.columns[column].text} AS {quoted(column)}")
            elif entry.role is not Role.IDENTIFIER:
                outputs.append(f"{encoding.encoded(entry, column, origin.types[column])} AS {quoted(column)}")
        source = f"{SOURCE} {self.name}"
        written = Statements(dialect=self.dialect, relations={source: origin.relation})
        return written(f"SELECT {', '.join(outputs)} FROM {quoted(source)}")

    def kind(self, column: str) -> Kind:
        """Return the SQL type of a deferred column."""
        late = Late(table=self.name, column=column, steps=self.columns[column].steps)
        values = self.table.columns[column].values
        if values is None:
            return replace(kinds.INTEGER, late=late)
        return Kind(family=Family.ENUM, values=tuple(values), late=late)


@dataclass(frozen=True, kw_only=True)
class LateStatements:
    """Translates our statements for one engine, each with as many deferred columns as it allows.

    `definitions` gains an entry for each set of deferred columns of a table.
    """

    tables: Mapping[str, LateTable]
    encoded: Statements
    definitions: dict[str, Written]
    kept: dict[str, Written] = field(default_factory=dict)

    def __call__(self, sql: str) -> Written:
        return remembered(self.kept, sql, self._written)

    def _written(self, sql: str) -> Written:
        # each failure names one column that must be encoded, so the loop ends
        late = {name: frozenset(table.columns) for name, table in self.tables.items()}
        while any(late.values()):
            relations = {name: self._relation(name, columns) for name, columns in late.items() if columns}
            try:
                return replace(self.encoded, relations={**self.encoded.relations, **relations}, kept={})(sql)
            except NotEncodedError as error:
                late[error.late.table] -= {error.late.column}
        return self.encoded(sql)

    def _relation(self, name: str, late: frozenset[str]) -> Relation:
        """Return the table with these columns deferred; its definition is translated and verified once."""
        table = self.tables[name]
        called = table.called(late)
        if called not in self.definitions:
            self.definitions[called] = table.definition(late)
        columns = dict(self.definitions[called].columns) | {column: table.kind(column) for column in late}
        text = marks.named(called, self.encoded.dialect)
        return Relation(text=text, columns=columns, tables=frozenset({called}))


def late_statements(
    policy: Policy, own: Mapping[str, Own], encoded: Statements, definitions: dict[str, Written]
) -> LateStatements:
    """Return a translator that defers columns of tables without a person column."""
    tables = {
        name: LateTable(name=name, table=table, own=own[name], dialect=encoded.dialect)
        for name, table in policy.tables.items()
        if not table.knows_people
    }
    return LateStatements(tables=tables, encoded=encoded, definitions=definitions)
