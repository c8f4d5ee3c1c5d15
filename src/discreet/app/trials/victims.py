"""Whom attacks on answers are about: a claim, people whom a condition singles out, and the truth of it.

Chosen by the custodian from the real table, for scoring, so that the claim is true of about half of them.
Attackers are taken to know the conditions, as the quasi-identifiers of a person are what others know. Numbers
are clamped as the curator's own store has them, so that a condition means the same to both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from discreet.attacks.asking import Victim
from discreet.core.engine import Publisher
from discreet.core.errors import DataError, RequestError
from discreet.core.policy import Column, Kind, Policy, Role, Table

KNOWABLE = (Kind.INTEGER, Kind.CATEGORY, Kind.TEXT, Kind.DATE, Kind.BOOLEAN)
CONNECTED = (exp.Where, exp.And, exp.Or, exp.Not, exp.Paren)
ROWS, TRUE, VALUE, PLACE = "_discreet_rows", "_discreet_true", "_discreet_value", "_discreet_place"


@dataclass(frozen=True, kw_only=True)
class Target:
    """A table, a claim that `often` rows meet, victims, and conditions that about half of the rows meet."""

    table: str
    claim: str
    often: int
    victims: tuple[Victim, ...]
    trackers: tuple[str, ...]


def table_to_attack(policy: Policy, wanted: str | None) -> str:
    """The table of which one row is one person."""
    fitting = [name for name, each in policy.tables.items() if is_one_row(each)]
    if wanted is not None and wanted not in policy.tables:
        raise RequestError(
            f"attack: the policy has no table {wanted}.", hint=f"It has {', '.join(policy.tables)}."
        )
    if wanted is not None and wanted not in fitting:
        raise RequestError(
            f"attack: a person may have several rows of {wanted}, so no count of one person is 0 or 1.",
            hint=f"Attack one of {', '.join(fitting)}."
            if fitting
            else "Attack a table with one row a person.",
        )
    if not fitting:
        raise RequestError(
            "attack: no table of the policy has one row a person.", hint="Attack a release of it."
        )
    return wanted or fitting[0]


def is_one_row(table: Table) -> bool:
    """Whether every person has one row."""
    return table.person == "row" or (table.person_column is not None and table.rows_per_person == 1)


def target(
    engine: Publisher,
    name: str,
    table: Table,
    *,
    claim: str | None,
    victim: Mapping[str, str] | None,
    number: int,
) -> Target:
    """Whom to attack, and what about."""
    said = claim or _likely_claim(engine, name, table)
    condition = _condition(said, name, table)
    known = _known(table, condition, victim)
    if not known:
        raise RequestError(
            f"attack: no column of {name} singles out people.",
            hint="Name someone with --victim, by other columns.",
        )
    rising = [known] if victim is not None else [known[: place + 1] for place in range(len(known))]
    victims: tuple[Victim, ...] = ()
    for columns in rising:  # by as few columns as single out so many
        victims = _victims(engine, name, table, condition, columns, victim, number)
        true = sum(each.truth for each in victims)
        if min(true, len(victims) - true) >= number // 2:
            break
    if not victims:
        whom = "is not exactly one row" if victim else "are nobody's alone"
        raise DataError(
            f"attack: {'what --victim names' if victim else 'the known columns of ' + name} {whom}.",
            hint="Name someone with --victim by more columns.",
        )
    return Target(
        table=name,
        claim=condition.sql(dialect="duckdb"),
        often=often(engine, name, table, said),
        victims=victims,
        trackers=_trackers(table, condition),
    )


def _condition(claim: str, name: str, table: Table) -> exp.Expr:
    """A claim as a condition on the table's columns; a boolean column by itself claims that it is true."""
    try:
        where = sqlglot.parse_one(f"SELECT 1 WHERE {claim}", dialect="duckdb").args.get("where")
    except (sqlglot.ParseError, sqlglot.TokenError):
        where = None
    if where is None:
        raise _no_condition(claim)
    for column in _names_of(where):
        if column not in table.columns:
            raise RequestError(
                f"--claim names {column}, which {name} does not have.",
                hint=f"It has {', '.join(table.columns)}.",
            )

    def judged(node: exp.Expr) -> exp.Expr:
        if not isinstance(node.parent, CONNECTED):
            return node
        if isinstance(node, exp.Column) and table.columns[node.name].type is Kind.BOOLEAN:
            return node.copy().eq(exp.true())
        if not isinstance(node, (exp.Predicate, *CONNECTED)):
            raise _no_condition(claim)
        return node

    return where.transform(judged).this  # type: ignore[no-any-return]


