"""Public tables, which post-processing reads beside released ones: the SQL of their rows, their schema."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from discreet.core.engine import Engine
from discreet.core.policy import Policy
from discreet.core.sql_quoting import quote_identifier
from discreet.sql import expression_sql
from discreet.sql import sql_compiler as compiled
from discreet.sql.released_table_types import find_released_type
from discreet.sql.row_sources import scan_table


@dataclass(frozen=True, kw_only=True)
class PublicTable:
    """A public table that post-processing reads: its schema, and the engine's SQL of its rows."""

    statement: str
    schema: pa.Schema

    def read(self, engine: Engine | None) -> pa.Table:
        """Return its rows; none without an engine. They are about nobody, so that they cost nothing."""
        if engine is None:
            return self.schema.empty_table()
        return engine.count(self.statement).secret.cast(self.schema)


def describe_public_table(policy: Policy, name: str) -> PublicTable:
    """Return a public table of the policy; its decimals are those of the grid."""
    assert policy.tables[name].person == "none"
    source = scan_table(policy, name, name)
    outputs = ", ".join(
        f"{expression_sql.compile_value(column)} AS {quote_identifier(each)}"
        for each, column in source.names.items()
    )
    kinds = [(each, find_released_type(column.type, is_key=True)) for each, column in source.names.items()]
    return PublicTable(
        statement=f"SELECT {outputs} FROM ({compiled.compile_rows(source.node)}) AS s",
        schema=pa.schema(kinds),
    )
