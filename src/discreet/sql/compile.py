"""SQL compiler: the statements that an engine runs on the prepared store, and on the released table.

The engine returns small integer tables: for every group the keys and one integer per primitive, ordered by
the keys. All groups of declared domains are included, empty ones too, because the domain is written out from
the policy and the counts are joined to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from discreet.sql import emit, exact, keeping, weighing
from discreet.sql.binding import bind_parts
from discreet.sql.domains import Groups
from discreet.sql.emission import finite
from discreet.sql.emit import quoted
from discreet.sql.expressions import Column, Expression, columns
from discreet.sql.numeric_emission import comparable
from discreet.sql.refusal import refuse
from discreet.sql.resolve import After, Question
from discreet.sql.tree import (
    PERSON,
    RANK,
    WEIGHT,
    Bounded,
    Filter,
    Join,
    Order,
    People,
    PerPerson,
    Project,
    Rows,
    Scan,
    Weighted,
    scans,
)
from discreet.sql.types import MOST_STEPS, grid_ends, grid_step

WIDEST = 1 << 53  # beyond this a double no longer represents every whole number


# -- Rows -------------------------------------------------------------------------------------------------


def rows(node: Rows) -> str:
    """Return the SQL of a subquery that produces the rows of a node."""
    _require_different_names(node)
    if isinstance(node, Scan):
        return _scan(node)
    if isinstance(node, Filter):
        return f"SELECT * FROM ({rows(node.source)}) AS s WHERE {emit.value(node.condition)}"
    if isinstance(node, Project):
        outputs = [
            f"{_passed(expression)} AS {quoted(column.name)}"
            for column, expression in zip(node.columns, node.expressions, strict=True)
        ]
        return f"SELECT {', '.join(outputs + _hidden(node))} FROM ({rows(node.source)}) AS s"
    if isinstance(node, PerPerson):
        return _per_person(node)
    if isinstance(node, Weighted):
        weighed = weighing.in_order if node.sorts else weighing.joined
        return weighed(rows(node.source), node.most)
    return _bounded(node) if isinstance(node, Bounded) else _join(node)


def _require_different_names(node: Rows) -> None:
    """Refuse two columns whose names differ only in case.

    A case-insensitive engine could read one for the other, without the bounds that were proven for it.
    """
    names = [column.name.lower() for column in node.columns]
    if len(set(names)) < len(names):
        refuse("two columns have the same name.", "Give tables and columns other aliases.")


def _bounded(node: Bounded) -> str:
    if node.groups is None and node.sorts:
        return keeping.first_rows_in_order(rows(node.source), node.most, _told_apart(node.source))
    if node.groups is None:
        return keeping.first_rows(rows(node.source), node.most)
    keys = [emit.value(key) for key in node.keys]
    return keeping.first_groups(rows(node.source), keys, node.most, node.groups)


def _told_apart(node: Rows) -> list[str]:
    """Return the columns that order rows with equal hashes: all of them; ranks are never equal."""
    ranked = all(scan.order is Order.RANKED for scan in scans(node))
    return [] if ranked else [quoted(column.name) for column in node.columns]


def _per_person(node: PerPerson) -> str:
    """Return the SQL of totals per person; a group gets the lowest rank of its rows."""
    keys = [f"{_passed(key)} AS {quoted(column.name)}" for column, key in node.keys]
    totals = [f"{_total(*total, node.source.rows)} AS {quoted(column.name)}" for column, total in node.totals]
    rank = f"min({quoted(RANK)})" if keys else "1"
    outputs = ", ".join([*keys, quoted(PERSON), *totals, f"{rank} AS {quoted(RANK)}"])
    return f"SELECT {outputs} FROM ({rows(node.source)}) AS s GROUP BY {emit.places(len(keys) + 1)}"


def _scan(node: Scan) -> str:
    outputs = [
        f"{quoted(name)} AS {quoted(column.name)}"
        for name, column in zip(node.stored, node.columns, strict=True)
    ]
    if node.order is not Order.RANKED:
        form = f"_discreet_{node.order} {node.table}"
        return f"SELECT {', '.join(_hidden(node) + outputs)} FROM {quoted(form)}"
    text = f"SELECT {', '.join(outputs + _hidden(node)) or '1 AS one'} FROM {quoted(node.table)}"
    return text if node.kept is None else f"{text} WHERE {quoted(RANK)} <= {node.kept}"


def _hidden(node: Rows) -> list[str]:
    if node.people is not People.COLUMN:
        return []
    ordered = all(scan.order is not Order.NONE for scan in scans(node))
    return [quoted(PERSON), quoted(RANK)] if ordered else [quoted(PERSON)]


def _passed(expression: Expression) -> str:
    """Return the SQL of a column that a subquery passes on: exact numbers in steps."""
    return emit.operand(expression)


def _total(function: str, argument: Expression | None, condition: Expression | None, most: int) -> str:
    if argument is not None and function in ("sum", "avg"):
        return _summed(function, argument, _filter(condition), most)
    if argument is not None and function in ("min", "max"):
        return f"{function}({emit.ordering_operand(argument)}){_filter(condition)}"
    inner = "*" if argument is None else emit.operand(argument)
    if function == "count_distinct":
        return f"count(DISTINCT {inner}){_filter(condition)}"
    return f"{function}({inner}){_filter(condition)}"


def _summed(function: str, argument: Expression, condition: str, most: int) -> str:
    """Return the SQL of a person's sum or mean, which must not depend on the order of rows.

    A floating-point sum would depend on it, so whole steps are summed. A DOUBLE without bounds has no steps:
    it is summed in the order of ranks, which depend on the person's own rows alone.
    """
    kind = argument.type
    step = grid_step(kind)
    low, high = grid_ends(kind, step) if kind.bounded else (-WIDEST, WIDEST)
    exactly = kind.exact and most * kind.most_steps < MOST_STEPS
    if not exactly and max(-low, high) >= WIDEST:
        inner = exact.in_double(emit.operand(argument), kind)
        return finite(f"{function}({inner} ORDER BY {quoted(RANK)}){condition}")
    # steps have 64 bits, but an exact number of up to 38 digits may need more
    narrow = kind.bounded and max(-low, high) < exact.MOST_INTEGER
    inner = steps(argument, step, low, high) if narrow else emit.operand(argument)
    total = f"sum({inner}){condition}"
    if function == "sum" and (exactly or step == 1):
        reach = most * (kind.most_steps if exactly else max(-low, high))
        return f"CAST({total} AS BIGINT)" if reach < 1 << 62 else total
    mean = f" / (count({inner}){condition})" if function == "avg" else ""
    return f"(CAST({total} AS DOUBLE) * {step.numerator} / {step.denominator}{mean})"


def _filter(condition: Expression | None) -> str:
    return "" if condition is None else f" FILTER (WHERE {emit.value(condition)})"


def _join(node: Join) -> str:
    """Return the SQL of a join, by person and by key if there is one; ranks are combined.

    Of rows with the same key in a public table only the first is used, the same one for everybody every time.
    """
    word = "LEFT JOIN" if node.outer else "JOIN"
    names = [
        f"{side}.{quoted(c.name)}" for side, n in (("l", node.left), ("r", node.right)) for c in n.columns
    ]
    left, right = rows(node.left), rows(node.right)
    if node.right.people is People.COLUMN:
        hidden = [f"l.{quoted(PERSON)}", f"{_place(node)} AS {quoted(RANK)}"]
        condition = f"l.{quoted(PERSON)} = r.{quoted(PERSON)}"
        if node.keys is not None:
            condition += " AND " + " = ".join(emit.value(key) for key in node.keys)
    else:
        assert node.keys is not None
        hidden = [f"l.{name}" for name in _hidden(node.left)]
        here, there = _compared(*node.keys)
        order = ", ".join(quoted(column.name) for column in node.right.columns)
        first = f"row_number() OVER (PARTITION BY {there} ORDER BY {order}) = 1"
        right = f"SELECT * FROM ({right}) AS s QUALIFY {first}"
        condition = f"{here} = {there}"
    return f"SELECT {', '.join(names + hidden)} FROM ({left}) AS l {word} ({right}) AS r ON {condition}"


def _compared(here: Expression, there: Expression) -> tuple[str, str]:
    """Return the SQL of both keys of a link to a public table, in the form in which they are compared.

    Each key is unique in that form: an engine that rounded whole numbers to compare them would let a row
    match several.
    """
    if here.type.family is not there.type.family:  # any other cast may raise an error
        return f"CAST({emit.value(here)} AS VARCHAR)", f"CAST({emit.value(there)} AS VARCHAR)"
    left, right = comparable((emit.operand(here), emit.operand(there)), (here.type, there.type))
    return left, right


def _place(node: Join) -> str:
    """Return the SQL of a rank for each joined pair, unique for a person and at most `rows`."""
    left, right = (f"{side}.{quoted(RANK)}" for side in "lr")
    if node.once:
        return left
    if node.rows < node.left.rows * node.right.rows:
        return f"coalesce({right}, {node.right.rows} + {left})"
    return f"CAST({left} AS BIGINT) * {node.right.rows} + coalesce({right}, 1) - 1"


# -- Groups -----------------------------------------------------------------------------------------------


def grouped(question: Question, aggregates: dict[str, str], groups: Groups | None) -> str:
    """Return the SQL of one row per group: its keys k0, k1 … and the aggregates by name.

    If the domain of the groups is known, all groups are included, empty ones too.
    """
    names = [quoted(column.name) for column, _ in question.keys]
    counts = _counts(question, aggregates)
    if not names:
        return counts
    order = ", ".join(names)
    if groups is None:
        return f"SELECT * FROM ({counts}) AS g ORDER BY {order}"
    match = " AND ".join(f"d.{name} IS NOT DISTINCT FROM g.{name}" for name in names)
    shown = [f"d.{name}" for name in names]
    filled = [f"coalesce(g.{quoted(name)}, 0) AS {quoted(name)}" for name in aggregates]
    return (
        f"SELECT {', '.join(shown + filled)} FROM ({groups.statement}) AS d "
        f"LEFT JOIN ({counts}) AS g ON {match} ORDER BY {', '.join(shown)}"
    )


def _counts(question: Question, aggregates: dict[str, str]) -> str:
    """Return the SQL of the nonempty groups; with row weights, rows are summed per weight first."""
    keys = [f"{emit.value(key)} AS {quoted(column.name)}" for column, key in question.keys]
    totals = [f"{text} AS {quoted(name)}" for name, text in aggregates.items()]
    weighted = isinstance(question.rows, Weighted)
    by = [*keys, quoted(WEIGHT)] if weighted else keys
    source = f"FROM ({rows(question.rows)}) AS s GROUP BY {emit.places(len(by))}"
    counts = f"SELECT {', '.join(by + totals)} {source}"
    names = [quoted(column.name) for column, _ in question.keys]
    return weighing.summed(counts, names, list(aggregates)) if weighted else counts


# -- Measures ---------------------------------------------------------------------------------------------


def steps(argument: Expression, step: Fraction, low: int, high: int) -> str:
    """Return the SQL of a bounded expression as a whole number of steps, clamped to its bounds."""
    kind = argument.type
    if isinstance(argument, Column) and argument.clamped and kind.step == step:
        return quoted(argument.name)
    value = emit.operand(argument)
    if not (kind.exact and kind.step == step) and not (kind.integral and step == 1):
        value = f"round({exact.in_double(value, kind)} * {step.denominator} / {step.numerator})"

    def nearer(x: str) -> str:
        # not greatest and least: they would turn NULL into a bound
        return f"CASE WHEN {x} < {low} THEN {low} WHEN {x} > {high} THEN {high} ELSE {x} END"

    return f"CAST({bind_parts(nearer, value)} AS BIGINT)"


# -- After the release ------------------------------------------------------------------------------------


def after(stages: tuple[After, ...], kept: Mapping[str, str]) -> str:
    """Return the SQL of the nested post-processing SELECTs over the released table.

    Measures whose intervals still hold carry them along as name.low and name.high.
    """
    source, measured = "released", set(kept.values())
    for stage in stages:
        inner = source
        if stage.totals or stage.keys:
            keys = [f"{emit.value(key)} AS {quoted(f'g{place}')}" for place, key in enumerate(stage.keys)]
            totals = [f"{_of_released(*total)} AS {quoted(total[0].name)}" for total in stage.totals]
            group = " GROUP BY ALL" if keys else ""
            inner = f"(SELECT {', '.join(keys + totals)} FROM {inner}{group}) AS totals"
        outputs = [f"{_released(e, stage)} AS {quoted(name)}" for name, e in stage.outputs]
        renamed = {} if stage.totals or stage.keys else _renamed(stage, measured)
        for name, old in renamed.items():
            outputs += [f"{quoted(f'{old}.{end}')} AS {quoted(f'{name}.{end}')}" for end in ("low", "high")]
        measured = set(renamed)
        text = f"SELECT {', '.join(outputs)} FROM {inner}"
        if stage.having is not None:
            text += f" WHERE {_released(stage.having, stage)}"
        if stage.order:
            by = [f"{_ordered_by(e, stage)}{' DESC' if down else ''} NULLS LAST" for e, down in stage.order]
            text += f" ORDER BY {', '.join(by)}"
        if stage.limit is not None:
            text += f" LIMIT {stage.limit}"
        source = f"({text}) AS answer"
    return source.removesuffix(" AS answer")[1:-1]


def _of_released(column: Column, function: str, argument: Expression | None) -> str:
    """Return the SQL of a total over an answer; a sum of whole numbers is cast from 128 to 64 bits."""
    text = f"{function}({'*' if argument is None else emit.value(argument)})"
    return f"TRY_CAST({text} AS BIGINT)" if function == "sum" and column.type.step == 1 else text


def _ordered_by(by: Expression, stage: After) -> str:
    """Return the SQL to order by: the position of an output if its column name would mean another output."""
    own = {name.casefold(): expression for name, expression in stage.outputs}
    shadowed = any(own.get(column.name.casefold(), column) != column for column in columns(by))
    places = [place for place, (_, expression) in enumerate(stage.outputs, 1) if expression == by]
    return str(places[0]) if shadowed and places else _released(by, stage)


def _renamed(stage: After, measured: set[str]) -> dict[str, str]:
    return {name: e.name for name, e in stage.outputs if isinstance(e, Column) and e.name in measured}


def _released(expression: Expression, stage: After) -> str:
    """Return the SQL of an expression, in which the group keys of the stage are columns g0, g1 …."""
    if expression in stage.keys:
        return quoted(f"g{stage.keys.index(expression)}")
    return emit.value(expression)
