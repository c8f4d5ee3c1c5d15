"""Expressions of our statements, each with its kind, written as a dialect writes them.

The set is closed: a node that is not listed here is refused before any data is read. Kinds are inferred from
those of the columns, as DuckDB does, so that a dialect knows what it compares, converts and rounds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from sqlglot import exp

from discreet.engines.dialects import kinds
from discreet.engines.dialects.dialect import Dialect, unsupported
from discreet.engines.dialects.kinds import Family, Kind, Piece
from discreet.engines.dialects.scope import Scope

Node = exp.Expr
TYPES = {
    exp.DType.BOOLEAN: kinds.BOOLEAN,
    exp.DType.INT: kinds.INTEGER,
    exp.DType.BIGINT: kinds.INTEGER,
    exp.DType.INT128: kinds.WIDE,
    exp.DType.DOUBLE: kinds.DOUBLE,
    exp.DType.VARCHAR: kinds.TEXT,
    exp.DType.TEXT: kinds.TEXT,
    exp.DType.DATE: kinds.DATE,
    exp.DType.TIMESTAMP: kinds.TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: kinds.TIMESTAMP,
    exp.DType.TIMESTAMPTZ: kinds.ZONED,
}
ORDERED = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
EQUAL = {exp.EQ: "=", exp.NEQ: "<>"}
ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}
SMALL = 1 << 31


@dataclass(frozen=True, kw_only=True)
class Expressions:
    """Writes expressions in one dialect."""

    dialect: Dialect

    def write(self, node: Node, scope: Scope) -> Piece:
        writer = WRITERS.get(type(node))
        if writer is None:
            unsupported(self.dialect.name, f"{type(node).__name__} in a statement")
        return writer(self, node, scope)

    def all(self, nodes: Sequence[Node], scope: Scope) -> list[Piece]:
        return [self.write(node, scope) for node in nodes]

    # -- Kinds ------------------------------------------------------------------------------------------

    def as_kind(self, piece: Piece, to: Kind) -> Piece:
        """The same value as another kind, where an engine would not convert it alike by itself."""
        have, want = piece.kind.family, to.family
        if have is want or want is Family.NULL:
            return piece
        if have is Family.NULL:
            return Piece(text=f"CAST(NULL AS {self.dialect.types[want]})", kind=to)
        if have is Family.ENUM:
            return self.as_kind(Piece(text=piece.text, kind=kinds.TEXT), to)
        if want is Family.DOUBLE and piece.constant is not None:
            return Piece(text=self.dialect.floating(piece.text.strip("()")), kind=to, constant=piece.constant)
        return Piece(text=self.dialect.converted(piece, to, narrow=False), kind=to, constant=piece.constant)

    def aligned(self, pieces: Sequence[Piece]) -> tuple[list[Piece], Kind]:
        """All as one kind."""
        kind = kinds.union([piece.kind for piece in pieces])
        if kind is None:
            unsupported(self.dialect.name, "a comparison of different types")
        return [self.as_kind(piece, kind) for piece in pieces], kind

    def boolean(self, piece: Piece) -> Piece:
        return self.as_kind(piece, kinds.BOOLEAN)

    def comparable(self, piece: Piece) -> str:
        """What orders as the value does in DuckDB."""
        if piece.kind.family is Family.ENUM:
            return self.dialect.place(piece.kind.values, piece)
        return piece.text

    # -- Constants and names ----------------------------------------------------------------------------

    def literal(self, node: Any, scope: Scope) -> Piece:
        text = str(node.this)
        if node.is_string:
            return Piece(text=self.dialect.literal(text), kind=kinds.TEXT)
        size = abs(float(text))
        if re.fullmatch(r"\d+", text):
            family = Family.INTEGER if size < 2**63 else Family.WIDE
            return Piece(text=text, kind=Kind(family=family, least=size or 1, largest=size), constant=size)
        if re.fullmatch(r"\d*\.\d*", text):
            return Piece(
                text=text, kind=Kind(family=Family.DECIMAL, least=size or 1, largest=size), constant=size
            )
        return Piece(text=self.dialect.floating(text), kind=kinds.double(size or 1, size), constant=size)

    def truth(self, node: Any, scope: Scope) -> Piece:
        return Piece(text="TRUE" if node.this else "FALSE", kind=kinds.BOOLEAN)

    def null(self, node: Node, scope: Scope) -> Piece:
        return Piece(text="NULL", kind=kinds.NULL)

    def column(self, node: Any, scope: Scope) -> Piece:
        alias, name, kind = scope.found(node.name, node.table)
        place = f"{self.dialect.quoted(alias)}." if alias else ""
        return Piece(text=f"{place}{self.dialect.quoted(name)}", kind=kind)

    def paren(self, node: Any, scope: Scope) -> Piece:
        return self.write(node.this, scope)

    def negative(self, node: Any, scope: Scope) -> Piece:
        piece = self.write(node.this, scope)
        return Piece(text=f"(-{piece.text})", kind=piece.kind, constant=piece.constant)

    # -- Numbers ----------------------------------------------------------------------------------------

    def arithmetic(self, node: Any, scope: Scope) -> Piece:
        operator = ARITHMETIC[type(node)]
        left, right = self.all([node.left, node.right], scope)
        if right.kind.family is Family.INTERVAL:
            return Piece(text=f"({left.text} + {right.text})", kind=kinds.TIMESTAMP)
        if left.kind.family is Family.DATE:
            return Piece(text=f"({left.text} + {right.text})", kind=kinds.DATE)
        if Family.DOUBLE in (left.kind.family, right.kind.family):
            return self._floating(operator, left, right)
        parts, kind = self.aligned([left, right])
        text = f"({parts[0].text} {operator} {parts[1].text})"
        if kind.family is Family.WIDE:
            text = f"CAST({text} AS {self.dialect.types[Family.WIDE]})"
        return Piece(text=text, kind=_combined(kind.family, operator, left.kind, right.kind))

    def divided(self, node: Any, scope: Scope) -> Piece:
        """In floating point whatever the numbers are."""
        left, right = self.all([node.left, node.right], scope)
        return self._floating("/", left, right)

    def quotient(self, node: Any, scope: Scope) -> Piece:
        """Of whole numbers, by a constant, so that nobody divides by 0."""
        left, right = self.all([node.left, node.right], scope)
        self._require_whole([left, right])
        if not right.constant:
            unsupported(self.dialect.name, "a quotient by what is no constant above 0")
        return Piece(text=self.dialect.quotient(left, right), kind=kinds.INTEGER)

    def _floating(self, operator: str, left: Piece, right: Piece) -> Piece:
        left, right = (self.as_kind(each, _floats(each.kind)) for each in (left, right))
        kind = _combined(Family.DOUBLE, operator, left.kind, right.kind)
        if operator == "/" and not right.constant:
            kind = kinds.DOUBLE
        if _is_safe(operator, left, right, kind):
            return Piece(text=f"({left.text} {operator} {right.text})", kind=kind)
        return Piece(text=f"({self.dialect.computed(operator, left, right)})", kind=kinds.DOUBLE)

    def remainder(self, node: Any, scope: Scope) -> Piece:
        (left, right), kind = self.aligned(self.all([node.left, node.right], scope))
        if kind.family is Family.DOUBLE:
            return Piece(text=self.dialect.remainder(left, right), kind=kinds.DOUBLE)
        return Piece(text=f"({left.text} % {right.text})", kind=kind)

    def absolute(self, node: Any, scope: Scope) -> Piece:
        piece = self.write(node.this, scope)
        return Piece(text=f"abs({piece.text})", kind=piece.kind)

    def exponential(self, node: Any, scope: Scope) -> Piece:
        piece = self.write(node.this, scope)
        return Piece(
            text=self.dialect.exponential(self.as_kind(piece, _floats(piece.kind))), kind=kinds.DOUBLE
        )

    def rounded(self, node: Any, scope: Scope) -> Piece:
        name = {exp.Round: "round", exp.Floor: "floor", exp.Ceil: "ceil", exp.Trunc: "trunc"}[type(node)]
        piece = self.write(node.this, scope)
        piece = self.as_kind(piece, _floats(piece.kind))
        digits = node.args.get("decimals")
        if digits is None:
            return self._rounded(name, piece)
        return self._to_digits(piece, int(digits.sql()))

    def _rounded(self, name: str, piece: Piece) -> Piece:
        kind = kinds.double(1, max(1.0, piece.kind.largest * 2))
        return Piece(text=self.dialect.rounded(name, piece), kind=kind)

    def _to_digits(self, piece: Piece, digits: int) -> Piece:
        """As DuckDB does: a multiple that is too large leaves the number as it is, or makes it 0."""
        if abs(digits) > 300:
            unsupported(self.dialect.name, f"rounding to {digits} digits")
        power = _number(self.dialect, 10.0 ** abs(digits))
        there, back = ("*", "/") if digits >= 0 else ("/", "*")
        scaled = self._rounded("round", self._floating(there, piece, power))
        found = self._floating(back, scaled, power)
        if found.kind.moderate:
            return found
        whole = piece.text if digits >= 0 else self.dialect.floating("0")
        finite = f"({self.dialect.is_finite(found)})"
        text = f"(CASE WHEN {finite} THEN {found.text} WHEN {found.text} IS NOT NULL THEN {whole} END)"
        return Piece(text=text, kind=kinds.DOUBLE)

    # -- Conversions ------------------------------------------------------------------------------------

    def cast(self, node: Any, scope: Scope) -> Piece:
        to, narrow = self.kind_of(node.to), node.to.this is exp.DType.INT
        if isinstance(node.this, exp.Literal) and node.this.is_string and to.family is not Family.TEXT:
            return self._constant(str(node.this.this), to)
        if to.many:
            items = self.dialect.listed([self.dialect.literal(value) for value in to.values], to.element)
            return Piece(text=items, kind=to)
        piece = self.write(node.this, scope)
        if to.family is Family.ENUM:
            return self._of_values(self.as_kind(piece, kinds.TEXT), to)
        if to.family is Family.ZONED:
            to = kinds.TIMESTAMP  # all times are in UTC
        return self._converted(piece, to, narrow=narrow)

    def _converted(self, piece: Piece, to: Kind, *, narrow: bool) -> Piece:
        have = piece.kind.family
        hidden = have is Family.PERSON and to.family is Family.WIDE
        if hidden or (have is to.family and not narrow):
            return piece
        if have is Family.ENUM:
            piece = self.as_kind(piece, kinds.TEXT)
        if to.family is Family.DOUBLE and piece.kind.numeric:
            to = _floats(piece.kind)
        if have is Family.NULL or (piece.constant is not None and to.family is Family.DOUBLE):
            return self.as_kind(piece, to)
        text = self.dialect.converted(piece, to, narrow=narrow)
        return Piece(text=text, kind=to, constant=piece.constant)

    def _constant(self, text: str, to: Kind) -> Piece:
        if to.family is Family.DOUBLE:
            size = abs(float(text))
            return Piece(text=self.dialect.floating(text), kind=kinds.double(size or 1, size), constant=size)
        text = f"CAST({self.dialect.literal(text)} AS {self.dialect.types[to.family]})"
        return Piece(text=text, kind=to)

    def _of_values(self, piece: Piece, to: Kind) -> Piece:
        among = ", ".join(map(self.dialect.literal, to.values))
        return Piece(text=f"CASE WHEN {piece.text} IN ({among}) THEN {piece.text} END", kind=to)

    def kind_of(self, to: Any) -> Kind:
        """What a type's name means."""
        if to.this is exp.DType.ENUM:
            return Kind(family=Family.ENUM, values=tuple(str(each.this) for each in to.expressions))
        if to.this in (exp.DType.ARRAY, exp.DType.LIST):
            inner = self.kind_of(to.expressions[0])
            return Kind(family=inner.family, values=inner.values, many=True)
        if to.this not in TYPES:
            unsupported(self.dialect.name, f"the type {to.this.name}")
        return TYPES[to.this]

    # -- Conditions -------------------------------------------------------------------------------------

    def compared(self, node: Any, scope: Scope) -> Piece:
        left, right = self.all([node.left, node.right], scope)
        if type(node) in ORDERED and left.kind == right.kind:
            texts = [self.comparable(left), self.comparable(right)]
        else:
            texts = [piece.text for piece in self.aligned([left, right])[0]]
        operator = (ORDERED | EQUAL)[type(node)]
        return Piece(text=f"({texts[0]} {operator} {texts[1]})", kind=kinds.BOOLEAN)

    def between(self, node: Any, scope: Scope) -> Piece:
        (of, low, high), _ = self.aligned(self.all([node.this, node.args["low"], node.args["high"]], scope))
        return Piece(text=f"({of.text} BETWEEN {low.text} AND {high.text})", kind=kinds.BOOLEAN)

    def among(self, node: Any, scope: Scope) -> Piece:
        pieces, _ = self.aligned(self.all([node.this, *node.expressions], scope))
        others = ", ".join(piece.text for piece in pieces[1:])
        return Piece(text=f"({pieces[0].text} IN ({others}))", kind=kinds.BOOLEAN)

    def same(self, node: Any, scope: Scope) -> Piece:
        (left, right), _ = self.aligned(self.all([node.left, node.right], scope))
        return Piece(text=self.dialect.same(left, right), kind=kinds.BOOLEAN)

    def is_null(self, node: Any, scope: Scope) -> Piece:
        if not isinstance(node.expression, exp.Null):
            unsupported(self.dialect.name, "IS with anything but NULL")
        return Piece(text=f"({self.write(node.this, scope).text} IS NULL)", kind=kinds.BOOLEAN)

    def joined(self, node: Any, scope: Scope) -> Piece:
        word = "AND" if isinstance(node, exp.And) else "OR"
        parts = [self.boolean(each).text for each in self.all(list(node.flatten()), scope)]
        return Piece(text=f"({f' {word} '.join(parts)})", kind=kinds.BOOLEAN)

    def negated(self, node: Any, scope: Scope) -> Piece:
        return Piece(text=f"(NOT {self.boolean(self.write(node.this, scope)).text})", kind=kinds.BOOLEAN)

    def case(self, node: Any, scope: Scope) -> Piece:
        arms = node.args["ifs"]
        conditions = [self._condition(node.this, each.this, scope) for each in arms]
        default = node.args.get("default") or exp.Null()
        values, kind = self.aligned(self.all([*(each.args["true"] for each in arms), default], scope))
        whens = " ".join(
            f"WHEN {condition} THEN {value.text}"
            for condition, value in zip(conditions, values[:-1], strict=True)
        )
        return Piece(text=f"(CASE {whens} ELSE {values[-1].text} END)", kind=kind)

    def _condition(self, of: Node | None, node: Node, scope: Scope) -> str:
        if of is None:
            return self.boolean(self.write(node, scope)).text
        return self.compared(exp.EQ(this=of.copy(), expression=node.copy()), scope).text

    # -- Choices ----------------------------------------------------------------------------------------

    def first_known(self, node: Any, scope: Scope) -> Piece:
        pieces, kind = self.aligned(self.all([node.this, *node.expressions], scope))
        if kind.family is Family.NULL:
            return Piece(text="NULL", kind=kind)
        return Piece(text=f"coalesce({', '.join(piece.text for piece in pieces)})", kind=kind)

    def extreme(self, node: Any, scope: Scope) -> Piece:
        name = "least" if isinstance(node, exp.Least) else "greatest"
        pieces, kind = self.aligned(self.all([node.this, *node.expressions], scope))
        if kind.family is Family.NULL or len(pieces) == 1:
            return pieces[0]
        if kind.family is Family.DOUBLE:
            kind = kinds.double(kind.least, kind.largest)
        texts = ", ".join(map(self.comparable, pieces))
        found = f"{name}({texts})"
        if kind.family is Family.ENUM:
            found = self.dialect.at(kind.values, found)
        return Piece(text=found, kind=kind)

    def nullif(self, node: Any, scope: Scope) -> Piece:
        (left, right), kind = self.aligned(self.all([node.this, node.expression], scope))
        return Piece(text=f"nullif({left.text}, {right.text})", kind=kind)

    # -- Text -------------------------------------------------------------------------------------------

    def cased(self, node: Any, scope: Scope) -> Piece:
        text = self._text(node.this, scope)
        written = self.dialect.lower(text) if isinstance(node, exp.Lower) else self.dialect.upper(text)
        return Piece(text=written, kind=kinds.TEXT)

    def trimmed(self, node: Any, scope: Scope) -> Piece:
        return Piece(text=f"trim({self._text(node.this, scope).text})", kind=kinds.TEXT)

    def length(self, node: Any, scope: Scope) -> Piece:
        text = f"length({self._text(node.this, scope).text})"
        return Piece(text=f"CAST({text} AS {self.dialect.types[Family.INTEGER]})", kind=kinds.INTEGER)

    def substring(self, node: Any, scope: Scope) -> Piece:
        """From a place on, counted from the end where it is negative; a negative length goes backwards."""
        text = self._text(node.this, scope)
        start, length = node.args["start"], node.args.get("length")
        places = [self.write(each, scope) for each in (start, length) if each is not None]
        size = f"length({text.text})"
        start_text = places[0].text
        first = (
            f"(CASE WHEN {start_text} > 0 THEN {start_text} - 1 "
            f"WHEN {start_text} < 0 THEN {size} + {start_text} ELSE -1 END)"
        )
        end = f"({first} + {places[1].text})" if length is not None else size
        begin = f"greatest(0, least({first}, {end}))" if length is not None else f"greatest(0, {first})"
        last = f"least({size}, greatest({first}, {end}))" if length is not None else size
        whole = self.dialect.types[Family.INTEGER]
        narrow = "INTEGER" if whole.upper() == "BIGINT" else whole
        known = " AND ".join(f"{each.text} IS NOT NULL" for each in places)
        cut = (
            f"substr({text.text}, CAST(least({begin}, {SMALL - 2}) + 1 AS {narrow}), "
            f"CAST(greatest(0, {last} - {begin}) AS {narrow}))"
        )
        return Piece(text=f"(CASE WHEN {known} THEN {cut} END)", kind=kinds.TEXT)

    def _text(self, node: Node, scope: Scope) -> Piece:
        return self.as_kind(self.write(node, scope), kinds.TEXT)

    # -- Times ------------------------------------------------------------------------------------------

    def truncated(self, node: Any, scope: Scope) -> Piece:
        piece = self.write(node.this, scope)
        unit = str(node.args["unit"].name).lower()
        moment = piece if piece.kind.family is Family.TIMESTAMP else self.as_kind(piece, kinds.TIMESTAMP)
        return Piece(text=self.dialect.truncated(unit, moment), kind=kinds.TIMESTAMP)

    def interval(self, node: Any, scope: Scope) -> Piece:
        number, unit = int(node.this.name), node.args["unit"].name.upper()
        if unit == "WEEK":
            number, unit = 7 * number, "DAY"
        text = f"INTERVAL '{number}' {unit}"
        return Piece(text=text, kind=kinds.INTERVAL)

    # -- Lists ------------------------------------------------------------------------------------------

    def array(self, node: Any, scope: Scope) -> Piece:
        pieces, kind = self.aligned(self.all(node.expressions, scope))
        many = Kind(family=kind.family, values=kind.values, many=True)
        return Piece(text=self.dialect.listed([piece.text for piece in pieces], kind), kind=many)

    def span(self, node: Any, scope: Scope) -> Piece:
        first, end = self.all([node.args["start"], node.args["end"]], scope)
        many = Kind(family=Family.INTEGER, least=1, largest=2.0**64, many=True)
        return Piece(text=self.dialect.span(first.text, end.text), kind=many)

    def moments(self, node: Any, scope: Scope) -> Piece:
        """A span of time as a list of what each of its moments is converted to."""
        span, to = node.this, self.kind_of(node.expression.this.to)
        parts = [span.args["start"], span.args["end"], span.args["step"]]
        first, end, step = (self.write(each, scope) for each in parts)
        first, end = (self.as_kind(each, kinds.TIMESTAMP) for each in (first, end))
        text = self.dialect.moments(first.text, end.text, step.text, to)
        return Piece(text=text, kind=Kind(family=to.family, many=True))

    def appended(self, node: Any, scope: Scope) -> Piece:
        piece = self.write(node.this, scope)
        return Piece(text=self.dialect.appended(piece), kind=piece.kind)

    def unnested(self, node: Any, scope: Scope) -> Piece:
        piece = self.write(node.this, scope)
        return Piece(text=self.dialect.unnested(piece), kind=piece.kind.element)

    # -- Bits -------------------------------------------------------------------------------------------

    def shifted(self, node: Any, scope: Scope) -> Piece:
        left, right = self.all([node.left, node.right], scope)
        if left.kind.family is Family.PERSON:
            return left  # the bit that DuckDB needs for a sign
        self._require_whole([left, right])
        direction = "<<" if isinstance(node, exp.BitwiseLeftShift) else ">>"
        return Piece(text=self.dialect.shifted(direction, left, right), kind=kinds.INTEGER)

    def shared_bits(self, node: Any, scope: Scope) -> Piece:
        pieces = self.all([node.left, node.right], scope)
        self._require_whole(pieces)
        return Piece(text=f"({pieces[0].text} & {pieces[1].text})", kind=kinds.INTEGER)

    def _require_whole(self, pieces: list[Piece]) -> None:
        if any(piece.kind.family is not Family.INTEGER for piece in pieces):
            unsupported(self.dialect.name, "the quotient or the bits of what is no whole number")

    def any_bits(self, node: Any, scope: Scope) -> Piece:
        return Piece(text=self.dialect.any_bits(self.write(node.this, scope)), kind=kinds.INTEGER)

    # -- Totals -----------------------------------------------------------------------------------------

    def counted(self, node: Any, scope: Scope) -> Piece:
        inner = node.this
        if isinstance(inner, exp.Star):
            text = "*"
        elif isinstance(inner, exp.Distinct):
            text = f"DISTINCT {self.write(inner.expressions[0], scope).text}"
        else:
            text = self.write(inner, scope).text
        return Piece(text=f"count({text})", kind=kinds.INTEGER)

    def total(self, node: Any, scope: Scope) -> Piece:
        if isinstance(node.this, exp.Order):
            (by,) = node.this.expressions
            value, order = self.write(node.this.this, scope), self.write(by.this, scope)
            return Piece(text=self.dialect.total_in_order(value, order), kind=kinds.DOUBLE)
        piece = self.write(node.this, scope)
        if piece.kind.family is Family.BOOLEAN:
            piece = self.as_kind(piece, kinds.INTEGER)
        if piece.kind.family is not Family.INTEGER:
            unsupported(self.dialect.name, "a sum of numbers that are not whole")
        return Piece(text=self.dialect.total(piece, small=False), kind=kinds.WIDE)

    def limit(self, node: Any, scope: Scope) -> Piece:
        name = "min" if isinstance(node, exp.Min) else "max"
        piece = self.write(node.this, scope)
        found = f"{name}({self.comparable(piece)})"
        if piece.kind.family is Family.ENUM:
            found = self.dialect.at(piece.kind.values, found)
        elif piece.kind.family is Family.BOOLEAN:
            found = f"{'bool_and' if name == 'min' else 'bool_or'}({piece.text})"
        return Piece(text=found, kind=piece.kind)

    def filtered(self, node: Any, scope: Scope) -> Piece:
        """Only totals that end in a call can be filtered: those of an ENUM are taken apart first."""
        condition = self.boolean(self.write(node.expression.this, scope))
        inner = node.this
        if isinstance(inner, exp.Min | exp.Max):
            kept = exp.Case(ifs=[exp.If(this=node.expression.this.copy(), true=inner.this.copy())])
            return self.limit(type(inner)(this=kept), scope)
        if isinstance(inner, exp.Sum) and isinstance(inner.this, exp.Order):
            kept = exp.Case(ifs=[exp.If(this=node.expression.this.copy(), true=inner.this.this.copy())])
            order = exp.Order(this=kept, expressions=[each.copy() for each in inner.this.expressions])
            return self.total(exp.Sum(this=order), scope)
        piece = self.write(inner, scope)
        return Piece(text=f"{piece.text} FILTER (WHERE {condition.text})", kind=piece.kind)

    # -- Windows ----------------------------------------------------------------------------------------

    def window(self, node: Any, scope: Scope) -> Piece:
        piece = self.write(node.this, scope)
        if node.args.get("alias") is not None and node.args.get("partition_by") is None:
            return Piece(
                text=f"{piece.text} OVER ({scope.windows[node.args['alias'].name]})", kind=piece.kind
            )
        return Piece(text=f"{piece.text} OVER ({self.frame(node, scope)})", kind=piece.kind)

    def frame(self, node: Any, scope: Scope) -> str:
        parts = [piece.text for piece in self.all(node.args.get("partition_by") or [], scope)]
        text = f"PARTITION BY {', '.join(parts)}" if parts else ""
        order = node.args.get("order")
        return f"{text} ORDER BY {self.ordering(order, scope)}".strip() if order is not None else text

    def ordering(self, order: Any, scope: Scope) -> str:
        """In DuckDB's order, NULL last wherever it is not said; behind a hash any order is as good."""
        parts, hashed = [], False
        for each in order.expressions:
            piece = self.write(each.this, scope)
            first = each.args.get("nulls_first")
            down = " DESC" if each.args.get("desc") else ""
            by = piece.text if hashed else self.comparable(piece)
            parts.append(f"{by}{down} NULLS {'FIRST' if first else 'LAST'}")
            hashed = hashed or piece.kind.family is Family.DIGEST
        return ", ".join(parts)

    def row_number(self, node: Any, scope: Scope) -> Piece:
        return Piece(text="row_number()", kind=kinds.INTEGER)

    def dense_rank(self, node: Any, scope: Scope) -> Piece:
        return Piece(text="dense_rank()", kind=kinds.INTEGER)

    def first_value(self, node: Any, scope: Scope) -> Piece:
        piece = self.write(node.this, scope)
        return Piece(text=f"first_value({piece.text})", kind=piece.kind)

    # -- Calls by name ----------------------------------------------------------------------------------

    def grouping(self, node: Any, scope: Scope) -> Piece:
        names = [piece.text for piece in self.all(node.expressions, scope)]
        return Piece(text=self.dialect.grouping(names), kind=kinds.INTEGER)

    def call(self, node: Any, scope: Scope) -> Piece:
        name = node.name.lower()
        return self.part(node, scope) if name == "date_part" else self._named(name, node.expressions, scope)

    def _named(self, name: str, arguments: Sequence[Node], scope: Scope) -> Piece:
        if name == "getvariable":
            return Piece(text=self.dialect.variable(str(arguments[0].this)), kind=kinds.TEXT)
        call = CALLS.get(name)
        if call is None:
            unsupported(self.dialect.name, f"the function {name}")
        return call(self, self.all(arguments, scope))

    # what follows is handed its arguments, written already

    def sort_key(self, pieces: list[Piece]) -> Piece:
        return Piece(text=self.dialect.digest(pieces[::2]), kind=kinds.DIGEST)

    def hidden(self, pieces: list[Piece]) -> Piece:
        return Piece(text=pieces[0].text, kind=kinds.PERSON)

    def hashed(self, pieces: list[Piece]) -> Piece:
        """The hash of a hash is one already."""
        if len(pieces) == 1 and pieces[0].kind.family is Family.DIGEST:
            return pieces[0]
        return Piece(text=self.dialect.scattered(pieces), kind=kinds.DIGEST)

    def small_total(self, pieces: list[Piece]) -> Piece:
        return Piece(text=self.dialect.total(pieces[0], small=True), kind=kinds.INTEGER)

    def bits(self, pieces: list[Piece]) -> Piece:
        return Piece(text=self.dialect.bits(pieces[0]), kind=kinds.INTEGER)

    def like(self, pieces: list[Piece]) -> Piece:
        text, pattern = (self.as_kind(each, kinds.TEXT) for each in pieces[:2])
        return Piece(text=self.dialect.like(text, pattern), kind=kinds.BOOLEAN)

    def part(self, node: Any, scope: Scope) -> Piece:
        name, of = node.expressions
        moment = self.write(of, scope)
        return Piece(text=self.dialect.part(str(name.this), moment), kind=kinds.INTEGER)

    def to_even(self, pieces: list[Piece]) -> Piece:
        return self._rounded("round_even", self.as_kind(pieces[0], _floats(pieces[0].kind)))

    def finite(self, pieces: list[Piece]) -> Piece:
        of = self.as_kind(pieces[0], _floats(pieces[0].kind))
        return Piece(text=f"({self.dialect.is_finite(of)})", kind=kinds.BOOLEAN)

    def not_a_number(self, pieces: list[Piece]) -> Piece:
        of = self.as_kind(pieces[0], _floats(pieces[0].kind))
        return Piece(text=f"({self.dialect.is_nan(of)})", kind=kinds.BOOLEAN)

    def is_nan(self, node: Any, scope: Scope) -> Piece:
        return self._named("isnan", [node.this], scope)


