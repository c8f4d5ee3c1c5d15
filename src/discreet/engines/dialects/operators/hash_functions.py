"""Writers of hashes, which identify people and order rows."""

from __future__ import annotations

from discreet.engines.dialects import sql_types
from discreet.engines.dialects.expression_writer import ExpressionWriter, FunctionWriters
from discreet.engines.dialects.sql_types import TypedSql, TypeFamily


def write_sort_key(writer: ExpressionWriter, pieces: list[TypedSql]) -> TypedSql:
    return TypedSql(text=writer.dialect.write_digest(pieces[::2]), sql_type=sql_types.DIGEST)


def write_person_hash(writer: ExpressionWriter, pieces: list[TypedSql]) -> TypedSql:
    return TypedSql(text=pieces[0].text, sql_type=sql_types.PERSON)


def write_row_hash(writer: ExpressionWriter, pieces: list[TypedSql]) -> TypedSql:
    """Write the hash of a row; a hash is not hashed again."""
    if len(pieces) == 1 and pieces[0].sql_type.family is TypeFamily.DIGEST:
        return pieces[0]
    return TypedSql(text=writer.dialect.write_row_hash(pieces), sql_type=sql_types.DIGEST)


CALLS: FunctionWriters = {
    "create_sort_key": write_sort_key,
    "md5_number": write_person_hash,
    "md5_number_lower": write_person_hash,
    "hash": write_row_hash,
}
