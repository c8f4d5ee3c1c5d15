"""Publication of a synthetic table: from a request to rows, certificate and report.

Requests are validated before anything is charged. If an attack exceeds a bound, the table is charged, as its
counts were read, but not written; the ledger stores its rows, so `--force` publishes them at no further cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.engines.duckdb_publisher import DuckDBPublisher, ReleaseTarget, stage_output
from discreet.mechanisms.sampling import Integers
from discreet.mining.synthesis import SynthesisPlan
from discreet.mining.synthesis.marginal_comparison import Comparison, measure_usefulness
from discreet.rendering.release_report import write_report
from discreet.rendering.synthetic_report import (
    build_synthetic_certificate,
    build_synthetic_report,
    compare_with_table,
)
from discreet.services.anonymize.counted_table import Sources
from discreet.services.anonymize.release_certificate import require_own_certificate, write_certificate
from discreet.services.anonymize.table_request import require_not_source
from discreet.services.attack.evaluation import AttackEvaluation
from discreet.services.attack.synthetic_evaluation import People, evaluate_synthetic
from discreet.services.curator import Curator
from discreet.services.progress import ProgressCallback
from discreet.services.synthesize.synthetic_table import (
    SynthesizeRequest,
    SyntheticTable,
    plan_synthetic,
    synthesize_table,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class SyntheticPublication:
    """A published synthetic table, with the custodian's comparison and attack evaluation."""

    synthetic: SyntheticTable
    comparison: Comparison
    trial: AttackEvaluation
    files: tuple[Path, ...]


def publish_synthetic(
    policy: Policy,
    request: SynthesizeRequest,
    output: Path,
    *,
    analyst: str | None,
    panel: Path | None = None,
    target: str | None = None,
    at_most: float | None = None,
    force: bool = False,
    report_progress: ProgressCallback,
) -> SyntheticPublication:
    """Synthesize, attack and write a table; raise before any charge if the request is invalid."""
    place = ReleaseTarget.parse(output)
    require_own_certificate(place)
    _require_people(panel, target, at_most)
    with Curator.open_policy(policy, analyst=analyst, progress=report_progress) as curator:
        _require_target(plan_synthetic(curator, request), target)
        table = curator.policy.tables[request.table]
        address = curator.policy.engine
        Sources(tables={request.table: table}, frames={}, engine=address).require_safe_target(place)
        require_not_source(curator.policy, output, command="synthesize")
        report_progress("synthesizing")
        found = synthesize_table(curator, request, report_progress)
        report_progress("attacking it")
        people = None if panel is None else People.read(found.plan, table, panel, address)
        trial = evaluate_synthetic(found, table, people, at_most=at_most, promise=curator.promise)
        trial.require_bounds(is_forced=force)
        report_progress("comparing it with the table")
        comparison = curator.inspect_data(lambda engine: compare_with_table(found, engine, curator.policy))
    useful = {} if people is None or target is None else {target: _measure_usefulness(found, people, target)}
    document = build_synthetic_report(found, comparison, trial, useful)
    report_progress("writing")
    with stage_output(place) as file, DuckDBPublisher({}, {"rows": found.table}) as engine:
        engine.write('SELECT * FROM "rows"', file)
    public = build_synthetic_certificate(found, trial, at_most=at_most, forced=force)
    written = (output, write_certificate(public, place), write_report(document, place))
    return SyntheticPublication(synthetic=found, comparison=comparison, trial=trial, files=written)


def _require_people(panel: Path | None, target: str | None, at_most: float | None) -> None:
    if panel is None and (target is not None or at_most is not None):
        raise RequestError(
            "synthesize: --target and --at-most need people who are not in the data, as a baseline.",
            hint="Name a file of such people with --panel.",
        )
    if panel is not None and not panel.is_file():
        raise RequestError(f"{panel} does not exist.", hint="Name a file of people who are not in the data.")


def _require_target(plan: SynthesisPlan, target: str | None) -> None:
    names = [each.name for each in plan.schema.attributes]
    if target is not None and target not in names:
        raise RequestError(
            f"synthesize: --target {target} is not a synthesized column.",
            hint=f"Choose one of {', '.join(names)}.",
        )


def _measure_usefulness(synthetic: SyntheticTable, people: People, target: str) -> tuple[float, float]:
    """Return a learner's accuracy on the panel, trained on synthetic and on real rows."""
    names = [each.name for each in synthetic.plan.schema.attributes]
    real, unseen = (_encode_rows(synthetic, rows) for rows in (people.original, people.panel))
    return measure_usefulness(_fit_boosting, synthetic.codes, real, unseen, target=names.index(target))


def _encode_rows(synthetic: SyntheticTable, rows: pa.Table) -> Integers:
    columns = [rows.column(each.name).to_pylist() for each in synthetic.plan.schema.attributes]
    return np.asarray(synthetic.plan.schema.encode(columns), np.int64)


def _fit_boosting(features: Integers, targets: Integers) -> object:
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        raise RequestError(
            "synthesize: --target needs scikit-learn.", hint="Install discreet[mining], or leave it out."
        ) from None
    return HistGradientBoostingClassifier().fit(features, targets)
