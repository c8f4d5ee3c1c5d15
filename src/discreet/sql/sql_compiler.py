"""SQL compiler: the statements that an engine runs on the prepared store, and on the released table.

The engine returns small integer tables: for every group the keys and one integer per primitive, ordered by
the keys. All groups of declared domains are included, empty ones too, because the domain is written out from
the policy and the counts are joined to it.
"""

from __future__ import annotations

from discreet.core.sql_quoting import quote_identifier
from discreet.sql import expression_sql, row_truncation, row_weighting
from discreet.sql.aggregates import get_answer_total, restore_person_total
from discreet.sql.expression_tree import Column, Expression, find_columns
from discreet.sql.numeric_function_sql import make_comparable
from discreet.sql.query import PostProcessingStage, Query
from discreet.sql.refusal import refuse_query
from discreet.sql.relational_algebra import (
    PERSON,
    RANK,
    WEIGHT,
    Filter,
    Join,
    PersonTotals,
    PrivacyUnit,
    Project,
    RowOrder,
    Rows,
    Scan,
    TruncatedRows,
    WeightedRows,
    find_scans,
)

# -- Rows -------------------------------------------------------------------------------------------------


def compile_rows(node: Rows) -> str:
    """Return the SQL of a subquery that produces the rows of a node."""
    _require_different_names(node)
    if isinstance(node, Scan):
        return _compile_scan(node)
    if isinstance(node, Filter):
        return (
            f"SELECT * FROM ({compile_rows(node.source)}) AS s WHERE "
            f"{expression_sql.compile_value(node.condition)}"
        )
    if isinstance(node, Project):
        outputs = [
            f"{_compile_passed_column(expression)} AS {quote_identifier(column.name)}"
            for column, expression in zip(node.columns, node.expressions, strict=True)
        ]
        return (
            f"SELECT {', '.join(outputs + _list_hidden_columns(node))} FROM "
            f"({compile_rows(node.source)}) AS s"
        )
    if isinstance(node, PersonTotals):
        return _compile_person_totals(node)
    if isinstance(node, WeightedRows):
        weighed = (
            row_weighting.weight_rows_by_window if node.uses_sorting else row_weighting.weight_rows_by_join
        )
        return weighed(compile_rows(node.source), node.max_rows)
    return _compile_truncation(node) if isinstance(node, TruncatedRows) else _compile_join(node)


def _require_different_names(node: Rows) -> None:
    """Refuse two columns whose names differ only in case.

    A case-insensitive engine could read one for the other, without the bounds that were proven for it.
    """
    names = [column.name.lower() for column in node.columns]
    if len(set(names)) < len(names):
        refuse_query("two columns have the same name.", "Give tables and columns other aliases.")


def _compile_truncation(node: TruncatedRows) -> str:
    if node.max_groups is None and node.uses_sorting:
        return row_truncation.truncate_rows_by_sorting(
            compile_rows(node.source), node.max_rows, _list_tie_breakers(node.source)
        )
    if node.max_groups is None:
        return row_truncation.truncate_rows(compile_rows(node.source), node.max_rows)
    keys = [expression_sql.compile_value(key) for key in node.keys]
    return row_truncation.truncate_groups(compile_rows(node.source), keys, node.max_rows, node.max_groups)


def _list_tie_breakers(node: Rows) -> list[str]:
    """Return the columns that order rows with equal hashes: all of them; ranks are never equal."""
    ranked = all(scan.order is RowOrder.RANKED for scan in find_scans(node))
    return [] if ranked else [quote_identifier(column.name) for column in node.columns]


def _compile_person_totals(node: PersonTotals) -> str:
    """Return the SQL of totals per person; a group gets the lowest rank of its rows."""
    keys = [f"{_compile_passed_column(key)} AS {quote_identifier(column.name)}" for column, key in node.keys]
    exact = [(column, restore_person_total(total)) for column, total in node.totals]
    totals = [
        f"{total.compile_person_total(node.source.rows)} AS {quote_identifier(column.name)}"
        for column, total in exact
    ]
    rank = f"min({quote_identifier(RANK)})" if keys else "1"
    outputs = ", ".join([*keys, quote_identifier(PERSON), *totals, f"{rank} AS {quote_identifier(RANK)}"])
    return (
        f"SELECT {outputs} FROM ({compile_rows(node.source)}) AS s GROUP BY "
        f"{expression_sql.format_column_positions(len(keys) + 1)}"
    )


