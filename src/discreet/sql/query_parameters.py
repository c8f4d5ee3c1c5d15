"""Query parameters $1 to $n: their values are inserted into the parsed tree, never into text.

A value arrives typed and becomes one literal of that type, so nothing in it can be read as SQL. If the client
sends no types, they are inferred from the declared columns with which each parameter is compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal

from sqlglot import exp

from discreet.core.column_entry import ColumnType
from discreet.core.policy import Policy
from discreet.sql.expression_tree import Scalar
from discreet.sql.refusal import format_snippet, refuse_query
from discreet.sql.sql_names import fold_case

MOST = 1_000
CASTS = {
    "TINYINT": ColumnType.INTEGER,
    "SMALLINT": ColumnType.INTEGER,
    "INT": ColumnType.INTEGER,
    "BIGINT": ColumnType.INTEGER,
    "DOUBLE": ColumnType.DECIMAL,
    "FLOAT": ColumnType.DECIMAL,
    "DECIMAL": ColumnType.DECIMAL,
    "BOOLEAN": ColumnType.BOOLEAN,
    "DATE": ColumnType.DATE,
    "TIMESTAMP": ColumnType.TIMESTAMP,
}
WHOLE_PARTS = ("decimals", "start", "length")


def fill_parameters(statement: exp.Expr, values: Sequence[Scalar | float]) -> exp.Expr:
    """Return the statement with every $n replaced by its value."""
    unnumbered = next((each for each in _find_parameters(statement) if _get_position(each) is None), None)
    if values and unnumbered is not None:
        refuse_query(
            f"a parameter is written $1, $2 …, and here it is «{format_snippet(unnumbered)}».",
            "Number the parameters.",
        )
    count = count_parameters(statement)
    if count != len(values):
        refuse_query(f"the question has {count} parameters; {len(values)} came.", "Give each a value.")
    for node in list(_find_parameters(statement)):
        place = _get_position(node)
        if place is not None:
            node.replace(_make_literal(values[place - 1], parent=node.parent))
    return statement


def count_parameters(statement: exp.Expr) -> int:
    """Return the number of parameters: the highest n of any $n."""
    count = max((_get_position(node) or 0 for node in _find_parameters(statement)), default=0)
    if count > MOST:
        refuse_query(f"the question has {count:,} parameters.", f"Use at most {MOST:,}.")
    return count


def infer_parameter_kinds(statement: exp.Expr, policy: Policy) -> tuple[ColumnType, ...]:
    """Return the inferred kind of each parameter; text by default."""
    found: dict[int, ColumnType] = {}
    for node in _find_parameters(statement):
        place, kind = _get_position(node), _infer_kind(node, policy)
        if place is not None and kind is not None:
            found.setdefault(place, kind)
    return tuple(found.get(place + 1, ColumnType.TEXT) for place in range(count_parameters(statement)))


def _find_parameters(statement: exp.Expr) -> Iterator[exp.Expr]:
    return statement.find_all(exp.Placeholder, exp.Parameter)


def _get_position(node: exp.Expr) -> int | None:
    """Return n of $n; None for other placeholders, which validation refuses."""
    name = node.name
    return int(name) if name.isascii() and name.isdigit() and 0 < len(name) < 7 and int(name) else None


def _make_literal(value: Scalar | float, parent: exp.Expr | None) -> exp.Expr:
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, int | float | Decimal):
        number = exp.Literal.number(_format_digits(value))
        return exp.Neg(this=number) if value < 0 else number
    if isinstance(value, str):
        require_valid_characters(value)
    text = exp.Literal.string(value.isoformat() if isinstance(value, date) else str(value))
    if not isinstance(value, date) or isinstance(parent, exp.Cast):
        return text
    return exp.cast(text, "TIMESTAMP" if isinstance(value, datetime) else "DATE")


def _format_digits(value: int | float | Decimal) -> str:
    """Return the digits of a number without its sign."""
    return f"{abs(value):f}" if isinstance(value, Decimal) else str(abs(value))


def require_valid_characters(text: str) -> None:
    """Refuse NUL and unpaired surrogates, which engines would reject."""
    if "\x00" in text or any("\ud800" <= each <= "\udfff" for each in text):
        refuse_query("the question contains NUL or an unpaired surrogate character.", "Leave it out.")


def _infer_kind(node: exp.Expr, policy: Policy) -> ColumnType | None:
    part, around = node.arg_key, node.parent
    while isinstance(around, exp.Paren | exp.Neg):
        part, around = around.arg_key, around.parent
    if isinstance(around, exp.Cast):
        return CASTS.get(around.to.this.name, ColumnType.TEXT)
    if around is None or isinstance(around, exp.Select):
        return None
    if part in WHOLE_PARTS or isinstance(around, exp.Limit | exp.Left):
        return ColumnType.INTEGER
    return _infer_kind_from_neighbours(around, policy)


def _infer_kind_from_neighbours(around: exp.Expr, policy: Policy) -> ColumnType | None:
    if around.find(exp.Count):
        return ColumnType.INTEGER
    if around.find(exp.AggFunc):
        return ColumnType.DECIMAL
    declared = {
        fold_case(name): column.type
        for table in policy.tables.values()
        for name, column in table.columns.items()
    }
    for column in around.find_all(exp.Column):
        if fold_case(column.name) in declared:
            return declared[fold_case(column.name)]
    numbers = any(not literal.is_string for literal in around.find_all(exp.Literal))
    return ColumnType.DECIMAL if numbers else None
