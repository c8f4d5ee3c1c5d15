"""Privacy audits: an empirical lower bound on the epsilon of a mechanism, a question or a curator.

An audit of a question can also audit beliefs: it compares attackers' posteriors after every run with the
promise.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from discreet.attacks.neighbor_pairs import DELTA, build_pair
from discreet.attacks.privacy_audit import EpsilonAudit, PosteriorAudit, audit_epsilon
from discreet.belief.odds import highest_posterior
from discreet.belief.wording import format_chance, format_number, format_percent, format_percent_up
from discreet.core.errors import RequestError
from discreet.core.number_checks import parse_number
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.services.audit.question_audit import QuestionAudit, audit_question
from discreet.services.audit.session_audit import audit_session
from discreet.services.policies import get_promise

EXAMPLE_PRIOR = 0.01
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


def audit_to_json(
    epsilon_audit: EpsilonAudit, posterior_audit: PosteriorAudit | None = None
) -> dict[str, object]:
    """Return the JSON object."""
    return _epsilon_audit_to_json(epsilon_audit) | (
        {} if posterior_audit is None else {"posterior": _posterior_audit_to_json(posterior_audit)}
    )


def _posterior_audit_to_json(posterior_audit: PosteriorAudit) -> dict[str, object]:
    return {
        "prior": posterior_audit.prior,
        "cap": posterior_audit.cap,
        "tail": posterior_audit.tail,
        "fraction": posterior_audit.fraction,
        "attackers": posterior_audit.runs,
        "highest": posterior_audit.highest,
        "interval": list(posterior_audit.interval),
        "holds": posterior_audit.holds,
        "verdict": posterior_audit.verdict,
    }


def _epsilon_audit_to_json(epsilon_audit: EpsilonAudit) -> dict[str, object]:
    return {
        "claimed": epsilon_audit.claimed,
        "lower_bound": epsilon_audit.lower_bound,
        "confidence": epsilon_audit.confidence,
        "delta": epsilon_audit.delta,
        "runs": epsilon_audit.runs,
        "holds": epsilon_audit.holds,
        "verdict": epsilon_audit.verdict,
    }


def print_audit(console: Console, subject: str, epsilon_audit: EpsilonAudit) -> None:
    """Print the claimed epsilon and the lower bound, each with the belief that it allows, and the verdict."""
    console.print(subject, style="bold", markup=False, highlight=False, soft_wrap=True)
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="bold")
    for title in ("", "epsilon", f"a belief of {format_percent(EXAMPLE_PRIOR)} can become"):
        table.add_column(title, justify="right" if title else "left")
    claimed, bound = epsilon_audit.formatted_bounds
    table.add_row(
        "claimed",
        claimed,
        f"at most {format_percent_up(highest_posterior(EXAMPLE_PRIOR, epsilon_audit.claimed))}",
    )
    reached = format_percent(highest_posterior(EXAMPLE_PRIOR, epsilon_audit.lower_bound))
    table.add_row("shown by the runs", bound, f"at least {reached}")
    console.print(table)
    more, fewer = epsilon_audit.event_hits
    console.print(
        f"\nAn event was chosen on half of {epsilon_audit.runs:,} runs on each of two neighbouring databases. In the "
        f"other half it occurred {more:,} times on the one and {fewer:,} times on the other.",
        highlight=False,
    )
    style = "green" if epsilon_audit.holds else "red"
    console.print(epsilon_audit.verdict, style=style, highlight=False)


def print_posterior_audit(console: Console, posterior_audit: PosteriorAudit) -> None:
    """Print attackers' posteriors compared with the promise."""
    allowed = "none" if posterior_audit.tail == 0 else f"at most {format_chance(posterior_audit.tail)}"
    console.print(
        f"\nAfter each run an attacker who knew all but one person's record, and gave the truth a belief of "
        f"{format_percent(posterior_audit.prior)}, had a new one. Above {format_percent_up(posterior_audit.cap)} ended "
        f"{format_percent(posterior_audit.fraction)} "
        f"of them; allowed is {allowed}.",
        highlight=False,
    )
    console.print(posterior_audit.verdict, style="green" if posterior_audit.holds else "red", highlight=False)
