"""The built-in catalog, and the protocol of all catalogs.

A catalog never reads the database with the data, and its answers are free: the schema is public.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from discreet.core.policy import Policy
from discreet.engines.schema_database import SchemaDatabase
from discreet.pgwire.backend import Column, Columns, PreparedStatement, Result, Values
from discreet.pgwire.catalog.catalog_functions import MACROS
from discreet.pgwire.catalog.catalog_tables import build_catalog_tables
from discreet.pgwire.catalog.query_rewriter import ROLE_TABLES, GetSetting, QueryRewriter, parse_catalog_query
from discreet.pgwire.postgres_types import PostgresType
from discreet.sql.query_parameters import count_parameters


class Catalog(Protocol):
    """A source of answers to catalog queries."""

    def prepare(
        self, sql: str, types: Sequence[PostgresType | None], user: str, get_setting: GetSetting
    ) -> PreparedStatement:
        """Prepare a catalog query; running it is free."""

    def close(self) -> None:
        """Close the catalog's database."""


class BuiltinCatalog:
    """A small catalog that serves psql's \\d, \\dt, \\l, \\du and the reflection of SQLAlchemy."""

    def __init__(self, policy: Policy) -> None:
        held = build_catalog_tables(policy)
        self.table_names = {*held, *ROLE_TABLES}
        self.database = SchemaDatabase(held, MACROS)

    def prepare(
        self, sql: str, types: Sequence[PostgresType | None], user: str, get_setting: GetSetting
    ) -> PreparedStatement:
        statement = parse_catalog_query(sql)
        count = 0 if statement is None else count_parameters(statement)
        named = tuple(kind or PostgresType.TEXT for kind in (*types, *[None] * count))[:count]
        return _BuiltinQuery(
            self, sql, QueryRewriter(table_names=self.table_names, user=user, get_setting=get_setting), named
        )

    def close(self) -> None:
        self.database.close()


@dataclass
class _BuiltinQuery:
    catalog: BuiltinCatalog
    sql: str
    rewriter: QueryRewriter
    parameters: tuple[PostgresType, ...]
    _cached_result: tuple[Values, pa.Table] | None = None

    def _run_cached(self, values: Values) -> pa.Table:
        if self._cached_result is None or self._cached_result[0] != values:
            self._cached_result = values, self.catalog.database.run(self.rewriter.rewrite(self.sql, values))
        return self._cached_result[1]

    def plan_columns(self, values: Values | None) -> Columns | None:
        table = self._run_cached((None,) * len(self.parameters) if values is None else values)
        return tuple(Column(name=each.name, pg_type=_find_type(each.type)) for each in table.schema)

    def run(self, values: Values, should_continue: Callable[[], bool]) -> Result:
        table = self._run_cached(values)
        return Result(rows=list(zip(*(column.to_pylist() for column in table.columns), strict=True)))


def _find_type(arrow_type: pa.DataType) -> PostgresType:
    if pa.types.is_list(arrow_type):
        return (
            PostgresType.INTEGER_ARRAY
            if pa.types.is_integer(arrow_type.value_type)
            else PostgresType.TEXT_ARRAY
        )
    if pa.types.is_integer(arrow_type) and arrow_type.bit_width < 64:
        return PostgresType.INTEGER
    for is_one, found in (
        (pa.types.is_boolean, PostgresType.BOOLEAN),
        (pa.types.is_integer, PostgresType.BIGINT),
        (pa.types.is_floating, PostgresType.DOUBLE),
        (pa.types.is_decimal, PostgresType.NUMERIC),
    ):
        if is_one(arrow_type):
            return found
    return PostgresType.TEXT
