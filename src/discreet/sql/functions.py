"""Allow-list of the functions that a query may apply to rows, each with its type rule and its SQL.

`type_inference` derives the type of a result without data; `function_sql` writes SQL that raises no errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.sql import emission, intervals, numeric_emission
from discreet.sql.refusal import refuse
from discreet.sql.types import Family, Type

LONGEST = 30_000

Types = tuple[Type, ...]


@dataclass(frozen=True, kw_only=True)
class Function:
    """One allowed function: its documented syntax, its type rule and its SQL."""

    name: str
    shown: str
    typed: Callable[[Types, tuple[str, ...]], Type]
    written: emission.Emit

    def duckdb(self, args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]) -> str:
        """Return the SQL of a call; NULL if its type is always NULL."""
        text = "NULL" if result.family is Family.NULL else self.written(args, types, result, options)
        if len(text) > LONGEST:
            refuse(
                "an expression is too long when it is written out.",
                "Compute its parts in a subquery: SELECT … FROM (SELECT … AS part FROM …).",
            )
        return text


FUNCTIONS: dict[str, Function] = {
    entry.name: entry
    for entry in (
        Function(
            name="add",
            shown="a + b",
            typed=intervals.arithmetic(lambda x, y: x + y),
            written=numeric_emission.computed("({0} + {1})"),
        ),
        Function(
            name="subtract",
            shown="a - b",
            typed=intervals.arithmetic(lambda x, y: x - y),
            written=numeric_emission.computed("({0} - {1})"),
        ),
        Function(
            name="multiply",
            shown="a * b",
            typed=intervals.arithmetic(lambda x, y: x * y),
            written=numeric_emission.multiply,
        ),
        Function(
            name="divide",
            shown="a / b",
            typed=intervals.divided,
            written=numeric_emission.computed("({0} / {1} + 0e0)", always=False),
        ),
        Function(
            name="modulo",
            shown="a % b",
            typed=intervals.remainder,
            written=numeric_emission.remainder,
        ),
        Function(
            name="negate", shown="-a", typed=intervals.negated, written=numeric_emission.computed("(0 - {0})")
        ),
        Function(
            name="abs",
            shown="ABS(a)",
            typed=intervals.absolute,
            written=numeric_emission.computed("abs({0})"),
        ),
        Function(
            name="round",
            shown="ROUND(a[, digits])",
            typed=intervals.rounded,
            written=numeric_emission.to_whole("round"),
        ),
        Function(
            name="floor",
            shown="FLOOR(a)",
            typed=intervals.floored,
            written=numeric_emission.to_whole("floor"),
        ),
        Function(
            name="ceil", shown="CEIL(a)", typed=intervals.ceiled, written=numeric_emission.to_whole("ceil")
        ),
        Function(
            name="least",
            shown="LEAST(a, b, …)",
            typed=intervals.least,
            written=numeric_emission.choose("least"),
        ),
        Function(
            name="greatest",
            shown="GREATEST(a, b, …)",
            typed=intervals.greatest,
            written=numeric_emission.choose("greatest"),
        ),
        Function(
            name="coalesce",
            shown="COALESCE(a, b, …)",
            typed=intervals.any_of,
            written=numeric_emission.choose("coalesce"),
        ),
        Function(
            name="nullif",
            shown="NULLIF(a, b)",
            typed=intervals.nullif,
            written=numeric_emission.nullif,
        ),
        Function(
            name="case",
            shown="CASE WHEN … THEN … ELSE … END",
            typed=intervals.chosen,
            written=numeric_emission.case,
        ),
        Function(
            name="switch",
            shown="CASE a WHEN … THEN … ELSE … END",
            typed=intervals.switched,
            written=numeric_emission.switch,
        ),
        Function(
            name="equal",
            shown="a = b",
            typed=intervals.compared,
            written=numeric_emission.compare("({0} = {1})"),
        ),
        Function(
            name="unequal",
            shown="a <> b",
            typed=intervals.compared,
            written=numeric_emission.compare("({0} <> {1})"),
        ),
        Function(
            name="less",
            shown="a < b",
            typed=intervals.compared,
            written=numeric_emission.compare("({0} < {1})"),
        ),
        Function(
            name="at_most",
            shown="a <= b",
            typed=intervals.compared,
            written=numeric_emission.compare("({0} <= {1})"),
        ),
        Function(
            name="more",
            shown="a > b",
            typed=intervals.compared,
            written=numeric_emission.compare("({0} > {1})"),
        ),
        Function(
            name="at_least",
            shown="a >= b",
            typed=intervals.compared,
            written=numeric_emission.compare("({0} >= {1})"),
        ),
        Function(
            name="in",
            shown="a IN (x, y, …)",
            typed=intervals.compared,
            written=numeric_emission.is_in,
        ),
        Function(
            name="between",
            shown="a BETWEEN x AND y",
            typed=intervals.compared,
            written=numeric_emission.between,
        ),
        Function(
            name="is_null",
            shown="a IS [NOT] NULL",
            typed=intervals.any_to_boolean,
            written=emission.template("({0} IS NULL)"),
        ),
        Function(name="and", shown="p AND q", typed=intervals.logical, written=emission.joined("AND")),
        Function(name="or", shown="p OR q", typed=intervals.logical, written=emission.joined("OR")),
        Function(name="not", shown="NOT p", typed=intervals.logical, written=emission.template("(NOT {0})")),
        # DuckDB rewrites LIKE itself, and raises an error where its statistics make one side NULL
        Function(
            name="like",
            shown="a LIKE pattern",
            typed=intervals.like,
            written=emission.template("like_escape({0}, {1}, '')"),
        ),
        Function(
            name="lower",
            shown="LOWER(a)",
            typed=intervals.text,
            written=emission.called("lower"),
        ),
        Function(name="upper", shown="UPPER(a)", typed=intervals.text, written=emission.called("upper")),
        Function(
            name="substr",
            shown="SUBSTR(a, from[, length])",
            typed=intervals.text,
            written=numeric_emission.substring,
        ),
        Function(name="length", shown="LENGTH(a)", typed=intervals.length, written=emission.called("length")),
        Function(
            name="part",
            shown="EXTRACT(part FROM d), YEAR(d), MONTH(d), …",
            typed=intervals.part,
            written=emission.dated("CAST(date_part('{1}', {0}) AS BIGINT)"),
        ),
        Function(
            name="truncate",
            shown="DATE_TRUNC('unit', d)",
            typed=intervals.truncated,
            written=emission.dated("CAST(date_trunc('{1}', {0}) AS {2})"),
        ),
        Function(
            name="cast", shown="CAST(a AS type)", typed=intervals.converted, written=numeric_emission.casting
        ),
    )
}
