"""The work of `discreet anonymize`: call the service with a progress bar, and print what it returns."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import typer

from discreet.cli.option_names import name_options
from discreet.cli.progress_bar import show_progress
from discreet.core.errors import ExitCode, ModelNotMetError, RequestError
from discreet.rendering import anonymize_view, attack_view, private_release_view
from discreet.rendering.release_report import render_release_report
from discreet.rendering.terminal import Console
from discreet.services.anonymize.anonymize import (
    anonymize,
    anonymize_privately,
    check_table,
    find_shared_person,
    list_generalizations,
    resolve_request,
)
from discreet.services.anonymize.anonymize_request import PRIVATE, AnonymizeRequest
from discreet.services.anonymize.exposure import warn_of_columns
from discreet.services.anonymize.table_resolution import ResolvedTable

MOST_NAMED = 6


def run_anonymize(
    request: AnonymizeRequest, *, check: bool, minimal: bool, top: int | None, as_json: bool
) -> None:
    """Check the table, list generalizations, or publish a release."""
    if sum((check, minimal, top is not None)) > 1:
        raise RequestError("--check, --minimal and --top exclude each other.", hint="Give only one of them.")
    resolved = resolve_request(request, generalizes=not check)
    if sys.stdin.isatty() and resolved.likely_person is not None:
        column = find_shared_person(resolved)
        person = "row" if column is None else _ask_for_person(column)
        request = request.model_copy(update={"person": person})  # so that nobody reads the file for it again
        resolved = resolve_request(request, generalizes=not check)
    if check:
        _run_check(request, resolved, as_json=as_json)
        return
    _print_warnings([*resolved.warnings, *_warn_of_left_out(resolved.left_out)])
    if minimal or top is not None:
        _run_list(request, resolved, top, as_json=as_json)
    elif request.method == PRIVATE:
        _run_private(request, resolved, as_json=as_json)
    else:
        _run_publish(request, resolved, as_json=as_json)


def _run_publish(request: AnonymizeRequest, resolved: ResolvedTable, *, as_json: bool) -> None:
    with show_progress() as report_progress:
        result = anonymize(
            request, resolved, report_progress=report_progress, render_report=render_release_report
        )
    _print_warnings(result.release.warnings)
    if as_json:
        content = anonymize_view.release_to_json(result.release)
        trial = {"trial": attack_view.evaluation_to_json(result.evaluation)}
        content["left_out"] = list(resolved.left_out)
        print(json.dumps(content | trial | {"files": [str(path) for path in result.files]}))
    else:
        anonymize_view.print_release(Console(), result.release, list(result.files), result.evaluation)


def _run_private(request: AnonymizeRequest, resolved: ResolvedTable, *, as_json: bool) -> None:
    with show_progress() as report_progress:
        result = anonymize_privately(
            request,
            resolved,
            report_progress=report_progress,
            render_report=private_release_view.render_private_report,
        )
    release = result.release
    _print_warnings(warn_of_columns(release.table, release.unchanged_columns))
    if as_json:
        files = {"files": [str(path) for path in result.files]}
        print(json.dumps(private_release_view.private_release_to_json(release) | files))
        return
    private_release_view.print_private_release(Console(), release)
    for path in result.files:
        Console().print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)


def _run_list(request: AnonymizeRequest, resolved: ResolvedTable, top: int | None, *, as_json: bool) -> None:
    with show_progress() as report_progress:
        listed = list_generalizations(request, resolved, top=top, report_progress=report_progress)
    if as_json:
        to_json = anonymize_view.minimal_to_json if top is None else anonymize_view.best_to_json
        print(json.dumps(to_json(listed)))
        return
    print_list = anonymize_view.print_minimal if top is None else anonymize_view.print_best
    print_list(Console(), listed)


def _run_check(request: AnonymizeRequest, resolved: ResolvedTable, *, as_json: bool) -> None:
    checked = check_table(request, resolved)
    _print_warnings(
        [
            f"Some rows have no value of {name}. Missing is judged as a value of its own; an attacker who "
            "rules it out has fewer values left."
            for name in checked.columns_with_missing
        ]
    )
    if as_json:
        print(json.dumps(checked.to_json()))
    else:
        anonymize_view.print_check(Console(), checked)
    if checked.holds:
        return
    if as_json:
        raise typer.Exit(ExitCode.MODEL_NOT_MET)
    failed = [model.name for model, each in checked.verdicts if not each.holds]
    raise ModelNotMetError(f"The table does not meet {' and '.join(failed)}.")


def _ask_for_person(column: str) -> str:
    """Return the column if the custodian says that it names the person, and row if not."""
    seen = f"{column} seems to name the person, and several rows share a value of it."
    return column if typer.confirm(f"{seen} Does it name the person?", err=True) else "row"


def _warn_of_left_out(columns: Sequence[str]) -> list[str]:
    if not columns:
        return []
    more = f" and {len(columns) - MOST_NAMED} more" if len(columns) > MOST_NAMED else ""
    return [
        f"{', '.join(columns[:MOST_NAMED])}{more}: left out, because no option names them. Publish a column "
        "with --keep."
    ]


def _print_warnings(texts: Sequence[str]) -> None:
    console = Console(stderr=True, soft_wrap=True)
    for text in texts:
        console.print(f"discreet: warning: {name_options(text, {})}", markup=False, highlight=False)
