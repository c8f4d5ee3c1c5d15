"""Publication of a synthetic table: from a request to rows, certificate and figures for a report.

Requests are validated before anything is charged. If an attack exceeds a bound, the table is charged, as its
counts were read, but not written; the ledger stores its rows, so the same with force publishes them for free.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from discreet.accounting.guarantee_json import guarantee_to_json
from discreet.attacks.anonymization_criteria import compute_synthetic_criteria
from discreet.belief import Promise
from discreet.belief.wording import ATTACKER
from discreet.core.engine import Engine
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.release_target import ReleaseTarget
from discreet.core.table_entry import Table
from discreet.engines.duckdb_publisher import DuckDBPublisher, stage_output
from discreet.mechanisms.sampling import Integers
from discreet.mining.bin_counters import EngineCounter
from discreet.mining.synthesis import SynthesisPlan
from discreet.mining.synthesis.marginal_comparison import Comparison, compare_marginals, measure_usefulness
from discreet.services.anonymize.counted_table import Sources
from discreet.services.anonymize.release_certificate import require_own_certificate, write_certificate
from discreet.services.attack.evaluation import (
    AttackEvaluation,
    AttackRun,
    SkippedAttack,
    apply_bounds,
    bound_from_option,
    skip_other_attacks,
)
from discreet.services.attack.synthetic_attack import (
    APPLICABLE_ATTACKS,
    ASSUMPTIONS,
    KNOWLEDGE,
    NO_PANEL,
    People,
    read_panel,
    run_attacks,
)
from discreet.services.curator import Curator
from discreet.services.progress import ProgressCallback
from discreet.services.source_tables import require_not_source
from discreet.services.synthesize.synthesize_request import PublishRequest
from discreet.services.synthesize.synthetic_results import LIMITS, SyntheticPublication, SyntheticTable
from discreet.services.synthesize.synthetic_table import plan_synthetic, synthesize_table


def publish_synthetic(
    policy: Policy,
    request: PublishRequest,
    report_progress: ProgressCallback,
) -> SyntheticPublication:
    """Synthesize, attack and write a table; raise before any charge if the request is invalid."""
    place, panel, target = ReleaseTarget.parse(request.output), request.panel, request.target
    require_own_certificate(place)
    _require_people(request)
    with Curator.open_policy(policy, analyst=request.analyst, progress=report_progress) as curator:
        plan, table = plan_synthetic(curator, request), curator.policy.tables[request.table]
        _require_target(plan, target)
        address = curator.policy.engine
        Sources(tables={request.table: table}, frames={}, engine=address).require_safe_target(place)
        require_not_source(curator.policy, request.output, command="synthesize")
        # before the charge, as it may be refused
        others = None if panel is None else read_panel(plan, table, panel)
        report_progress("synthesizing")
        found = synthesize_table(curator, request, report_progress)
        report_progress("attacking it")
        people = None if others is None else People.join(found.plan, table, others, address)
        trial = evaluate_synthetic(found, table, people, at_most=request.at_most, promise=curator.promise)
        trial.require_bounds(is_forced=request.force)
        report_progress("comparing it with the table")
        comparison = curator.inspect_data(lambda engine: compare_with_table(found, engine, curator.policy))
    useful = {} if people is None or target is None else {target: _measure_usefulness(found, people, target)}
    report_progress("writing")
    public = build_synthetic_certificate(found, trial, at_most=request.at_most, forced=request.force)
    with place.lock():
        with stage_output(place) as file, DuckDBPublisher({}, {"rows": found.table}) as engine:
            engine.write('SELECT * FROM "rows"', file)
        certificate = write_certificate(public, place)
    return SyntheticPublication(
        synthetic=found,
        comparison=comparison,
        trial=trial,
        useful=useful,
        place=place,
        files=(request.output, certificate),
    )


def _require_people(request: PublishRequest) -> None:
    panel = request.panel
    if panel is None and (request.target is not None or request.at_most is not None):
        raise RequestError(
            "synthesize: `target=` and `at_most=` need people who are not in the data, as a baseline.",
            hint="Name a file of such people with `panel=`.",
        )
    if panel is not None and not panel.is_file():
        raise RequestError(f"{panel} does not exist.", hint="Name a file of people who are not in the data.")


def _require_target(plan: SynthesisPlan, target: str | None) -> None:
    names = [each.name for each in plan.schema.attributes]
    if target is not None and target not in names:
        raise RequestError(
            f"synthesize: `target={target}` is not a synthesized column.",
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
            "synthesize: `target=` needs scikit-learn.", hint="Install discreet[mining], or leave it out."
        ) from None
    return HistGradientBoostingClassifier().fit(features, targets)


def evaluate_synthetic(
    synthetic: SyntheticTable, table: Table, people: People | None, *, at_most: float | None, promise: Promise
) -> AttackEvaluation:
    """Run the attacks that apply on rows that are not written yet."""
    runs: tuple[AttackRun, ...] = ()
    skipped = skip_other_attacks(*APPLICABLE_ATTACKS)
    if people is None:
        skipped += tuple(SkippedAttack(name=each.name, reason=NO_PANEL) for each in APPLICABLE_ATTACKS)
    else:
        names = [each.name for each in synthetic.plan.schema.attributes]
        runs = run_attacks(synthetic.table, people, {name: table.columns[name].type for name in names})
    return AttackEvaluation(
        subject=f"the synthetic table of {synthetic.plan.table}",
        knowledge=KNOWLEDGE,
        runs=apply_bounds(runs, bound_from_option(at_most)),
        skipped=skipped,
        criteria=compute_synthetic_criteria(*(each.findings for each in runs)) if runs else None,
        promise=promise,
        assumptions=ASSUMPTIONS,
    )


def build_synthetic_certificate(
    synthetic: SyntheticTable, trial: AttackEvaluation, *, at_most: float | None = None, forced: bool = False
) -> dict[str, object]:
    """Return the certificate to publish with the table.

    `forced` means that attacks could not have prevented publication, not that a bound was exceeded: the
    latter depends on the data.
    """
    plan = synthetic.plan
    return {
        "kind": "differentially private synthetic table",
        "table": plan.table,
        "quality": plan.quality,
        "columns": [each.name for each in plan.schema.attributes],
        "left_out": list(plan.left_out),
        "relation": plan.guarantee.relation.value,
        "epsilon": float(synthetic.epsilon),
        "delta": float(synthetic.delta),
        "guarantee": json.loads(guarantee_to_json(plan.guarantee)),
        "earlier": [
            {"columns": list(counts.columns), "guarantee": json.loads(guarantee_to_json(entry.guarantee))}
            for counts, entry in zip(plan.earlier, synthetic.earlier, strict=True)
        ],
        "attacker": ATTACKER,
        "limits": LIMITS,
        "expected_error": [
            {
                "columns": list(each.columns),
                "mechanism": each.mechanism,
                "error95": each.error95,
                "variation": each.variation,
            }
            for each in plan.expected_error
        ],
        "attacks_run": list(trial.attack_names),
        "bounds": [bound.to_json() for bound in bound_from_option(at_most)],
        "forced": forced,
    }


def compare_with_table(synthetic: SyntheticTable, engine: Engine, policy: Policy) -> Comparison:
    """Compare every column and pair of columns with the real table."""
    counter = EngineCounter.from_table(engine, policy, synthetic.plan.table, synthetic.plan.schema)
    return compare_marginals(synthetic.plan.schema, counter, synthetic.codes)
