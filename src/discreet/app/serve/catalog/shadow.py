"""The catalog of a shadow database, an empty PostgreSQL database that runs catalog queries unchanged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from discreet.app.serve.catalog.rewriting import READS, WRITES, Setting, parsed
from discreet.app.serve.catalog.tables import TYPES, described
from discreet.app.wire.door import Column, Columns, Prepared, Result, Values
from discreet.app.wire.faults import WireError
from discreet.app.wire.kinds import BY_OID, Kind
from discreet.core.policy import Policy
from discreet.engines.duckdb_connection import quote_identifier, quote_literal
from discreet.engines.shadow_database import ShadowDatabase

# Every word before a parenthesis, also within strings: no parse of the text can call anything else.
CALLED = re.compile(r'([\w$]+)"?(?:\s|/\*.*?\*/|--[^\n]*\n)*\(', re.DOTALL)
ARRAYS = {1002: Kind.TEXTS, 1003: Kind.TEXTS, 1005: Kind.INTEGERS, 1028: Kind.INTEGERS, 1015: Kind.TEXTS}


class Shadow:
    """A catalog that runs queries in an empty PostgreSQL database."""

    def __init__(self, url: str, policy: Policy) -> None:
        self.database = ShadowDatabase(url, {name: [*_statements(name, policy)] for name in policy.tables})

    def prepare(self, sql: str, kinds: Sequence[Kind | None], user: str, setting: Setting) -> Prepared:
        statement = parsed(sql)
        writes = statement is None or any(isinstance(node, WRITES) for node in statement.walk())
        if writes or not isinstance(statement, READS) or 'u&"' in sql.lower():
            raise WireError("42601", "The catalog query cannot be parsed.")
        self.database.require_harmless_functions([each.lower() for each in CALLED.findall(sql)])
        found = self.database.describe(sql, [kind.oid if kind else 0 for kind in kinds])
        return _Asked(
            self,
            sql,
            tuple(BY_OID.get(oid, Kind.TEXT) for oid in found.parameters),
            tuple(Column(name=name, kind=_kind(oid)) for name, oid in found.columns),
        )

    def close(self) -> None:
        self.database.close()


@dataclass(frozen=True)
class _Asked:
    catalog: Shadow
    sql: str
    parameters: tuple[Kind, ...]
    described: Columns

    def columns(self, values: Values | None) -> Columns | None:
        return self.described

    def run(self, values: Values, wanted: Callable[[], bool]) -> Result:
        return Result(rows=self.catalog.database.run(self.sql, values))


def _kind(oid: int) -> Kind:
    return BY_OID.get(oid) or ARRAYS.get(oid, Kind.TEXT)


def _statements(name: str, policy: Policy) -> Iterator[str]:
    """Yield CREATE TABLE and a comment per column; links are left out, since they would need keys."""
    table = policy.tables[name]
    columns = [
        f"{quote_identifier(each)} {TYPES[column.type][1]}{' NOT NULL' if column.nulls is False else ''}"
        for each, column in table.columns.items()
    ]
    yield f"CREATE TABLE {name} ({', '.join(columns)})"
    for each, column in table.columns.items():
        yield f"COMMENT ON COLUMN {name}.{quote_identifier(each)} IS {quote_literal(described(column))}"