def _floats(kind: Kind) -> Kind:
    if kind.family is Family.DOUBLE or not kind.numeric:
        return kind if kind.family is Family.DOUBLE else kinds.DOUBLE
    return kinds.double(kind.least, kind.largest)


def _combined(family: Family, operator: str, left: Kind, right: Kind) -> Kind:
    """The magnitude of a result in floating point, or of an exact product, from those of its parts."""
    if family is Family.DECIMAL and operator == "*":
        return Kind(family=family, least=left.least * right.least, largest=left.largest * right.largest)
    if family is not Family.DOUBLE:
        return kinds.of(family)
    if operator == "*":
        return kinds.double(left.least * right.least, left.largest * right.largest)
    if operator == "/":
        largest = left.largest / right.least if right.least else inf
        return kinds.double(left.least / (right.largest or 1), largest)
    return kinds.double(min(left.least, right.least) * 2.0**-53, left.largest + right.largest)


def _is_safe(operator: str, left: Piece, right: Piece, kind: Kind) -> bool:
    """Whether no engine can err: nothing too large, nothing too small, nothing divided by 0."""
    if operator == "/":
        return bool(right.constant) and left.kind.moderate and kind.moderate
    if operator == "*":
        return left.kind.moderate and right.kind.moderate and kind.moderate
    return kind.largest <= kinds.HUGE or 0 in (left.constant, right.constant)


