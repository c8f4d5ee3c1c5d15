"""Privacy audits: an empirical lower bound on the epsilon of a mechanism, a question or a curator.

An audit of a question can also audit beliefs: it compares attackers' posteriors after every run with the
promise.
"""

from __future__ import annotations

from collections.abc import Callable

from discreet.attacks.epsilon_audit import EpsilonAudit, audit_epsilon
from discreet.attacks.neighbor_pairs import DELTA, build_pair
from discreet.attacks.posterior_audit import PosteriorAudit
from discreet.belief.wording import format_number
from discreet.core.errors import RequestError
from discreet.core.number_checks import parse_number
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.services.audit.question_audit import QuestionAudit, audit_question
from discreet.services.audit.session_audit import audit_session
from discreet.services.policies import get_promise

QUESTION_STARTS = ("select ", "with ")


def is_question(subject: str) -> bool:
    """Return True for a question (SQL text), False for the name of a mechanism."""
    return subject.lstrip().lower().startswith(QUESTION_STARTS)


def run_audit(
    subject: str,
    policy: Policy | None,
    epsilon: float | None,
    delta: str | None,
    runs: int | None,
    confidence: float,
    report_progress: Callable[[str], None],
    *,
    audits_posteriors: bool,
    audits_session: bool,
) -> tuple[EpsilonAudit, PosteriorAudit | None]:
    """Audit a question under a policy, or a mechanism if `policy` is None.

    With `audits_posteriors`, audit beliefs too; with `audits_session`, ask the question until the curator refuses.
    """
    if audits_session and audits_posteriors:
        raise RequestError("audit: --session and --posterior exclude each other.", hint="Choose one.")
    if policy is None:
        if audits_session or audits_posteriors:
            raise RequestError(
                f"audit: {'--session' if audits_session else '--posterior'} needs a promise, and a mechanism has "
                f"none.",
                hint="Give a question and --policy.",
            )
        report_progress(f"running {subject}")
        return audit_mechanism(subject, epsilon, delta, runs, confidence), None
    if delta is not None:
        raise RequestError(
            "audit: --delta goes with a mechanism.", hint="A question's delta follows from the promise."
        )
    if audits_session:
        whole = audit_session(
            policy, subject, epsilon=epsilon, runs=runs, confidence=confidence, progress=report_progress
        )
        return whole, None
    found = audit_policy_question(
        policy, subject, epsilon, runs, confidence, report_progress, audits_posteriors=audits_posteriors
    )
    return found.epsilon_audit, found.posterior_audit if audits_posteriors else None


def audit_mechanism(
    name: str, epsilon: float | None, delta: str | None, runs: int | None, confidence: float
) -> EpsilonAudit:
    claimed = 1.0 if epsilon is None else epsilon
    audited = build_pair(
        name, epsilon=claimed, delta=DELTA if delta is None else parse_number("--delta", delta)
    )
    here, there = audited.make_samplers(Randomness())
    return audit_epsilon(
        here,
        there,
        claimed=claimed,
        delta=max(0.0, audited.mechanism.guarantee.profile(claimed)),
        runs=audited.default_runs if runs is None else runs,
        confidence=confidence,
    )


def audit_policy_question(
    policy: Policy,
    sql: str,
    epsilon: float | None,
    runs: int | None,
    confidence: float,
    report_progress: Callable[[str], None],
    *,
    audits_posteriors: bool,
) -> QuestionAudit:
    """Audit a question; with `audits_posteriors`, at the promise's whole epsilon by default."""
    promise = get_promise(policy)
    usual = promise.epsilon if audits_posteriors and promise.tail == 0 else policy.epsilon or 1.0
    claimed = usual if epsilon is None else epsilon
    found = audit_question(
        policy, sql, epsilon=claimed, runs=runs, confidence=confidence, progress=report_progress
    )
    if audits_posteriors and found.posterior_audit is None:
        raise RequestError(
            f"audit: the promise does not allow a question of epsilon {format_number(claimed)}.",
            hint="Give a smaller --epsilon.",
        )
    return found
