"""Claims and victims of attacks on answers, chosen from the real table by the custodian, for scoring.

Claim       a condition on a row that about half of the people meet, unless one is given. Numbers are clamped
            as in the curator's prepared store, so that a condition means the same in both.
Victims     people whom a condition singles out, chosen so that the claim is true of about half of them.
            Attackers are assumed to know the conditions, because quasi-identifiers are what others know about
            a person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from discreet.attacks.query_attacks import Victim
from discreet.core.column_entry import Column, ColumnType, Role
from discreet.core.engine import Publisher
from discreet.core.errors import DataError, RequestError
from discreet.core.policy import Policy
from discreet.core.table_entry import Table

CONNECTIVES = (exp.Where, exp.And, exp.Or, exp.Not, exp.Paren)
ROW_COUNT, VALUE = "_discreet_rows", "_discreet_value"
NEAR_HALF = 0.25
"""A claim is good enough to attack if it is true of a quarter to three quarters of the people."""
EXAMPLE_CLAIM = "`claim=\"disease = 'flu'\"`"


def parse_claim(claim: str, name: str, table: Table) -> exp.Expr:
    """Parse a claim into a condition on the table's columns; a boolean column alone is a claim too."""
    try:
        where = sqlglot.parse_one(f"SELECT 1 WHERE {claim}", dialect="duckdb").args.get("where")
    except (sqlglot.ParseError, sqlglot.TokenError):
        where = None
    if where is None:
        raise _invalid_claim_error(claim)
    for column in list_condition_columns(where):
        if column not in table.columns:
            raise RequestError(
                f"`claim=` names {column}, which {name} does not have.",
                hint=f"It has {', '.join(table.columns)}.",
            )

    def check_condition_node(node: exp.Expr) -> exp.Expr:
        if not isinstance(node.parent, CONNECTIVES):
            return node
        if isinstance(node, exp.Column) and table.columns[node.name].type is ColumnType.BOOLEAN:
            return node.copy().eq(exp.true())
        if not isinstance(node, (exp.Predicate, *CONNECTIVES)):
            raise _invalid_claim_error(claim)
        return node

    return where.transform(check_condition_node).this  # type: ignore[no-any-return]


def list_condition_columns(condition: exp.Expr) -> set[str]:
    """Return the columns of a condition."""
    return {column.name for column in condition.find_all(exp.Column)}


