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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from sqlglot import exp

from discreet.anonymity.models import KAnonymity
from discreet.app.policies import promise_of
from discreet.app.publishers import publisher
from discreet.app.publishing.anonymizer import Anonymizer
from discreet.app.trials.bounds import of_promise
from discreet.app.trials.claimed import literal, often
from discreet.app.trials.curator_attacks import ON_ANSWERS, Asking
from discreet.app.trials.victims import KNOWABLE, Target, is_one_row, table_to_attack
from discreet.attacks import InformedAdversary
from discreet.attacks.asking import Victim
from discreet.attacks.known import Known, Register, from_register
from discreet.attacks.match_sets import MatchSets
from discreet.attacks.matching import match
from discreet.attacks.published import PublishedTable, from_recoding, from_release
from discreet.belief.odds import logit, sigmoid
from discreet.core.engine import Engine, Publisher
from discreet.core.errors import DataError, RequestError
from discreet.core.policy import Column, ColumnType, Policy, Role, Table
from discreet.core.randomness import Randomness

MEMORY = ":memory:"
Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Named:
    """The person and claim to evaluate: `person` are values that single out a row of `table`.

    The claim is that `column` is `value`, or the record's own value if that is None.
    """

    table: str
    person: Mapping[str, str]
    column: str
    value: str | None = None
    k: int = 5


@dataclass(frozen=True, kw_only=True)
class Seen:
    """An attacker's belief from one release: the matching `rows`, and how many of them have the value."""

    what: str
    posterior: float
    rows: int | None = None
    having: int | None = None


@dataclass(frozen=True, kw_only=True)
class RecordTrial:
    """The belief about one person, before and after each kind of release, and the promised cap."""

    person: str
    claim: str
    truth: bool
    prior: float
    cap: float
    seen: tuple[Seen, ...]


def attackable(policy: Policy) -> tuple[str, ...]:
    """Return the tables with one row per person, a quasi-identifier and a sensitive column."""
    return tuple(
        name
        for name, table in policy.tables.items()
        if is_one_row(table) and known_of(table) and secrets_of(table)
    )


def known_of(table: Table) -> list[str]:
    """Return the quasi-identifiers of a table."""
    return [name for name, column in table.columns.items() if column.role is Role.QUASI]


def secrets_of(table: Table) -> list[str]:
    """Return the sensitive columns that a claim can be about."""
    return [
        name
        for name, column in table.columns.items()
        if column.role is Role.SENSITIVE and column.type in KNOWABLE
    ]


def attack_record(policy: Policy, engine: Engine, named: Named, tell: Tell = lambda _: None) -> RecordTrial:
    """Attack one person; `engine` answers from the policy's prepared tables."""
    name, promise = table_to_attack(policy, named.table), promise_of(policy)
    table = policy.tables[name]
    _require(named, table)
    with publisher(policy.engine, {name: table}) as rows:
        tell("looking the person up")
        raw = from_release(rows, name, quasi=known_of(table), sensitive=[named.column])
        person = _one_person(rows, raw, named)
        own = person.tuples.sensitive[named.column].names[0]
        value = own if named.value is None else named.value
        claim = _claim(named.column, table.columns[named.column], value)
        target = Target(
            table=name,
            claim=claim,
            often=often(rows, name, table, claim),
            victims=(Victim(name="the person", where="", truth=own == value),),
            trackers=(),
        )

    def seen(what: str, published: PublishedTable) -> Seen:
        return _seen(what, match(published, person), named.column, value, promise.prior)

    tell(f"making a {named.k}-anonymous table")
    coarse = _k_anonymous(policy, name, named.k, tell)
    tell("asking privately")
    return RecordTrial(
        person=", ".join(person.described(np.zeros(1, np.int64))),
        claim=f"{named.column} is {value or 'missing'}",
        truth=own == value,
        prior=promise.prior,
        cap=of_promise(promise, promise.prior),
        seen=(
            seen("the table itself", raw),
            seen(f"a {named.k}-anonymous table", coarse),
            Seen(what="a private answer", posterior=_after_an_answer(policy, engine, target)),
        ),
    )


def _require(named: Named, table: Table) -> None:
    """Raise RequestError unless the named columns exist and have fitting roles."""
    if not named.person:
        raise RequestError("attack: no person is named.", hint="Give values that single out one row.")
    lacking = [name for name in named.person if name not in table.columns]
    if lacking:
        raise RequestError(
            f"attack: {named.table} has no column {lacking[0]}.", hint=f"It has {', '.join(table.columns)}."
        )
    for what, names in (("known", known_of(table)), ("secret", secrets_of(table))):
        if not names:
            raise RequestError(
                f"attack: {named.table} has no column that is {what}.",
                hint="Give role: quasi and role: sensitive to columns in the policy.",
            )
    if named.column not in secrets_of(table):
        raise RequestError(
            f"attack: {named.column} is not a sensitive column of {named.table}.",
            hint=f"Those are {', '.join(secrets_of(table))}.",
        )


def _one_person(rows: Publisher, raw: PublishedTable, named: Named) -> Known:
    """Return the attacker's knowledge of the person, with the truth."""
    register = Register(table=named.table, truth=(named.column,), victim=named.person)
    found = from_register(rows, register, raw)
    if found.people != 1:
        raise DataError(
            f"attack: {found.people:,} rows of {named.table} have these values.",
            hint="Give values that single out one row.",
        )
    return replace(found, blank_is_unknown=False)


def _claim(name: str, column: Column, value: str) -> str:
    """Return the claim that a column has a value, as SQL."""
    quoted = exp.column(name, quoted=True)
    if column.type is ColumnType.BOOLEAN:
        said: exp.Expr = quoted if value == "true" else exp.not_(quoted)
    elif value == "":
        said = quoted.is_(exp.null())
    else:
        said = quoted.eq(literal(value, column))
    return said.sql(dialect="duckdb")


def _seen(what: str, sets: MatchSets, column: str, value: str, prior: float) -> Seen:
    """Return the belief of an attacker who has a table; the prior if no row matches."""
    place, names = int(sets.group[0]), sets.names(column)
    if place < 0:
        return Seen(what=what, posterior=prior, rows=0, having=0)
    rows = int(sets.rows[place])
    code = names.index(value) if value in names else None
    having = 0 if code is None else int(sets.counts(column)[[place], [code]][0])
    if having in (0, rows):
        return Seen(what=what, posterior=float(having > 0), rows=rows, having=having)
    assert code is not None
    usual = float(sets.shares(column)[code])
    odds = logit(prior) + logit(having / rows) - logit(usual)
    return Seen(what=what, posterior=sigmoid(odds), rows=rows, having=having)


def _k_anonymous(policy: Policy, name: str, k: int, tell: Tell) -> PublishedTable:
    release = Anonymizer(policy, models=[KAnonymity(k=k)], progress=tell).fit(name).release
    return from_recoding(release.tuples, release.attacker_recoding, release.hierarchies)


def _after_an_answer(policy: Policy, engine: Engine, target: Target) -> float:
    scratch = policy.model_copy(update={"ledger": MEMORY, "store": MEMORY, "analysts": {}})
    asking = Asking(
        policy=scratch, promise=promise_of(policy), engine=engine, target=target, random=Randomness()
    )
    return ON_ANSWERS[InformedAdversary](asking).victims[0].posterior
