"""`discreet audit`: an empirical lower bound on the epsilon of a mechanism, a question or a whole curator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.progress_bar import show_progress
from discreet.cli.shared_options import DEFAULT_POLICY, JsonOption
from discreet.core.errors import ModelNotMetError, RequestError
from discreet.core.number_checks import parse_number, parse_probability
from discreet.mechanisms import MECHANISMS, get_mechanism_name
from discreet.rendering import audit_view
from discreet.rendering.terminal import Console
from discreet.services.audit.audit_dispatch import AuditRequest, is_question, run_audit
from discreet.services.policies import load_policy

MECHANISM_NAMES = ", ".join(get_mechanism_name(kind) for kind in MECHANISMS)


def run(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="MECHANISM|SQL",
            help=f"A question under a policy; or one of {MECHANISM_NAMES} (geometric is discrete-laplace).",
        ),
    ],
    policy: Annotated[
        Path | None,
        typer.Option("--policy", "-p", help="The policy of a question; privacy.yaml by default."),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="The epsilon to check, or of each question of a session; 1 or the policy's by default."
        ),
    ] = None,
    delta: Annotated[str | None, typer.Option(help="For mechanisms that have one; 1e-6 by default.")] = None,
    runs: Annotated[
        int | None, typer.Option(help="How often to run it on each of two neighbouring databases.")
    ] = None,
    posterior: Annotated[
        bool,
        typer.Option(
            "--posterior",
            help="For a question: also compare attackers' beliefs with the promise.",
        ),
    ] = False,
    session: Annotated[
        bool,
        typer.Option(
            "--session",
            help="Audit the whole curator: ask a question until the budget is spent.",
        ),
    ] = False,
    confidence: Annotated[str, typer.Option(help="The confidence of the bound.")] = "95%",
    as_json: JsonOption = False,
) -> None:
    """Compute a lower bound on epsilon from many runs; exit code 4 if it exceeds the claimed epsilon.

    With --session, audit all answers of an analyst who asks until refused, against the promise.
    With --posterior, also count the attackers whose belief exceeds the promise: none, or at most the tail.

    Reads no data and charges nothing: mechanisms run on numbers, questions on generated tables.
    """
    request = AuditRequest(
        audited=subject,
        epsilon=None if epsilon is None else parse_number("--epsilon", epsilon),
        delta=None if delta is None else parse_number("--delta", delta),
        runs=runs,
        confidence=parse_probability("--confidence", confidence),
        posterior=posterior,
        session=session,
    )
    policy = policy or (_default_policy() if is_question(subject) else None)
    with show_progress() as report_progress:
        found = run_audit(request, None if policy is None else load_policy(policy), report_progress)
    if as_json:
        print(json.dumps(audit_view.audit_to_json(found)))
    else:
        audit_view.print_audit(Console(), subject, found)
    if not found.holds:
        raise typer.Exit(ModelNotMetError.exit_code)


def _default_policy() -> Path:
    """Return privacy.yaml; raise RequestError if it does not exist."""
    if not DEFAULT_POLICY.is_file():
        raise RequestError(
            "audit: a question needs a policy, and there is no privacy.yaml.", hint="Name one with --policy."
        )
    return DEFAULT_POLICY
