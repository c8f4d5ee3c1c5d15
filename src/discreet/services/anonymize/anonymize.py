"""Anonymize a table: the service behind `discreet anonymize`, the HTTP job and the console's Publish screen.

    request ── resolve the table ── search or recode ── attack ── ledger entry ── rows, certificate, report

A frontend builds the request, calls one of the functions here and renders the result. The custodian's report
is rendered by a function that the frontend passes in: it is computed before anything is published, because
it may fail, and written last. What a request asks for is built from it and the policy, before a row is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.anonymity.hierarchies import Hierarchy, build_column_spec
from discreet.anonymity.models import MeasuredModel
from discreet.anonymity.models.model_option import ModelContext
from discreet.anonymity.recodings.pseudonyms import Pseudonyms, read_or_create_key
from discreet.anonymity.release_statement import build_duplicate_query
from discreet.anonymity.republication import PERSON, SIGNATURE
from discreet.anonymity.search import GeneralizationList, find_objective
from discreet.anonymity.tuple_counts import ReleaseSource
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.core.release_target import ReleaseTarget
from discreet.services.anonymize.anonymize_request import (
    MODELS,
    OUTPUT,
    PRIVATE,
    PRIVATE_METHOD,
    PUBLISHED,
    AnonymizeRequest,
    get_panel,
)
from discreet.services.anonymize.anonymizer import Anonymizer
from discreet.services.anonymize.counted_table import Sources
from discreet.services.anonymize.model_check import ModelCheck, check_models
from discreet.services.anonymize.private_generalizer import PrivateGeneralizer, PrivateRelease
from discreet.services.anonymize.release import Release
from discreet.services.anonymize.release_certificate import require_own_certificate
from discreet.services.anonymize.release_publishing import (
    SIGNATURES,
    PrivateReportRenderer,
    ReportRenderer,
    publish_private_release,
    publish_release,
    require_release_bounds,
)
from discreet.services.anonymize.table_resolution import (
    ResolvedTable,
    require_domains,
    require_keepable,
    resolve_table,
)
from discreet.services.attack.evaluation import AttackEvaluation
from discreet.services.progress import ProgressCallback, ignore_progress
from discreet.services.publishers import parse_release_target
from discreet.services.source_tables import find_source_table

ANONYMIZATION_STAGES = ("counting", "searching", "attacking", "writing")
PRIVATE_ANONYMIZATION_STAGES = ("counting", "writing")
FACTS = ("population", "earlier")
"""Fields among those of models that are none themselves."""


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


def resolve_request(request: AnonymizeRequest, *, generalizes: bool = True) -> ResolvedTable:
    """Return the requested table; raise for an output that would overwrite another release or a source.

    No row is read. A request that generalizes nothing needs no bounds of its columns.
    """
    resolved = resolve_table(request)
    if request.output is not None:
        require_own_certificate(parse_release_target(resolved.policy, request.output))
        lost = find_source_table(resolved.policy, request.output)
        if lost not in (None, resolved.name):
            raise RequestError(
                f"anonymize: {request.output} is the table {lost} of the policy.",
                hint="Write to another file.",
            )
    if generalizes:
        require_domains(request, resolved.policy.hierarchies)
    return resolved


def require_anonymizable(request: AnonymizeRequest, resolved: ResolvedTable) -> None:
    """Raise what can be refused without reading a row."""
    if request.method == PRIVATE:
        _build_private_generalizer(request, resolved, ignore_progress)
    else:
        _build_anonymizer(request, resolved, ignore_progress)


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
    _require_person(resolved)
    target = None if request.output is None else parse_release_target(resolved.policy, request.output)
    if target is not None and target.engine_name:  # refused before a search
        _build_sources(resolved).require_safe_target(target)
    release = _build_anonymizer(request, resolved, report_progress).fit(resolved.name).release
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
            hint="Name one with `output=`.",
        )
    target = parse_release_target(resolved.policy, request.output)
    if target.engine_name:
        raise RequestError(
            "anonymize: a private release can only be written to a file, not to a table of the engine.",
            hint="Name one that ends in .parquet, .csv or .duckdb.",
        )
    _build_sources(resolved).require_safe_target(target)
    generalizer = _build_private_generalizer(request, resolved, report_progress)
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
    _require_person(resolved)
    anonymizer = _build_anonymizer(request, resolved, report_progress)
    search, columns = (
        anonymizer.list_minimal(resolved.name) if top is None else anonymizer.list_best(resolved.name, top)
    )
    return GeneralizationList(search=search, columns=columns)


def check_table(request: AnonymizeRequest, resolved: ResolvedTable) -> ModelCheck:
    """Judge the table as it is by the requested models; nothing is published."""
    _require_person(resolved)
    return check_models(resolved, _build_models(request, resolved), unit=request.unit)


def find_shared_person(resolved: ResolvedTable) -> str | None:
    """Return the column that seems to name the person, if several rows of the file share a value of it."""
    column = resolved.likely_person
    if column is None:
        return None
    source = ReleaseSource(table=resolved.name, quasi=(), sensitive=())
    with _build_sources(resolved).open() as engine:
        shared = engine.count(build_duplicate_query(source, column)).secret.num_rows > 0
    return column if shared else None


def _require_person(resolved: ResolvedTable) -> None:
    """Raise where rows would be counted although the file seems to have several for a person."""
    column = find_shared_person(resolved)
    if column is not None:
        raise make_person_error(column)


def make_person_error(column: str) -> RequestError:
    """Return the refusal of a table of which a column seems to name the person, and nobody says so."""
    return RequestError(
        f"anonymize: {column} seems to name the person, and several rows share a value of it: rows that "
        "are alike may be one person's.",
        hint=f'Give `person="{column}"` to count people, or `person="row"` if each row is a person.',
    )


def _build_sources(resolved: ResolvedTable) -> Sources:
    policy = resolved.policy
    tables = {resolved.name: policy.tables[resolved.name]}
    return Sources(tables=tables, frames={}, engine=policy.engine, store=policy.store)


def _build_models(request: AnonymizeRequest, resolved: ResolvedTable) -> list[MeasuredModel]:
    k = getattr(request, "k")  # noqa: B009  (a field that follows from `MODELS`)
    has_population = resolved.population is not None
    context = build_model_context(resolved.policy, resolved.name, k=k, has_population=has_population)
    return [spec.build(context) for spec in request.model_specs]


def build_model_context(policy: Policy, table: str, *, k: int | None, has_population: bool) -> ModelContext:
    """Return what models take from a table of the policy, and from the rest of the request."""
    columns = policy.tables[table].columns if table in policy.tables else {}  # a table that is refused later

    def find_hierarchy(name: str) -> Hierarchy | None:
        if name not in columns:
            return None
        spec = build_column_spec(name, columns[name], policy)
        return spec.build_hierarchy(spec.list_example_values())

    return ModelContext(k=k, has_population=has_population, find_hierarchy=find_hierarchy)


def _build_anonymizer(
    request: AnonymizeRequest, resolved: ResolvedTable, report_progress: ProgressCallback
) -> Anonymizer:
    private = [name for name in request.list_given() if get_panel(name) == PRIVATE_METHOD]
    if private:
        raise RequestError(
            f'`{private[0]}=` needs `method="private"`.', hint='Omit it, or add `method="private"`.'
        )
    require_keepable(request, resolved.policy.tables[resolved.name])
    return Anonymizer(
        resolved.policy,
        models=_build_models(request, resolved),
        posterior=request.posterior,
        suppress=request.suppress,
        objective=find_objective(request.objective),
        method=request.method,
        weights=request.weights,
        levels=request.levels or None,
        centres=request.centres,
        pseudonyms=build_pseudonyms(request.pseudonym, request.key),
        forced_columns=request.keep if request.force else (),
        earlier=None if request.earlier is None else _read_signatures(request.earlier),
        seconds=request.seconds,
        sampling=request.sampling,
        unit=request.unit,
        population=resolved.population,
        progress=report_progress,
    )


def _build_private_generalizer(
    request: AnonymizeRequest, resolved: ResolvedTable, report_progress: ProgressCallback
) -> PrivateGeneralizer:
    """Return the generalizer for a private release; raise for options that would have no effect."""
    idle = [name for name in request.list_given() if not _has_effect_privately(name)]
    if idle:
        named = "a model" if get_panel(idle[0]) == MODELS and idle[0] not in FACTS else f"`{idle[0]}=`"
        raise RequestError(
            f"anonymize: {named} has no effect on a private release.",
            hint="It takes `epsilon=`, `delta=` and `levels=` only.",
        )
    if request.epsilon is None or request.delta is None:
        raise RequestError(
            "anonymize: a private release needs an epsilon and a delta.",
            hint="Write `epsilon=1` `delta=1e-6`.",
        )
    return PrivateGeneralizer(
        resolved.policy,
        epsilon=request.epsilon,
        delta=request.delta,
        levels=request.levels,
        analyst=request.analyst,
        progress=report_progress,
    )


def _has_effect_privately(name: str) -> bool:
    return name in ("table", "method", "levels") or (
        name != "pseudonym" and get_panel(name) in (PUBLISHED, PRIVATE_METHOD, OUTPUT)
    )


def build_pseudonyms(columns: Sequence[str], key: Path | None) -> tuple[Pseudonyms, ...]:
    """Return the pseudonyms of columns under the key of a file, which is created if it does not exist."""
    if not columns and key is None:
        return ()
    if not columns or key is None:
        raise RequestError(
            '`pseudonym="COLUMN"` and `key="FILE"` go together.',
            hint="Give both; a key file that does not exist is created, readable by its owner only.",
        )
    secret = read_or_create_key(key, Randomness())
    return tuple(Pseudonyms(column=name, key=secret) for name in columns)


def _read_signatures(path: Path) -> pa.Table:
    """Read the signatures of an earlier release, from their own file or beside the release's."""
    beside = ReleaseTarget.parse(path, allows_engine_names=True).make_companion_path(SIGNATURES)
    file = path if path.name.endswith(SIGNATURES) else beside
    table = None
    with suppress(OSError, pa.ArrowInvalid):
        table = pq.read_table(file)
    if table is None or not {PERSON, SIGNATURE} <= set(table.column_names):
        raise RequestError(
            f"{file} does not hold the signatures of an earlier release.",
            hint="They are written beside a release made with `m_invariance=`.",
        )
    return table
