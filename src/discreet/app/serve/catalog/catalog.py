"""The built-in catalog, and the protocol of all catalogs.

A catalog never reads the database with the data, and its answers are free: the schema is public.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from discreet.app.serve.catalog.functions import MACROS
from discreet.app.serve.catalog.rewriting import ROLES, Rewriting, Setting, parsed
from discreet.app.serve.catalog.tables import tables
from discreet.app.wire.door import Column, Columns, Prepared, Result, Values
from discreet.app.wire.kinds import Kind
from discreet.core.policy import Policy
from discreet.engines.schema_database import SchemaDatabase
from discreet.sql.query_parameters import count_parameters


class Catalog(Protocol):
    """A source of answers to catalog queries."""

    def prepare(self, sql: str, kinds: Sequence[Kind | None], user: str, setting: Setting) -> Prepared:
        """Prepare a catalog query; running it is free."""

    def close(self) -> None:
        """Close the catalog's database."""


class BuiltIn:
    """A small catalog that serves psql's \\d, \\dt, \\l, \\du and the reflection of SQLAlchemy."""

    def __init__(self, policy: Policy) -> None:
        held = tables(policy)
        self.known = {*held, *ROLES}
        self.database = SchemaDatabase(held, MACROS)

    def prepare(self, sql: str, kinds: Sequence[Kind | None], user: str, setting: Setting) -> Prepared:
        statement = parsed(sql)
        count = 0 if statement is None else count_parameters(statement)
        named = tuple(kind or Kind.TEXT for kind in (*kinds, *[None] * count))[:count]
        return _Asked(self, sql, Rewriting(known=self.known, user=user, setting=setting), named)

    def close(self) -> None:
        self.database.close()


@dataclass
class _Asked:
    catalog: BuiltIn
    sql: str
    rewriting: Rewriting
    parameters: tuple[Kind, ...]
    _found: tuple[Values, pa.Table] | None = None

    def _table(self, values: Values) -> pa.Table:
        if self._found is None or self._found[0] != values:
            self._found = values, self.catalog.database.run(self.rewriting.text(self.sql, values))
        return self._found[1]

    def columns(self, values: Values | None) -> Columns | None:
        table = self._table((None,) * len(self.parameters) if values is None else values)
        return tuple(Column(name=each.name, kind=_kind(each.type)) for each in table.schema)

    def run(self, values: Values, wanted: Callable[[], bool]) -> Result:
        table = self._table(values)
        return Result(rows=list(zip(*(column.to_pylist() for column in table.columns), strict=True)))


def _kind(kind: pa.DataType) -> Kind:
    if pa.types.is_list(kind):
        return Kind.INTEGERS if pa.types.is_integer(kind.value_type) else Kind.TEXTS
    if pa.types.is_integer(kind) and kind.bit_width < 64:
        return Kind.INTEGER
    for is_one, found in (
        (pa.types.is_boolean, Kind.BOOLEAN),
        (pa.types.is_integer, Kind.BIGINT),
        (pa.types.is_floating, Kind.DOUBLE),
        (pa.types.is_decimal, Kind.NUMERIC),
    ):
        if is_one(kind):
            return found
    return Kind.TEXT
