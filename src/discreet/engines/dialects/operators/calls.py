"""Writer of calls to functions that sqlglot does not know by name."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from discreet.engines.dialects import kinds
from discreet.engines.dialects.dialect import unsupported
from discreet.engines.dialects.expressions import Calls, Expressions, Writers
from discreet.engines.dialects.kinds import Piece
from discreet.engines.dialects.operators import bits, conditions, hashes, numbers, times, totals
from discreet.engines.dialects.scope import Scope


def call(writer: Expressions, node: Any, scope: Scope) -> Piece:
    name = node.name.lower()
    if name == "date_part":
        return times.part(writer, node, scope)
    if name == "sum_no_overflow":
        return totals.small_total(writer, node, scope)
    if name == "getvariable":
        return Piece(text=writer.dialect.variable(str(node.expressions[0].this)), kind=kinds.TEXT)
    found = CALLS.get(name)
    if found is None:
        unsupported(writer.dialect.name, f"the function {name}")
    return found(writer, writer.all(node.expressions, scope))


CALLS: Calls = numbers.CALLS | conditions.CALLS | bits.CALLS | hashes.CALLS
WRITERS: Writers = {exp.Anonymous: call}
