"""Joins: by the person column of both sides, or by a foreign key that the policy declares.

Any other join would let one person's row match any number of others, so it is refused.

By person   the rows that a person has on both sides multiply.
By a link   between tables of people: only rows of the same person match, and the store lets each row match at
            most one row at the end that the link points to. Written the other way round, a row that is
            pointed to matches as many as the policy allows.
            To the key of a public table, which is read as having each key once: a row stays one row.
Filters     further conditions of an inner join are filters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp

from discreet.sql.expression_tree import Expression
from discreet.sql.refusal import format_snippet, refuse_query
from discreet.sql.relational_algebra import Filter, Join, PrivacyUnit, Rows, Scan
from discreet.sql.row_sources import RowScope, RowSource
from discreet.sql.scalar_expressions import resolve_condition
from discreet.sql.sql_names import find_name, fold_case

MOST_ROWS = 100_000
Keys = tuple[Expression, Expression]


def is_outer(join: exp.Join) -> bool:
    return (join.args.get("side") or "").upper() == "LEFT"


def join_source(
    left: Mapping[str, RowSource], node: Rows, join: exp.Join, right: tuple[str, RowSource]
) -> Rows:
    """Return `node`, which is built from the sources in `left`, joined with one more source."""
    side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
    if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER"):
        refuse_query(
            f"{' '.join(filter(None, (side, kind)))} JOIN is not answered.", "Use JOIN or LEFT JOIN … ON."
        )
    others, made = _split_conditions(left, join, right[0]), None
    for equality in others:
        made = _JoinSides(left, node, right, join).join_by(equality) if isinstance(equality, exp.EQ) else None
        if made is not None:
            others.remove(equality)
            break
    if made is None:
        refuse_query(
            f"«{format_snippet(join)}» joins by columns that are neither the person nor a declared link.",
            "Join by the person column of both, or by a foreign key that the policy declares under links.",
        )
    if made.rows > MOST_ROWS:
        refuse_query(
            f"«{format_snippet(join)}» may give one person {made.rows:,} rows.",
            "Total one side per person first, in a subquery, or declare smaller rows_per_person.",
        )
    return _apply_filters(made, others, RowScope({**left, right[0]: right[1]}))


def _split_conditions(left: Mapping[str, RowSource], join: exp.Join, alias: str) -> list[exp.Expression]:
    """Return the conditions of a join; one of them must be the equality to join by."""
    using, on = join.args.get("using") or [], join.args.get("on")
    if len(using) == 1 and on is None:
        name = using[0].name
        owner = next(
            (each for each, named in left.items() if find_name(name, named.all_names) is not None), ""
        )
        return [exp.EQ(this=exp.column(name, table=owner), expression=exp.column(name, table=alias))]
    if using or on is None:
        _refuse_conditions(join)
    on = on.unnest()
    found: list[exp.Expression] = [on]
    if isinstance(on, exp.And) and not is_outer(join):
        found = list(on.flatten())  # type: ignore[arg-type]
    if not any(isinstance(each, exp.EQ) for each in found):
        _refuse_conditions(join)
    return found


def _refuse_conditions(join: exp.Join) -> NoReturn:
    refuse_query(
        f"«{format_snippet(join)}» is no join by one equality.",
        "Use ON a.person = b.person or a declared link, and put other conditions into WHERE.",
    )


def _apply_filters(node: Rows, conditions: list[exp.Expression], scope: RowScope) -> Rows:
    for each in conditions:
        node = Filter(source=node, condition=resolve_condition(each, scope, "ON"))
    return node


@dataclass(frozen=True)
class _JoinSides:
    """The two sides of a join."""

    left: Mapping[str, RowSource]
    node: Rows
    right: tuple[str, RowSource]
    join: exp.Join

    def join_by(self, equality: exp.EQ) -> Join | None:
        """Return the join by an equality; None if it is not an allowed join."""
        sides = equality.this, equality.expression
        if self._names_same_person(sides):
            return self._build_join(None, once=False)
        for here, there in (sides, sides[::-1]):
            found = self._join_by_own_link(here, there) or self._join_by_public_link(here, there)
            if found is not None:
                return found
        return None

    def _build_join(self, keys: Keys | None, *, once: bool) -> Join:
        outer = is_outer(self.join)
        return Join(left=self.node, right=self.right[1].node, keys=keys, is_outer=outer, is_unique_match=once)

    def _names_same_person(self, sides: tuple[exp.Expression, exp.Expression]) -> bool:
        alias, source = self.right
        scope = RowScope({**self.left, alias: source})
        people = [scope.find_person_source(each) for each in sides]
        return all(people) and {id(source)} < {id(each) for each in people}

    def _join_by_own_link(self, left_node: exp.Expression, right_node: exp.Expression) -> Join | None:
        """Return the join of two tables of people by their hidden link keys; None if no link matches."""
        one, other = (
            RowScope(self.left).find_source(left_node),
            RowScope(dict([self.right])).find_source(right_node),
        )
        if one is None or other is None:
            return None
        link, key = _find_own_link(one, left_node.name, other, right_node.name)
        if link is not None and key is not None:
            return self._build_join((link, key), once=True)
        link, key = _find_own_link(other, right_node.name, one, left_node.name)
        if link is not None and key is not None:
            return self._build_join((key, link), once=False)
        return None

    def _join_by_public_link(self, left_node: exp.Expression, right_node: exp.Expression) -> Join | None:
        """Return the join from a column of the left to a key of the right table, or the other way round.

        The other way round only if the left side is a single public table.
        """
        alias, source = self.right
        keys = _find_public_link(self.left, left_node, source, alias, right_node)
        if keys is not None:
            self._require_public(alias, source)
            return self._build_join(keys, once=True)
        ((first, public), *more) = self.left.items()
        if more or is_outer(self.join) or self.node.people is not PrivacyUnit.NOBODY:
            return None
        keys = _find_public_link(dict([self.right]), right_node, public, first, left_node)
        return (
            None
            if keys is None
            else Join(left=source.node, right=self.node, keys=keys, is_outer=False, is_unique_match=True)
        )

    def _require_public(self, alias: str, source: RowSource) -> None:
        if source.node.people is not PrivacyUnit.NOBODY:
            refuse_query(
                f"«{format_snippet(self.join)}» links to {format_snippet(alias)}, whose rows are "
                "about other people.",
                "Link to a public table (person: none), or declare in the policy the person column of both "
                "tables.",
            )


def _find_own_link(
    one: RowSource, name: str, other: RowSource, key: str
) -> tuple[Expression | None, Expression | None]:
    """Return the hidden columns of a link from a column of `one` to a key of `other`; None if undeclared."""
    column = find_name(name, one.links)
    link = None if column is None or one.table is None else one.table.links[column]
    if column is None or link is None or fold_case(link.column) != fold_case(key):
        return None, None
    same = isinstance(other.node, Scan) and other.node.table == link.table
    return (one.links[column], other.keys[link.column]) if same else (None, None)


def _find_public_link(
    left: Mapping[str, RowSource],
    left_node: exp.Expression,
    source: RowSource,
    alias: str,
    right_node: exp.Expression,
) -> Keys | None:
    """Return the visible columns of a declared link from a source of the left; None if there is none."""
    if not (isinstance(left_node, exp.Column) and isinstance(right_node, exp.Column)):
        return None
    before, after = RowScope(left), RowScope({alias: source})
    for named in left.values():
        for name, link in (named.table.links if named.table else {}).items():
            same = isinstance(source.node, Scan) and source.node.table == link.table
            if not same or fold_case(right_node.name) != fold_case(link.column) or name not in named.names:
                continue
            if find_name(left_node.name, [name]) and before.resolve_column(left_node) == named.names[name]:
                return before.resolve_column(left_node), after.resolve_column(right_node)
    return None
