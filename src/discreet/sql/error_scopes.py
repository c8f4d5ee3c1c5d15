"""Rows of FROM: released tables, subqueries and joins, with what is known of their columns.

Distinct    a released table has one row for each combination of its keys, a GROUP BY one for each of its
            own. A join keeps the cells of one side apart if it matches each of its rows at most once: the
            join's equations fix a set of columns in which rows of the other side differ.
Selected    rows are selected by noise if a condition on noisy values decides which there are.
Candidates  is a bound on how many rows there could be before any selection: a sum of products of the numbers
            of rows of released tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from discreet.sql.error_aggregates import RowFacts
from discreet.sql.error_expressions import DERIVED
from discreet.sql.noisy_regions import Region, RegionKind, copy_region
from discreet.sql.noisy_values import (
    EXACT,
    Exact,
    Linear,
    Noisy,
    Ratio,
    ReleasedColumn,
    Term,
    Value,
    map_expressions,
    map_regions,
)
from discreet.sql.released_schema import LinearMeasure, OpaqueMeasure, RatioMeasure, ReleasedSchema

Bound = tuple[tuple[str, ...], ...]
ENDS = ("low", "high", "all.low", "all.high", "box.low", "box.high")
UNKNOWN_LAW = "the law of its noise is not known"


class CannotFollowError(Exception):
    """The errors of a statement cannot be followed; the message says why, as a reason without ±."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """The rows of FROM: columns by (alias, name), sets of columns in which all rows differ, and facts."""

    columns: Mapping[tuple[str, str], Value]
    unique: tuple[frozenset[tuple[str, str]], ...]
    facts: RowFacts
    bound: Bound = ((),)

    def join(self, other: Source, node: exp.Join, selected: str, *, equal: Sequence[Equation]) -> Source:
        """Return the rows of a join, given its equations between columns of both sides."""
        once = other.has_unique(pair[1] for pair in equal)
        others_once = self.has_unique(pair[0] for pair in equal)
        side, kind = (str(node.args.get(name) or "").upper() for name in ("side", "kind"))
        if kind not in ("", "INNER", "OUTER", "CROSS") or node.args.get("method"):
            raise CannotFollowError(DERIVED)
        bound = self.bound if once else other.bound if others_once else _multiply(self.bound, other.bound)
        if side in ("FULL", "LEFT") and not once:
            bound = (*bound, *self.bound)
        if side in ("FULL", "RIGHT"):
            bound = (*bound, *other.bound)
        here = self.facts.disjoint if once else frozenset()
        there = other.facts.disjoint if others_once else frozenset()
        unique = [a | b for a in self.unique for b in other.unique]
        if not side:
            unique += [*(self.unique if once else ()), *(other.unique if others_once else ())]
        return Source(
            columns={**self.columns, **other.columns},
            unique=tuple(unique),
            facts=RowFacts(
                scope=self.facts.scope,
                disjoint=here | there,
                selected=self.facts.selected or other.facts.selected or selected,
                is_incomplete=self.facts.is_incomplete or other.facts.is_incomplete,
                has_noisy_order=self.facts.has_noisy_order or other.facts.has_noisy_order,
            ),
            bound=bound,
        )

    def has_unique(self, columns: object) -> bool:
        """Return True if rows differ in some of the columns that equations fix."""
        fixed = set(columns)  # type: ignore[call-overload]
        return any(each <= fixed for each in self.unique)


Equation = tuple[tuple[str, str], tuple[str, str]]


def _multiply(left: Bound, right: Bound) -> Bound:
    return tuple((*a, *b) for a in left for b in right)


@dataclass(kw_only=True)
class Relation:
    """An analyzed query: its output columns, valued over its own FROM, and facts about its rows.

    `project` adds an expression to the query's outputs and returns its name.
    """

    outputs: dict[str, Value]
    unique: tuple[frozenset[str], ...]
    facts: RowFacts
    bound: Bound
    project: Callable[[exp.Expression], str]
    _exported: dict[str, Value] | None = field(default=None)

    def export(self) -> dict[str, Value]:
        """Return the columns, valued by columns of the query's result."""
        if self._exported is None:
            self._exported = {
                name: map_expressions(value, lambda each: exp.column(self.project(each), quoted=True))
                for name, value in self.outputs.items()
            }
        return self._exported

    def to_source(self, alias: str, scope: int, *, is_copy: bool) -> Source:
        """Return the rows as FROM sees them under an alias; a copy has cells of its own."""

        def rename(region: Region) -> Region:
            return copy_region(region, scope) if is_copy else region

        def qualify(node: exp.Expression) -> exp.Expression:
            return exp.column(node.name, table=alias, quoted=True)

        columns = {
            (alias, name): EXACT
            if is_copy and isinstance(value, Exact)
            else map_regions(map_expressions(value, qualify), rename)
            for name, value in self.export().items()
        }
        facts = replace(
            self.facts, scope=scope, disjoint=frozenset(rename(each) for each in self.facts.disjoint)
        )
        unique = tuple(frozenset((alias, name) for name in names) for names in self.unique)
        return Source(columns=columns, unique=unique, facts=facts, bound=self.bound)


