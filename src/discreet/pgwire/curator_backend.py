"""The backend of the PostgreSQL listener: questions go to the curator, catalog queries to the catalog.

Plan        `plan_columns` plans and reads no data: types follow from text and policy (`build_empty_answer`).
Charge      `run` asks once. The same question again is free, as at every listener.
Notices     say what an answer cost, how wrong it may be, and what an attacker may believe.
Parameters  are values of the parsed tree; a described statement keeps the types that were described.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa

from discreet.accounting.amounts import format_remaining
from discreet.belief.wording import (
    format_count,
    format_number_up,
    format_percent,
)
from discreet.core.column_entry import ColumnType
from discreet.core.engine_faults import log_fault
from discreet.core.errors import DiscreetError, RequestError
from discreet.pgwire.backend import Column, Columns, PreparedStatement, Result, Session, Values
from discreet.pgwire.catalog import Catalog, is_catalog_query
from discreet.pgwire.postgres_types import PostgresType
from discreet.pgwire.session_settings import SessionSettings
from discreet.pgwire.wire_errors import WireError
from discreet.services.answers import (
    Answer,
    add_interval_bounds,
    build_empty_answer,
    describe_constant,
    describe_interval_kind,
)
from discreet.services.plans import Plan
from discreet.services.question_request import QuestionRequest
from discreet.services.request_fields import make_request
from discreet.services.serving.curators import Curators
from discreet.services.serving.served_policy import ServedPolicy
from discreet.services.users import User, UserLookup
from discreet.services.users.login_throttle import LoginThrottle
from discreet.services.users.scram_verifier import Verifier
from discreet.sql import query_parameters
from discreet.sql.expression_tree import Scalar
from discreet.sql.planner import QueryPlan
from discreet.sql.query_parser import parse_statement

EXPLAIN_WITH_OPTIONS = re.compile(r"explain\s*(\(|analy[sz]e\b|verbose\b)", re.IGNORECASE)
EXPLAIN = re.compile(r"explain\s+(?P<sql>select\b.*|with\b.*)", re.IGNORECASE | re.DOTALL)
MAX_CACHED_COLUMNS = 1_000
EXPLAIN_COLUMNS = (Column(name="QUERY PLAN", pg_type=PostgresType.TEXT),)
TYPES_BY_COLUMN_TYPE = {
    ColumnType.INTEGER: PostgresType.BIGINT,
    ColumnType.DECIMAL: PostgresType.DOUBLE,
    ColumnType.CATEGORY: PostgresType.TEXT,
    ColumnType.TEXT: PostgresType.TEXT,
    ColumnType.BOOLEAN: PostgresType.BOOLEAN,
    ColumnType.DATE: PostgresType.DATE,
    ColumnType.TIMESTAMP: PostgresType.TIMESTAMP,
}
PLACEHOLDER_VALUES: Mapping[PostgresType, Scalar] = {
    PostgresType.BOOLEAN: True,
    PostgresType.DATE: date(2000, 1, 1),
    PostgresType.TIMESTAMP: datetime(2000, 1, 1),
    PostgresType.NUMERIC: Decimal("0.5"),
    PostgresType.DOUBLE: Decimal("0.5"),
    PostgresType.REAL: Decimal("0.5"),
    **dict.fromkeys((PostgresType.BIGINT, PostgresType.INTEGER, PostgresType.SMALLINT, PostgresType.OID), 1),
}
"""Placeholder values for parameters, while only the types of columns are needed."""


class ColumnCache:
    """A cache of the columns of plans.

    Each analyst has separate entries: a fast reply would reveal that another analyst asked the same.
    """

    def __init__(self) -> None:
        self._cache: dict[tuple[str, str, bool], Columns] = {}

    def get_columns(self, analyst: str, key: str, plan: QueryPlan, with_bounds: bool) -> Columns:
        found = self._cache.get((analyst, key, with_bounds))
        if found is None:
            answer = build_empty_answer(plan)
            table = add_interval_bounds(answer.table, answer.intervals) if with_bounds else answer.table
            found = tuple(Column(name=each.name, pg_type=_find_type(each.type)) for each in table.schema)
            if len(self._cache) >= MAX_CACHED_COLUMNS:
                self._cache.clear()
            self._cache[analyst, key, with_bounds] = found
        return found


@dataclass(frozen=True, kw_only=True)
class CuratorBackend:
    """A `Backend` of the policy that is served, users and a catalog."""

    served: ServedPolicy
    users: UserLookup
    catalog: Catalog
    throttle: LoginThrottle = field(default_factory=LoginThrottle)
    column_cache: ColumnCache = field(default_factory=ColumnCache)

    @property
    def curators(self) -> Curators:
        """The curators that serve now."""
        return self.served.curators

    @property
    def secret(self) -> bytes:
        return self.users.secret

    def find_verifier(self, user: str) -> Verifier | None:
        found = self.users.find(user)
        return None if found is None else found.verifier

    def list_iterations(self) -> Sequence[int]:
        return self.users.list_iteration_counts()

    def get_login_delay(self, user: str, address: str) -> float:
        return self.throttle.get_wait_seconds(user, address)

    def record_login(self, user: str, address: str, *, succeeded: bool) -> None:
        (self.throttle.record_success if succeeded else self.throttle.record_failure)(user, address)

    def open_session(self, user: str) -> Session:
        found = self.users.find(user)
        if found is None:
            raise WireError("28000", "That user was removed.", is_fatal=True)
        if found.must_change_password:
            hint = "Log in at the console and choose your own; it is valid here too."
            raise WireError("28000", "This password has to be changed first.", hint=hint, is_fatal=True)
        if found.analyst is None:
            raise WireError("28000", "That user is not assigned to an analyst.", is_fatal=True)
        self.curators.for_analyst(found.analyst)  # refuses the login while there is no data
        return _CuratorSession(self, found, found.analyst)

    def require_valid_login(self, user: User) -> None:
        """Raise if the user was removed or the password changed since the login, as every listener does."""
        found = self.users.find(user.name)
        if found is None or (found.stamp, found.analyst) != (user.stamp, user.analyst):
            raise WireError("28000", "That user was removed or changed.", hint="Log in again.", is_fatal=True)

    def log_fault(self, error: Exception) -> DiscreetError:
        return log_fault(error)


class _CuratorSession:
    def __init__(self, backend: CuratorBackend, user: User, analyst: str) -> None:
        self.backend, self.user, self.analyst = backend, user, analyst
        self._settings = SessionSettings(
            computed={
                "discreet.belief": self._describe_belief,
                "discreet.left": lambda: format_remaining(
                    backend.curators.ledger.get_remaining_budget(analyst)
                ),
                "session_authorization": lambda: user.name,
            }
        )

    def _describe_belief(self) -> str:
        curator = self.backend.curators.for_analyst(self.analyst)
        return curator.ledger.describe_belief(analyst=curator.belief_scope)

    def prepare(self, sql: str, types: tuple[PostgresType | None, ...]) -> PreparedStatement:
        self.backend.require_valid_login(self.user)
        if is_catalog_query(sql):
            return self.backend.catalog.prepare(sql, types, self.user.name, self.get_setting)
        found = EXPLAIN.fullmatch(sql)
        if found is None and EXPLAIN_WITH_OPTIONS.match(sql):
            raise RequestError(
                "ask: EXPLAIN takes no options; it plans and never runs the question.",
                hint="Write EXPLAIN SELECT ….",
            )
        statement = parse_statement(found["sql"] if found else sql)
        guessed = [
            TYPES_BY_COLUMN_TYPE[each]
            for each in query_parameters.infer_parameter_kinds(statement, self.backend.curators.policy)
        ]
        named = tuple(
            given or guess for given, guess in zip([*types, *[None] * len(guessed)], guessed, strict=False)
        )
        if len(types) > len(guessed):
            raise WireError("42P18", "More parameter types were declared than the question has parameters.")
        if found:
            return _Explanation(self, found["sql"], named)
        return _Question(self, sql, named)

    def get_setting(self, name: str) -> str | None:
        return self._settings.get(name)

    def change_settings(self, settings: Mapping[str, str | None]) -> None:
        self._settings.change(settings)

    def get_changed_settings(self) -> Mapping[str, str]:
        return self._settings.changed

    def list_settings(self) -> Sequence[tuple[str, str]]:
        return self._settings.list_all()

    @property
    def question_options(self) -> dict[str, object]:
        return self._settings.question_options

    @property
    def shows_intervals(self) -> bool:
        return self._settings.shows_intervals

    def plan(self, sql: str, values: Values) -> Plan:
        request = make_request(QuestionRequest, sql=sql, values=tuple(values), **self.question_options)
        return self.backend.curators.plan(self.analyst, request)


@dataclass
class _Question:
    """A prepared question: planned as often as needed, asked when it is run."""

    session: _CuratorSession
    sql: str
    parameters: tuple[PostgresType, ...]
    _described_columns: dict[bool, Columns] = field(default_factory=dict)
    _last_proposal: tuple[object, Plan] | None = None

    def plan_columns(self, values: Values | None) -> Columns | None:
        beside = self.session.shows_intervals
        if values is None:
            specimens = [PLACEHOLDER_VALUES.get(kind, "") for kind in self.parameters]
            self._described_columns[beside] = self._plan_columns(specimens, beside)
        return self._described_columns.get(beside) or self._plan_columns(values or (), beside)

    def _plan_columns(self, values: Values, with_bounds: bool) -> Columns:
        proposal = self._plan_question(values)
        backend = self.session.backend
        with backend.curators.hold_planning_slot():
            return backend.column_cache.get_columns(
                self.session.analyst, proposal.key, proposal.query_plan, with_bounds
            )

    def _plan_question(self, values: Values) -> Plan:
        """Return the proposal under the current settings; plan again if they have changed."""
        # types, too: 1, 1.0 and True are equal in Python and different questions
        terms = tuple(values), tuple(map(type, values)), tuple(self.session.question_options.items())
        if self._last_proposal is None or self._last_proposal[0] != terms:
            self._last_proposal = terms, self.session.plan(self.sql, values)
        return self._last_proposal[1]

    def run(self, values: Values, should_continue: Callable[[], bool]) -> Result:
        proposal, beside = self._plan_question(values), self.session.shows_intervals
        self.session.backend.require_valid_login(self.session.user)
        answer = self.session.backend.curators.ask(self.session.analyst, proposal, should_continue)
        return Result(rows=_list_rows(answer, beside), notices=format_notices(answer))


@dataclass(frozen=True)
class _Explanation:
    """A prepared EXPLAIN: the cost of a question, in lines of text."""

    session: _CuratorSession
    sql: str
    parameters: tuple[PostgresType, ...]

    def plan_columns(self, values: Values | None) -> Columns | None:
        return EXPLAIN_COLUMNS

    def run(self, values: Values, should_continue: Callable[[], bool]) -> Result:
        lines = format_explain(self.session.plan(self.sql, values))
        return Result(rows=[[line] for line in lines], tag="EXPLAIN")


def _list_rows(answer: Answer, with_bounds: bool) -> list[tuple[object, ...]]:
    table = add_interval_bounds(answer.table, answer.intervals) if with_bounds else answer.table
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _find_type(arrow_type: pa.DataType) -> PostgresType:
    for is_one, found in (
        (pa.types.is_boolean, PostgresType.BOOLEAN),
        (pa.types.is_integer, PostgresType.BIGINT),
        (pa.types.is_floating, PostgresType.DOUBLE),
        (pa.types.is_decimal, PostgresType.DOUBLE),
        (pa.types.is_date, PostgresType.DATE),
        (pa.types.is_timestamp, PostgresType.TIMESTAMP),
    ):
        if is_one(arrow_type):
            return found
    return PostgresType.TEXT


def format_notices(answer: Answer) -> tuple[str, ...]:
    """Return the notices of an answer: cost, error bars, belief."""
    bars = [_format_error_bar(answer, name) for name in answer.intervals if name not in answer.rank_errors]
    bars += [f"{name}: {found.description}" for name, found in answer.rank_errors.items()]
    errors = [f"error at {format_percent(answer.confidence)}: {'; '.join(bars)}"] if bars else []
    errors += [f"error: {answer.no_interval_sentence}"] if answer.no_interval else []
    errors += [f"constant: {describe_constant(each)}" for each in answer.constants.items()]
    return f"cost: {answer.cost_sentence}", *errors, f"belief: {answer.sentence}"


def _format_error_bar(answer: Answer, name: str) -> str:
    """Return the half-widths of a column's intervals as text, from the narrowest to the widest."""
    low, high = answer.intervals[name]
    halves, blank = [], 0
    for value, first, last in zip(answer.table[name].to_pylist(), low, high, strict=True):
        if value is None or first is None or last is None:
            blank += 1
        else:
            halves.append(max(last - float(value), float(value) - first))
    ends = dict.fromkeys((format_number_up(min(halves)), format_number_up(max(halves)))) if halves else {}
    together = describe_interval_kind(answer, name)
    shown = [f"{name} ± {' to ± '.join(ends)}{together}"] if ends else []
    untold = [f"{name} unknown for {format_count(blank, 'row', 'rows')}"] if blank else []
    return ", ".join(shown + untold) or f"{name} has no rows"


def format_explain(proposal: Plan) -> list[str]:
    """Return the lines of EXPLAIN: cost, errors, groups, belief; nothing is spent."""
    plan = proposal.query_plan
    lines = [f"cost: {proposal.cost_sentence}"]
    lines += [f"or free: {proposal.free_offer_sentence}"] if proposal.free_offer_sentence else []
    lines += [
        f"error at {format_percent(plan.confidence)}: {each.name}: {each.description} ({each.mechanism})"
        for each in proposal.expected_errors
    ]
    groups = "selected privately" if plan.group_count is None else f"{plan.group_count:,}"
    lines.append(f"groups: {groups}")
    lines.append(f"belief: {format_percent(proposal.belief_before.prior)} → {proposal.belief_change}")
    if proposal.uncovered:
        lines.append(f"not covered: {proposal.uncovered}")
    return lines
