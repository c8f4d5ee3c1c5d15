"""Audits on the terminal, and as JSON: the claimed epsilon beside the lower bound that the runs show."""

from __future__ import annotations

from rich.console import Console

from discreet.attacks.privacy_audit import EpsilonAudit, PosteriorAudit
from discreet.belief.odds import highest_posterior
from discreet.belief.wording import format_chance, format_percent, format_percent_up
from discreet.rendering.terminal import build_plain_table
from discreet.services.audit.audit_dispatch import AuditResult

EXAMPLE_PRIOR = 0.01


def audit_to_json(result: AuditResult) -> dict[str, object]:
    """Return the JSON object."""
    beliefs = result.posterior_audit
    return _epsilon_audit_to_json(result.epsilon_audit) | (
        {} if beliefs is None else {"posterior": _posterior_audit_to_json(beliefs)}
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


def print_audit(console: Console, subject: str, result: AuditResult) -> None:
    """Print the audit of epsilon and, if there is one, of posteriors."""
    _print_epsilon_audit(console, subject, result.epsilon_audit)
    if result.posterior_audit is not None:
        _print_posterior_audit(console, result.posterior_audit)


def _print_epsilon_audit(console: Console, subject: str, epsilon_audit: EpsilonAudit) -> None:
    """Print the claimed epsilon and the lower bound, each with the belief that it allows, and the verdict."""
    console.print(subject, style="bold", markup=False, highlight=False, soft_wrap=True)
    headings = "", "epsilon", f"a belief of {format_percent(EXAMPLE_PRIOR)} can become"
    table = build_plain_table(*headings, text_columns=1)
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
        f"\nAn event was chosen on half of {epsilon_audit.runs:,} runs on each of two neighbouring "
        f"databases. In the other half it occurred {more:,} times on the one and {fewer:,} times on the "
        "other.",
        highlight=False,
    )
    style = "green" if epsilon_audit.holds else "red"
    console.print(epsilon_audit.verdict, style=style, highlight=False)


def _print_posterior_audit(console: Console, posterior_audit: PosteriorAudit) -> None:
    """Print attackers' posteriors compared with the promise."""
    allowed = "none" if posterior_audit.tail == 0 else f"at most {format_chance(posterior_audit.tail)}"
    prior, cap = format_percent(posterior_audit.prior), format_percent_up(posterior_audit.cap)
    console.print(
        "\nAn attacker who knew all but one person's record, and believed the truth with a probability of "
        f"{prior} before each run, ended above {cap} in {format_percent(posterior_audit.fraction)} of the "
        f"runs; allowed is {allowed}.",
        highlight=False,
    )
    console.print(posterior_audit.verdict, style="green" if posterior_audit.holds else "red", highlight=False)
