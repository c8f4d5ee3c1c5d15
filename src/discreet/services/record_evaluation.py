"""Evaluation of one named record: attacked in the table, in a k-anonymous table and by a private answer.

Person      named by the custodian, by any columns that single out one row. Attackers know this person's
            quasi-identifiers, and that the person is in the table.
Claim       that a sensitive column has a value: the person's own, unless another is named.
Prior       the promise's, for all three, so that posteriors can be compared with its cap.
Tables      c of the n rows that may be the person's have the value, and a share s of all rows. An attacker
            who takes other people's values as drawn by s multiplies the prior's odds by c / (n - c) over
            s / (1 - s): the posterior is c / n if the prior is s.
Answer      one count of the claim for the whole budget, as if nothing had been asked before, seen by an
            attacker who knows all other records. Its ledger is in memory; nothing is charged.

All of it is computed on real data, and is for the custodian only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict
from sqlglot import exp

from discreet.anonymity.models import KAnonymity
from discreet.attacks import InformedAdversary
from discreet.attacks.attacker_knowledge import AttackerKnowledge, Register, read_register
from discreet.attacks.class_matching import match_people
from discreet.attacks.match_sets import MatchSets
from discreet.attacks.published_table import PublishedTable, from_recoding, read_release
from discreet.attacks.query_attacks import Victim
from discreet.belief.odds import logit, sigmoid
from discreet.core.column_entry import Column, ColumnType, Role
from discreet.core.engine import Engine, Publisher
from discreet.core.errors import DataError, RequestError
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.core.table_entry import Table
from discreet.services.anonymize.anonymizer import Anonymizer
from discreet.services.attack.answers_evaluation import ANSWER_ATTACKS, CuratorSession
from discreet.services.attack.evaluation import compute_promised_posterior
from discreet.services.attack.victims import (
    KNOWABLE_TYPES,
    AttackTarget,
    build_literal,
    choose_table,
    count_claim_rows,
    has_one_row_per_person,
)
from discreet.services.policies import get_promise
from discreet.services.progress import ProgressCallback, ignore_progress
from discreet.services.publishers import open_publisher

MEMORY = ":memory:"
MAX_K = 10**6


def _read_k(value: object) -> int:
    text = str(value)
    if not (text.isascii() and text.isdigit() and 2 <= int(text[:9]) <= MAX_K):
        raise RequestError("attack: k must be a whole number of at least 2.", hint="Write 5.")
    return int(text)


class RecordRequest(BaseModel):
    """The person and claim to evaluate: `person` are values that single out a row of `table`.

    The claim is that `column` is `value`, or the record's own value if that is None. The fields are those of
    the console's form.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    table: str
    person: Mapping[str, str]
    column: str = ""
    value: str | None = None
    k: Annotated[int, BeforeValidator(_read_k)] = 5


@dataclass(frozen=True, kw_only=True)
class BeliefAfterRelease:
    """An attacker's belief from one release: the rows that match, and how many of them have the value."""

    release: str
    posterior: float
    matching_rows: int | None = None
    rows_with_value: int | None = None


@dataclass(frozen=True, kw_only=True)
class RecordEvaluation:
    """The belief about one person, before and after each kind of release, and the promised cap."""

    person: str
    claim: str
    truth: bool
    prior: float
    promised_cap: float
    beliefs: tuple[BeliefAfterRelease, ...]


def list_attackable_tables(policy: Policy) -> tuple[str, ...]:
    """Return the tables with one row per person, a quasi-identifier and a sensitive column."""
    return tuple(
        name
        for name, table in policy.tables.items()
        if has_one_row_per_person(table) and list_quasi_identifiers(table) and list_sensitive_columns(table)
    )


def list_quasi_identifiers(table: Table) -> list[str]:
    """Return the quasi-identifiers of a table."""
    return [name for name, column in table.columns.items() if column.role is Role.QUASI]


def list_sensitive_columns(table: Table) -> list[str]:
    """Return the sensitive columns that a claim can be about."""
    return [
        name
        for name, column in table.columns.items()
        if column.role is Role.SENSITIVE and column.type in KNOWABLE_TYPES
    ]


