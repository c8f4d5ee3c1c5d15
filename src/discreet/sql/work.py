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

from discreet.core.policy import Column as Declared
from discreet.core.policy import Policy
from discreet.sql.expressions import Call, Column, Expression, Literal, columns
from discreet.sql.plan import Plan
from discreet.sql.question import Question
from discreet.sql.size import asked_expressions, children, node_expressions
from discreet.sql.tree import Bounded, Join, People, PerPerson, Project, Rows, Scan, Weighted
from discreet.sql.types import Family

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
class _Value:
    """Cost of one value: calls and characters to compute it, and its length if it is text."""

    calls: int = 0
    characters: int = 0
    length: int = 0
    cased: bool = False


def measure_person(plan: Plan, policy: Policy, *, case_growth: int) -> Work:
    """Return the most work that the rows of one person can cause in the engine.

    `case_growth` is the number of characters into which changing case may turn one there.
    """
    meter = _Meter(policy=policy, longest=None, case_growth=case_growth)
    return meter.measure(plan, people=False)


def measure_everybody(plan: Plan, policy: Policy, *, text: int) -> Work:
    """Return the work of all rows that the declared tables can hold, with texts of usual length.

    Reading the tables and bounding their rows are not included: an engine's measured time per row covers
    them.
    """
    return _Meter(policy=policy, longest=text).measure(plan, people=True)


