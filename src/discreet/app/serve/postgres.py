"""The backend of the PostgreSQL listener: questions go to the curator, catalog queries to the catalog.

Plan        `columns` plans and reads no data: types follow from text and policy (`build_empty_release`).
Charge      `run` asks once. The same question again is free, as at every listener.
Parameters  are values of the parsed tree; a described statement keeps the types that were described.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa

from discreet.accounting.accountant import format_remaining
from discreet.app.answers import Answer, with_ends
from discreet.app.proposals import Proposal
from discreet.app.serve.catalog import Catalog, is_about_schema
from discreet.app.serve.curators import Curators
from discreet.app.serve.notices import explained, notices
from discreet.app.serve.settings import Settings, in_settings
from discreet.app.serve.spending import Spending
from discreet.app.users import User, Users
from discreet.app.users.scram_verifier import Verifier
from discreet.app.users.throttle import Throttle
from discreet.app.wire.door import Column, Columns, Prepared, Result, Session, Values
from discreet.app.wire.faults import WireError
from discreet.app.wire.kinds import Kind
from discreet.core import policy
from discreet.core.errors import DiscreetError, RequestError
from discreet.engines.duckdb import query_released_tables
from discreet.engines.engine_faults import log_fault
from discreet.sql import query_parameters
from discreet.sql.expression_tree import Scalar
from discreet.sql.plan_execution import build_empty_release
from discreet.sql.planner import Plan
from discreet.sql.query_parser import parse_statement

WITH_OPTIONS = re.compile(r"explain\s*(\(|analy[sz]e\b|verbose\b)", re.IGNORECASE)
EXPLAIN = re.compile(r"explain\s+(?P<sql>select\b.*|with\b.*)", re.IGNORECASE | re.DOTALL)
KEPT_SHAPES = 1_000
PLAN = (Column(name="QUERY PLAN", kind=Kind.TEXT),)
KINDS = {
    policy.ColumnType.INTEGER: Kind.BIGINT,
    policy.ColumnType.DECIMAL: Kind.DOUBLE,
    policy.ColumnType.CATEGORY: Kind.TEXT,
    policy.ColumnType.TEXT: Kind.TEXT,
    policy.ColumnType.BOOLEAN: Kind.BOOLEAN,
    policy.ColumnType.DATE: Kind.DATE,
    policy.ColumnType.TIMESTAMP: Kind.TIMESTAMP,
}
SPECIMENS: Mapping[Kind, Scalar] = {
    Kind.BOOLEAN: True,
    Kind.DATE: date(2000, 1, 1),
    Kind.TIMESTAMP: datetime(2000, 1, 1),
    Kind.NUMERIC: Decimal("0.5"),
    Kind.DOUBLE: Decimal("0.5"),
    Kind.REAL: Decimal("0.5"),
    **dict.fromkeys((Kind.BIGINT, Kind.INTEGER, Kind.SMALLINT, Kind.OID), 1),
}
"""Placeholder values for parameters, while only the types of columns are needed."""


class Shapes:
    """A cache of the columns of plans.

    Each analyst has separate entries: a fast reply would reveal that another analyst asked the same.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, bool], Columns] = {}

    def columns(self, analyst: str, key: str, plan: Plan, beside: bool) -> Columns:
        found = self._kept.get((analyst, key, beside))
        if found is None:
            answer = build_empty_release(plan, query_released_tables)
            table = with_ends(answer.table, answer.intervals) if beside else answer.table
            found = tuple(Column(name=each.name, kind=_kind(each.type)) for each in table.schema)
            if len(self._kept) >= KEPT_SHAPES:
                self._kept.clear()
            self._kept[analyst, key, beside] = found
        return found


@dataclass(frozen=True, kw_only=True)
class PostgresDoor:
    """A `Backend` of curators, users and a catalog."""

    curators: Curators
    users: Users
    catalog: Catalog
    throttle: Throttle = field(default_factory=Throttle)
    shapes: Shapes = field(default_factory=Shapes)

    @property
    def secret(self) -> bytes:
        return self.users.secret

    def verifier(self, user: str) -> Verifier | None:
        found = self.users.find(user)
        return None if found is None else found.verifier

    def iterations(self) -> Sequence[int]:
        return self.users.iterations()

    def wait(self, user: str, place: str) -> float:
        return self.throttle.wait(user, place)

    def tried(self, user: str, place: str, *, admitted: bool) -> None:
        (self.throttle.succeeded if admitted else self.throttle.failed)(user, place)

    def enter(self, user: str) -> Session:
        found = self.users.find(user)
        if found is None:
            raise WireError("28000", "That user was removed.", fatal=True)
        if found.once:
            hint = "Log in at the console and choose your own; it is valid here too."
            raise WireError("28000", "This password has to be changed first.", hint=hint, fatal=True)
        if found.analyst is None:
            raise WireError("28000", "That user is not assigned to an analyst.", fatal=True)
        self.curators.of(found.analyst)
        return _Session(self, found, found.analyst)

    def require_still(self, user: User) -> None:
        """Raise if the user was removed or the password changed since the login, as every listener does."""
        found = self.users.find(user.name)
        if found is None or (found.stamp, found.analyst) != (user.stamp, user.analyst):
            raise WireError("28000", "That user was removed or changed.", hint="Log in again.", fatal=True)

    def unforeseen(self, error: Exception) -> DiscreetError:
        return log_fault(error)