def attack_record(
    policy: Policy,
    engine: Engine,
    request: RecordRequest,
    report_progress: ProgressCallback = ignore_progress,
) -> RecordEvaluation:
    """Attack one person; `engine` answers from the policy's prepared tables."""
    name, promise = choose_table(policy, request.table), get_promise(policy)
    table = policy.tables[name]
    _require_valid_request(request, table)
    with open_publisher(policy.engine, {name: table}) as rows:
        report_progress("looking the person up")
        raw = read_release(rows, name, quasi=list_quasi_identifiers(table), sensitive=[request.column])
        person = _read_person(rows, raw, request)
        own = person.tuples.sensitive[request.column].names[0]
        value = own if request.value is None else request.value
        claim = _build_claim(request.column, table.columns[request.column], value)
        target = AttackTarget(
            table=name,
            claim=claim,
            claim_rows=count_claim_rows(rows, name, table, claim),
            victims=(Victim(name="the person", where="", truth=own == value),),
            trackers=(),
        )

    def evaluate_table(what: str, published: PublishedTable) -> BeliefAfterRelease:
        return _compute_table_belief(
            what, match_people(published, person), request.column, value, promise.prior
        )

    report_progress(f"making a {request.k}-anonymous table")
    coarse = _build_k_anonymous_table(policy, name, request.k, report_progress)
    report_progress("asking privately")
    return RecordEvaluation(
        person=", ".join(person.describe(np.zeros(1, np.int64))),
        claim=f"{request.column} is {value or 'missing'}",
        truth=own == value,
        prior=promise.prior,
        promised_cap=compute_promised_posterior(promise, promise.prior),
        beliefs=(
            evaluate_table("the table itself", raw),
            evaluate_table(f"a {request.k}-anonymous table", coarse),
            BeliefAfterRelease(
                release="a private answer", posterior=_compute_answer_belief(policy, engine, target)
            ),
        ),
    )


def _require_valid_request(request: RecordRequest, table: Table) -> None:
    """Raise RequestError unless the named columns exist and have fitting roles."""
    if not request.person:
        raise RequestError("attack: no person is named.", hint="Give values that single out one row.")
    lacking = [name for name in request.person if name not in table.columns]
    if lacking:
        raise RequestError(
            f"attack: {request.table} has no column {lacking[0]}.", hint=f"It has {', '.join(table.columns)}."
        )
    for what, names in (("known", list_quasi_identifiers(table)), ("secret", list_sensitive_columns(table))):
        if not names:
            raise RequestError(
                f"attack: {request.table} has no column that is {what}.",
                hint="Give role: quasi and role: sensitive to columns in the policy.",
            )
    if request.column not in list_sensitive_columns(table):
        raise RequestError(
            f"attack: {request.column} is not a sensitive column of {request.table}.",
            hint=f"Those are {', '.join(list_sensitive_columns(table))}.",
        )


def _read_person(rows: Publisher, raw: PublishedTable, request: RecordRequest) -> AttackerKnowledge:
    """Return the attacker's knowledge of the person, with the truth."""
    register = Register(table=request.table, truth=(request.column,), victim=request.person)
    found = read_register(rows, register, raw)
    if found.people != 1:
        raise DataError(
            f"attack: {found.people:,} rows of {request.table} have these values.",
            hint="Give values that single out one row.",
        )
    return replace(found, blank_is_unknown=False)


def _build_claim(name: str, column: Column, value: str) -> str:
    """Return the claim that a column has a value, as SQL."""
    quoted = exp.column(name, quoted=True)
    if column.type is ColumnType.BOOLEAN:
        said: exp.Expr = quoted if value == "true" else exp.not_(quoted)
    elif value == "":
        said = quoted.is_(exp.null())
    else:
        said = quoted.eq(build_literal(value, column))
    return said.sql(dialect="duckdb")


def _compute_table_belief(
    release: str, sets: MatchSets, column: str, value: str, prior: float
) -> BeliefAfterRelease:
    """Return the belief of an attacker who has a table; the prior if no row matches."""
    place, names = int(sets.group[0]), sets.names(column)
    if place < 0:
        return BeliefAfterRelease(release=release, posterior=prior, matching_rows=0, rows_with_value=0)
    rows = int(sets.rows[place])
    code = names.index(value) if value in names else None
    having = 0 if code is None else int(sets.counts(column)[[place], [code]][0])
    if having in (0, rows):
        return BeliefAfterRelease(
            release=release, posterior=float(having > 0), matching_rows=rows, rows_with_value=having
        )
    assert code is not None
    usual = float(sets.shares(column)[code])
    odds = logit(prior) + logit(having / rows) - logit(usual)
    return BeliefAfterRelease(
        release=release, posterior=sigmoid(odds), matching_rows=rows, rows_with_value=having
    )


def _build_k_anonymous_table(
    policy: Policy, name: str, k: int, report_progress: ProgressCallback
) -> PublishedTable:
    release = Anonymizer(policy, models=[KAnonymity(k=k)], progress=report_progress).fit(name).release
    return from_recoding(release.tuples, release.attacker_recoding, release.hierarchies)


def _compute_answer_belief(policy: Policy, engine: Engine, target: AttackTarget) -> float:
    scratch = policy.model_copy(update={"ledger": MEMORY, "store": MEMORY, "analysts": {}})
    asking = CuratorSession(
        policy=scratch, promise=get_promise(policy), engine=engine, target=target, random=Randomness()
    )
    return ANSWER_ATTACKS[InformedAdversary](asking).victims[0].posterior