@dataclass(kw_only=True)
class _Meter:
    policy: Policy
    longest: int | None
    case_growth: int = 1
    values: dict[str, _Value] = field(default_factory=dict)
    read: frozenset[str] = frozenset()
    people: bool = False

    def measure(self, plan: Plan, *, people: bool) -> Work:
        """Return the work of all statements: one for the primitives, and one for each selected value."""
        self.people, question = people, plan.question
        self.read = frozenset(column.name for each in _expressions(question) for column in columns(each))
        inside, rows, crowd = self._walk(question.rows)
        keys = [key for _, key in question.keys]
        measures = [
            each
            for _, measure in question.measures
            for each in (*([measure.argument] * COPIES), measure.condition)
            if each is not None
        ]
        around = self._evaluated([*keys, *measures], rows, crowd)
        held = self._held(rows, [column for each in keys for column in columns(each)])
        statements = bool(plan.vectors or plan.selection) + len(plan.counted)
        return (inside + around + held) * max(1, statements)

    # -- Rows -----------------------------------------------------------------------------------------------

    def _walk(self, node: Rows) -> tuple[Work, int, int]:
        """Return the work up to a node, the rows that one person has in it, and the number of people."""
        if isinstance(node, Scan):
            return self._scan(node)
        if isinstance(node, Join):
            return self._join(node)
        work, rows, people = self._walk(node.source)
        if isinstance(node, PerPerson):
            return self._total(node, work, rows, people)
        work += self._evaluated(node_expressions(node), rows, people)
        if isinstance(node, Project):
            for column, expression in zip(node.columns, node.expressions, strict=True):
                self.values[column.name] = self._value(expression)
        if isinstance(node, Bounded | Weighted):
            work *= _reads(node)
            work += self._held(rows, node.columns)
            work += Work() if self.people else self._passed(rows, people)
        return work, min(rows, node.rows) if isinstance(node, Bounded) else rows, people

    def _scan(self, node: Scan) -> tuple[Work, int, int]:
        table = self.policy.tables[node.table]
        for column, stored in zip(node.columns, node.stored, strict=True):
            self.values[column.name] = _Value(length=self._length(table.columns.get(stored), column))
        if node.people is People.NOBODY:
            return Work(), 0, 0
        read = 1 if node.people is People.ROW else table.most_rows_read
        rows = read if node.kept is None else node.rows
        people = max(1, table.declared_rows // rows)
        return Work(rows=0 if self.people else read), rows, people

    def _length(self, declared: Declared | None, column: Column) -> int:
        if column.type.family is not Family.TEXT:
            return 0
        longest = NUMERAL if declared is None else declared.longest_text
        if declared is not None and declared.values is not None:
            return longest
        return longest if self.longest is None else min(longest, self.longest)

    def _join(self, node: Join) -> tuple[Work, int, int]:
        left, mine, here = self._walk(node.left)
        right, theirs, there = self._walk(node.right)
        work = left + right
        if node.right.people is People.NOBODY:
            rows, people = mine, here
        else:
            rows = min(node.rows, mine * theirs) if not node.once else mine
            people = here if node.outer else min(here, there)
            work += self._held(mine, node.left.columns) + self._held(theirs, node.right.columns)
        work += self._passed(rows, people) + self._evaluated(node.keys or (), mine + theirs, people)
        return work, rows, people

    def _total(self, node: PerPerson, work: Work, rows: int, people: int) -> tuple[Work, int, int]:
        keys = [key for _, key in node.keys]
        parts = [each for _, total in node.totals for each in (*([total[1]] * COPIES), total[2])]
        used = [each for each in parts if each is not None]
        work += self._evaluated([*keys, *used], rows, people) + self._passed(rows, people)
        # a total of distinct or ordered values keeps all of them in memory
        work += self._held(rows, [column for each in (*keys, *used) for column in columns(each)])
        for column, key in node.keys:
            self.values[column.name] = _Value(length=self._value(key).length)
        for column, (_, argument, _only) in node.totals:
            length = 0 if argument is None else self._value(argument).length
            self.values[column.name] = _Value(length=length)
        return work, rows if keys else 1, people

    def _passed(self, rows: int, people: int) -> Work:
        return Work(rows=rows * (people if self.people else 1))

    def _held(self, rows: int, held: Iterable[Column]) -> Work:
        used = {column.name for column in held} & self.read
        texts = sum(self.values[name].length for name in used if name in self.values)
        return Work(memory=rows * (WIDTH * (2 + len(used)) + BYTES_PER_CHARACTER * texts))

    # -- Expressions ----------------------------------------------------------------------------------------

    def _evaluated(self, expressions: Iterable[Expression], rows: int, people: int) -> Work:
        found = [self._value(each) for each in expressions]
        calls, characters = sum(each.calls for each in found), sum(each.characters for each in found)
        times = rows * (people if self.people else 1)
        return Work(calls=times * calls, characters=times * characters)

    def _value(self, expression: Expression) -> _Value:
        if isinstance(expression, Column):
            return self.values.get(expression.name, _Value())
        if isinstance(expression, Literal):
            return _Value(length=len(expression.value) if isinstance(expression.value, str) else 0)
        parts = [self._value(each) for each in expression.arguments]
        own = self._call(expression, parts)
        return _Value(
            calls=own.calls + sum(each.calls for each in parts),
            characters=own.characters + sum(each.characters for each in parts),
            length=own.length,
            cased=own.cased,
        )

    def _call(self, call: Call, parts: list[_Value]) -> _Value:
        """Return the cost of the call itself, and the length of its text."""
        weight = WEIGHTS.get(call.function, 1) * max(1, len(parts) - 1)
        lengths = [each.length for each in parts]
        longest, cased = max(lengths, default=0), any(each.cased for each in parts)
        if call.function in ("upper", "lower"):
            grown = longest if cased else self.case_growth * longest
            return _Value(calls=weight, characters=grown, length=grown, cased=True)
        if call.function == "like":
            text, pattern = lengths
            return _Value(calls=weight, characters=text * (1 + pattern // 8))
        if call.function == "cast":
            return self._converted(call, parts[0])
        length = longest if call.type.family is Family.TEXT else 0
        return _Value(calls=weight, characters=sum(lengths), length=length, cased=cased)

    def _converted(self, call: Call, part: _Value) -> _Value:
        source, target = call.arguments[0].type.family, call.type.family
        if Family.TEXT not in (source, target):
            return _Value(calls=WEIGHTS["round"])
        if source is target:
            return _Value(length=part.length, cased=part.cased)
        length = 0 if target is not Family.TEXT else NUMERAL if source is Family.NUMBER else DAY
        return _Value(calls=CONVERSION, characters=part.length, length=length)


def _reads(node: Bounded | Weighted) -> int:
    """Return how often the rows below are computed.

    See `row_truncation.truncate_rows` and `row_weighting.weight_rows_by_join`.
    """
    if isinstance(node, Weighted):
        return 1 if node.sorts else 2
    return 1 if node.sorts or node.groups is not None else 4


def _expressions(question: Question) -> Iterator[Expression]:
    yield from asked_expressions(question)
    stack = [question.rows]
    while stack:
        node = stack.pop()
        yield from node_expressions(node)
        stack += children(node)