def _compile_scan(node: Scan) -> str:
    outputs = [
        f"{quote_identifier(name)} AS {quote_identifier(column.name)}"
        for name, column in zip(node.stored, node.columns, strict=True)
    ]
    if node.order is not RowOrder.RANKED:
        form = f"_discreet_{node.order} {node.table}"
        return f"SELECT {', '.join(_list_hidden_columns(node) + outputs)} FROM {quote_identifier(form)}"
    text = (
        f"SELECT {', '.join(outputs + _list_hidden_columns(node)) or '1 AS one'} FROM "
        f"{quote_identifier(node.table)}"
    )
    return text if node.row_limit is None else f"{text} WHERE {quote_identifier(RANK)} <= {node.row_limit}"


def _list_hidden_columns(node: Rows) -> list[str]:
    if node.people is not PrivacyUnit.COLUMN:
        return []
    ordered = all(scan.order is not RowOrder.NONE for scan in find_scans(node))
    return [quote_identifier(PERSON), quote_identifier(RANK)] if ordered else [quote_identifier(PERSON)]


def _compile_passed_column(expression: Expression) -> str:
    """Return the SQL of a column that a subquery passes on: exact numbers in steps."""
    return expression_sql.compile_operand(expression)


def _compile_join(node: Join) -> str:
    """Return the SQL of a join, by person and by key if there is one; ranks are combined.

    Of rows with the same key in a public table only the first is used, the same one for everybody every time.
    """
    word = "LEFT JOIN" if node.is_outer else "JOIN"
    names = [
        f"{side}.{quote_identifier(c.name)}"
        for side, n in (("l", node.left), ("r", node.right))
        for c in n.columns
    ]
    left, right = compile_rows(node.left), compile_rows(node.right)
    if node.right.people is PrivacyUnit.COLUMN:
        hidden = [f"l.{quote_identifier(PERSON)}", f"{_compile_pair_rank(node)} AS {quote_identifier(RANK)}"]
        condition = f"l.{quote_identifier(PERSON)} = r.{quote_identifier(PERSON)}"
        if node.keys is not None:
            condition += " AND " + " = ".join(expression_sql.compile_value(key) for key in node.keys)
    else:
        assert node.keys is not None
        hidden = [f"l.{name}" for name in _list_hidden_columns(node.left)]
        here, there = _compile_link_keys(*node.keys)
        order = ", ".join(quote_identifier(column.name) for column in node.right.columns)
        first = f"row_number() OVER (PARTITION BY {there} ORDER BY {order}) = 1"
        right = f"SELECT * FROM ({right}) AS s QUALIFY {first}"
        condition = f"{here} = {there}"
    return f"SELECT {', '.join(names + hidden)} FROM ({left}) AS l {word} ({right}) AS r ON {condition}"


def _compile_link_keys(left_key: Expression, right_key: Expression) -> tuple[str, str]:
    """Return the SQL of both keys of a link to a public table, in the form in which they are compared.

    Each key is unique in that form: an engine that rounded whole numbers to compare them would let a row
    match several.
    """
    if left_key.type.family is not right_key.type.family:  # any other cast may raise an error
        return (
            f"CAST({expression_sql.compile_value(left_key)} AS VARCHAR)",
            f"CAST({expression_sql.compile_value(right_key)} AS VARCHAR)",
        )
    left, right = make_comparable(
        (expression_sql.compile_operand(left_key), expression_sql.compile_operand(right_key)),
        (left_key.type, right_key.type),
    )
    return left, right


def _compile_pair_rank(node: Join) -> str:
    """Return the SQL of a rank for each joined pair, unique for a person and at most `rows`."""
    left, right = (f"{side}.{quote_identifier(RANK)}" for side in "lr")
    if node.is_unique_match:
        return left
    if node.rows < node.left.rows * node.right.rows:
        return f"coalesce({right}, {node.right.rows} + {left})"
    return f"CAST({left} AS BIGINT) * {node.right.rows} + coalesce({right}, 1) - 1"


# -- Groups -----------------------------------------------------------------------------------------------


