"""One finer measurement for several counts of a batch, where it costs less than each of them.

    SELECT sex, COUNT(*) AS n FROM t GROUP BY sex; SELECT sex, town, COUNT(*) AS n FROM t GROUP BY sex, town

can both be answered from the counts by sex and town: sums of m cells have an error √m times as wide, so these
are measured with √m times the epsilon that the count by sex would take, and the count by sex is free.

Sound where  the statements count the same rows of one table: equal conditions, and rows of a person that are
             bounded alike, so not with groups_per_person. Each key that is summed over has declared values
             and NULL as a group: then every row is in a cell, also one with a value that is not declared.
Chosen       by price alone: the keys of one statement, or of all, and the statements that are served by
             them. What is stated is the error of the sum, which is no wider than that of the count alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt, prod

from sqlglot import exp

from discreet.core.policy import Policy
from discreet.core.table_entry import Table
from discreet.services.plans import Plan
from discreet.sql.query_parser import parse_statement
from discreet.sql.sql_names import find_name, split_alias

CLAUSES = ("expressions", "from_", "where", "group", "having", "order", "limit")
STEPS = 10**6
CELLS, COUNT = "cells", "cell_count"


@dataclass(frozen=True, kw_only=True)
class CountStatement:
    """A statement that counts the rows of one table by declared columns."""

    select: exp.Select = field(repr=False)
    table: str
    condition: str
    keys: frozenset[str]

    @property
    def family(self) -> tuple[str, str]:
        """The table and the condition, which are equal for statements that count the same rows."""
        return self.table, self.condition

    def write_over(self, keys: Sequence[str]) -> str:
        """Return the statement over the counts by finer keys."""
        names = ", ".join(f'"{key}"' for key in keys)
        where = f" WHERE {self.condition}" if self.condition else ""
        inner = f'SELECT {names}, COUNT(*) AS "{COUNT}" FROM "{self.table}"{where} GROUP BY {names}'
        made = self.select.copy()
        made.set(
            "expressions",
            [
                exp.alias_(split_alias(each)[1].copy(), split_alias(each)[0], quoted=True)
                for each in made.expressions
            ],
        )
        made.set("where", None)
        for count in [*made.find_all(exp.Count)]:
            count.replace(exp.Sum(this=exp.column(COUNT, quoted=True)))
        for column in made.find_all(exp.Column):
            column.set("table", None)
        alias = exp.TableAlias(this=exp.to_identifier(CELLS))
        made.set("from_", exp.From(this=exp.Subquery(this=parse_statement(inner), alias=alias)))
        return made.sql(dialect="duckdb", comments=False)


@dataclass(frozen=True, kw_only=True)
class FinerOffer:
    """Statements of a batch by place, the SQL that answers each from finer counts, and their epsilon."""

    statements: Mapping[int, str]
    epsilon: Fraction

    def estimate_price(self, charges: Sequence[Fraction]) -> Fraction:
        """Return the price of a batch with this offer, of which the statements alone have these charges."""
        others = [charge for place, charge in enumerate(charges) if place not in self.statements]
        return self.epsilon + sum(others, Fraction(0))


def read_count_statement(text: str, policy: Policy) -> CountStatement | None:
    """Return a statement as a count by declared columns; None if it is anything else."""
    select = parse_statement(text)
    if not isinstance(select, exp.Select) or not _is_plain_count(select):
        return None
    name = find_name(select.args["from_"].this.name, policy.tables)
    if name is None or policy.tables[name].groups_per_person is not None:
        return None
    keys = [_find_column(each, policy.tables[name]) for each in select.args["group"].expressions]
    if None in keys:
        return None
    where = select.args.get("where")
    return CountStatement(
        select=select,
        table=name,
        condition="" if where is None else where.this.sql(dialect="duckdb"),
        keys=frozenset(key for key in keys if key is not None),
    )


def _is_plain_count(select: exp.Select) -> bool:
    """Return True for COUNT(*) of one table, grouped, with conditions that name no alias."""
    group, source, where = (select.args.get(part) for part in ("group", "from_", "where"))
    if group is None or source is None or select.find(exp.Subquery, exp.Window) is not None:
        return False
    return (
        all(part in CLAUSES for part, value in select.args.items() if value)
        and all(part == "expressions" for part, value in group.args.items() if value)
        and isinstance(source.this, exp.Table)
        and isinstance(source.this.this, exp.Identifier)
        and not (where is not None and any(column.table for column in where.find_all(exp.Column)))
        and _counts_alone(select)
    )


def _find_column(node: exp.Expr, entry: Table) -> str | None:
    """Return the column with declared values that a key is."""
    name = find_name(node.name, entry.columns) if isinstance(node, exp.Column) else None
    declared = None if name is None else entry.columns[name]
    return None if declared is None or declared.values is None else name


def _counts_alone(select: exp.Select) -> bool:
    """Return True if COUNT(*) is the only aggregate, and all else is of the keys."""
    aggregates = [*select.find_all(exp.AggFunc)]
    return bool(aggregates) and all(
        isinstance(each, exp.Count)
        and isinstance(each.this, exp.Star)
        and not isinstance(each.parent, exp.Filter)
        for each in aggregates
    )


def list_finer_offers(plans: Sequence[Plan], policy: Policy) -> Iterator[FinerOffer]:
    """Yield ways to answer some statements of a batch from the same finer counts, and what each needs."""
    families: dict[tuple[str, str], dict[int, CountStatement]] = {}
    for place, plan in enumerate(plans):
        found = None if plan.repeated else read_count_statement(plan.text, policy)
        if found is not None:
            families.setdefault(found.family, {})[place] = found
    for family in families.values():
        choices = {each.keys for each in family.values()}
        for keys in sorted({*choices, frozenset[str]().union(*choices)}, key=sorted):
            yield from _list_offers_over(keys, family, plans, policy)


def _list_offers_over(
    keys: frozenset[str], family: Mapping[int, CountStatement], plans: Sequence[Plan], policy: Policy
) -> Iterator[FinerOffer]:
    needed: dict[int, Fraction] = {}
    for place, each in family.items():
        entry = policy.tables[each.table]
        if each.keys <= keys and all(entry.columns[key].nulls for key in keys - each.keys):
            cells = prod(_count_cells(entry, key) for key in keys - each.keys)
            own = plans[place].query_plan.epsilon
            needed[place] = own if cells == 1 else own * Fraction(isqrt(cells * STEPS**2) + 1, STEPS)
    served = sorted(needed, key=lambda place: needed[place])
    for count in range(2, len(served) + 1):
        chosen = served[:count]
        yield FinerOffer(
            statements={place: family[place].write_over(sorted(keys)) for place in chosen},
            epsilon=max(needed[place] for place in chosen),
        )


def _count_cells(entry: Table, key: str) -> int:
    declared = entry.columns[key]
    return len(declared.values or ()) + bool(declared.nulls)
