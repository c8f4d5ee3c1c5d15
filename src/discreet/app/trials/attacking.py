"""The `attack` command: resolve the release, run the attacks that apply, print and file the findings."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import typer

from discreet.app.books import looked_into
from discreet.app.commands.progress import spinner
from discreet.app.documents import Section, keep
from discreet.app.synthesis.synthetic_attack import attack_synthetic
from discreet.app.terminal import Console
from discreet.app.trials import view as attack_view
from discreet.app.trials.answers_trial import attack_answers
from discreet.app.trials.deployment import deployment
from discreet.app.trials.frequencies_trial import attack_frequencies
from discreet.app.trials.kinds import Release, kind_of
from discreet.app.trials.ratings_trial import attack_ratings
from discreet.app.trials.request import Request
from discreet.app.trials.table_trial import attack_file
from discreet.app.trials.trial import NOTICE, Trial
from discreet.core.errors import ModelNotMetError, RequestError
from discreet.core.policy import Policy

__all__ = ["Request", "run", "tried"]

Tell = Callable[[str], None]
ATTACKED: dict[Release, Callable[[Request, Tell], tuple[Trial, Policy | None]]] = {
    Release.ANSWERS: attack_answers,
    Release.TABLE: attack_file,
    Release.RATINGS: attack_ratings,
    Release.FREQUENCIES: attack_frequencies,
    Release.SYNTHETIC: attack_synthetic,
}


def run(request: Request, *, report: Path | None, as_json: bool) -> None:
    """Attack, write the report, print the findings, and exit with code 4 if a bound is broken."""
    if report is not None:
        _require_report(report)
    with spinner() as tell:
        trial, policy = tried(request, tell)
        if report is not None:
            tell("writing the report")
            _file(trial, policy, report)
    if as_json:
        files = {} if report is None else {"report": str(report)}
        print(json.dumps(attack_view.as_object(trial) | files))
    else:
        attack_view.show(Console(), trial)
        if report is not None:
            Console().print(f"\nwrote {report}", highlight=False, markup=False)
    if trial.broken:
        raise typer.Exit(ModelNotMetError.exit_code)


def tried(request: Request, tell: Tell) -> tuple[Trial, Policy | None]:
    """Run the attacks that apply to the request's kind of release."""
    return ATTACKED[kind_of(request)](request, tell)


def _file(trial: Trial, policy: Policy | None, path: Path) -> None:
    """Write the report as JSON, HTML or Markdown, by the file's suffix."""
    day = datetime.now(UTC).date().isoformat()
    if path.suffix.lower() == ".json":
        return _write(
            json.dumps({"notice": NOTICE, "date": day} | attack_view.as_object(trial), indent=2) + "\n", path
        )
    from discreet.app.trials.report import document  # charts take a second to load

    more: list[Section] = []
    if policy is not None and policy.promise is not None:
        with looked_into(policy) as ledger:
            more.append(deployment(policy, ledger))
    made = document(trial, *more, day=day)
    return _write(made.as_html() if path.suffix.lower() == ".html" else made.as_markdown(), path)


def _write(text: str, path: Path) -> None:
    try:
        keep(text, path)
    except OSError as error:
        reason = error.strerror or "the system refuses"
        raise RequestError(f"{path} cannot be written: {reason}.", hint="Name another file.") from None


def _require_report(path: Path) -> None:
    """Raise RequestError for a report path with an unknown suffix or a missing folder."""
    if path.suffix.lower() not in (".html", ".md", ".json"):
        raise RequestError(
            f"A report is an .html, .md or .json file; got {path.name}.", hint="Name such a file."
        )
    if not path.absolute().parent.is_dir():
        raise RequestError(f"There is no folder {path.parent}.", hint="Make it, or name another file.")
