"""Publication of a synthetic table: from a request to rows, certificate and report.

Requests are validated before anything is charged. If an attack exceeds a bound, the table is charged, as its
counts were read, but not written; the ledger stores its rows, so `--force` publishes them at no further cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from discreet.app.curator import Curator
from discreet.app.progress import Tell
from discreet.app.publishing.counted_table import Sources
from discreet.app.publishing.release_certificate import require_own_certificate, write_certificate
from discreet.app.publishing.release_report import write_report
from discreet.app.publishing.table_request import require_not_source
from discreet.app.synthesis.report import certificate, compared, report
from discreet.app.synthesis.synthesizing import Request, Synthetic, planned, synthetic
from discreet.app.synthesis.synthetic_trial import People, try_synthetic
from discreet.app.trials.trial import Trial
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.engines.duckdb_publisher import DuckDBPublisher, ReleaseTarget, stage_output
from discreet.mechanisms.sampling import Integers
from discreet.mining.synthesis import Plan
from discreet.mining.synthesis.comparison import Comparison, usefulness


@dataclass(frozen=True, kw_only=True, eq=False)
class Made:
    """A published synthetic table, with the custodian's comparison and attack evaluation."""

    found: Synthetic
    comparison: Comparison
    trial: Trial
    written: tuple[Path, ...]


def publish(
    policy: Policy,
    request: Request,
    output: Path,
    *,
    analyst: str | None,
    panel: Path | None = None,
    target: str | None = None,
    at_most: float | None = None,
    force: bool = False,
    tell: Tell,
) -> Made:
    """Synthesize, attack and write a table; raise before any charge if the request is invalid."""
    place = ReleaseTarget.parse(output)
    require_own_certificate(place)
    _require_people(panel, target, at_most)
    with Curator.under(policy, analyst=analyst, progress=tell) as curator:
        _require_target(planned(curator, request), target)
        table = curator.policy.tables[request.table]
        address = curator.policy.engine
        Sources(tables={request.table: table}, frames={}, engine=address).require_safe_target(place)
        require_not_source(curator.policy, output, command="synthesize")
        tell("synthesizing")
        found = synthetic(curator, request, tell)
        tell("attacking it")
        people = None if panel is None else People.read(found.plan, table, panel, address)
        trial = try_synthetic(found, table, people, at_most=at_most, promise=curator.promise)
        trial.refuse(forced=force)
        tell("comparing it with the table")
        comparison = curator.looked(lambda engine: compared(found, engine, curator.policy))
    useful = {} if people is None or target is None else {target: _useful(found, people, target)}
    document = report(found, comparison, trial, useful)
    tell("writing")
    with stage_output(place) as file, DuckDBPublisher({}, {"rows": found.table}) as engine:
        engine.write('SELECT * FROM "rows"', file)
    public = certificate(found, trial, at_most=at_most, forced=force)
    written = (output, write_certificate(public, place), write_report(document, place))
    return Made(found=found, comparison=comparison, trial=trial, written=written)


def _require_people(panel: Path | None, target: str | None, at_most: float | None) -> None:
    if panel is None and (target is not None or at_most is not None):
        raise RequestError(
            "synthesize: --target and --at-most need people who are not in the data, as a baseline.",
            hint="Name a file of such people with --panel.",
        )
    if panel is not None and not panel.is_file():
        raise RequestError(f"{panel} does not exist.", hint="Name a file of people who are not in the data.")


def _require_target(plan: Plan, target: str | None) -> None:
    names = [each.name for each in plan.schema.attributes]
    if target is not None and target not in names:
        raise RequestError(
            f"synthesize: --target {target} is not a synthesized column.",
            hint=f"Choose one of {', '.join(names)}.",
        )


def _useful(found: Synthetic, people: People, target: str) -> tuple[float, float]:
    """Return a learner's accuracy on the panel, trained on synthetic and on real rows."""
    names = [each.name for each in found.plan.schema.attributes]
    real, unseen = (_codes(found, rows) for rows in (people.original, people.panel))
    return usefulness(_boosting, found.codes, real, unseen, target=names.index(target))


def _codes(found: Synthetic, rows: pa.Table) -> Integers:
    columns = [rows.column(each.name).to_pylist() for each in found.plan.schema.attributes]
    return np.asarray(found.plan.schema.codes(columns), np.int64)


def _boosting(features: Integers, targets: Integers) -> object:
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        raise RequestError(
            "synthesize: --target needs scikit-learn.", hint="Install discreet[mining], or leave it out."
        ) from None
    return HistGradientBoostingClassifier().fit(features, targets)