def _no_condition(claim: str) -> RequestError:
    return RequestError(
        f"--claim is a condition on a row; {claim} is none.", hint="Write --claim \"disease = 'flu'\"."
    )


def _names_of(condition: exp.Expr) -> set[str]:
    return {column.name for column in condition.find_all(exp.Column)}


def _known(table: Table, condition: exp.Expr, victim: Mapping[str, str] | None) -> list[str]:
    """The columns by which people are singled out: --victim's, or quasi-identifiers, or what is left."""
    if victim is not None:
        for name in victim:
            if name not in table.columns or table.columns[name].role is Role.IDENTIFIER:
                raise RequestError(
                    f"attack: --victim names {name}, which nobody can ask by.", hint="Name others."
                )
        return list(victim)
    about = _names_of(condition)
    fitting = {
        name: column
        for name, column in table.columns.items()
        if column.type in KNOWABLE and column.role is not Role.IDENTIFIER and name not in about
    }
    quasi = [name for name, column in fitting.items() if column.role is Role.QUASI]
    return quasi or [name for name, column in fitting.items() if column.role is not Role.SENSITIVE]


def _stored(name: str, column: Column) -> exp.Expr:
    """A column as the curator's store has it: numbers within their bounds, others as text."""
    raw = exp.column(name, quoted=True)
    if column.type is not Kind.INTEGER:
        return exp.cast(raw, "text")
    whole = exp.TryCast(this=raw, to=exp.DataType.build("bigint"))
    if column.grid is None:
        return whole
    low, high = (exp.Literal.number(end) for end in column.grid)
    return exp.func("least", exp.func("greatest", whole, low), high)


def literal(value: object, column: Column) -> exp.Expr:
    """A value as SQL compares it with a column."""
    return (
        exp.Literal.number(int(str(value))) if column.type is Kind.INTEGER else exp.Literal.string(str(value))
    )


def _victims(
    engine: Publisher,
    name: str,
    table: Table,
    condition: exp.Expr,
    known: list[str],
    victim: Mapping[str, str] | None,
    number: int,
) -> tuple[Victim, ...]:
    keys = {f"c{place}": _stored(each, table.columns[each]) for place, each in enumerate(known)}
    holds = exp.func("max", exp.cast(exp.paren(_typed(condition, table)), "integer"))
    found = (
        exp.select(*(key.as_(alias) for alias, key in keys.items()), holds.as_(TRUE))
        .from_(exp.to_identifier(name, quoted=True))
        .group_by(*(exp.Literal.number(place + 1) for place in range(len(keys))))
        .having(exp.Count(this=exp.Star()).eq(1))
    )
    for place, each in enumerate(known):
        found = found.having(keys[f"c{place}"].copy().is_(exp.null()).not_())
        if victim is not None:
            found = found.where(keys[f"c{place}"].copy().eq(literal(victim[each], table.columns[each])))
    rows = engine.count(_balanced(found, list(keys), number).sql(dialect="duckdb")).secret.to_pylist()
    return tuple(_victim(row, known, table) for row in rows)


def _balanced(found: exp.Select, keys: list[str], number: int) -> exp.Select:
    """As many of whom the claim is true as of whom it is not, where there are; drawn by a hash."""
    drawn = exp.func("hash", *(exp.column(alias) for alias in keys))
    place = exp.Window(
        this=exp.RowNumber(), partition_by=[exp.column(TRUE)], order=exp.Order(expressions=[drawn])
    )
    ranked = exp.select("*", place.as_(PLACE)).from_(found.subquery("s"))
    return exp.select("*").from_(ranked.subquery("r")).order_by(exp.column(PLACE), drawn.copy()).limit(number)


