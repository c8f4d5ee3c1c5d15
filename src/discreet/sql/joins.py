"""Joins: by the person column of both sides, or by a foreign key that the policy declares.

Anything else would let one person's row meet any number of others, so it is refused.

By person   both sides' rows of a person multiply.
By a link   between tables that know people: rows of the same person alone, of which the store lets a row find
            one at most at the end that the link leads to. Written the other way round, a row that is linked
            to meets as many as the policy allows.
            To the key of a public table, which the plan reads as having each key once: a row stays one row.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.sql.expressions import Expression
from discreet.sql.names import among, folded
from discreet.sql.refusal import refuse, shown
from discreet.sql.rows import Named, RowScope
from discreet.sql.tree import Join, People, Rows, Scan

MOST_ROWS = 100_000
Sides = tuple[exp.Expression, exp.Expression]


def joined(left: Mapping[str, Named], node: Rows, join: exp.Join, right: tuple[str, Named]) -> Join:
    """`node`, made of the sources in `left`, joined with one more."""
    side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
    if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER"):
        refuse(f"{' '.join(filter(None, (side, kind)))} JOIN is not answered.", "Use JOIN or LEFT JOIN … ON.")
    made = _matched(left, node, join, right, outer=side == "LEFT")
    if made.rows > MOST_ROWS:
        refuse(
            f"«{shown(join)}» may give one person {made.rows:,} rows.",
            "Total one side per person first, in a subquery, or declare smaller rows_per_person.",
        )
    return made


def _matched(
    left: Mapping[str, Named], node: Rows, join: exp.Join, right: tuple[str, Named], *, outer: bool
) -> Join:
    alias, source = right
    sides = _sides(left, join, alias)
    if _same_person(left, source, alias, sides):
        return Join(left=node, right=source.node, keys=None, outer=outer)
    own = _own_link(left, source, alias, sides)
    if own is not None:
        keys, once = own
        return Join(left=node, right=source.node, keys=keys, outer=outer, once=once)
    public = _linked(left, source, alias, sides)
    if public is None:
        refuse(
            f"«{shown(join)}» joins by columns that are neither the person nor a declared link.",
            "Join by the person column of both, or by a foreign key that the policy declares under links, "
            "after the table that declares it.",
        )
    if source.node.people is not People.NOBODY:
        refuse(
            f"«{shown(join)}» links to {shown(alias)}, whose rows are about other people.",
            "Only public tables (person: none) and tables that name the same people can be linked: as person "
            "of both, the policy declares the column that names the person.",
        )
    return Join(left=node, right=source.node, keys=public, outer=outer, once=True)


def _sides(left: Mapping[str, Named], join: exp.Join, alias: str) -> Sides:
    """The two columns that a join compares."""
    using, on = join.args.get("using") or [], join.args.get("on")
    while isinstance(on, exp.Paren):
        on = on.this
    if len(using) == 1 and on is None:
        name = using[0].name
        owner = next((each for each, named in left.items() if among(name, named.known) is not None), "")
        return exp.column(name, table=owner), exp.column(name, table=alias)
    if using or not isinstance(on, exp.EQ):
        refuse(
            f"«{shown(join)}» is no join by one equality.",
            "Use ON a.person = b.person or a declared link, and put other conditions into WHERE.",
        )
    return on.this, on.expression


def _same_person(left: Mapping[str, Named], source: Named, alias: str, sides: Sides) -> bool:
    scope = RowScope({**left, alias: source})
    people = [scope.person_of(each) for each in sides]
    return all(people) and {id(source)} < {id(each) for each in people}


def _own_link(
    left: Mapping[str, Named], source: Named, alias: str, sides: Sides
) -> tuple[tuple[Expression, Expression], bool] | None:
    """The hidden keys of a link between tables that know people, and whether it leads to the right."""
    before, after = RowScope(left), RowScope({alias: source})
    for here, there in (sides, sides[::-1]):
        one, other = before.source_of(here), after.source_of(there)
        if one is None or other is None:
            continue
        if _leads(one, here.name, other, there.name):
            return (one.links[_own(one, here.name)], other.keys[_own(other, there.name)]), True
        if _leads(other, there.name, one, here.name):
            return (one.keys[_own(one, here.name)], other.links[_own(other, there.name)]), False
    return None


def _leads(one: Named, name: str, other: Named, key: str) -> bool:
    """Whether a link leads from a column of one to a key of the other."""
    column = among(name, one.links)
    if column is None or one.table is None or not isinstance(other.node, Scan):
        return False
    link = one.table.links[column]
    return link.table == other.node.table and folded(link.column) == folded(key)


def _own(named: Named, name: str) -> str:
    """The policy's spelling of a column."""
    return among(name, (*named.links, *named.keys)) or name


def _linked(
    left: Mapping[str, Named], source: Named, alias: str, sides: Sides
) -> tuple[Expression, Expression] | None:
    before, after = RowScope(left), RowScope({alias: source})
    for here, there in (sides, sides[::-1]):
        if not (isinstance(here, exp.Column) and isinstance(there, exp.Column)):
            continue
        for named in left.values():
            for name, link in (named.table.links if named.table else {}).items():
                same = isinstance(source.node, Scan) and source.node.table == link.table
                if not same or folded(there.name) != folded(link.column) or name not in named.names:
                    continue
                if among(here.name, [name]) and before.column(here) == named.names[name]:
                    return before.column(here), after.column(there)
    return None
