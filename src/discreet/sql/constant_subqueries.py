"""Subqueries in conditions on rows that stand for one number of an answer: see `released_constants`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from sqlglot import exp

from discreet.sql.core_extraction import Core
from discreet.sql.query_literals import ConstantNode
from discreet.sql.refusal import format_snippet, refuse_query
from discreet.sql.released_constants import ConstantQuery
from discreet.sql.row_resolver import Commons, CommonTable

LONGEST_WRITTEN = 500
SETS = (exp.In, exp.Any, exp.All, exp.Exists)
"""What compares with all rows of a subquery."""


@dataclass
class ConstantCollection:
    """The constants of one statement; equal ones are one."""

    constants: dict[str, ConstantQuery] = field(default_factory=dict)

    def add_constant(
        self, made: exp.Expr, written: str, cores: Sequence[Core], public_tables: Collection[str]
    ) -> ConstantNode:
        """Return the node of a constant whose query is split; it may read answers about people alone."""
        read = {each.name for each in made.find_all(exp.Table)}
        if read & {*public_tables}:
            _refuse_constant(written, "reads a public table")
        names = tuple(core.name for core in cores if core.name in read)
        found = ConstantQuery(query=made, cores=names, written=written)
        for name, known in self.constants.items():
            if known.sql == found.sql:
                return ConstantNode(this=name, written=written)
        name = f"c{len(self.constants)}"
        self.constants[name] = found
        return ConstantNode(this=name, written=written)


def find_constant_subquery(where: exp.Expr | None) -> exp.Subquery | None:
    """Return a subquery that stands for one value in a condition, the outermost first."""
    found = [] if where is None else where.find_all(exp.Subquery)
    return next((each for each in found if not isinstance(each.parent, SETS) and not each.alias), None)


def write_constant(written: exp.Subquery) -> str:
    """Return the text of a subquery, as answers name it."""
    return format_snippet(written.this, LONGEST_WRITTEN)


def require_single_number(query: exp.Expr, *, is_answer: bool) -> None:
    """Refuse a subquery that is no single number computed of answers, as far as its text tells."""
    text = format_snippet(query)
    if not isinstance(query, exp.Select) or query.args.get("group") is not None:
        _refuse_constant(text, "may have several rows")
    if len(query.expressions) != 1 or isinstance(query.expressions[0], exp.Star):
        _refuse_constant(text, "has several columns")
    if not is_answer:
        _refuse_constant(text, "aggregates no rows of people")


def define_common_tables(query: exp.Expr, common_tables: Commons) -> None:
    """Put the common tables that were released before in front of a query."""
    released = [each for each in common_tables.values() if each.released is not None]
    if released:
        own = query.args.get("with_")
        tables = [_define_common_table(each) for each in released]
        query.set("with_", exp.With(expressions=tables + ([] if own is None else own.expressions)))


def _define_common_table(known: CommonTable) -> exp.CTE:
    assert known.released is not None
    alias = known.alias.copy()
    alias.set("this", exp.to_identifier(known.name, quoted=True))
    return exp.CTE(this=known.released.copy(), alias=alias)


def _refuse_constant(text: str, reason: str) -> NoReturn:
    refuse_query(
        f"a condition on rows cannot compare with «{format_snippet(text)}», which {reason}.",
        "Compare with one number of an answer, as in age > (SELECT AVG(age) FROM people); or ask for it "
        "first, and write its value.",
    )