def _victim(row: Mapping[str, object], known: list[str], table: Table) -> Victim:
    values = {name: row[f"c{place}"] for place, name in enumerate(known)}
    where = exp.and_(
        *(
            exp.column(name, quoted=True).eq(literal(value, table.columns[name]))
            for name, value in values.items()
        )
    )
    return Victim(
        name=", ".join(f"{name} {value}" for name, value in values.items()),
        where=where.sql(dialect="duckdb"),
        truth=bool(row[TRUE]),
    )


def _typed(condition: exp.Expr, table: Table) -> exp.Expr:
    """The claim over the source's own columns, which may all be text."""

    def stored(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name in table.columns:
            column = table.columns[node.name]
            if column.type is Kind.DECIMAL:
                return exp.TryCast(this=exp.column(node.name, quoted=True), to=exp.DataType.build("double"))
            return _stored(node.name, column)
        return node

    return condition.copy().transform(stored)


def often(engine: Publisher, name: str, table: Table, claim: str) -> int:
    """How many rows meet a claim."""
    rows = exp.select(exp.Count(this=exp.Star()).as_(ROWS)).from_(exp.to_identifier(name, quoted=True))
    met = rows.where(_typed(_condition(claim, name, table), table))
    return int(engine.count(met.sql(dialect="duckdb")).secret[ROWS][0].as_py())


def _likely_claim(engine: Publisher, name: str, table: Table) -> str:
    """What about half of the people may be: a value of a sensitive column, or of another that is declared."""
    sensitive = [each for each, column in table.columns.items() if column.role is Role.SENSITIVE]
    others = [
        each
        for each, column in table.columns.items()
        if column.values and column.role not in (Role.QUASI, Role.IDENTIFIER)
    ]
    if not sensitive and not others:
        raise RequestError(
            f"attack: nothing says what is secret in {name}.",
            hint="Say what is claimed: --claim \"disease = 'flu'\".",
        )
    claims = [_claim(engine, name, each, table.columns[each]) for each in sensitive or others[:1]]
    return min(claims)[1]


def _claim(engine: Publisher, name: str, column: str, declared: Column) -> tuple[float, str]:
    """How far from one half the share of the claim is, and the claim."""
    if declared.grid is not None:
        return 0.0, f"{exp.column(column, quoted=True).sql(dialect='duckdb')} >= {_middle(declared)}"
    value = exp.cast(exp.column(column, quoted=True), "text")
    counted = (
        exp.select(value.as_(VALUE), exp.Count(this=exp.Star()).as_(ROWS))
        .from_(exp.to_identifier(name, quoted=True))
        .where(value.copy().is_(exp.null()).not_())
        .group_by(exp.Literal.number(1))
    )
    found = engine.count(counted.sql(dialect="duckdb")).secret.to_pylist()
    known = [row for row in found if declared.values is None or row[VALUE] in declared.values]
    if not known:
        raise DataError(f"attack: {name} has no value of {column}.", hint="Say what is claimed with --claim.")
    rows = sum(row[ROWS] for row in known)
    off, said = min((abs(row[ROWS] / rows - 0.5), row[VALUE]) for row in known)
    return off, exp.column(column, quoted=True).eq(exp.Literal.string(said)).sql(dialect="duckdb")


def _middle(column: Column) -> str:
    low, high = column.grid or (0, 0)
    return str(
        float((low + high + 1) // 2 * column.step) if column.type is Kind.DECIMAL else (low + high + 1) // 2
    )


def _trackers(table: Table, condition: exp.Expr) -> tuple[str, ...]:
    """Conditions that many rows meet and many do not, from what is declared."""
    found = []
    for name, column in table.columns.items():
        if name in _names_of(condition) or column.role is Role.IDENTIFIER:
            continue
        quoted = exp.column(name, quoted=True).sql(dialect="duckdb")
        if column.type is Kind.INTEGER and column.grid is not None:
            found.append(f"{quoted} < {_middle(column)}")
        elif column.values is not None and len(column.values) > 1:
            found.append(
                exp.column(name, quoted=True).eq(exp.Literal.string(column.values[0])).sql(dialect="duckdb")
            )
    return tuple(found)
