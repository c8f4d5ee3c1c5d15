"""Writers of text functions."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from discreet.engines.dialects import kinds
from discreet.engines.dialects.dialect import ALIKE, unsupported
from discreet.engines.dialects.expressions import Expressions, Node, Writers
from discreet.engines.dialects.kinds import Family, Piece
from discreet.engines.dialects.scope import Scope

SMALL = 1 << 31


def cased(writer: Expressions, node: Any, scope: Scope) -> Piece:
    text = _text(writer, node.this, scope)
    written = writer.dialect.lower(text) if isinstance(node, exp.Lower) else writer.dialect.upper(text)
    return Piece(text=written, kind=kinds.TEXT)


def trimmed(writer: Expressions, node: Any, scope: Scope) -> Piece:
    return Piece(text=f"trim({_text(writer, node.this, scope).text})", kind=kinds.TEXT)


def length(writer: Expressions, node: Any, scope: Scope) -> Piece:
    text = f"length({_text(writer, node.this, scope).text})"
    return Piece(text=f"CAST({text} AS {writer.dialect.types[Family.INTEGER]})", kind=kinds.INTEGER)


def substring(writer: Expressions, node: Any, scope: Scope) -> Piece:
    """Write substring: a negative start counts from the end, a negative length goes backwards."""
    text = _text(writer, node.this, scope)
    start, length = node.args["start"], node.args.get("length")
    places = [writer.write(each, scope) for each in (start, length) if each is not None]
    whole = writer.dialect.types[Family.INTEGER]
    narrow = "INTEGER" if whole.upper() == "BIGINT" else whole

    def cut(text: str, start: str, length: str = "") -> str:
        size = f"length({text})"
        first = f"(CASE WHEN {start} > 0 THEN {start} - 1 WHEN {start} < 0 THEN {size} + {start} ELSE -1 END)"
        end = f"({first} + {length})" if length else size
        begin = f"greatest(0, least({first}, {end}))" if length else f"greatest(0, {first})"
        last = f"least({size}, greatest({first}, {end}))" if length else size
        known = f"{start} IS NOT NULL" + (f" AND {length} IS NOT NULL" if length else "")
        part = (
            f"substr({text}, CAST(least({begin}, {SMALL - 2}) + 1 AS {narrow}), "
            f"CAST(greatest(0, {last} - {begin}) AS {narrow}))"
        )
        return f"(CASE WHEN {known} THEN {part} END)"

    return Piece(text=writer.dialect.bind(cut, text.text, *(place.text for place in places)), kind=kinds.TEXT)


def matched(writer: Expressions, node: Any, scope: Scope) -> Piece:
    """Write a full match of a constant pattern, of the kind that every engine reads alike."""
    pattern = node.expression
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        unsupported(writer.dialect.name, "a pattern that is not a constant")
    said = str(pattern.this)
    text = _text(writer, node.this, scope)
    written = writer.dialect.matches(text, writer.text(said), alike=said.startswith(ALIKE))
    return Piece(text=written, kind=kinds.BOOLEAN)


def _text(writer: Expressions, node: Node, scope: Scope) -> Piece:
    return writer.as_kind(writer.write(node, scope), kinds.TEXT)


WRITERS: Writers = {
    exp.Lower: cased,
    exp.Upper: cased,
    exp.Trim: trimmed,
    exp.Length: length,
    exp.Substring: substring,
    exp.RegexpFullMatch: matched,
}
