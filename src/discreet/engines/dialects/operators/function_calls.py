"""Writer of calls to functions that sqlglot does not know by name."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from discreet.engines.dialects import sql_types
from discreet.engines.dialects.dialect import raise_unsupported
from discreet.engines.dialects.expression_writer import ExpressionWriter, FunctionWriters, OperatorWriters
from discreet.engines.dialects.operators import (
    aggregate_functions,
    arithmetic,
    bitwise_functions,
    conditions,
    datetime_functions,
    hash_functions,
)
from discreet.engines.dialects.scope import Scope
from discreet.engines.dialects.sql_types import TypedSql


def write_call(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    name = node.name.lower()
    if name == "date_part":
        return datetime_functions.write_date_part(writer, node, scope)
    if name == "sum_no_overflow":
        return aggregate_functions.write_small_sum(writer, node, scope)
    if name == "getvariable":
        return TypedSql(
            text=writer.dialect.write_variable(str(node.expressions[0].this)), sql_type=sql_types.TEXT
        )
    found = CALLS.get(name)
    if found is None:
        raise_unsupported(writer.dialect.name, f"the function {name}")
    return found(writer, writer.write_all(node.expressions, scope))


CALLS: FunctionWriters = arithmetic.CALLS | conditions.CALLS | bitwise_functions.CALLS | hash_functions.CALLS
WRITERS: OperatorWriters = {exp.Anonymous: write_call}
