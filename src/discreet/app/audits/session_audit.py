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
from discreet.app.audits.question_audit import Scratch, chosen
from discreet.app.curator import Curator
from discreet.app.policies import promise_of
from discreet.attacks.audit import CONFIDENCE, LEAST_RUNS, Audited, audit
from discreet.core.engine import Engine
from discreet.core.errors import BudgetError, RequestError
from discreet.core.number_checks import Real, require_count
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store

RUNS = 500
QUESTIONS = 2
MOST = 64
LESS = 1 / 1_000

Cells = dict[tuple[object, ...], object]


def audit_session(
    policy: Policy,
    sql: str,
    *,
    epsilon: Real | None = None,
    runs: int | None = None,
    most: int = MOST,
    confidence: float = CONFIDENCE,
    random: Randomness | None = None,
    ledger: type[Ledger] = Ledger,
    progress: Callable[[str], None] | None = None,
) -> Audited:
    """Audit sessions of questions that cost `epsilon` each, by default half of the promise's epsilon.

    A session ends after `most` answers, as a broken ledger might never refuse.
    """
    runs = RUNS if runs is None else runs
    require_count("audit", "runs", runs, minimum=LEAST_RUNS)
    random, tell = random or Randomness(), progress or (lambda _: None)
    promise = promise_of(policy)
    each = float(promise.epsilon / QUESTIONS if epsilon is None else epsilon)
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        scratch = Scratch(policy=policy, folder=Path(folder))
        _, pair, _ = chosen(scratch, sql, each, random, tell)
        here, there = (scratch.under(side) for side in (pair.here, pair.there))
        tell(f"asking in {2 * runs:,} sessions")
        with (
            DuckDB.open(prepare_store(here, None)) as ours,
            DuckDB.open(prepare_store(there, None)) as theirs,
        ):

            def told(terms: Policy, engine: Engine) -> Iterator[Cells]:
                for _ in range(runs):
                    with ledger(":memory:", promise) as book:
                        curator = Curator(
                            terms, ledger=book, engine=engine, analyst=SOLE_ANALYST, random=random
                        )
                        yield _session(curator, sql, each, most)

            return audit(
                lambda _: list(told(here, ours)),
                lambda _: list(told(there, theirs)),
                claimed=promise.epsilon,
                delta=promise.tail,
                runs=runs,
                confidence=confidence,
            )


def _session(curator: Curator, sql: str, epsilon: float, most: int) -> Cells:
    """Return every number that an analyst sees, by question, column and group, with counts and means.

    Means distinguish best if all answers have the same distribution; counts show what the ledger allowed.
    """
    seen: dict[tuple[object, ...], list[object]] = {}
    for number in range(most):
        try:
            answer = curator.ask(sql, epsilon=epsilon * (1 - number * LESS), raw=True)
        except BudgetError:
            if number == 0:
                raise RequestError(
                    "audit: the promise does not allow a first question of this epsilon.",
                    hint="Give a smaller --epsilon.",
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