def scan_released(schema: ReleasedSchema, alias: str, scope: int) -> Source:
    """Return the rows of a released table under an alias."""
    cell = Region(kind=RegionKind.CELL, scope=scope)
    columns: dict[tuple[str, str], Value] = {(alias, key): Exact(origin=(scope, key)) for key in schema.keys}
    for name in schema.measures:
        columns[alias, name] = _read_measure(schema, alias, name, cell)
    return Source(
        columns=columns,
        unique=(frozenset((alias, key) for key in schema.keys),),
        facts=RowFacts(
            scope=scope,
            disjoint=frozenset([cell]),
            is_incomplete=not schema.is_complete,
            is_whole=True,
            is_subcube=True,
        ),
        bound=((schema.name,),),
    )


def _read_measure(schema: ReleasedSchema, alias: str, name: str, cell: Region) -> Noisy:
    form = schema.measures[name]

    def column(suffix: str = "") -> exp.Expression:
        return exp.column(f"{name}{suffix}", table=alias, quoted=True)

    def terms(coefficients: Mapping[str, Fraction]) -> tuple[Term, ...]:
        return tuple(
            Term(source=(schema.name, primitive), region=cell, weight=weight)
            for primitive, weight in coefficients.items()
            if weight
        )

    if isinstance(form, OpaqueMeasure) and not form.has_interval:
        ends = tuple(column(f".{end}") for end in ENDS[:2])
        released = ReleasedColumn(table=schema.name, column=name, ends=ends)
        return Noisy(measure=released, reason=UNKNOWN_LAW)
    ends = tuple(column(f".{end}") for end in ENDS)
    released = ReleasedColumn(table=schema.name, column=name, ends=ends[:4])
    box = (ends[4], ends[5])
    if isinstance(form, OpaqueMeasure):
        return Noisy(measure=released, box=box, reason=UNKNOWN_LAW)
    if isinstance(form, LinearMeasure):
        found = terms(form.coefficients)
        if form.rounding:
            found = (*found, Term(source=("", ""), region=cell, weight=form.rounding))
        part = Linear(value=column(), terms=found, is_whole=form.is_whole)
        return Noisy(parts=(part,), box=box, measure=released)
    assert isinstance(form, RatioMeasure)
    ratio = Ratio(
        top=Linear(value=column(".top"), terms=terms(form.top)),
        bottom=Linear(value=column(".bottom"), terms=terms(form.bottom)),
        offset=form.offset,
        limits=(form.low - float(form.offset), form.high - float(form.offset)),
    )
    return Noisy(parts=(ratio,), box=box, measure=released)


def find_equations(condition: exp.Expression | None, left: Source, right: Source) -> list[Equation]:
    """Return the equations between exact columns of both sides that a join's condition implies."""
    found: list[Equation] = []
    for each in (
        [] if condition is None else condition.flatten() if isinstance(condition, exp.And) else [condition]
    ):
        inner = each.unnest()
        if not isinstance(inner, exp.EQ | exp.NullSafeEQ):
            continue
        names = [
            (side.table, side.name) for side in (inner.this, inner.expression) if isinstance(side, exp.Column)
        ]
        for one, other in ((0, 1), (1, 0)):
            if len(names) == 2 and names[one] in left.columns and names[other] in right.columns:
                sides = (left.columns[names[one]], right.columns[names[other]])
                if all(isinstance(side, Exact) for side in sides):
                    found.append((names[one], names[other]))
                break
    return found
