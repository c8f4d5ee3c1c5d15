"""Worst-case work of one person's rows, and of all rows, from text and policy alone.

A person's rows are bounded, and so must be the time and memory that they take: otherwise a timeout or a
memory limit reveals, without noise, whether the person is in the data (Haeberlen, Pierce & Narayan,
*Differential Privacy Under Fire*, 2011). One walk over the tree computes for every node

rows        the most rows that one person can have there. Joins multiply them, and the rows inside a join
            count, not only its result. Filters are assumed to keep every row.
people      the most people that the declared tables can hold with that many rows each.
expressions evaluated on these rows: calls, weighted by their cost, and characters of text. A subquery's
            column counts in full wherever it is used, since engines inline a subquery's expressions.

Text        has at most the length that the policy declares: every store cuts it there. Changing case may turn
            one character into three (Unicode's SpecialCasing; DuckDB maps one to one), but only once; no
            function concatenates texts, so nothing else makes them longer.
Memory      that a join, a total, a rank or a group holds for one person's rows at once: rows times the width
            of the columns that the query reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from discreet.core.column_entry import Column as Declared
from discreet.core.policy import Policy
from discreet.sql.core_planning import CorePlan
from discreet.sql.expression_tree import Call, Column, Expression, Literal, find_columns
from discreet.sql.expression_types import Family
from discreet.sql.query import Query
from discreet.sql.query_size import get_children, iterate_node_expressions, iterate_query_expressions
from discreet.sql.relational_algebra import (
    Join,
    PersonTotals,
    PrivacyUnit,
    Project,
    Rows,
    Scan,
    TruncatedRows,
    WeightedRows,
)

COPIES = 3
"""Evaluations of a measure's argument per row: to clamp below, to clamp above, and to square."""
BYTES_PER_CHARACTER = 4
WIDTH = 16
NUMERAL, DAY = 50, 32
WEIGHTS = {
    **{"divide": 2, "modulo": 2, "part": 5, "truncate": 5, "round": 2, "like": 5},
    # a value that they use several times is bound to a name: in DuckDB a lambda over a list of one
    **{"nullif": 3, "in": 2, "between": 2, "switch": 2},
}
CONVERSION = 20


@dataclass(frozen=True, kw_only=True)
class Work:
    """Amount of work: rows that pass a node, calls on them, characters read; `memory` in bytes."""

    rows: int = 0
    calls: int = 0
    characters: int = 0
    memory: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(
            rows=self.rows + other.rows,
            calls=self.calls + other.calls,
            characters=self.characters + other.characters,
            memory=self.memory + other.memory,
        )

    def __mul__(self, times: int) -> Work:
        """Return the work of `times` sequential runs, which reuse the same memory."""
        return Work(
            rows=self.rows * times,
            calls=self.calls * times,
            characters=self.characters * times,
            memory=self.memory,
        )


@dataclass(frozen=True, kw_only=True)
class _ValueCost:
    """Cost of one value: calls and characters to compute it, and its length if it is text."""

    calls: int = 0
    characters: int = 0
    length: int = 0
    is_case_changed: bool = False


def measure_person_work(plan: CorePlan, policy: Policy, *, case_growth: int) -> Work:
    """Return the most work that the rows of one person can cause in the engine.

    `case_growth` is the number of characters into which changing case may turn one there.
    """
    meter = _WorkMeter(policy=policy, text_length=None, case_growth=case_growth)
    return meter.measure(plan, includes_everybody=False)


def measure_total_work(plan: CorePlan, policy: Policy, *, text_length: int) -> Work:
    """Return the work of all rows that the declared tables can hold, with texts of usual length.

    Reading the tables and bounding their rows are not included: an engine's measured time per row covers
    them.
    """
    return _WorkMeter(policy=policy, text_length=text_length).measure(plan, includes_everybody=True)


