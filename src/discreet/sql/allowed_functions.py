"""Allow-list of the functions that a query may apply to rows, each with its type rule and its SQL.

`type_inference` derives the type of a result without data; `function_sql` writes SQL that raises no errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.sql import function_sql, numeric_function_sql, type_inference
from discreet.sql.expression_types import Family, Type
from discreet.sql.refusal import refuse_query

LONGEST = 30_000

Types = tuple[Type, ...]


@dataclass(frozen=True, kw_only=True)
class Function:
    """One allowed function: its documented syntax, its type rule and its SQL."""

    name: str
    syntax: str
    infer_type: Callable[[Types, tuple[str, ...]], Type]
    emit_sql: function_sql.Emit

    def to_duckdb_sql(
        self, args: tuple[str, ...], types: Types, result: Type, options: tuple[str, ...]
    ) -> str:
        """Return the SQL of a call; NULL if its type is always NULL."""
        text = "NULL" if result.family is Family.NULL else self.emit_sql(args, types, result, options)
        if len(text) > LONGEST:
            refuse_query(
                "an expression is too long when it is written out.",
                "Compute its parts in a subquery: SELECT … FROM (SELECT … AS part FROM …).",
            )
        return text


FUNCTIONS: dict[str, Function] = {
    entry.name: entry
    for entry in (
        Function(
            name="add",
            syntax="a + b",
            infer_type=type_inference.make_arithmetic_rule(lambda x, y: x + y),
            emit_sql=numeric_function_sql.make_arithmetic_emitter("({0} + {1})"),
        ),
        Function(
            name="subtract",
            syntax="a - b",
            infer_type=type_inference.make_arithmetic_rule(lambda x, y: x - y),
            emit_sql=numeric_function_sql.make_arithmetic_emitter("({0} - {1})"),
        ),
        Function(
            name="multiply",
            syntax="a * b",
            infer_type=type_inference.make_arithmetic_rule(lambda x, y: x * y),
            emit_sql=numeric_function_sql.compile_product,
        ),
        Function(
            name="divide",
            syntax="a / b",
            infer_type=type_inference.infer_quotient,
            emit_sql=numeric_function_sql.make_arithmetic_emitter(
                "({0} / {1} + 0e0)", is_always_finite=False
            ),
        ),
        Function(
            name="modulo",
            syntax="a % b",
            infer_type=type_inference.infer_remainder,
            emit_sql=numeric_function_sql.compile_remainder,
        ),
        Function(
            name="negate",
            syntax="-a",
            infer_type=type_inference.infer_negation,
            emit_sql=numeric_function_sql.make_arithmetic_emitter("(0 - {0})"),
        ),
        Function(
            name="abs",
            syntax="ABS(a)",
            infer_type=type_inference.infer_absolute_value,
            emit_sql=numeric_function_sql.make_arithmetic_emitter("abs({0})"),
        ),
        Function(
            name="round",
            syntax="ROUND(a[, digits])",
            infer_type=type_inference.infer_rounding,
            emit_sql=numeric_function_sql.make_rounding_emitter("round"),
        ),
        Function(
            name="floor",
            syntax="FLOOR(a)",
            infer_type=type_inference.infer_floor,
            emit_sql=numeric_function_sql.make_rounding_emitter("floor"),
        ),
        Function(
            name="ceil",
            syntax="CEIL(a)",
            infer_type=type_inference.infer_ceiling,
            emit_sql=numeric_function_sql.make_rounding_emitter("ceil"),
        ),
        Function(
            name="least",
            syntax="LEAST(a, b, …)",
            infer_type=type_inference.infer_least,
            emit_sql=numeric_function_sql.make_choice_emitter("least"),
        ),
        Function(
            name="greatest",
            syntax="GREATEST(a, b, …)",
            infer_type=type_inference.infer_greatest,
            emit_sql=numeric_function_sql.make_choice_emitter("greatest"),
        ),
        Function(
            name="coalesce",
            syntax="COALESCE(a, b, …)",
            infer_type=type_inference.infer_common_type,
            emit_sql=numeric_function_sql.make_choice_emitter("coalesce"),
        ),
        Function(
            name="nullif",
            syntax="NULLIF(a, b)",
            infer_type=type_inference.infer_nullif,
            emit_sql=numeric_function_sql.compile_nullif,
        ),
        Function(
            name="case",
            syntax="CASE WHEN … THEN … ELSE … END",
            infer_type=type_inference.infer_case,
            emit_sql=numeric_function_sql.compile_case,
        ),
        Function(
            name="switch",
            syntax="CASE a WHEN … THEN … ELSE … END",
            infer_type=type_inference.infer_switch,
            emit_sql=numeric_function_sql.compile_switch,
        ),
        Function(
            name="equal",
            syntax="a = b",
            infer_type=type_inference.infer_comparison,
            emit_sql=numeric_function_sql.make_comparison_emitter("({0} = {1})"),
        ),
        Function(
            name="unequal",
            syntax="a <> b",
            infer_type=type_inference.infer_comparison,
            emit_sql=numeric_function_sql.make_comparison_emitter("({0} <> {1})"),
        ),
        Function(
            name="less",
            syntax="a < b",
            infer_type=type_inference.infer_comparison,
            emit_sql=numeric_function_sql.make_comparison_emitter("({0} < {1})"),
        ),
        Function(
            name="at_most",
            syntax="a <= b",
            infer_type=type_inference.infer_comparison,
            emit_sql=numeric_function_sql.make_comparison_emitter("({0} <= {1})"),
        ),
        Function(
            name="more",
            syntax="a > b",
            infer_type=type_inference.infer_comparison,
            emit_sql=numeric_function_sql.make_comparison_emitter("({0} > {1})"),
        ),
        Function(
            name="at_least",
            syntax="a >= b",
            infer_type=type_inference.infer_comparison,
            emit_sql=numeric_function_sql.make_comparison_emitter("({0} >= {1})"),
        ),
        Function(
            name="in",
            syntax="a IN (x, y, …)",
            infer_type=type_inference.infer_comparison,
            emit_sql=numeric_function_sql.compile_in,
        ),
        Function(
            name="between",
            syntax="a BETWEEN x AND y",
            infer_type=type_inference.infer_comparison,
            emit_sql=numeric_function_sql.compile_between,
        ),
        Function(
            name="is_null",
            syntax="a IS [NOT] NULL",
            infer_type=type_inference.infer_boolean,
            emit_sql=function_sql.make_template_emitter("({0} IS NULL)"),
        ),
        Function(
            name="and",
            syntax="p AND q",
            infer_type=type_inference.infer_logic,
            emit_sql=function_sql.make_infix_emitter("AND"),
        ),
        Function(
            name="or",
            syntax="p OR q",
            infer_type=type_inference.infer_logic,
            emit_sql=function_sql.make_infix_emitter("OR"),
        ),
        Function(
            name="not",
            syntax="NOT p",
            infer_type=type_inference.infer_logic,
            emit_sql=function_sql.make_template_emitter("(NOT {0})"),
        ),
        # DuckDB rewrites LIKE itself, and raises an error where its statistics make one side NULL
        Function(
            name="like",
            syntax="a LIKE pattern",
            infer_type=type_inference.infer_like,
            emit_sql=function_sql.make_template_emitter("like_escape({0}, {1}, '')"),
        ),
        Function(
            name="lower",
            syntax="LOWER(a)",
            infer_type=type_inference.infer_text,
            emit_sql=function_sql.make_call_emitter("lower"),
        ),
        Function(
            name="upper",
            syntax="UPPER(a)",
            infer_type=type_inference.infer_text,
            emit_sql=function_sql.make_call_emitter("upper"),
        ),
        Function(
            name="substr",
            syntax="SUBSTR(a, from[, length])",
            infer_type=type_inference.infer_text,
            emit_sql=numeric_function_sql.compile_substring,
        ),
        Function(
            name="length",
            syntax="LENGTH(a)",
            infer_type=type_inference.infer_length,
            emit_sql=function_sql.make_call_emitter("length"),
        ),
        Function(
            name="part",
            syntax="EXTRACT(part FROM d), YEAR(d), MONTH(d), …",
            infer_type=type_inference.infer_date_part,
            emit_sql=function_sql.make_date_emitter("CAST(date_part('{1}', {0}) AS BIGINT)"),
        ),
        Function(
            name="truncate",
            syntax="DATE_TRUNC('unit', d)",
            infer_type=type_inference.infer_date_truncation,
            emit_sql=function_sql.make_date_emitter("CAST(date_trunc('{1}', {0}) AS {2})"),
        ),
        Function(
            name="cast",
            syntax="CAST(a AS type)",
            infer_type=type_inference.infer_cast,
            emit_sql=numeric_function_sql.compile_cast,
        ),
    )
}
