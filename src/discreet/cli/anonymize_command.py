"""The command `discreet anonymize`: parse the request, find the release, publish and describe it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import typer

from discreet.cli.progress_bar import show_progress
from discreet.core.errors import ModelNotMetError, RequestError
from discreet.core.number_checks import parse_probability
from discreet.rendering import attack_view
from discreet.rendering import release_view as anonymize_view
from discreet.rendering.release_report import write_report
from discreet.rendering.terminal import Console
from discreet.services.anonymize.anonymize_options import (
    AnonymizeRequest,
    build_anonymizer,
    build_table_request,
)
from discreet.services.anonymize.anonymize_validation import PRIVATE
from discreet.services.anonymize.counted_table import Sources
from discreet.services.anonymize.exposure import warn_of_columns
from discreet.services.anonymize.model_options import ModelOptions, build_models
from discreet.services.anonymize.private_release import PrivateRelease
from discreet.services.anonymize.release import Release
from discreet.services.anonymize.release_certificate import require_own_certificate, write_certificate
from discreet.services.anonymize.release_publishing import publish_release, require_release_bounds
from discreet.services.anonymize.table_request import ResolvedTable, require_domains, resolve_table
from discreet.services.attack.evaluation import AttackEvaluation
from discreet.services.progress import ProgressCallback
from discreet.services.publishers import parse_release_target
from discreet.services.source_tables import find_source_table

__all__ = [
    "AnonymizeRequest",
    "ModelOptions",
    "find_and_publish",
    "find_and_publish_privately",
    "run_anonymize",
]


def run_anonymize(
    request: AnonymizeRequest, *, check: bool, minimal: bool, top: int | None, as_json: bool
) -> None:
    """Check the table, list generalizations, or publish a release."""
    if sum((check, minimal, top is not None)) > 1:
        raise RequestError("--check, --minimal and --top exclude each other.", hint="Give only one of them.")
    if request.unit not in (None, "row"):
        raise RequestError(f"--unit must be row; got {request.unit}.", hint="Omit it to count people.")
    asked = build_table_request(request)
    named = resolve_table(asked)
    if request.output is not None:  # refused before rows are read
        require_own_certificate(parse_release_target(named.policy, request.output))
    _require_not_source(request, named)
    if not check:  # a check generalizes nothing
        require_domains(asked, named.policy.hierarchies)
        _print_warnings(named.warnings)
    if check:
        _run_check(request, named, as_json=as_json)
    elif minimal or top is not None:
        _run_list(request, named, top, as_json=as_json)
    elif request.method == PRIVATE:
        _run_private(request, named, as_json=as_json)
    else:
        _run_publish(request, named, as_json=as_json)


def _require_not_source(request: AnonymizeRequest, resolved: ResolvedTable) -> None:
    """Raise if the output would overwrite another table of the policy."""
    lost = None if request.output is None else find_source_table(resolved.policy, request.output)
    if lost not in (None, resolved.name):
        raise RequestError(
            f"anonymize: {request.output} is the table {lost} of the policy.", hint="Write to another file."
        )


def _build_sources(resolved: ResolvedTable) -> Sources:
    policy = resolved.policy
    tables = {resolved.name: policy.tables[resolved.name]}
    return Sources(tables=tables, frames={}, engine=policy.engine, store=policy.store)


def find_and_publish(
    request: AnonymizeRequest, resolved: ResolvedTable, report_progress: ProgressCallback
) -> tuple[Release, AttackEvaluation, list[Path | str]]:
    """Find the release, attack it, and write it to the requested output."""
    target = None if request.output is None else parse_release_target(resolved.policy, request.output)
    if target is not None and target.engine_name:  # refused before a search
        _build_sources(resolved).require_safe_target(target)
    release = build_anonymizer(request, resolved, report_progress).fit(resolved.name).release
    report_progress("attacking it")
    at_most = None if request.at_most is None else parse_probability("--at-most", request.at_most)
    trial = require_release_bounds(release, at_most=at_most, others=request.others, force=request.force)
    if request.output is None:
        return release, trial, []
    report_progress("writing")
    return (
        release,
        trial,
        publish_release(release, request.output, trial, at_most=at_most, forced=request.force),
    )


def _run_publish(request: AnonymizeRequest, resolved: ResolvedTable, *, as_json: bool) -> None:
    with show_progress() as tell:
        release, trial, written = find_and_publish(request, resolved, tell)
    _print_warnings(release.warnings)
    if as_json:
        files = {"files": [str(path) for path in written]}
        print(
            json.dumps(
                anonymize_view.release_to_json(release)
                | {"trial": attack_view.evaluation_to_json(trial)}
                | files
            )
        )
    else:
        anonymize_view.print_release(Console(), release, written, trial)


def find_and_publish_privately(
    request: AnonymizeRequest, resolved: ResolvedTable, report_progress: ProgressCallback
) -> tuple[PrivateRelease, list[Path | str]]:
    """Charge, sample and write; the first progress message comes before the charge."""
    from discreet.rendering import private_release_view  # nothing else here needs them
    from discreet.services.anonymize import private_options

    if request.output is None:
        raise RequestError(
            "anonymize: a private release is charged when it is made, so it needs an output file.",
            hint="Name a file with -o.",
        )
    target = parse_release_target(resolved.policy, request.output)
    if target.engine_name:
        raise RequestError(
            "anonymize: a private release can only be written to a file, not to a table of the engine.",
            hint="Name one that ends in .parquet, .csv or .duckdb.",
        )
    _build_sources(resolved).require_safe_target(target)
    private = private_options.build_private_generalizer(request, resolved, report_progress)
    report_progress("counting")
    release = private.fit(resolved.name).release
    report_progress("writing")
    release.write(request.output)
    certificate = write_certificate(private_release_view.build_private_certificate(release), target)
    return release, [
        request.output,
        certificate,
        write_report(private_release_view.build_private_report(release), target),
    ]


def _run_private(request: AnonymizeRequest, resolved: ResolvedTable, *, as_json: bool) -> None:
    from discreet.rendering import private_release_view

    with show_progress() as tell:
        release, written = find_and_publish_privately(request, resolved, tell)
    _print_warnings(warn_of_columns(release.table, release.unchanged_columns))
    if as_json:
        print(
            json.dumps(
                private_release_view.private_release_to_json(release)
                | {"files": [str(path) for path in written]}
            )
        )
        return
    private_release_view.print_private_release(Console(), release)
    for path in written:
        Console().print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)


def _run_list(request: AnonymizeRequest, resolved: ResolvedTable, top: int | None, *, as_json: bool) -> None:
    if request.method == PRIVATE:
        raise RequestError(
            "anonymize: a private release has declared levels, so there is nothing to search.",
            hint="Omit --minimal and --top.",
        )
    from discreet.rendering import generalization_view  # nothing else here needs it

    with show_progress() as tell:
        found = build_anonymizer(request, resolved, tell)
        listed = found.list_minimal(resolved.name) if top is None else found.list_best(resolved.name, top)
    show: Callable[..., None] = (
        generalization_view.print_minimal if top is None else generalization_view.print_best
    )
    show(Console(), listed, as_json=as_json)


def _run_check(request: AnonymizeRequest, resolved: ResolvedTable, *, as_json: bool) -> None:
    from discreet.services.anonymize import model_check

    found = model_check.check_models(resolved, build_models(request.models, resolved), unit=request.unit)
    _print_warnings(
        [
            f"Some rows have no value of {name}. Missing is judged as a value of its own; an attacker who "
            "rules it out has fewer values left."
            for name in found.columns_with_missing
        ]
    )
    if as_json:
        print(json.dumps(found.to_json()))
    else:
        model_check.print_check(Console(), found)
    if found.holds:
        return
    if as_json:
        raise typer.Exit(ModelNotMetError.exit_code)
    failed = [model.name for model, each in found.verdicts if not each.holds]
    raise ModelNotMetError(f"The table does not meet {' and '.join(failed)}.")


def _print_warnings(texts: Sequence[str]) -> None:
    console = Console(stderr=True, soft_wrap=True)
    for text in texts:
        console.print(f"discreet: warning: {text}", markup=False, highlight=False)