def _number(dialect: Dialect, value: float) -> Piece:
    return Piece(text=dialect.floating(repr(value)), kind=kinds.double(value, value), constant=value)


Call = Callable[[Expressions, list[Piece]], Piece]
CALLS: dict[str, Call] = {
    "create_sort_key": Expressions.sort_key,
    "md5_number": Expressions.hidden,
    "md5_number_lower": Expressions.hidden,
    "hash": Expressions.hashed,
    "sum_no_overflow": Expressions.small_total,
    "bit_count": Expressions.bits,
    "like_escape": Expressions.like,
    "round_even": Expressions.to_even,
    "isfinite": Expressions.finite,
    "isnan": Expressions.not_a_number,
}
Writer = Callable[[Expressions, Any, Scope], Piece]
WRITERS: dict[type[Node], Writer] = {
    exp.Literal: Expressions.literal,
    exp.Boolean: Expressions.truth,
    exp.Null: Expressions.null,
    exp.Column: Expressions.column,
    exp.Paren: Expressions.paren,
    exp.Neg: Expressions.negative,
    **dict.fromkeys(ARITHMETIC, Expressions.arithmetic),
    exp.Div: Expressions.divided,
    exp.IntDiv: Expressions.quotient,
    exp.Mod: Expressions.remainder,
    exp.Abs: Expressions.absolute,
    exp.Exp: Expressions.exponential,
    **dict.fromkeys((exp.Round, exp.Floor, exp.Ceil, exp.Trunc), Expressions.rounded),
    exp.Cast: Expressions.cast,
    exp.TryCast: Expressions.cast,
    **dict.fromkeys((*ORDERED, *EQUAL), Expressions.compared),
    exp.Between: Expressions.between,
    exp.In: Expressions.among,
    exp.NullSafeEQ: Expressions.same,
    exp.Is: Expressions.is_null,
    exp.And: Expressions.joined,
    exp.Or: Expressions.joined,
    exp.Not: Expressions.negated,
    exp.Case: Expressions.case,
    exp.Coalesce: Expressions.first_known,
    exp.Least: Expressions.extreme,
    exp.Greatest: Expressions.extreme,
    exp.Nullif: Expressions.nullif,
    exp.Lower: Expressions.cased,
    exp.Upper: Expressions.cased,
    exp.Trim: Expressions.trimmed,
    exp.Length: Expressions.length,
    exp.Substring: Expressions.substring,
    exp.TimestampTrunc: Expressions.truncated,
    exp.DateTrunc: Expressions.truncated,
    exp.Interval: Expressions.interval,
    exp.Array: Expressions.array,
    exp.GenerateSeries: Expressions.span,
    exp.Transform: Expressions.moments,
    exp.ArrayAppend: Expressions.appended,
    exp.Explode: Expressions.unnested,
    exp.BitwiseLeftShift: Expressions.shifted,
    exp.BitwiseRightShift: Expressions.shifted,
    exp.BitwiseAnd: Expressions.shared_bits,
    exp.BitwiseOrAgg: Expressions.any_bits,
    exp.Count: Expressions.counted,
    exp.Sum: Expressions.total,
    exp.Min: Expressions.limit,
    exp.Max: Expressions.limit,
    exp.Filter: Expressions.filtered,
    exp.Window: Expressions.window,
    exp.RowNumber: Expressions.row_number,
    exp.DenseRank: Expressions.dense_rank,
    exp.FirstValue: Expressions.first_value,
    exp.Grouping: Expressions.grouping,
    exp.IsNan: Expressions.is_nan,
    exp.Anonymous: Expressions.call,
}
