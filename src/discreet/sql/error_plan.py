"""The error plan of a query over released tables: what its intervals are computed from, and what they say.

per_row    each row's interval holds with the stated confidence.
all_rows   all intervals of the column hold together: rows were selected by noise, or the measurement was
           shown before, so that whoever asks may have chosen what to ask by its noise.

`plan_errors` reads the query alone. The result is the query with further columns, and for each column of the
answer one of

exact      a key or a constant.
ends       both ends are columns: a measure as released, or the box of a value.
parts      the interval follows from the laws of its parts (`sql.error_intervals`).
reason     no interval, and why.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify

from discreet.core.sql_quoting import quote_identifier
from discreet.sql.error_expressions import DERIVED
from discreet.sql.error_relations import COMPANION, QueryAnalyzer
from discreet.sql.error_scopes import Bound, CannotFollowError, Relation
from discreet.sql.noisy_regions import is_cell
from discreet.sql.noisy_values import (
    Exact,
    Linear,
    Noisy,
    Part,
    Step,
    Term,
    Value,
    map_expressions,
)
from discreet.sql.released_schema import ReleasedSchema

PER_ROW, ALL_ROWS = "per_row", "all_rows"
MOST_CACHED = 256
RESERVED = "_discreet_"
OUTPUT = f"{RESERVED}o"
FORM_NAME, FORM_LIMIT = re.compile(rf'"{OUTPUT}(?P<place>\d+)"'), 999_999_937
"""What stands in the form of a query for the names of its outputs and for its limit."""
ROW_ENDS = 2  # a measure that is selected from a domain has an interval of its own row alone, without ends


@dataclass(frozen=True, kw_only=True)
class ColumnError:
    """How the interval of one column of an answer is found.

    `measure` is the table and column that it shows unchanged; `bound` bounds the number of candidate rows;
    `selected` says how noise selected the rows, `was_shown` that its measurement was shown before.
    """

    name: str
    is_exact: bool = False
    interval_kind: str = PER_ROW
    measure: tuple[str, str] | None = None
    ends: tuple[str, str] | None = None
    parts: tuple[Part, ...] = ()
    steps: tuple[Step, ...] = ()
    bound: Bound = ((),)
    selected: str = ""
    was_shown: bool = False
    reason: str = ""

    @property
    def has_interval(self) -> bool:
        return self.ends is not None or bool(self.parts)

    def list_terms(self) -> Iterator[Term]:
        """Yield the terms of all parts."""
        for part in self.parts:
            for each in (part,) if isinstance(part, Linear) else (part.top, part.bottom):
                yield from each.terms

    @property
    def single_table(self) -> str | None:
        """The table whose cells the rows are, one for each row: then rows have independent errors."""
        tables = {term.source[0] for term in self.list_terms()}
        scopes = {term.region for term in self.list_terms() if is_cell(term.region)}
        cells = all(is_cell(term.region) for term in self.list_terms())
        return tables.pop() if cells and len(scopes) == 1 and len(tables) == 1 else None


@dataclass(frozen=True, kw_only=True)
class ErrorPlan:
    """A query with the columns that its intervals are computed from.

    `columns` are those of the answer, in order; the result of `query` has them first. `released_columns` are
    the columns beside keys and measures that released tables must have, by table; `box_measure_count` is how
    many measures share the miss probability of a box. `companions` are the result's further columns.
    """

    query: str
    columns: tuple[ColumnError, ...]
    released_columns: Mapping[str, frozenset[str]] = field(default_factory=dict)
    companions: frozenset[str] = frozenset()
    box_measure_count: int = 1

    @property
    def noisy_columns(self) -> tuple[ColumnError, ...]:
        return tuple(each for each in self.columns if not each.is_exact)

    def get_column(self, name: str) -> ColumnError:
        return next(each for each in self.columns if each.name == name)

    def fill_form(self, names: Sequence[str], limit: int | None) -> ErrorPlan:
        """Return the plan of a query from that of its form, with its own names and limit."""
        query = FORM_NAME.sub(lambda found: quote_identifier(names[int(found["place"])]), self.query)
        if limit is not None:
            assert query.endswith(f"LIMIT {FORM_LIMIT}")
            query = f"{query.removesuffix(str(FORM_LIMIT))}{limit}"
        columns = tuple(replace(each, name=name) for each, name in zip(self.columns, names, strict=True))
        return replace(self, query=query, columns=columns)


def plan_errors(
    query: str | exp.Expression,
    schemas: Sequence[ReleasedSchema],
    *,
    shown_before: Collection[str] = (),
    chosen_after: Collection[str] = (),
) -> ErrorPlan:
    """Return the error plan of a DuckDB query over released tables; recent plans are cached.

    `shown_before` are the tables of which anything was shown before this query was asked, `chosen_after`
    those of which all rows may have been chosen among more that were shown.
    """
    text = query if isinstance(query, str) else query.sql("duckdb")
    known = [(each.name, each.keys, dict(each.measures), each.is_complete) for each in schemas]
    return _plan_errors(
        text, _Schemas(repr(known), tuple(schemas)), _Seen(frozenset(shown_before), frozenset(chosen_after))
    )


@dataclass(frozen=True)
class _Schemas:
    """Schemas, equal if the same errors follow: their noise does not matter."""

    text: str
    schemas: tuple[ReleasedSchema, ...] = field(compare=False)


@dataclass(frozen=True)
class _Seen:
    """The tables of which something was shown before, and those whose rows may be chosen since."""

    shown: frozenset[str]
    chosen: frozenset[str]


@lru_cache(maxsize=MOST_CACHED)
def _plan_errors(query: str, known: _Schemas, seen: _Seen) -> ErrorPlan:
    tree = _parse_query(query)
    names = [each.alias_or_name for each in tree.selects] if isinstance(tree, exp.Query) else []
    try:
        return _follow_query(query, tree, names, known.schemas, seen)
    except CannotFollowError as reason:
        return _plan_without_errors(query, names, str(reason))
    except (SqlglotError, RecursionError):
        return _plan_without_errors(query, names, DERIVED)


def _follow_query(
    query: str,
    tree: exp.Expression,
    names: list[str],
    schemas: Sequence[ReleasedSchema],
    seen: _Seen,
) -> ErrorPlan:
    if any(each.name.startswith(COMPANION) for each in tree.find_all(exp.Identifier)):
        raise CannotFollowError(DERIVED)
    qualified = _qualify_query(tree, schemas)
    analyzer = QueryAnalyzer({each.name: each for each in schemas})
    relation = analyzer.analyze(qualified, {})
    shown = list(relation.outputs)
    pairs = list(zip(names, shown, strict=False))
    as_written = len(names) == len(shown) and all(old.lower() in ("", new.lower()) for old, new in pairs)
    names = [old or new for old, new in pairs] if as_written else shown
    columns = tuple(
        _plan_column(name, value, relation, seen)
        for name, value in zip(names, relation.outputs.values(), strict=True)
    )
    needed = _find_needed(columns)
    if not needed:
        return ErrorPlan(query=query, columns=columns)
    _prune_companions(qualified, analyzer.kept_companions | needed)
    _restore_names(qualified, shown, names)
    return ErrorPlan(
        query=qualified.sql("duckdb"),
        columns=columns,
        companions=frozenset(each.alias for each in _list_selects(qualified) if _is_companion(each)),
        released_columns=_find_released_columns(qualified, schemas),
        box_measure_count=max(1, sum(map(len, _find_measures(tree, schemas).values()))),
    )


def _is_companion(node: exp.Expr) -> bool:
    return node.alias.startswith(COMPANION)


def _list_selects(tree: exp.Expression) -> list[exp.Expr]:
    return list(tree.selects) if isinstance(tree, exp.Query) else []


def _parse_query(text: str) -> exp.Expression:
    tree = sqlglot.parse_one(text, dialect="duckdb")
    assert isinstance(tree, exp.Expression)
    return tree


def _qualify_query(tree: exp.Expression, schemas: Sequence[ReleasedSchema]) -> exp.Expression:
    known: dict[str, object] = {
        each.name: dict.fromkeys([*each.keys, *each.measures], "DOUBLE") for each in schemas
    }
    return qualify(tree.copy(), dialect="duckdb", schema=known, quote_identifiers=True, identify=True)


def _plan_without_errors(query: str, names: list[str], reason: str) -> ErrorPlan:
    return ErrorPlan(query=query, columns=tuple(ColumnError(name=name, reason=reason) for name in names))


def _plan_column(name: str, value: Value, relation: Relation, seen: _Seen) -> ColumnError:
    if isinstance(value, Exact):
        return ColumnError(name=name, is_exact=True)
    selected = relation.facts.selected or value.chosen
    tables = _find_tables(value)
    terms = [each for each in ColumnError(name="", parts=value.parts).list_terms() if not each.is_rounding]
    # a listing of all cells says what the first one said: nobody chose its rows. What it makes of several
    # noises of a cell may be chosen by them: of all m1 - c * m0, the one that is furthest out
    is_listing = (
        relation.facts.is_whole
        and all(is_cell(term.region) for term in terms)
        and (value.measure is not None or len({term.source for term in terms}) < 2)
    )
    was_shown = bool(tables & seen.shown) and not (is_listing and not tables & seen.chosen)
    kind = ALL_ROWS if selected or was_shown else PER_ROW
    common = {"name": name, "selected": selected, "bound": relation.bound, "was_shown": was_shown}

    def project(node: exp.Expression) -> exp.Expression:
        return exp.column(relation.project(node), quoted=True)

    if value.measure is not None:
        origin = (value.measure.table, value.measure.column)
        if len(value.measure.ends) == ROW_ENDS and selected:
            told = f"{selected}, and error bars do not hold for rows selected that way"
            return ColumnError(measure=origin, reason=told, **common)  # type: ignore[arg-type]
        pair = value.measure.ends[-2:] if kind == ALL_ROWS else value.measure.ends[:2]
        low, high = (project(each).name for each in pair)
        return ColumnError(interval_kind=kind, measure=origin, ends=(low, high), **common)  # type: ignore[arg-type]
    if value.parts:
        parts = map_expressions(value.parts, project)
        return ColumnError(interval_kind=kind, parts=parts, steps=value.steps, **common)  # type: ignore[arg-type]
    if value.box is not None:
        low, high = (project(each).name for each in value.box)
        return ColumnError(interval_kind=ALL_ROWS, ends=(low, high), **common)  # type: ignore[arg-type]
    return ColumnError(reason=value.reason or DERIVED, **common)  # type: ignore[arg-type]


def _find_tables(value: Noisy) -> set[str]:
    tables = {value.measure.table} if value.measure is not None else set()
    return tables | {term.source[0] for term in ColumnError(name="", parts=value.parts).list_terms()}


def _find_needed(columns: Sequence[ColumnError]) -> set[str]:
    needed: set[str] = set()

    def note(node: exp.Expression) -> exp.Expression:
        needed.add(node.name)
        return node

    for column in columns:
        needed.update(column.ends or ())
        map_expressions(column.parts, note)
    return needed


def _prune_companions(tree: exp.Expression, needed: set[str]) -> None:
    """Remove companions that nothing reads."""
    while True:
        read = needed | {each.name for each in tree.find_all(exp.Column)}
        dropped = [
            each
            for select in tree.find_all(exp.Select)
            for each in select.expressions
            if _is_companion(each) and each.alias not in read
        ]
        if not dropped:
            return
        for each in dropped:
            each.pop()


def _restore_names(tree: exp.Expression, shown: list[str], names: list[str]) -> None:
    """Name the query's columns as they were written: qualifying folds their case, which DuckDB ignores."""
    select = tree
    while not isinstance(select, exp.Select):
        select = select.this
    for each, old, new in zip(select.expressions, shown, names, strict=False):
        if old != new and isinstance(each, exp.Alias):
            each.set("alias", exp.to_identifier(new, quoted=True))


def _find_measures(tree: exp.Expression, schemas: Sequence[ReleasedSchema]) -> dict[str, frozenset[str]]:
    """Return the measures that a query reads, by table."""
    read = {each.name for each in tree.find_all(exp.Column)}
    every = any(True for _ in tree.find_all(exp.Star))
    return {
        schema.name: frozenset(name for name in schema.measures if every or name in read)
        for schema in schemas
    }


def _find_released_columns(
    tree: exp.Expression, schemas: Sequence[ReleasedSchema]
) -> dict[str, frozenset[str]]:
    read = {each.name for each in tree.find_all(exp.Column)}
    return {
        schema.name: frozenset(
            name for name in read if "." in name and name.split(".", 1)[0] in schema.measures
        )
        for schema in schemas
    }
