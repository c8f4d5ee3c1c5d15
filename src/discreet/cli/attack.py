"""`discreet attack`: run attacks on a release or on answers, and report what they learn about one person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.progress_bar import show_progress
from discreet.cli.request_options import options_from
from discreet.cli.shared_options import DEFAULT_POLICY, JsonOption
from discreet.core.errors import ExitCode
from discreet.rendering import attack_view
from discreet.rendering.attack_report import require_report_path, write_attack_report
from discreet.rendering.terminal import Console
from discreet.services.attack.attack_dispatch import attack_release
from discreet.services.attack.attack_request import AttackRequest
from discreet.services.request_fields import OUTPUT_PANEL


@options_from(AttackRequest)
def run(
    request: AttackRequest,
    *,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write a report: .html, .md or .json.", rich_help_panel=OUTPUT_PANEL
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run every attack that applies to a release or to answers.

    For the custodian only: attacks are evaluated on real data. Nothing is charged and nothing is published.
    Exit code 4 if an attack exceeds a bound that was set.
    """
    if report is not None:
        require_report_path(report)
    if request.policy is None and DEFAULT_POLICY.is_file():
        request = request.model_copy(update={"policy": DEFAULT_POLICY})
    with show_progress() as report_progress:
        evaluation = attack_release(request, report_progress)
        if report is not None:
            report_progress("writing the report")
            write_attack_report(evaluation, report)
    if as_json:
        files = {} if report is None else {"report": str(report)}
        print(json.dumps(attack_view.evaluation_to_json(evaluation) | files))
    else:
        attack_view.print_evaluation(Console(), evaluation)
        if report is not None:
            Console().print(f"\nwrote {report}", highlight=False, markup=False)
    if evaluation.broken_bounds:
        raise typer.Exit(ExitCode.MODEL_NOT_MET)
