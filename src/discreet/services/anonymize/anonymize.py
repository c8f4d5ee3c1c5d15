"""Anonymize a table: the service behind `discreet anonymize`, the HTTP job and the console's Publish screen.

    request ── resolve the table ── search or recode ── attack ── ledger entry ── rows, certificate, report

A frontend builds the request, calls one of the functions here and renders the result. The custodian's report
is rendered by a function that the frontend passes in: it is computed before anything is published, because
it may fail, and written last.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from discreet.anonymity.search import SearchResult
from discreet.core.errors import RequestError
from discreet.services.anonymize.anonymize_request import PRIVATE, AnonymizeRequest
from discreet.services.anonymize.counted_table import Sources
from discreet.services.anonymize.model_check import ModelCheck, check_models
from discreet.services.anonymize.private_release import PrivateRelease
from discreet.services.anonymize.release import Release, ReportRenderer
from discreet.services.anonymize.release_certificate import require_own_certificate
from discreet.services.anonymize.release_publishing import (
    PrivateReportRenderer,
    publish_private_release,
    publish_release,
    require_release_bounds,
)
from discreet.services.anonymize.request_builders import (
    build_anonymizer,
    build_models,
    build_private_generalizer,
    build_table_request,
)
from discreet.services.anonymize.table_request import ResolvedTable, require_domains, resolve_table
from discreet.services.attack.evaluation import AttackEvaluation
from discreet.services.progress import ProgressCallback, ignore_progress
from discreet.services.publishers import parse_release_target
from discreet.services.source_tables import find_source_table

ANONYMIZATION_STAGES = ("counting", "searching", "attacking", "writing")
PRIVATE_ANONYMIZATION_STAGES = ("counting", "writing")


@dataclass(frozen=True, kw_only=True, eq=False)
class AnonymizeResult:
    """A release, the attacks on it, and the written files: rows, certificate, signatures and report."""

    release: Release
    evaluation: AttackEvaluation
    files: tuple[Path | str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivateAnonymizeResult:
    """A differentially private release and the written files: rows, certificate and report."""

    release: PrivateRelease
    files: tuple[Path | str, ...]


@dataclass(frozen=True, kw_only=True)
class GeneralizationList:
    """Generalizations to choose from, best first, and the columns that their levels belong to."""

    search: SearchResult
    columns: tuple[str, ...]


def resolve_request(request: AnonymizeRequest, *, generalizes: bool = True) -> ResolvedTable:
    """Return the requested table; raise for an output that would overwrite another release or a source.

    No row is read. A request that generalizes nothing needs no bounds of its columns.
    """
    asked = build_table_request(request)
    resolved = resolve_table(asked)
    if request.output is not None:
        require_own_certificate(parse_release_target(resolved.policy, request.output))
        lost = find_source_table(resolved.policy, request.output)
        if lost not in (None, resolved.name):
            raise RequestError(
                f"anonymize: {request.output} is the table {lost} of the policy.",
                hint="Write to another file.",
            )
    if generalizes:
        require_domains(asked, resolved.policy.hierarchies)
    return resolved


def require_anonymizable(request: AnonymizeRequest, resolved: ResolvedTable) -> None:
    """Raise what can be refused without reading a row."""
    if request.method == PRIVATE:
        build_private_generalizer(request, resolved, ignore_progress)
    else:
        build_anonymizer(request, resolved, ignore_progress)


def anonymize(
    request: AnonymizeRequest,
    resolved: ResolvedTable,
    *,
    report_progress: ProgressCallback = ignore_progress,
    render_report: ReportRenderer | None = None,
) -> AnonymizeResult:
    """Find the release, attack it, and write it if the request names an output.

    Raises:
        RequestError: the request and the policy do not fit; nothing was read.
        ModelNotMetError: no release meets the models, or an attack breaks a bound; nothing was written.
    """
    target = None if request.output is None else parse_release_target(resolved.policy, request.output)
    if target is not None and target.engine_name:  # refused before a search
        _build_sources(resolved).require_safe_target(target)
    release = build_anonymizer(request, resolved, report_progress).fit(resolved.name).release
    report_progress("attacking it")
    evaluation = require_release_bounds(
        release, at_most=request.at_most, others=request.others, force=request.force
    )
    files: list[Path | str] = []
    if request.output is not None:
        report_progress("writing")
        files = publish_release(
            release,
            request.output,
            evaluation,
            at_most=request.at_most,
            forced=request.force,
            render_report=render_report,
        )
    return AnonymizeResult(release=release, evaluation=evaluation, files=tuple(files))


def anonymize_privately(
    request: AnonymizeRequest,
    resolved: ResolvedTable,
    *,
    report_progress: ProgressCallback = ignore_progress,
    render_report: PrivateReportRenderer | None = None,
) -> PrivateAnonymizeResult:
    """Charge, sample and write; the first progress message comes before the charge.

    Raises:
        RequestError: the request and the policy do not fit; nothing was read or charged.
        BudgetError: the promise leaves no room for the release; nothing was read or charged.
    """
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
    generalizer = build_private_generalizer(request, resolved, report_progress)
    report_progress("counting")
    release = generalizer.fit(resolved.name).release
    report_progress("writing")
    files = publish_private_release(release, request.output, render_report=render_report)
    return PrivateAnonymizeResult(release=release, files=tuple(files))


def list_generalizations(
    request: AnonymizeRequest,
    resolved: ResolvedTable,
    *,
    top: int | None,
    report_progress: ProgressCallback = ignore_progress,
) -> GeneralizationList:
    """Return the `top` generalizations with least loss, or all minimal ones; nothing is published."""
    if request.method == PRIVATE:
        raise RequestError(
            "anonymize: a private release has declared levels, so there is nothing to search.",
            hint="Omit `minimal=` and `top=`.",
        )
    anonymizer = build_anonymizer(request, resolved, report_progress)
    search, columns = (
        anonymizer.list_minimal(resolved.name) if top is None else anonymizer.list_best(resolved.name, top)
    )
    return GeneralizationList(search=search, columns=columns)


def check_table(request: AnonymizeRequest, resolved: ResolvedTable) -> ModelCheck:
    """Judge the table as it is by the requested models; nothing is published."""
    return check_models(resolved, build_models(request, resolved), unit=request.unit)


def _build_sources(resolved: ResolvedTable) -> Sources:
    policy = resolved.policy
    tables = {resolved.name: policy.tables[resolved.name]}
    return Sources(tables=tables, frames={}, engine=policy.engine, store=policy.store)
