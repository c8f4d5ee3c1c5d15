"""Joins: by the person column of both sides, or by a foreign key that the policy declares.

Anything else would let one person's row meet any number of others, so it is refused.

By person   both sides' rows of a person multiply.
By a link   from a column to the key of a public table, which the plan reads as having each key once, so a row
            stays one row.
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


def joined(left: Mapping[str, Named], node: Rows, join: exp.Join, right: tuple[str, Named]) -> Join:
    """`node`, made of the sources in `left`, joined with one more."""
    alias, source = right
    side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
    if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER"):
        refuse(f"{' '.join(filter(None, (side, kind)))} JOIN is not answered.", "Use JOIN or LEFT JOIN … ON.")
    sides = _sides(left, join, alias)
    scope = RowScope({**left, alias: source})
    people = [scope.person_of(each) for each in sides]
    if all(people) and {id(source)} < {id(each) for each in people}:
        if node.rows * source.node.rows > MOST_ROWS:
            refuse(
                f"«{shown(join)}» may give one person {node.rows * source.node.rows:,} rows.",
                "Total one side per person first, in a subquery, or declare smaller rows_per_person.",
            )
        return Join(left=node, right=source.node, keys=None, outer=side == "LEFT")
    keys = _linked(left, source, alias, sides)
    if keys is None:
        refuse(
            f"«{shown(join)}» joins by columns that are neither the person nor a declared link.",
            "Join by the person column of both, or by a foreign key that the policy declares under links, "
            "after the table that declares it.",
        )
    if source.node.people is not People.NOBODY:
        refuse(
            f"«{shown(join)}» links to {shown(alias)}, whose rows are about other people.",
            "Only public tables (person: none) can be linked so; join people by the person column.",
        )
    return Join(left=node, right=source.node, keys=keys, outer=side == "LEFT")


def _sides(left: Mapping[str, Named], join: exp.Join, alias: str) -> tuple[exp.Expression, exp.Expression]:
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


def _linked(
    left: Mapping[str, Named],
    source: Named,
    alias: str,
    sides: tuple[exp.Expression, exp.Expression],
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
