"""The audit of a question, or of a session that repeats it, by runs on generated neighboring databases.

An audit returns a lower bound on epsilon.

Never       the real data: the policy's sources are not opened, and its ledger is not charged. A scratch
            curator, in memory, over generated tables plans the question as the real one would.
Pair        the most distinguishable of several generated pairs, by the distributions of the plan's mechanisms
            (`question_simulation`). Its exact counts may be used, as no real person is in them.
Runs        are simulated by `question_simulation`; memory limits their number.
Posteriors  after each run an attacker who knows the mechanisms, all other people, and that the victim is as
            in the one database or as in the other, has a posterior for the truth. It started from the
            promise's prior and must not exceed the promised posterior, or only with the probability of the
            tail. The tail covers everything that the ledger ever allows; a single question stays below it.
Session     all answers of an analyst who asks until the budget is spent: one question, repeated with a little
            less epsilon each time, so that no answer comes from the cache, until the curator refuses. Plans,
            ledger, noise and answers are those of any analyst; tables are generated, and each session has a
            ledger of its own, in memory. Together they keep the promise: a loss of at most its epsilon, up to
            the tail. The number of answered questions is part of the output. This catches errors that no
            single question shows: charges that are too small or missing, wrong composition, noise that is
            reused in several answers.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

import numpy as np

from discreet.accounting.ledger import SOLE_ANALYST, Ledger
from discreet.attacks.distinguishing_events import Columns
from discreet.attacks.privacy_audit import (
    MIN_RUNS,
    EpsilonAudit,
    PosteriorAudit,
    audit_epsilon,
    audit_posteriors,
    compute_posteriors,
)
from discreet.belief import Promise
from discreet.belief.odds import highest_posterior
from discreet.core.engine import Engine
from discreet.core.errors import BudgetError, RequestError
from discreet.core.number_checks import DEFAULT_CONFIDENCE, Real, require_count
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.services.audit.neighboring_databases import (
    NeighboringDatabases,
    Rows,
    generate_neighbors,
    write_database,
)
from discreet.services.audit.question_simulation import (
    LOSS,
    ExactCounts,
    NeighborCounts,
    count_exactly,
    estimate_distinguishability,
)
from discreet.services.curator import Curator
from discreet.services.plans import Plan
from discreet.services.policies import get_promise
from discreet.services.question_request import QuestionRequest
from discreet.sql.planner import QueryPlan
from discreet.sql.relational_algebra import find_scans

MAX_PAIRS = 32
MAX_RUNS = 20_000
MAX_CELLS = 1 << 22
ENOUGH_SHARE = 0.999


@dataclass(frozen=True, kw_only=True)
class QuestionAudit:
    """The result of an audit of a question: the bound on epsilon, and attackers' posteriors.

    `posterior_audit` is None if the promise has a tail and the ledger would not allow the question.
    """

    epsilon_audit: EpsilonAudit
    posterior_audit: PosteriorAudit | None


def audit_question(
    policy: Policy,
    sql: str,
    *,
    epsilon: Real,
    runs: int | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
    random: Randomness | None = None,
    progress: Callable[[str], None] | None = None,
) -> QuestionAudit:
    """Audit a question under a policy, on the most distinguishable of some generated pairs of neighbors."""
    if runs is not None:
        require_count("audit", "runs", runs, minimum=MIN_RUNS)
    random, tell = random or Randomness(), progress or (lambda _: None)
    promise = get_promise(policy)
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        scratch = ScratchDatabases(policy=policy, folder=Path(folder))
        proposal, _, worlds = choose_neighbors(scratch, sql, epsilon, random, tell)
    plan = proposal.query_plan
    runs = _limit_runs(worlds) if runs is None else runs
    tell(f"running it {2 * runs:,} times")
    here, there = (worlds.simulate_outputs(side, runs) for side in (worlds.counts, worlds.neighbor_counts))
    audited = audit_epsilon(
        lambda _: here,
        lambda _: there,
        claimed=epsilon,
        delta=max(0.0, plan.guarantee.profile(float(epsilon))),
        runs=runs,
        confidence=confidence,
    )
    allowed = promise.tail == 0 or proposal.fits
    believed = _audit_posteriors(here, there, promise, float(epsilon), confidence) if allowed else None
    return QuestionAudit(epsilon_audit=audited, posterior_audit=believed)


@dataclass(frozen=True, kw_only=True)
class ScratchDatabases:
    """Generated databases under a policy, in a temporary folder."""

    policy: Policy
    folder: Path
    folder_numbers: itertools.count[int] = field(default_factory=itertools.count)

    def plan_question(self, rows: Rows, sql: str, epsilon: Real) -> Plan:
        with Curator.open_policy(self.build_policy(rows)) as curator:
            return curator.plan_question(QuestionRequest(sql=sql, epsilon=epsilon), verb="audit")

    def count_exactly(self, plan: QueryPlan, rows: Rows) -> ExactCounts:
        with DuckDB.open(prepare_store(self.build_policy(rows, plan), None)) as engine:
            return count_exactly(plan, engine)

    def build_policy(self, rows: Rows, plan: QueryPlan | None = None) -> Policy:
        """Write the rows and return the policy over them; with a plan, only over the tables that it reads."""
        policy = self.policy if plan is None else _restrict_policy(self.policy, plan)
        return write_database(policy, rows, self.folder / str(next(self.folder_numbers)))


def _restrict_policy(policy: Policy, plan: QueryPlan) -> Policy:
    """Return the policy restricted to the tables that a plan reads, and those linked to them."""
    links = [{name, link.table} for name, table in policy.tables.items() for link in table.links.values()]
    read = {each.table for each in find_scans(plan.core.question.rows)}
    while more := set().union(*(link for link in links if link & read)) - read:
        read |= more
    tables = {name: table for name, table in policy.tables.items() if name in read}
    return policy.model_copy(update={"tables": tables})


def choose_neighbors(
    scratch: ScratchDatabases,
    sql: str,
    epsilon: Real,
    random: Randomness,
    report_progress: Callable[[str], None],
) -> tuple[Plan, NeighboringDatabases, NeighborCounts]:
    """Return the plan of a question, the most distinguishable generated pair, and its exact counts."""
    made_up = generate_neighbors(scratch.policy, sql, get_promise(scratch.policy).secret, random)
    first = next(made_up)
    proposal = scratch.plan_question(first.rows, sql, epsilon)
    if len(proposal.query_plan.cores) != 1:
        raise RequestError(
            f"audit: the question aggregates over rows {len(proposal.query_plan.cores)} times.",
            hint="Audit one aggregation at a time.",
        )
    report_progress("choosing neighbours")
    pairs = itertools.islice(itertools.chain([first], made_up), MAX_PAIRS)
    return proposal, *_choose_most_distinguishable(
        scratch, proposal.query_plan, pairs, float(epsilon), random
    )


def _choose_most_distinguishable(
    scratch: ScratchDatabases,
    plan: QueryPlan,
    pairs: Iterator[NeighboringDatabases],
    epsilon: float,
    random: Randomness,
) -> tuple[NeighboringDatabases, NeighborCounts]:
    """Return the pair that a plan's mechanisms distinguish best, and its exact counts."""
    best, most = None, -1.0
    for pair in pairs:
        here, there = (scratch.count_exactly(plan, side) for side in (pair.rows, pair.neighbor_rows))
        worlds = NeighborCounts(plan=plan, counts=here, neighbor_counts=there, random=random)
        told = estimate_distinguishability(worlds, MAX_RUNS // 2)
        if told > most:
            best, most = (pair, worlds), told
        if told >= ENOUGH_SHARE * epsilon:
            break
    assert best is not None
    return best


def _limit_runs(worlds: NeighborCounts) -> int:
    """Return a number of runs whose outputs fit into memory."""
    plan = worlds.plan
    columns = len(plan.noisy_primitives) + len(plan.value_selections) + 3 * len(plan.outputs)
    return max(MIN_RUNS, min(MAX_RUNS, MAX_CELLS // (columns * len(worlds.groups))))


def _audit_posteriors(
    outputs: Columns, neighbor_outputs: Columns, promise: Promise, epsilon: float, confidence: float
) -> PosteriorAudit:
    """Audit the posteriors of the true claim: that the victim is as `outputs`, and as `neighbor_outputs`."""
    losses = np.concatenate([outputs[LOSS], -neighbor_outputs[LOSS]]).astype(np.float64)
    cap = highest_posterior(promise.prior, epsilon) if promise.tail == 0 else promise.posterior
    promised = Promise(promise.prior, cap, secret=promise.secret, tail=promise.tail)
    return audit_posteriors(compute_posteriors(promise.prior, losses), promised, confidence=confidence)


DEFAULT_RUNS = 500
DEFAULT_QUESTIONS = 2
MAX_ANSWERS = 64

Cells = dict[tuple[object, ...], object]


def audit_session(
    policy: Policy,
    sql: str,
    *,
    epsilon: Real | None = None,
    runs: int | None = None,
    max_answers: int = MAX_ANSWERS,
    confidence: float = DEFAULT_CONFIDENCE,
    random: Randomness | None = None,
    ledger_class: type[Ledger] = Ledger,
    progress: Callable[[str], None] | None = None,
) -> EpsilonAudit:
    """Audit sessions of questions that cost `epsilon` each, by default half of the promise's epsilon.

    A session ends after `max_answers` answers, as a broken ledger might never refuse.
    """
    runs = DEFAULT_RUNS if runs is None else runs
    require_count("audit", "runs", runs, minimum=MIN_RUNS)
    random, tell = random or Randomness(), progress or (lambda _: None)
    promise = get_promise(policy)
    each = float(promise.epsilon / DEFAULT_QUESTIONS if epsilon is None else epsilon)
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        scratch = ScratchDatabases(policy=policy, folder=Path(folder))
        _, pair, _ = choose_neighbors(scratch, sql, each, random, tell)
        here, there = (scratch.build_policy(side) for side in (pair.rows, pair.neighbor_rows))
        tell(f"asking in {2 * runs:,} sessions")
        with (
            DuckDB.open(prepare_store(here, None)) as ours,
            DuckDB.open(prepare_store(there, None)) as theirs,
        ):

            def simulate_sessions(terms: Policy, engine: Engine) -> Iterator[Cells]:
                for _ in range(runs):
                    with ledger_class(":memory:", promise) as book:
                        curator = Curator.from_parts(
                            terms, ledger=book, engine=engine, analyst=SOLE_ANALYST, random=random
                        )
                        yield _run_session(curator, sql, each, max_answers)

            return audit_epsilon(
                lambda _: list(simulate_sessions(here, ours)),
                lambda _: list(simulate_sessions(there, theirs)),
                claimed=promise.epsilon,
                delta=promise.tail,
                runs=runs,
                confidence=confidence,
            )


def _run_session(curator: Curator, sql: str, epsilon: float, max_answers: int) -> Cells:
    """Return every number that an analyst sees, by question, column and group, with counts and means.

    Means distinguish best if all answers have the same distribution; counts show what the ledger allowed.
    """
    seen: dict[tuple[object, ...], list[object]] = {}
    for number in range(max_answers):
        try:
            answer = curator.ask(sql, epsilon=epsilon, fresh=True, raw=True)
        except BudgetError:
            if number == 0:
                raise RequestError(
                    "audit: the promise does not allow a first question of this epsilon.",
                    hint="Give a smaller `epsilon=`.",
                ) from None
            break
        measures = set(answer.measures)
        for row in answer.table.to_pylist():
            group = tuple(value for name, value in row.items() if name not in measures)
            seen.setdefault(("shown", *group), []).append(1)
            for name in measures:
                seen.setdefault((name, *group), []).append(row[name])
    cells: Cells = {}
    for place, values in seen.items():
        known = [value for value in values if isinstance(value, int | float)]
        cells |= {(*place, "answers"): len(values), (*place, "mean"): fmean(known) if known else None}
        cells |= {(*place, number): value for number, value in enumerate(values)}
    return cells