def rewrite_for_source(condition: exp.Expr, table: Table) -> exp.Expr:
    """Return the claim over the source's own columns, which may all be text."""

    def rewrite_column(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name in table.columns:
            column = table.columns[node.name]
            if column.type is ColumnType.DECIMAL:
                return exp.TryCast(this=exp.column(node.name, quoted=True), to=exp.DataType.build("double"))
            return build_stored_expression(node.name, column)
        return node

    return condition.copy().transform(rewrite_column)


def build_stored_expression(name: str, column: Column) -> exp.Expr:
    """Return a column as the prepared store has it: integers clamped to their bounds, others as text."""
    raw = exp.column(name, quoted=True)
    if column.type is not ColumnType.INTEGER:
        return exp.cast(raw, "text")
    whole = exp.TryCast(this=raw, to=exp.DataType.build("bigint"))
    if column.grid_bounds is None:
        return whole
    low, high = (exp.Literal.number(end) for end in column.grid_bounds)
    return exp.func("least", exp.func("greatest", whole, low), high)


def build_literal(value: object, column: Column) -> exp.Expr:
    """Return a value as an SQL literal of a column's type."""
    return (
        exp.Literal.number(int(str(value)))
        if column.type is ColumnType.INTEGER
        else exp.Literal.string(str(value))
    )


def count_claim_rows(engine: Publisher, name: str, table: Table, claim: str) -> int:
    """Return how many rows meet a claim."""
    rows = exp.select(exp.Count(this=exp.Star()).as_(ROW_COUNT)).from_(exp.to_identifier(name, quoted=True))
    met = rows.where(rewrite_for_source(parse_claim(claim, name, table), table))
    return int(engine.count(met.sql(dialect="duckdb")).secret[ROW_COUNT][0].as_py())


def choose_claim(engine: Publisher, name: str, table: Table) -> str:
    """Return a claim that about half of the people meet, about a sensitive or another declared column."""
    sensitive = [each for each, column in table.columns.items() if column.role is Role.SENSITIVE]
    others = [
        each
        for each, column in table.columns.items()
        if column.values and column.role not in (Role.QUASI, Role.IDENTIFIER)
    ]
    if not sensitive and not others:
        raise RequestError(
            f"attack: {name} has no sensitive column to make a claim about.",
            hint=f"State a claim: {EXAMPLE_CLAIM}.",
        )
    claims = [_choose_column_claim(engine, name, table, each) for each in sensitive or others[:1]]
    return min(claims)[1]


def _choose_column_claim(engine: Publisher, name: str, table: Table, column: str) -> tuple[float, str]:
    """Return the distance of the claim's share from one half, and the claim."""
    column_policy = table.columns[column]
    if column_policy.grid_bounds is not None:
        return _choose_threshold_claim(engine, name, table, column)
    value = exp.cast(exp.column(column, quoted=True), "text")
    counted = (
        exp.select(value.as_(VALUE), exp.Count(this=exp.Star()).as_(ROW_COUNT))
        .from_(exp.to_identifier(name, quoted=True))
        .where(value.copy().is_(exp.null()).not_())
        .group_by(exp.Literal.number(1))
    )
    found = engine.count(counted.sql(dialect="duckdb")).secret.to_pylist()
    known = [row for row in found if column_policy.values is None or row[VALUE] in column_policy.values]
    if not known:
        raise DataError(f"attack: {name} has no value of {column}.", hint="State a claim with `claim=`.")
    rows = sum(row[ROW_COUNT] for row in known)
    off, said = min((abs(row[ROW_COUNT] / rows - 0.5), row[VALUE]) for row in known)
    return off, exp.column(column, quoted=True).eq(exp.Literal.string(said)).sql(dialect="duckdb")


def _choose_threshold_claim(engine: Publisher, name: str, table: Table, column: str) -> tuple[float, str]:
    """Return the claim that a number is at least a threshold, which is searched from the midpoint on.

    Bounds are often wide: a claim about their midpoint may be true of nobody.
    """
    column_policy = table.columns[column]
    low, high = column_policy.grid_bounds or (0, 0)
    subject = exp.column(column, quoted=True).sql(dialect="duckdb")
    rows = count_claim_rows(engine, name, table, f"{subject} IS NOT NULL")
    if not rows:
        raise DataError(f"attack: {name} has no value of {column}.", hint="State a claim with `claim=`.")
    best = (1.0, "")
    while low < high:
        middle = (low + high + 1) // 2
        claim = f"{subject} >= {_format_grid_value(column_policy, middle)}"
        share = count_claim_rows(engine, name, table, claim) / rows
        best = min(best, (abs(share - 0.5), claim))
        if abs(share - 0.5) <= NEAR_HALF:
            break
        low, high = (middle, high) if share > 0.5 else (low, middle - 1)
    return best if best[1] else (0.5, f"{subject} >= {_format_grid_value(column_policy, low)}")


def compute_midpoint(column: Column) -> str:
    """Return the midpoint of the declared bounds, as SQL."""
    low, high = column.grid_bounds or (0, 0)
    return _format_grid_value(column, (low + high + 1) // 2)


def _format_grid_value(column: Column, value: int) -> str:
    return str(float(value * column.grid_step) if column.type is ColumnType.DECIMAL else value)


def _invalid_claim_error(claim: str) -> RequestError:
    return RequestError(
        f"`claim=` must be a condition on a row; got {claim}.", hint=f"Write {EXAMPLE_CLAIM}."
    )


KNOWABLE_TYPES = (
    ColumnType.INTEGER,
    ColumnType.CATEGORY,
    ColumnType.TEXT,
    ColumnType.DATE,
    ColumnType.BOOLEAN,
)
IS_TRUE, RANK = "_discreet_true", "_discreet_place"


@dataclass(frozen=True, kw_only=True)
class AttackTarget:
    """A table, a claim with its number of rows, victims, and conditions that about half of the rows meet."""

    table: str
    claim: str
    claim_rows: int
    victims: tuple[Victim, ...]
    trackers: tuple[str, ...]


def choose_table(policy: Policy, requested: str | None) -> str:
    """Return the table to attack, in which one row is one person."""
    fitting = [name for name, each in policy.tables.items() if has_one_row_per_person(each)]
    if requested is not None and requested not in policy.tables:
        raise RequestError(
            f"attack: the policy has no table {requested}.", hint=f"It has {', '.join(policy.tables)}."
        )
    if requested is not None and requested not in fitting:
        raise RequestError(
            f"attack: a person may have several rows of {requested}, so a count of one person may exceed 1.",
            hint=f"Attack one of {', '.join(fitting)}."
            if fitting
            else "Attack a table with one row per person.",
        )
    if not fitting:
        raise RequestError(
            "attack: no table of the policy has one row per person.", hint="Attack a release instead."
        )
    return requested or fitting[0]


def has_one_row_per_person(table: Table) -> bool:
    """Return whether every person has one row."""
    return table.person == "row" or (table.person_column is not None and table.rows_per_person == 1)


def choose_target(
    engine: Publisher,
    name: str,
    table: Table,
    *,
    claim: str | None,
    victim: Mapping[str, str] | None,
    victim_count: int,
) -> AttackTarget:
    """Return the victims to attack and the claim about them."""
    said = claim or choose_claim(engine, name, table)
    condition = parse_claim(said, name, table)
    known = _list_known_columns(table, condition, victim)
    if not known:
        raise RequestError(
            f"attack: no column of {name} singles out people.",
            hint="Name someone with `victim=`, by other columns.",
        )
    rising = [known] if victim is not None else [known[: place + 1] for place in range(len(known))]
    victims: tuple[Victim, ...] = ()
    for columns in rising:  # few columns are realistic knowledge, so more are added only if needed
        victims = _select_victims(engine, name, table, condition, columns, victim, victim_count)
        true = sum(each.truth for each in victims)
        if min(true, len(victims) - true) >= victim_count // 2:
            break
    if not victims:
        whom = "is not exactly one row" if victim else "are nobody's alone"
        raise DataError(
            f"attack: {'what `victim=` names' if victim else 'the known columns of ' + name} {whom}.",
            hint="Name someone with `victim=` by more columns.",
        )
    return AttackTarget(
        table=name,
        claim=condition.sql(dialect="duckdb"),
        claim_rows=count_claim_rows(engine, name, table, said),
        victims=victims,
        trackers=_list_tracker_conditions(table, condition),
    )


def _list_known_columns(table: Table, condition: exp.Expr, victim: Mapping[str, str] | None) -> list[str]:
    """Return the columns that single out people: the victim's, else quasi-identifiers, else the others."""
    if victim is not None:
        for name in victim:
            if name not in table.columns or table.columns[name].role is Role.IDENTIFIER:
                raise RequestError(
                    f"attack: `victim=` names {name}, which no query may use.", hint="Name other columns."
                )
        return list(victim)
    about = list_condition_columns(condition)
    fitting = {
        name: column
        for name, column in table.columns.items()
        if column.type in KNOWABLE_TYPES and column.role is not Role.IDENTIFIER and name not in about
    }
    quasi = [name for name, column in fitting.items() if column.role is Role.QUASI]
    return quasi or [name for name, column in fitting.items() if column.role is not Role.SENSITIVE]


def _select_victims(
    engine: Publisher,
    name: str,
    table: Table,
    condition: exp.Expr,
    known: list[str],
    victim: Mapping[str, str] | None,
    victim_count: int,
) -> tuple[Victim, ...]:
    keys = {
        f"c{place}": build_stored_expression(each, table.columns[each]) for place, each in enumerate(known)
    }
    holds = exp.func("max", exp.cast(exp.paren(rewrite_for_source(condition, table)), "integer"))
    found = (
        exp.select(*(key.as_(alias) for alias, key in keys.items()), holds.as_(IS_TRUE))
        .from_(exp.to_identifier(name, quoted=True))
        .group_by(*(exp.Literal.number(place + 1) for place in range(len(keys))))
        .having(exp.Count(this=exp.Star()).eq(1))
    )
    for place, each in enumerate(known):
        found = found.having(keys[f"c{place}"].copy().is_(exp.null()).not_())
        if victim is not None:
            found = found.where(keys[f"c{place}"].copy().eq(build_literal(victim[each], table.columns[each])))
    rows = engine.count(
        _balance_selection(found, list(keys), victim_count).sql(dialect="duckdb")
    ).secret.to_pylist()
    return tuple(_build_victim(row, known, table) for row in rows)


def _balance_selection(candidates: exp.Select, keys: list[str], victim_count: int) -> exp.Select:
    """Return a selection with the claim true of about half, pseudo-randomly by a hash."""
    drawn = exp.func("hash", *(exp.column(alias) for alias in keys))
    place = exp.Window(
        this=exp.RowNumber(), partition_by=[exp.column(IS_TRUE)], order=exp.Order(expressions=[drawn])
    )
    ranked = exp.select("*", place.as_(RANK)).from_(candidates.subquery("s"))
    return (
        exp.select("*")
        .from_(ranked.subquery("r"))
        .order_by(exp.column(RANK), drawn.copy())
        .limit(victim_count)
    )


def _build_victim(row: Mapping[str, object], known: list[str], table: Table) -> Victim:
    values = {name: row[f"c{place}"] for place, name in enumerate(known)}
    where = exp.and_(
        *(
            exp.column(name, quoted=True).eq(build_literal(value, table.columns[name]))
            for name, value in values.items()
        )
    )
    return Victim(
        name=", ".join(f"{name} {value}" for name, value in values.items()),
        where=where.sql(dialect="duckdb"),
        truth=bool(row[IS_TRUE]),
    )


def _list_tracker_conditions(table: Table, condition: exp.Expr) -> tuple[str, ...]:
    """Return conditions that many rows meet and many do not, from declared bounds and values."""
    found = []
    for name, column in table.columns.items():
        if name in list_condition_columns(condition) or column.role is Role.IDENTIFIER:
            continue
        quoted = exp.column(name, quoted=True).sql(dialect="duckdb")
        if column.type is ColumnType.INTEGER and column.grid_bounds is not None:
            found.append(f"{quoted} < {compute_midpoint(column)}")
        elif column.values is not None and len(column.values) > 1:
            found.append(
                exp.column(name, quoted=True).eq(exp.Literal.string(column.values[0])).sql(dialect="duckdb")
            )
    return tuple(found)
