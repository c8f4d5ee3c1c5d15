"""Operators: a writer for every node that a statement of ours may contain, by subject.

The set is closed: a node that is not listed is refused before any data is read. Engine-specific SQL comes
from the dialect (`dialects.dialect`).
Here stand the calls that sqlglot does not know by name, such as the hashes that identify people and order
rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.engines.dialects import sql_types
from discreet.engines.dialects.dialect import raise_unsupported
from discreet.engines.dialects.operators import (
    aggregate_functions,
    arithmetic,
    casts,
    conditions,
    scalar_functions,
)
from discreet.engines.dialects.sql_types import TypedSql, TypeFamily

if TYPE_CHECKING:
    from discreet.engines.dialects.expression_writer import (
        ExpressionWriter,
        FunctionWriters,
        OperatorWriters,
        Scope,
    )


def write_sort_key(writer: ExpressionWriter, pieces: list[TypedSql]) -> TypedSql:
    return TypedSql(text=writer.dialect.write_digest(pieces[::2]), sql_type=sql_types.DIGEST)


def write_person_hash(writer: ExpressionWriter, pieces: list[TypedSql]) -> TypedSql:
    return TypedSql(text=pieces[0].text, sql_type=sql_types.PERSON)


def write_row_hash(writer: ExpressionWriter, pieces: list[TypedSql]) -> TypedSql:
    """Write the hash of a row; a hash is not hashed again."""
    if len(pieces) == 1 and pieces[0].sql_type.family is TypeFamily.DIGEST:
        return pieces[0]
    return TypedSql(text=writer.dialect.write_row_hash(pieces), sql_type=sql_types.DIGEST)


HASH_CALLS: FunctionWriters = {
    "create_sort_key": write_sort_key,
    "md5_number": write_person_hash,
    "md5_number_lower": write_person_hash,
    "hash": write_row_hash,
}


def write_call(writer: ExpressionWriter, node: Any, scope: Scope) -> TypedSql:
    name = node.name.lower()
    if name == "date_part":
        return scalar_functions.write_date_part(writer, node, scope)
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


CALLS: FunctionWriters = arithmetic.CALLS | conditions.CALLS | scalar_functions.CALLS | HASH_CALLS

OPERATORS: OperatorWriters = {
    node: writer
    for subject in (
        casts,
        arithmetic,
        conditions,
        scalar_functions,
        aggregate_functions,
    )
    for node, writer in subject.WRITERS.items()
} | {exp.Anonymous: write_call}
