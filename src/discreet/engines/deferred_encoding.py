"""Deferred encoding: where no store is written, encode a column per group instead of per row.

An engine that encodes in every statement pays for each row what it could pay for each group. So where every
row is a person of its own, encodings are deferred (`clamping.defer_encoding`,
`dialects.expression_writer`): text is grouped as it is and compared with the declared values afterwards,
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

from discreet.core.column_entry import Role
from discreet.core.policy import Policy
from discreet.core.sql_quoting import quote_identifier
from discreet.core.table_entry import Table
from discreet.engines import clamping
from discreet.engines.dialects import sql_marks, sql_types
from discreet.engines.dialects.dialect import Dialect
from discreet.engines.dialects.sql_types import DeferredColumn, NotEncodedError, SqlType, TypeFamily
from discreet.engines.dialects.statement_verification import StatementTranslator, get_or_translate
from discreet.engines.dialects.statement_writer import SqlRelation, TranslatedStatement
from discreet.engines.policy_tables import SOURCE, EngineTable

DEFERRED_PREFIX = "_discreet_late"


class ReadableTable(Protocol):
    """An engine's own table, as it can be read."""

    def to_engine_table(
        self, declared: Mapping[str, str] | None = None, deferred: frozenset[str] = frozenset()
    ) -> EngineTable:
        """Return the table with its declared columns; NaN may remain in deferred ones."""

    def has_few_values(self, column: str) -> bool:
        """Return whether a column has few distinct values, so that grouping by it makes few groups."""


@dataclass(frozen=True, kw_only=True)
class DeferredTable:
    """A table of the policy in which the encoding of some columns is deferred."""

    name: str
    table: Table
    source: ReadableTable
    dialect: Dialect

    @cached_property
    def columns(self) -> dict[str, clamping.DeferredEncoding]:
        """The columns whose encoding can be deferred, with their deferred encodings."""
        types = self.source.to_engine_table(self.table.source_names).types
        found = {
            column: clamping.defer_encoding(entry, column, types[column])
            for column, entry in self.table.columns.items()
            if entry.role is not Role.IDENTIFIER
            and (entry.values is None or self.source.has_few_values(self.table.source_names[column]))
        }
        return {column: late for column, late in found.items() if late is not None}

    def build_name(self, deferred: frozenset[str]) -> str:
        """Return a unique name for the table with these columns deferred; JSON keeps any names distinct."""
        return self.dialect.shorten_identifier(
            f"{DEFERRED_PREFIX} {json.dumps([self.name, *sorted(deferred)])}"
        )

    def build_definition(self, deferred: frozenset[str]) -> TranslatedStatement:
        """Return the table's SELECT with these columns deferred and all others encoded."""
        origin = self.source.to_engine_table(self.table.source_names, deferred)
        outputs = []
        for column, entry in self.table.columns.items():
            if column in deferred:
                outputs.append(f"{self.columns[column].text} AS {quote_identifier(column)}")
            elif entry.role is not Role.IDENTIFIER:
                outputs.append(
                    f"{clamping.encode_column(entry, column, origin.types[column])} AS "
                    f"{quote_identifier(column)}"
                )
        source = f"{SOURCE} {self.name}"
        written = StatementTranslator(dialect=self.dialect, relations={source: origin.relation})
        return written(f"SELECT {', '.join(outputs)} FROM {quote_identifier(source)}")

    def get_column_type(self, column: str) -> SqlType:
        """Return the SQL type of a deferred column."""
        late = DeferredColumn(
            table=self.name, column=column, steps_per_unit=self.columns[column].steps_per_unit
        )
        values = self.table.columns[column].values
        if values is None:
            return replace(sql_types.INTEGER, deferred_column=late)
        return SqlType(family=TypeFamily.ENUM, values=tuple(values), deferred_column=late)


@dataclass(frozen=True, kw_only=True)
class DeferringTranslator:
    """Translates our statements for one engine, each with as many deferred columns as it allows.

    `definitions` gains an entry for each set of deferred columns of a table.
    """

    tables: Mapping[str, DeferredTable]
    encoded_translator: StatementTranslator
    definitions: dict[str, TranslatedStatement]
    cache: dict[str, TranslatedStatement] = field(default_factory=dict)

    def __call__(self, sql: str) -> TranslatedStatement:
        return get_or_translate(self.cache, sql, self._translate)

    def _translate(self, sql: str) -> TranslatedStatement:
        # each failure names one column that must be encoded, so the loop ends
        late = {name: frozenset(table.columns) for name, table in self.tables.items()}
        while any(late.values()):
            relations = {
                name: self._build_relation(name, columns) for name, columns in late.items() if columns
            }
            try:
                return replace(
                    self.encoded_translator,
                    relations={**self.encoded_translator.relations, **relations},
                    cache={},
                )(sql)
            except NotEncodedError as error:
                late[error.late.table] -= {error.late.column}
        return self.encoded_translator(sql)

    def _build_relation(self, name: str, deferred: frozenset[str]) -> SqlRelation:
        """Return the table with these columns deferred; its definition is translated and verified once."""
        table = self.tables[name]
        called = table.build_name(deferred)
        if called not in self.definitions:
            self.definitions[called] = table.build_definition(deferred)
        columns = dict(self.definitions[called].columns) | {
            column: table.get_column_type(column) for column in deferred
        }
        text = sql_marks.mark_name(called, self.encoded_translator.dialect)
        return SqlRelation(text=text, columns=columns, tables=frozenset({called}))


def build_deferring_translator(
    policy: Policy,
    sources: Mapping[str, ReadableTable],
    translator: StatementTranslator,
    definitions: dict[str, TranslatedStatement],
) -> DeferringTranslator:
    """Return a translator that defers the encoding of columns, in tables without a person column."""
    tables = {
        name: DeferredTable(name=name, table=table, source=sources[name], dialect=translator.dialect)
        for name, table in policy.tables.items()
        if not table.has_person_key
    }
    return DeferringTranslator(tables=tables, encoded_translator=translator, definitions=definitions)
