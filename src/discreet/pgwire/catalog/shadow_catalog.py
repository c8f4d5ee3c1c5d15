"""The catalog of a shadow database, an empty PostgreSQL database that runs catalog queries unchanged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from discreet.core.policy import Policy
from discreet.core.sql_quoting import quote_identifier, quote_literal
from discreet.engines.shadow_database import ShadowDatabase
from discreet.pgwire.backend import Column, Columns, PreparedStatement, Result, Values
from discreet.pgwire.catalog.catalog_tables import COLUMN_TYPES, describe_column
from discreet.pgwire.catalog.query_rewriter import (
    READ_STATEMENTS,
    WRITE_NODES,
    GetSetting,
    parse_catalog_query,
)
from discreet.pgwire.postgres_types import TYPES_BY_OID, PostgresType
from discreet.pgwire.wire_errors import WireError

# Every word before a parenthesis, also within strings: no parse of the text can call anything else.
CALLED_NAMES = re.compile(r'([\w$]+)"?(?:\s|/\*.*?\*/|--[^\n]*\n)*\(', re.DOTALL)
ARRAY_TYPES = {
    1002: PostgresType.TEXT_ARRAY,
    1003: PostgresType.TEXT_ARRAY,
    1005: PostgresType.INTEGER_ARRAY,
    1028: PostgresType.INTEGER_ARRAY,
    1015: PostgresType.TEXT_ARRAY,
}


class ShadowCatalog:
    """A catalog that runs queries in an empty PostgreSQL database."""

    def __init__(self, url: str, policy: Policy) -> None:
        self.database = ShadowDatabase(
            url, {name: [*_build_statements(name, policy)] for name in policy.tables}
        )

    def prepare(
        self, sql: str, types: Sequence[PostgresType | None], user: str, get_setting: GetSetting
    ) -> PreparedStatement:
        statement = parse_catalog_query(sql)
        writes = statement is None or any(isinstance(node, WRITE_NODES) for node in statement.walk())
        if writes or not isinstance(statement, READ_STATEMENTS) or 'u&"' in sql.lower():
            raise WireError("42601", "The catalog query cannot be parsed.")
        self.database.require_harmless_functions([each.lower() for each in CALLED_NAMES.findall(sql)])
        found = self.database.describe(sql, [kind.oid if kind else 0 for kind in types])
        return _ShadowQuery(
            self,
            sql,
            tuple(TYPES_BY_OID.get(oid, PostgresType.TEXT) for oid in found.parameters),
            tuple(Column(name=name, pg_type=_find_type(oid)) for name, oid in found.columns),
        )

    def close(self) -> None:
        self.database.close()


@dataclass(frozen=True)
class _ShadowQuery:
    catalog: ShadowCatalog
    sql: str
    parameters: tuple[PostgresType, ...]
    described_columns: Columns

    def plan_columns(self, values: Values | None) -> Columns | None:
        return self.described_columns

    def run(self, values: Values, should_continue: Callable[[], bool]) -> Result:
        return Result(rows=self.catalog.database.run(self.sql, values))


def _find_type(oid: int) -> PostgresType:
    return TYPES_BY_OID.get(oid) or ARRAY_TYPES.get(oid, PostgresType.TEXT)


def _build_statements(name: str, policy: Policy) -> Iterator[str]:
    """Yield CREATE TABLE and a comment per column; links are left out, since they would need keys."""
    table = policy.tables[name]
    columns = [
        f"{quote_identifier(each)} {COLUMN_TYPES[column.type][1]}"
        + (" NOT NULL" if column.nulls is False else "")
        for each, column in table.columns.items()
    ]
    yield f"CREATE TABLE {name} ({', '.join(columns)})"
    for each, column in table.columns.items():
        yield f"COMMENT ON COLUMN {name}.{quote_identifier(each)} IS {quote_literal(describe_column(column))}"