def compile_grouped_counts(question: Query, aggregates: dict[str, str], group_statement: str | None) -> str:
    """Return the SQL of one row per group: its keys k0, k1 … and the aggregates by name.

    `group_statement` is the SQL of all groups, if their domain is known: then empty ones are included.
    """
    names = [quote_identifier(column.name) for column, _ in question.keys]
    counts = _compile_counts(question, aggregates)
    if not names:
        return counts
    order = ", ".join(names)
    if group_statement is None:
        return f"SELECT * FROM ({counts}) AS g ORDER BY {order}"
    match = " AND ".join(f"d.{name} IS NOT DISTINCT FROM g.{name}" for name in names)
    shown = [f"d.{name}" for name in names]
    filled = [f"coalesce(g.{quote_identifier(name)}, 0) AS {quote_identifier(name)}" for name in aggregates]
    return (
        f"SELECT {', '.join(shown + filled)} FROM ({group_statement}) AS d "
        f"LEFT JOIN ({counts}) AS g ON {match} ORDER BY {', '.join(shown)}"
    )


def _compile_counts(question: Query, aggregates: dict[str, str]) -> str:
    """Return the SQL of the nonempty groups; with row weights, rows are summed per weight first."""
    keys = [
        f"{expression_sql.compile_value(key)} AS {quote_identifier(column.name)}"
        for column, key in question.keys
    ]
    totals = [f"{text} AS {quote_identifier(name)}" for name, text in aggregates.items()]
    weighted = isinstance(question.rows, WeightedRows)
    by = [*keys, quote_identifier(WEIGHT)] if weighted else keys
    source = (
        f"FROM ({compile_rows(question.rows)}) AS s GROUP BY "
        f"{expression_sql.format_column_positions(len(by))}"
    )
    counts = f"SELECT {', '.join(by + totals)} {source}"
    names = [quote_identifier(column.name) for column, _ in question.keys]
    return row_weighting.sum_weighted_rows(counts, names, list(aggregates)) if weighted else counts


# -- After the release ------------------------------------------------------------------------------------


def compile_post_processing(stages: tuple[PostProcessingStage, ...]) -> str:
    """Return the SQL of the nested post-processing SELECTs over the released table."""
    source = "released"
    for stage in stages:
        inner = source
        if stage.totals or stage.keys:
            keys = [
                f"{expression_sql.compile_value(key)} AS {quote_identifier(f'g{place}')}"
                for place, key in enumerate(stage.keys)
            ]
            totals = [
                f"{_compile_released_total(*total)} AS {quote_identifier(total[0].name)}"
                for total in stage.totals
            ]
            group = " GROUP BY ALL" if keys else ""
            inner = f"(SELECT {', '.join(keys + totals)} FROM {inner}{group}) AS totals"
        outputs = [
            f"{_compile_released_value(e, stage)} AS {quote_identifier(name)}" for name, e in stage.outputs
        ]
        text = f"SELECT {', '.join(outputs)} FROM {inner}"
        if stage.having is not None:
            text += f" WHERE {_compile_released_value(stage.having, stage)}"
        if stage.order:
            by = [
                f"{_compile_order_key(e, stage)}{' DESC' if down else ''} NULLS LAST"
                for e, down in stage.order
            ]
            text += f" ORDER BY {', '.join(by)}"
        if stage.limit is not None:
            text += f" LIMIT {stage.limit}"
        source = f"({text}) AS answer"
    return source.removesuffix(" AS answer")[1:-1]


def _compile_released_total(column: Column, function: str, argument: Expression | None) -> str:
    """Return the SQL of a total over an answer."""
    inner = "*" if argument is None else expression_sql.compile_value(argument)
    return get_answer_total(function).compile_answer_total(inner, column.type)


def _compile_order_key(by: Expression, stage: PostProcessingStage) -> str:
    """Return the SQL to order by: the position of an output if its column name would mean another output."""
    own = {name.casefold(): expression for name, expression in stage.outputs}
    shadowed = any(own.get(column.name.casefold(), column) != column for column in find_columns(by))
    places = [place for place, (_, expression) in enumerate(stage.outputs, 1) if expression == by]
    return str(places[0]) if shadowed and places else _compile_released_value(by, stage)


def _compile_released_value(expression: Expression, stage: PostProcessingStage) -> str:
    """Return the SQL of an expression, in which the group keys of the stage are columns g0, g1 …."""
    if expression in stage.keys:
        return quote_identifier(f"g{stage.keys.index(expression)}")
    return expression_sql.compile_value(expression)