@dataclass(kw_only=True)
class _WorkMeter:
    policy: Policy
    text_length: int | None
    case_growth: int = 1
    values: dict[str, _ValueCost] = field(default_factory=dict)
    read_columns: frozenset[str] = frozenset()
    includes_everybody: bool = False

    def measure(self, plan: CorePlan, *, includes_everybody: bool) -> Work:
        """Return the work of all statements: one for the primitives, and one for each selected value."""
        self.includes_everybody, question = includes_everybody, plan.question
        self.read_columns = frozenset(
            column.name for each in _iterate_expressions(question) for column in find_columns(each)
        )
        inside, rows, crowd = self._measure_node(question.rows)
        keys = [key for _, key in question.keys]
        measures = [
            each
            for _, measure in question.measures
            for each in (*([measure.argument] * COPIES), measure.condition)
            if each is not None
        ]
        around = self._measure_expressions([*keys, *measures], rows, crowd)
        held = self._measure_memory(rows, [column for each in keys for column in find_columns(each)])
        statements = bool(plan.noisy_primitives or plan.partition_selection) + len(plan.value_selections)
        return (inside + around + held) * max(1, statements)

    # -- Rows -----------------------------------------------------------------------------------------------

    def _measure_node(self, node: Rows) -> tuple[Work, int, int]:
        """Return the work up to a node, the rows that one person has in it, and the number of people."""
        if isinstance(node, Scan):
            return self._measure_scan(node)
        if isinstance(node, Join):
            return self._measure_join(node)
        work, rows, people = self._measure_node(node.source)
        if isinstance(node, PersonTotals):
            return self._measure_totals(node, work, rows, people)
        work += self._measure_expressions(iterate_node_expressions(node), rows, people)
        if isinstance(node, Project):
            for column, expression in zip(node.columns, node.expressions, strict=True):
                self.values[column.name] = self._measure_value(expression)
        if isinstance(node, TruncatedRows | WeightedRows):
            work *= _count_reads(node)
            work += self._measure_memory(rows, node.columns)
            work += Work() if self.includes_everybody else self._count_passed_rows(rows, people)
        return work, min(rows, node.rows) if isinstance(node, TruncatedRows) else rows, people

    def _measure_scan(self, node: Scan) -> tuple[Work, int, int]:
        table = self.policy.tables[node.table]
        for column, stored in zip(node.columns, node.stored, strict=True):
            self.values[column.name] = _ValueCost(
                length=self._get_text_length(table.columns.get(stored), column)
            )
        if node.people is PrivacyUnit.NOBODY:
            return Work(), 0, 0
        read = 1 if node.people is PrivacyUnit.ROW else table.max_rows_read
        rows = read if node.row_limit is None else node.rows
        people = max(1, table.expected_rows // rows)
        return Work(rows=0 if self.includes_everybody else read), rows, people

    def _get_text_length(self, declared: Declared | None, column: Column) -> int:
        if column.type.family is not Family.TEXT:
            return 0
        longest = NUMERAL if declared is None else declared.max_text_length
        if declared is not None and declared.values is not None:
            return longest
        return longest if self.text_length is None else min(longest, self.text_length)

    def _measure_join(self, node: Join) -> tuple[Work, int, int]:
        left, mine, here = self._measure_node(node.left)
        right, theirs, there = self._measure_node(node.right)
        work = left + right
        if node.right.people is PrivacyUnit.NOBODY:
            rows, people = mine, here
        else:
            rows = min(node.rows, mine * theirs) if not node.is_unique_match else mine
            people = here if node.is_outer else min(here, there)
            work += self._measure_memory(mine, node.left.columns) + self._measure_memory(
                theirs, node.right.columns
            )
        work += self._count_passed_rows(rows, people) + self._measure_expressions(
            node.keys or (), mine + theirs, people
        )
        return work, rows, people

    def _measure_totals(
        self, node: PersonTotals, work: Work, rows: int, people: int
    ) -> tuple[Work, int, int]:
        keys = [key for _, key in node.keys]
        parts = [each for _, total in node.totals for each in (*([total[1]] * COPIES), total[2])]
        used = [each for each in parts if each is not None]
        work += self._measure_expressions([*keys, *used], rows, people) + self._count_passed_rows(
            rows, people
        )
        # a total of distinct or ordered values keeps all of them in memory
        work += self._measure_memory(
            rows, [column for each in (*keys, *used) for column in find_columns(each)]
        )
        for column, key in node.keys:
            self.values[column.name] = _ValueCost(length=self._measure_value(key).length)
        for column, (_, argument, _only) in node.totals:
            length = 0 if argument is None else self._measure_value(argument).length
            self.values[column.name] = _ValueCost(length=length)
        return work, rows if keys else 1, people

    def _count_passed_rows(self, rows: int, people: int) -> Work:
        return Work(rows=rows * (people if self.includes_everybody else 1))

    def _measure_memory(self, rows: int, columns_held: Iterable[Column]) -> Work:
        used = {column.name for column in columns_held} & self.read_columns
        texts = sum(self.values[name].length for name in used if name in self.values)
        return Work(memory=rows * (WIDTH * (2 + len(used)) + BYTES_PER_CHARACTER * texts))

    # -- Expressions ----------------------------------------------------------------------------------------

    def _measure_expressions(self, expressions: Iterable[Expression], rows: int, people: int) -> Work:
        found = [self._measure_value(each) for each in expressions]
        calls, characters = sum(each.calls for each in found), sum(each.characters for each in found)
        times = rows * (people if self.includes_everybody else 1)
        return Work(calls=times * calls, characters=times * characters)

    def _measure_value(self, expression: Expression) -> _ValueCost:
        if isinstance(expression, Column):
            return self.values.get(expression.name, _ValueCost())
        if isinstance(expression, Literal):
            return _ValueCost(length=len(expression.value) if isinstance(expression.value, str) else 0)
        parts = [self._measure_value(each) for each in expression.arguments]
        own = self._measure_call(expression, parts)
        return _ValueCost(
            calls=own.calls + sum(each.calls for each in parts),
            characters=own.characters + sum(each.characters for each in parts),
            length=own.length,
            is_case_changed=own.is_case_changed,
        )

    def _measure_call(self, call: Call, parts: list[_ValueCost]) -> _ValueCost:
        """Return the cost of the call itself, and the length of its text."""
        weight = WEIGHTS.get(call.function, 1) * max(1, len(parts) - 1)
        lengths = [each.length for each in parts]
        longest, cased = max(lengths, default=0), any(each.is_case_changed for each in parts)
        if call.function in ("upper", "lower"):
            grown = longest if cased else self.case_growth * longest
            return _ValueCost(calls=weight, characters=grown, length=grown, is_case_changed=True)
        if call.function == "like":
            text, pattern = lengths
            return _ValueCost(calls=weight, characters=text * (1 + pattern // 8))
        if call.function == "cast":
            return self._measure_cast(call, parts[0])
        length = longest if call.type.family is Family.TEXT else 0
        return _ValueCost(calls=weight, characters=sum(lengths), length=length, is_case_changed=cased)

    def _measure_cast(self, call: Call, part: _ValueCost) -> _ValueCost:
        source, target = call.arguments[0].type.family, call.type.family
        if Family.TEXT not in (source, target):
            return _ValueCost(calls=WEIGHTS["round"])
        if source is target:
            return _ValueCost(length=part.length, is_case_changed=part.is_case_changed)
        length = 0 if target is not Family.TEXT else NUMERAL if source is Family.NUMBER else DAY
        return _ValueCost(calls=CONVERSION, characters=part.length, length=length)


def _count_reads(node: TruncatedRows | WeightedRows) -> int:
    """Return how often the rows below are computed.

    See `row_truncation.truncate_rows` and `row_weighting.weight_rows_by_join`.
    """
    if isinstance(node, WeightedRows):
        return 1 if node.uses_sorting else 2
    return 1 if node.uses_sorting or node.max_groups is not None else 4


def _iterate_expressions(question: Query) -> Iterator[Expression]:
    yield from iterate_query_expressions(question)
    stack = [question.rows]
    while stack:
        node = stack.pop()
        yield from iterate_node_expressions(node)
        stack += get_children(node)
