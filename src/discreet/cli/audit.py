"""`discreet audit`: an empirical lower bound on the epsilon of a mechanism, a question or a whole curator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.progress_bar import show_progress
from discreet.cli.request_options import options_from
from discreet.cli.shared_options import DEFAULT_POLICY, JsonOption
from discreet.core.errors import ExitCode, RequestError
from discreet.rendering import audit_view
from discreet.rendering.terminal import Console
from discreet.services.audit.audit_dispatch import run_audit
from discreet.services.audit.audit_request import AuditRequest, is_question
from discreet.services.policies import load_policy
from discreet.services.request_fields import POLICY_PANEL


@options_from(AuditRequest)
def run(
    request: AuditRequest,
    *,
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="FILE",
            help="The policy of a question; privacy.yaml by default.",
            rich_help_panel=POLICY_PANEL,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compute a lower bound on epsilon from many runs.

    Exit code 4 if it exceeds the claimed epsilon.

    With --session, audit all answers of an analyst who asks until refused, against the promise.
    With --posterior, also count the attackers whose belief exceeds the promise: none, or at most the tail.

    Reads no data and charges nothing: mechanisms run on numbers, questions on generated tables.
    """
    policy = policy or (_default_policy() if is_question(request.audited) else None)
    with show_progress() as report_progress:
        found = run_audit(request, None if policy is None else load_policy(policy), report_progress)
    if as_json:
        print(json.dumps(audit_view.audit_to_json(found)))
    else:
        audit_view.print_audit(Console(), request.audited, found)
    if not found.holds:
        raise typer.Exit(ExitCode.MODEL_NOT_MET)


def _default_policy() -> Path:
    """Return privacy.yaml; raise RequestError if it does not exist."""
    if not DEFAULT_POLICY.is_file():
        raise RequestError(
            "audit: a question needs a policy, and there is no privacy.yaml.", hint="Name one with --policy."
        )
    return DEFAULT_POLICY
