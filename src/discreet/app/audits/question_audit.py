"""The audit of a question: a lower bound on its epsilon, from runs on generated neighboring databases.

Never       the real data: the policy's sources are not opened, and its ledger is not charged. A scratch
            curator, in memory, over generated tables plans the question as the real one would.
Pair        the most distinguishable of several generated pairs, by the distributions of the plan's mechanisms
            (`distinguishability`). Its exact counts may be used, as no real person is in them.
Runs        are simulated by `question_simulation`; memory limits their number.
Posteriors  after each run an attacker who knows the mechanisms, all other people, and that the victim is as
            `here` or as `there`, has a posterior for the truth. It started from the promise's prior and must
            not exceed the promised posterior, or only with the probability of the tail. The tail covers
            everything that the ledger ever allows; a single question stays below it.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from discreet.app.audits.neighbours import Neighbours, Rows, neighbours, written
from discreet.app.audits.question_runs import LOSS, Counts, Worlds, count
from discreet.app.audits.question_telling import telling
from discreet.app.curator import Curator
from discreet.app.policies import promise_of
from discreet.app.proposals import Proposal
from discreet.attacks.audit import CONFIDENCE, LEAST_RUNS, Audited, audit
from discreet.attacks.events import Columns
from discreet.attacks.posterior_audit import PosteriorAudited, after, posterior_audit
from discreet.belief import Promise
from discreet.belief.odds import highest_posterior
from discreet.core.number_checks import Real, require_count
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.sql.planner import Plan
from discreet.sql.relational_algebra import find_scans

PAIRS = 32
RUNS = 20_000
CELLS = 1 << 22
NEARLY = 0.999


@dataclass(frozen=True, kw_only=True)
class QuestionAudited:
    """The result of an audit of a question: the bound on epsilon, and attackers' posteriors.

    `posteriors` is None if the promise has a tail and the ledger would not allow the question.
    """

    audited: Audited
    posteriors: PosteriorAudited | None


def audit_question(
    policy: Policy,
    sql: str,
    *,
    epsilon: Real,
    runs: int | None = None,
    confidence: float = CONFIDENCE,
    random: Randomness | None = None,
    progress: Callable[[str], None] | None = None,
) -> QuestionAudited:
    """Audit a question under a policy, on the most distinguishable of some generated pairs of neighbors."""
    if runs is not None:
        require_count("audit", "runs", runs, minimum=LEAST_RUNS)
    random, tell = random or Randomness(), progress or (lambda _: None)
    promise = promise_of(policy)
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        scratch = Scratch(policy=policy, folder=Path(folder))
        proposal, _, worlds = chosen(scratch, sql, epsilon, random, tell)
    plan = proposal.plan
    runs = _bounded(worlds) if runs is None else runs
    tell(f"running it {2 * runs:,} times")
    here, there = (worlds.outputs(side, runs) for side in (worlds.here, worlds.there))
    audited = audit(
        lambda _: here,
        lambda _: there,
        claimed=epsilon,
        delta=max(0.0, plan.guarantee.profile(float(epsilon))),
        runs=runs,
        confidence=confidence,
    )
    allowed = promise.tail == 0 or proposal.fits
    believed = _posteriors(here, there, promise, float(epsilon), confidence) if allowed else None
    return QuestionAudited(audited=audited, posteriors=believed)


@dataclass(frozen=True, kw_only=True)
class Scratch:
    """Generated databases under a policy, in a temporary folder."""

    policy: Policy
    folder: Path
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    def propose(self, rows: Rows, sql: str, epsilon: Real) -> Proposal:
        with Curator.under(self.under(rows)) as curator:
            return curator.plan(sql, epsilon=epsilon)

    def counts(self, plan: Plan, rows: Rows) -> Counts:
        with DuckDB.open(prepare_store(self.under(rows, plan), None)) as engine:
            return count(plan, engine)

    def under(self, rows: Rows, plan: Plan | None = None) -> Policy:
        """Write the rows and return the policy over them; with a plan, only over the tables that it reads."""
        policy = self.policy if plan is None else _about(self.policy, plan)
        return written(policy, rows, self.folder / str(next(self.numbers)))


def _about(policy: Policy, plan: Plan) -> Policy:
    """Return the policy restricted to the tables that a plan reads, and those linked to them."""
    links = [{name, link.table} for name, table in policy.tables.items() for link in table.links.values()]
    read = {each.table for each in find_scans(plan.question.rows)}
    while more := set().union(*(link for link in links if link & read)) - read:
        read |= more
    tables = {name: table for name, table in policy.tables.items() if name in read}
    return policy.model_copy(update={"tables": tables})


def chosen(
    scratch: Scratch, sql: str, epsilon: Real, random: Randomness, tell: Callable[[str], None]
) -> tuple[Proposal, Neighbours, Worlds]:
    """Return the plan of a question, the most distinguishable generated pair, and its exact counts."""
    made_up = neighbours(scratch.policy, sql, promise_of(scratch.policy).secret, random)
    first = next(made_up)
    proposal = scratch.propose(first.here, sql, epsilon)
    tell("choosing neighbours")
    pairs = itertools.islice(itertools.chain([first], made_up), PAIRS)
    return proposal, *_furthest(scratch, proposal.plan, pairs, float(epsilon), random)


def _furthest(
    scratch: Scratch, plan: Plan, pairs: Iterator[Neighbours], epsilon: float, random: Randomness
) -> tuple[Neighbours, Worlds]:
    """Return the pair that a plan's mechanisms distinguish best, and its exact counts."""
    best, most = None, -1.0
    for pair in pairs:
        here, there = (scratch.counts(plan, side) for side in (pair.here, pair.there))
        worlds = Worlds(plan=plan, here=here, there=there, random=random)
        told = telling(worlds, RUNS // 2)
        if told > most:
            best, most = (pair, worlds), told
        if told >= NEARLY * epsilon:
            break
    assert best is not None
    return best


def _bounded(worlds: Worlds) -> int:
    """Return a number of runs whose outputs fit into memory."""
    plan = worlds.plan
    columns = len(plan.noisy_primitives) + len(plan.value_selections) + 3 * len(plan.outputs)
    return max(LEAST_RUNS, min(RUNS, CELLS // (columns * len(worlds.groups))))


def _posteriors(
    here: Columns, there: Columns, promise: Promise, epsilon: float, confidence: float
) -> PosteriorAudited:
    """Audit the posteriors of the true claim: that the victim is as `here`, and as `there`."""
    losses = np.concatenate([here[LOSS], -there[LOSS]]).astype(np.float64)
    cap = highest_posterior(promise.prior, epsilon) if promise.tail == 0 else promise.posterior
    promised = Promise(promise.prior, cap, secret=promise.secret, tail=promise.tail)
    return posterior_audit(after(promise.prior, losses), promised, confidence=confidence)
