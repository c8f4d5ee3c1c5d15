"""Lateness: how far a column can be passed on that is not encoded yet.

Rows        are passed on as they are: selected, joined and filtered by what is encoded.
Groups      are those of a late text, not those of its value, which is NULL where the text is none of the
            declared values. There may be more of them. Where a join looks for the groups of declared values,
            each of which is known, it finds the same ones: a text is the value where it is one of them, and
            what would be NULL is looked for by nobody.
All else    asks for the value, and is refused with `NotEncodedError`: then the column is read encoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from discreet.engines.dialects.expressions import NotEncodedError
from discreet.engines.dialects.kinds import Piece

ROWS = {"expressions", "from_", "joins", "where"}
GROUPS = ROWS | {"group"}


def require_encoded(select: Any, outputs: Sequence[tuple[str, Piece]], joined: frozenset[str] | None) -> None:
    """Refuse a late column that leaves a SELECT as if it were a value.

    `joined` are the columns by which the groups of a source are looked for; None of what is no source.
    """
    clauses = {name for name, value in select.args.items() if value}
    if joined is not None and clauses <= ROWS:
        return
    looked_for = joined if joined is not None and clauses <= GROUPS else frozenset()
    for name, piece in outputs:
        if piece.kind.late is not None and name not in looked_for:
            raise NotEncodedError(piece.kind.late)


def compared_by(join: Any) -> frozenset[str]:
    """The columns of its source in which a join looks for the same values, in all of them at once."""
    on, alias = join.args.get("on"), join.this.alias_or_name
    parts = on.flatten() if isinstance(on, exp.And) else [on]
    keys = [part.expression for part in parts if isinstance(part, exp.NullSafeEQ)]
    return frozenset(key.name for key in keys if isinstance(key, exp.Column) and key.table == alias)
