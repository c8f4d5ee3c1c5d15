"""The `attack` command: resolve the release, run the attacks that apply, print and file the findings."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import typer

from discreet.cli.progress_bar import show_progress
from discreet.core.errors import ModelNotMetError, RequestError
from discreet.core.policy import Policy
from discreet.rendering import attack_view
from discreet.rendering.deployment_section import build_deployment_section
from discreet.rendering.report_document import Section, write_private_report
from discreet.rendering.terminal import Console
from discreet.services.attack.answers_evaluation import attack_answers
from discreet.services.attack.attack_request import AttackRequest
from discreet.services.attack.evaluation import NOTICE, AttackEvaluation
from discreet.services.attack.frequencies_evaluation import attack_frequencies
from discreet.services.attack.ratings_evaluation import attack_ratings
from discreet.services.attack.release_kinds import ReleaseKind, determine_release_kind
from discreet.services.attack.synthetic_attack import attack_synthetic
from discreet.services.attack.table_evaluation import attack_published_table
from discreet.services.ledgers import open_ledger_readonly

__all__ = ["AttackRequest", "attack_release", "run_attack"]

ProgressReporter = Callable[[str], None]
EVALUATORS: dict[
    ReleaseKind, Callable[[AttackRequest, ProgressReporter], tuple[AttackEvaluation, Policy | None]]
] = {
    ReleaseKind.ANSWERS: attack_answers,
    ReleaseKind.TABLE: attack_published_table,
    ReleaseKind.RATINGS: attack_ratings,
    ReleaseKind.FREQUENCIES: attack_frequencies,
    ReleaseKind.SYNTHETIC: attack_synthetic,
}


def run_attack(request: AttackRequest, *, report: Path | None, as_json: bool) -> None:
    """Attack, write the report, print the findings, and exit with code 4 if a bound is broken."""
    if report is not None:
        _require_report_path(report)
    with show_progress() as tell:
        trial, policy = attack_release(request, tell)
        if report is not None:
            tell("writing the report")
            _write_report(trial, policy, report)
    if as_json:
        files = {} if report is None else {"report": str(report)}
        print(json.dumps(attack_view.evaluation_to_json(trial) | files))
    else:
        attack_view.print_evaluation(Console(), trial)
        if report is not None:
            Console().print(f"\nwrote {report}", highlight=False, markup=False)
    if trial.broken_bounds:
        raise typer.Exit(ModelNotMetError.exit_code)


def attack_release(
    request: AttackRequest, report_progress: ProgressReporter
) -> tuple[AttackEvaluation, Policy | None]:
    """Run the attacks that apply to the request's kind of release."""
    return EVALUATORS[determine_release_kind(request)](request, report_progress)


def _write_report(evaluation: AttackEvaluation, policy: Policy | None, path: Path) -> None:
    """Write the report as JSON, HTML or Markdown, by the file's suffix."""
    day = datetime.now(UTC).date().isoformat()
    if path.suffix.lower() == ".json":
        return _write_text(
            json.dumps({"notice": NOTICE, "date": day} | attack_view.evaluation_to_json(evaluation), indent=2)
            + "\n",
            path,
        )
    from discreet.rendering.attack_report import build_report  # charts take a second to load

    more: list[Section] = []
    if policy is not None and policy.promise is not None:
        with open_ledger_readonly(policy) as ledger:
            more.append(build_deployment_section(policy, ledger))
    made = build_report(evaluation, *more, day=day)
    return _write_text(made.to_html() if path.suffix.lower() == ".html" else made.to_markdown(), path)


def _write_text(text: str, path: Path) -> None:
    try:
        write_private_report(text, path)
    except OSError as error:
        reason = error.strerror or "the system refuses"
        raise RequestError(f"{path} cannot be written: {reason}.", hint="Name another file.") from None


def _require_report_path(path: Path) -> None:
    """Raise RequestError for a report path with an unknown suffix or a missing folder."""
    if path.suffix.lower() not in (".html", ".md", ".json"):
        raise RequestError(
            f"A report is an .html, .md or .json file; got {path.name}.", hint="Name such a file."
        )
    if not path.absolute().parent.is_dir():
        raise RequestError(f"There is no folder {path.parent}.", hint="Make it, or name another file.")
