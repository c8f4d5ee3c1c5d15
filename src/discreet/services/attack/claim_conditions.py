"""Claims for attacks on answers: a condition on a row that about half of the people meet.

Given by the custodian, or chosen from the real table, for scoring. Numbers are clamped as in the curator's
prepared store, so that a condition means the same in both.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from discreet.core.engine import Publisher
from discreet.core.errors import DataError, RequestError
from discreet.core.policy import Column, ColumnType, Role, Table

CONNECTIVES = (exp.Where, exp.And, exp.Or, exp.Not, exp.Paren)
ROW_COUNT, VALUE = "_discreet_rows", "_discreet_value"


def parse_claim(claim: str, name: str, table: Table) -> exp.Expr:
    """Parse a claim into a condition on the table's columns; a boolean column alone is a claim too."""
    try:
        where = sqlglot.parse_one(f"SELECT 1 WHERE {claim}", dialect="duckdb").args.get("where")
    except (sqlglot.ParseError, sqlglot.TokenError):
        where = None
    if where is None:
        raise _invalid_claim_error(claim)
    for column in list_condition_columns(where):
        if column not in table.columns:
            raise RequestError(
                f"--claim names {column}, which {name} does not have.",
                hint=f"It has {', '.join(table.columns)}.",
            )

    def check_condition_node(node: exp.Expr) -> exp.Expr:
        if not isinstance(node.parent, CONNECTIVES):
            return node
        if isinstance(node, exp.Column) and table.columns[node.name].type is ColumnType.BOOLEAN:
            return node.copy().eq(exp.true())
        if not isinstance(node, (exp.Predicate, *CONNECTIVES)):
            raise _invalid_claim_error(claim)
        return node

    return where.transform(check_condition_node).this  # type: ignore[no-any-return]


def list_condition_columns(condition: exp.Expr) -> set[str]:
    """Return the columns of a condition."""
    return {column.name for column in condition.find_all(exp.Column)}


def rewrite_for_source(condition: exp.Expr, table: Table) -> exp.Expr:
    """Return the claim over the source's own columns, which may all be text."""

    def rewrite_column(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name in table.columns:
            column = table.columns[node.name]
            if column.type is ColumnType.DECIMAL:
                return exp.TryCast(this=exp.column(node.name, quoted=True), to=exp.DataType.build("double"))
            return build_stored_expression(node.name, column)
        return node

    return condition.copy().transform(rewrite_column)


def build_stored_expression(name: str, column: Column) -> exp.Expr:
    """Return a column as the prepared store has it: integers clamped to their bounds, others as text."""
    raw = exp.column(name, quoted=True)
    if column.type is not ColumnType.INTEGER:
        return exp.cast(raw, "text")
    whole = exp.TryCast(this=raw, to=exp.DataType.build("bigint"))
    if column.grid_bounds is None:
        return whole
    low, high = (exp.Literal.number(end) for end in column.grid_bounds)
    return exp.func("least", exp.func("greatest", whole, low), high)


def build_literal(value: object, column: Column) -> exp.Expr:
    """Return a value as an SQL literal of a column's type."""
    return (
        exp.Literal.number(int(str(value)))
        if column.type is ColumnType.INTEGER
        else exp.Literal.string(str(value))
    )


def count_claim_rows(engine: Publisher, name: str, table: Table, claim: str) -> int:
    """Return how many rows meet a claim."""
    rows = exp.select(exp.Count(this=exp.Star()).as_(ROW_COUNT)).from_(exp.to_identifier(name, quoted=True))
    met = rows.where(rewrite_for_source(parse_claim(claim, name, table), table))
    return int(engine.count(met.sql(dialect="duckdb")).secret[ROW_COUNT][0].as_py())


def choose_claim(engine: Publisher, name: str, table: Table) -> str:
    """Return a claim that about half of the people meet, about a sensitive or another declared column."""
    sensitive = [each for each, column in table.columns.items() if column.role is Role.SENSITIVE]
    others = [
        each
        for each, column in table.columns.items()
        if column.values and column.role not in (Role.QUASI, Role.IDENTIFIER)
    ]
    if not sensitive and not others:
        raise RequestError(
            f"attack: {name} has no sensitive column to make a claim about.",
            hint="State a claim: --claim \"disease = 'flu'\".",
        )
    claims = [
        _choose_column_claim(engine, name, each, table.columns[each]) for each in sensitive or others[:1]
    ]
    return min(claims)[1]


def _choose_column_claim(
    engine: Publisher, name: str, column: str, column_policy: Column
) -> tuple[float, str]:
    """Return the distance of the claim's share from one half, and the claim."""
    if column_policy.grid_bounds is not None:
        return (
            0.0,
            f"{exp.column(column, quoted=True).sql(dialect='duckdb')} >= {compute_midpoint(column_policy)}",
        )
    value = exp.cast(exp.column(column, quoted=True), "text")
    counted = (
        exp.select(value.as_(VALUE), exp.Count(this=exp.Star()).as_(ROW_COUNT))
        .from_(exp.to_identifier(name, quoted=True))
        .where(value.copy().is_(exp.null()).not_())
        .group_by(exp.Literal.number(1))
    )
    found = engine.count(counted.sql(dialect="duckdb")).secret.to_pylist()
    known = [row for row in found if column_policy.values is None or row[VALUE] in column_policy.values]
    if not known:
        raise DataError(f"attack: {name} has no value of {column}.", hint="State a claim with --claim.")
    rows = sum(row[ROW_COUNT] for row in known)
    off, said = min((abs(row[ROW_COUNT] / rows - 0.5), row[VALUE]) for row in known)
    return off, exp.column(column, quoted=True).eq(exp.Literal.string(said)).sql(dialect="duckdb")


def compute_midpoint(column: Column) -> str:
    """Return the midpoint of the declared bounds, as SQL."""
    low, high = column.grid_bounds or (0, 0)
    return str(
        float((low + high + 1) // 2 * column.grid_step)
        if column.type is ColumnType.DECIMAL
        else (low + high + 1) // 2
    )


def _invalid_claim_error(claim: str) -> RequestError:
    return RequestError(
        f"--claim must be a condition on a row; got {claim}.", hint="Write --claim \"disease = 'flu'\"."
    )
