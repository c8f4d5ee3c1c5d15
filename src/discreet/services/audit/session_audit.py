"""The audit of a whole curator: all answers of an analyst who asks until the budget is spent.

Session     one question, repeated with a little less epsilon each time, so that no answer comes from the
            cache, until the curator refuses. Plans, ledger, noise and answers are those of any analyst;
            tables are generated, and each session has a ledger of its own, in memory.
Claim       all answers of a session together keep the promise: a loss of at most the promise's epsilon, up to
            the tail. The number of answered questions is part of the output.
Catches     errors that no single question shows: charges that are too small or missing, wrong composition,
            noise that is reused in several answers.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean

from discreet.accounting.ledger import SOLE_ANALYST, Ledger
from discreet.attacks.privacy_audit import DEFAULT_CONFIDENCE, MIN_RUNS, EpsilonAudit, audit_epsilon
from discreet.core.engine import Engine
from discreet.core.errors import BudgetError, RequestError
from discreet.core.number_checks import Real, require_count
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.services.audit.question_audit import ScratchDatabases, choose_neighbors
from discreet.services.curator import Curator
from discreet.services.policies import get_promise

DEFAULT_RUNS = 500
DEFAULT_QUESTIONS = 2
MAX_ANSWERS = 64
EPSILON_STEP = 1 / 1_000

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
            answer = curator.ask(sql, epsilon=epsilon * (1 - number * EPSILON_STEP), raw=True)
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
