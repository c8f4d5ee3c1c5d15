"""Deferred columns: how far a column that is not encoded yet can be passed on in a statement.

Rows        are passed on unchanged: selected, joined and filtered by encoded columns.
Groups      are those of the deferred text, not those of its value, which is NULL if the text is none of the
            declared values. There may be more of them. A join that looks up the groups of declared values,
            none of which is NULL, finds the same ones: a text equals the value where it is a declared one,
            and no join looks up the others, which would be NULL.
All else    needs the value, and is refused with `NotEncodedError`: then the column is read encoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from discreet.engines.dialects.expression_writer import NotEncodedError
from discreet.engines.dialects.sql_types import TypedSql

ROW_CLAUSES = {"expressions", "from_", "joins", "where"}
GROUP_CLAUSES = ROW_CLAUSES | {"group"}


def require_encoded(
    select: Any, outputs: Sequence[tuple[str, TypedSql]], joined: frozenset[str] | None
) -> None:
    """Refuse a deferred column that leaves a SELECT as if it were a value.

    `joined` are the columns by which a join looks up the groups of a source; None if the SELECT is no source.
    """
    clauses = {name for name, value in select.args.items() if value}
    if joined is not None and clauses <= ROW_CLAUSES:
        return
    looked_for = joined if joined is not None and clauses <= GROUP_CLAUSES else frozenset()
    for name, piece in outputs:
        if piece.sql_type.deferred_column is not None and name not in looked_for:
            raise NotEncodedError(piece.sql_type.deferred_column)


def find_join_columns(join: Any) -> frozenset[str]:
    """Return the columns of a join's source that it compares by null-safe equality, all joined by AND."""
    on, alias = join.args.get("on"), join.this.alias_or_name
    parts = on.flatten() if isinstance(on, exp.And) else [on]
    keys = [part.expression for part in parts if isinstance(part, exp.NullSafeEQ)]
    return frozenset(key.name for key in keys if isinstance(key, exp.Column) and key.table == alias)