class _Session:
    def __init__(self, door: PostgresDoor, user: User, analyst: str) -> None:
        self.door, self.user, self.analyst = door, user, analyst
        curator = door.curators.of(analyst)
        self._settings = Settings(
            told={
                "discreet.belief": lambda: curator.ledger.describe_belief(analyst=curator.alone),
                "discreet.left": lambda: format_remaining(curator.ledger.get_remaining_budget(analyst)),
                "session_authorization": lambda: user.name,
            }
        )

    def prepare(self, sql: str, kinds: tuple[Kind | None, ...]) -> Prepared:
        self.door.require_still(self.user)
        if is_about_schema(sql):
            return self.door.catalog.prepare(sql, kinds, self.user.name, self.setting)
        found = EXPLAIN.fullmatch(sql)
        if found is None and WITH_OPTIONS.match(sql):
            raise RequestError(
                "ask: EXPLAIN takes no options; it plans and never runs the question.",
                hint="Write EXPLAIN SELECT ….",
            )
        statement = parse_statement(found["sql"] if found else sql)
        guessed = [
            KINDS[each]
            for each in query_parameters.infer_parameter_kinds(statement, self.door.curators.policy)
        ]
        named = tuple(
            given or guess for given, guess in zip([*kinds, *[None] * len(guessed)], guessed, strict=False)
        )
        if len(kinds) > len(guessed):
            raise WireError("42P18", "More parameter types were declared than the question has parameters.")
        if found:
            return _Explanation(self, found["sql"], named)
        return _Question(self, sql, named)

    def setting(self, name: str) -> str | None:
        return self._settings.get(name)

    def change(self, settings: Mapping[str, str | None]) -> None:
        self._settings.change(settings)

    def settings(self) -> Mapping[str, str]:
        return self._settings.changed

    def shown(self) -> Sequence[tuple[str, str]]:
        return self._settings.all()

    @property
    def spending(self) -> Spending:
        return self._settings.spending

    @property
    def intervals(self) -> bool:
        return self._settings.intervals

    def plan(self, sql: str, values: Values) -> Proposal:
        with in_settings():
            return self.door.curators.plan(self.analyst, sql, values=values, **self.spending)


@dataclass
class _Question:
    """A prepared question: planned as often as needed, asked when it is run."""

    session: _Session
    sql: str
    parameters: tuple[Kind, ...]
    _told: dict[bool, Columns] = field(default_factory=dict)
    _last: tuple[object, Proposal] | None = None

    def columns(self, values: Values | None) -> Columns | None:
        beside = self.session.intervals
        if values is None:
            specimens = [SPECIMENS.get(kind, "") for kind in self.parameters]
            self._told[beside] = self._columns(specimens, beside)
        return self._told.get(beside) or self._columns(values or (), beside)

    def _columns(self, values: Values, beside: bool) -> Columns:
        proposal = self._proposal(values)
        session, door = self.session, self.session.door
        with door.curators.planning():
            return door.shapes.columns(session.analyst, proposal.key, proposal.plan, beside)

    def _proposal(self, values: Values) -> Proposal:
        """Return the proposal under the current settings; plan again if they have changed."""
        terms = tuple(values), tuple(map(type, values)), tuple(self.session.spending.items())
        if self._last is None or self._last[0] != terms:
            self._last = terms, self.session.plan(self.sql, values)
        return self._last[1]

    def run(self, values: Values, wanted: Callable[[], bool]) -> Result:
        proposal, beside = self._proposal(values), self.session.intervals
        self.session.door.require_still(self.session.user)
        with in_settings():
            answer = self.session.door.curators.ask(self.session.analyst, proposal, wanted)
        return Result(rows=_rows(answer, beside), notices=notices(answer))


@dataclass(frozen=True)
class _Explanation:
    """A prepared EXPLAIN: the cost of a question, in lines of text."""

    session: _Session
    sql: str
    parameters: tuple[Kind, ...]

    def columns(self, values: Values | None) -> Columns | None:
        return PLAN

    def run(self, values: Values, wanted: Callable[[], bool]) -> Result:
        lines = explained(self.session.plan(self.sql, values))
        return Result(rows=[[line] for line in lines], tag="EXPLAIN")


def _rows(answer: Answer, beside: bool) -> list[tuple[object, ...]]:
    table = with_ends(answer.table, answer.intervals) if beside else answer.table
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _kind(kind: pa.DataType) -> Kind:
    for is_one, found in (
        (pa.types.is_boolean, Kind.BOOLEAN),
        (pa.types.is_integer, Kind.BIGINT),
        (pa.types.is_floating, Kind.DOUBLE),
        (pa.types.is_decimal, Kind.DOUBLE),
        (pa.types.is_date, Kind.DATE),
        (pa.types.is_timestamp, Kind.TIMESTAMP),
    ):
        if is_one(kind):
            return found
    return Kind.TEXT
