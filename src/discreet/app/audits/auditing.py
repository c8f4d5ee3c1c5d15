"""Privacy audits: an empirical lower bound on the epsilon of a mechanism, a question or a curator.

An audit of a question can also audit beliefs: it compares attackers' posteriors after every run with the
promise.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from discreet.app.audits.question_audit import QuestionAudited, audit_question
from discreet.app.audits.session_audit import audit_session
from discreet.app.policies import promise_of
from discreet.attacks.audit import Audited, audit
from discreet.attacks.pairs import DELTA, pair
from discreet.attacks.posterior_audit import PosteriorAudited
from discreet.belief.odds import highest_posterior
from discreet.belief.wording import format_chance, format_number, format_percent, format_percent_up
from discreet.core.errors import RequestError
from discreet.core.number_checks import parse_number
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness

PRIOR = 0.01
QUESTIONS = ("select ", "with ")


def is_question(audited: str) -> bool:
    """Return True for a question (SQL text), False for the name of a mechanism."""
    return audited.lstrip().lower().startswith(QUESTIONS)


def audit_any(
    audited: str,
    policy: Policy | None,
    epsilon: float | None,
    delta: str | None,
    runs: int | None,
    confidence: float,
    tell: Callable[[str], None],
    *,
    posterior: bool,
    session: bool,
) -> tuple[Audited, PosteriorAudited | None]:
    """Audit a question under a policy, or a mechanism if `policy` is None.

    With `posterior`, audit beliefs too; with `session`, ask the question until the curator refuses.
    """
    if session and posterior:
        raise RequestError("audit: --session and --posterior exclude each other.", hint="Choose one.")
    if policy is None:
        if session or posterior:
            raise RequestError(
                f"audit: {'--session' if session else '--posterior'} needs a promise, and a mechanism has "
                f"none.",
                hint="Give a question and --policy.",
            )
        tell(f"running {audited}")
        return audit_mechanism(audited, epsilon, delta, runs, confidence), None
    if delta is not None:
        raise RequestError(
            "audit: --delta goes with a mechanism.", hint="A question's delta follows from the promise."
        )
    if session:
        whole = audit_session(
            policy, audited, epsilon=epsilon, runs=runs, confidence=confidence, progress=tell
        )
        return whole, None
    found = audit_policy(policy, audited, epsilon, runs, confidence, tell, posterior=posterior)
    return found.audited, found.posteriors if posterior else None


def audit_mechanism(
    name: str, epsilon: float | None, delta: str | None, runs: int | None, confidence: float
) -> Audited:
    claimed = 1.0 if epsilon is None else epsilon
    audited = pair(name, epsilon=claimed, delta=DELTA if delta is None else parse_number("--delta", delta))
    here, there = audited.draws(Randomness())
    return audit(
        here,
        there,
        claimed=claimed,
        delta=max(0.0, audited.mechanism.guarantee.profile(claimed)),
        runs=audited.runs if runs is None else runs,
        confidence=confidence,
    )


def audit_policy(
    policy: Policy,
    sql: str,
    epsilon: float | None,
    runs: int | None,
    confidence: float,
    tell: Callable[[str], None],
    *,
    posterior: bool,
) -> QuestionAudited:
    """Audit a question; with `posterior`, at the promise's whole epsilon by default."""
    promise = promise_of(policy)
    usual = promise.epsilon if posterior and promise.tail == 0 else policy.epsilon or 1.0
    claimed = usual if epsilon is None else epsilon
    found = audit_question(policy, sql, epsilon=claimed, runs=runs, confidence=confidence, progress=tell)
    if posterior and found.posteriors is None:
        raise RequestError(
            f"audit: the promise does not allow a question of epsilon {format_number(claimed)}.",
            hint="Give a smaller --epsilon.",
        )
    return found


def as_object(found: Audited, posteriors: PosteriorAudited | None = None) -> dict[str, object]:
    """Return the JSON object."""
    return _bound(found) | ({} if posteriors is None else {"posterior": _beliefs(posteriors)})


def _beliefs(found: PosteriorAudited) -> dict[str, object]:
    return {
        "prior": found.prior,
        "cap": found.cap,
        "tail": found.tail,
        "fraction": found.fraction,
        "attackers": found.runs,
        "highest": found.highest,
        "interval": list(found.interval),
        "holds": found.holds,
        "verdict": found.verdict,
    }


def _bound(found: Audited) -> dict[str, object]:
    return {
        "claimed": found.claimed,
        "lower_bound": found.lower_bound,
        "confidence": found.confidence,
        "delta": found.delta,
        "runs": found.runs,
        "holds": found.holds,
        "verdict": found.verdict,
    }


def show(console: Console, audited: str, found: Audited) -> None:
    """Print the claimed epsilon and the lower bound, each with the belief that it allows, and the verdict."""
    console.print(audited, style="bold", markup=False, highlight=False, soft_wrap=True)
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="bold")
    for title in ("", "epsilon", f"a belief of {format_percent(PRIOR)} can become"):
        table.add_column(title, justify="right" if title else "left")
    claimed, bound = found.written
    table.add_row("claimed", claimed, f"at most {format_percent_up(highest_posterior(PRIOR, found.claimed))}")
    reached = format_percent(highest_posterior(PRIOR, found.lower_bound))
    table.add_row("shown by the runs", bound, f"at least {reached}")
    console.print(table)
    more, fewer = found.hits
    console.print(
        f"\nAn event was chosen on half of {found.runs:,} runs on each of two neighbouring databases. In the "
        f"other half it occurred {more:,} times on the one and {fewer:,} times on the other.",
        highlight=False,
    )
    style = "green" if found.holds else "red"
    console.print(found.verdict, style=style, highlight=False)


def show_posteriors(console: Console, found: PosteriorAudited) -> None:
    """Print attackers' posteriors compared with the promise."""
    allowed = "none" if found.tail == 0 else f"at most {format_chance(found.tail)}"
    console.print(
        f"\nAfter each run an attacker who knew all but one person's record, and gave the truth a belief of "
        f"{format_percent(found.prior)}, had a new one. Above {format_percent_up(found.cap)} ended "
        f"{format_percent(found.fraction)} "
        f"of them; allowed is {allowed}.",
        highlight=False,
    )
    console.print(found.verdict, style="green" if found.holds else "red", highlight=False)
