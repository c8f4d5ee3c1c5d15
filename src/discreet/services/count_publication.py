"""A publication: counts that are planned from a request, charged once, stored, and certified.

request → publication (no data) → `make_offer`: its cost and effect on belief → `release_counts`: charged,
free if repeated or stored as a measurement → `write_release`: a file and its certificate
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from discreet.accounting.entries import StoredAnswer
from discreet.accounting.guarantee_json import guarantee_to_json
from discreet.belief import Belief
from discreet.belief.wording import ATTACKER, format_count
from discreet.core.engine import Engine
from discreet.core.guarantees import PureDP, ZeroConcentratedDP
from discreet.core.number_checks import Real
from discreet.core.randomness import Randomness
from discreet.core.release_target import ReleaseTarget
from discreet.engines.duckdb_publisher import DuckDBPublisher, stage_output
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mining.tabulation.contingency import ContingencyPlan, build_contingency_table
from discreet.mining.tabulation.frequent_itemsets import ItemsetPlan
from discreet.mining.tabulation.noise_budget import NoiseBudget
from discreet.mining.tabulation.workloads import WorkloadPlan
from discreet.services.anonymize.counted_table import Sources
from discreet.services.anonymize.release_certificate import require_own_certificate, write_certificate
from discreet.services.answer_cache import table_from_bytes, table_to_bytes
from discreet.services.budget_units import compute_share
from discreet.services.count_measurements import CountMeasurement
from discreet.services.curator import Curator
from discreet.services.found_measurements import FoundMeasurements
from discreet.services.question_request import Reuse
from discreet.services.released_tables import ReleasedTable, describe_cost
from discreet.services.source_tables import require_not_source
from discreet.services.stored_measurements import CellDescription
from discreet.services.stored_releases import (
    release_or_replay,
    resolve_epsilon,
)

if TYPE_CHECKING:
    from discreet.mining.stream import StreamPlan


@dataclass(frozen=True, kw_only=True, eq=False)
class Publication:
    """A planned release of counts, and its cost.

    `plan_summary` describes the plan for JSON and the certificate. `measurement` is what its counts are in
    the measurement store, if they are anything there.
    """

    verb: str
    kind: str
    table: str
    ledger_text: str
    terms: Mapping[str, object]
    epsilon: Real
    delta: Real
    guarantee: PureDP | ZeroConcentratedDP
    plan_summary: Mapping[str, object]
    plan: ContingencyPlan | WorkloadPlan | ItemsetPlan | StreamPlan
    compute_rows: Callable[[Engine, Randomness], pa.Table] = field(repr=False)
    measurement: CountMeasurement | None = field(default=None, repr=False)

    @property
    def certificate(self) -> dict[str, object]:
        """The certificate to publish with the counts; it depends on the request and the policy only."""
        return {
            "kind": self.kind,
            "table": self.table,
            **self.plan_summary,
            "relation": self.guarantee.relation.value,
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "guarantee": json.loads(guarantee_to_json(self.guarantee)),
            "attacker": ATTACKER,
        }


@dataclass(frozen=True, kw_only=True)
class Offer:
    """The effect of a publication on belief; `fits_budget` if the budget that is left allows it.

    `share` is the share of the promise that it costs; `entry` the ledger entry of the same publication, if it
    was released before: then it is free.
    """

    publication: Publication
    belief_before: Belief
    belief_after: Belief
    fits_budget: bool
    share: Fraction
    entry: int | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReleasedCounts(ReleasedTable):
    """The released counts, and their cost."""

    publication: Publication
    rows: pa.Table
    belief: Belief
    sentence: str
    entry: int
    repeated: bool

    def __repr__(self) -> str:
        rows = format_count(self.rows.num_rows, "row", "rows")
        return f"<ReleasedCounts of {self.publication.table}, {rows}: {self._describe_cost()}>"

    def _repr_html_(self) -> str:
        summary = self.publication.plan_summary
        planned = [
            _describe_planned(name, value)
            for name, value in summary.items()
            if not isinstance(value, Mapping) and value is not None
        ]
        return self._summarize_rows(
            f"{self.publication.kind.capitalize()} of {self.publication.table}",
            [*planned, ("cost", self._describe_cost()), ("belief", self.sentence)],
        )

    def to_arrow(self) -> pa.Table:
        """Return the released counts as an Arrow table."""
        return self.rows

    def _describe_cost(self) -> str:
        return describe_cost(
            self.publication.epsilon, self.publication.delta, self.entry, repeated=self.repeated
        )


def _describe_planned(name: str, value: object) -> tuple[str, str]:
    """Return one entry of a plan's summary as a notebook shows it."""
    if name == "error95":
        return "error, 95%", f"± {value:,}"
    return name, ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def resolve_budget(
    curator: Curator, verb: str, epsilon: Real | None, delta: Real
) -> tuple[Real, PureDP | ZeroConcentratedDP]:
    """Return the epsilon to spend, and its guarantee for the neighbor relation of the promise's secret."""
    spent = resolve_epsilon(curator, epsilon, verb)
    return spent, _build_guarantee(curator, spent, delta)


def _build_guarantee(curator: Curator, epsilon: Real, delta: Real) -> PureDP | ZeroConcentratedDP:
    return NoiseBudget.from_epsilon(epsilon=epsilon, delta=delta, relation=curator.promise.secret).guarantee


def make_offer(curator: Curator, publication: Publication) -> Offer:
    """Return the effect of a publication on belief; charges nothing and reads no data."""
    spent = curator.ledger.get_known_accountant(curator.belief_scope)
    repeated, stored = _find_repeated(curator, publication), None
    if repeated is None:
        stored = find_stored_counts(curator, publication)
    entry = repeated.entry.number if repeated else stored.entry if stored else None
    is_free = entry is not None
    fits = is_free or curator.ledger.has_room_for(curator.analyst, publication.guarantee)
    before = spent.compute_belief()
    return Offer(
        publication=stored.publication if stored else publication,
        belief_before=before,
        belief_after=spent.spend(publication.guarantee).compute_belief() if fits and not is_free else before,
        fits_budget=fits,
        share=compute_share(spent.compute_cost(publication.guarantee), spent.limit),
        entry=entry,
    )


def release_counts(curator: Curator, publication: Publication) -> ReleasedCounts:
    """Charge a publication and return its counts; repeating the same request is free for the analyst."""
    stored = None
    if _find_repeated(curator, publication) is None:
        stored = find_stored_counts(curator, publication)
    if stored is not None:
        curator.measurement_store.note_shown(stored.found, publication.ledger_text)
        return _describe_release(curator, stored.publication, stored.rows, stored.entry, repeated=True)
    measurement, identity = publication.measurement, _identify_measurement(curator, publication)
    described = CellDescription()
    if measurement is not None:
        described = curator.measurement_store.cells.describe(measurement.core)

    def compute_rows(engine: Engine, random: Randomness) -> pa.Table:
        rows = publication.compute_rows(engine, random)
        if measurement is None or identity is None or not isinstance(publication.plan, ContingencyPlan):
            return rows
        return measurement.annotate_table(rows, identity, publication.plan.noise, described)

    found = release_or_replay(
        curator,
        publication.verb,
        publication.ledger_text,
        publication.terms,
        publication.guarantee,
        compute_rows,
        serialize=table_to_bytes,
        deserialize=table_from_bytes,
        guarantee_at=lambda epsilon: _build_guarantee(curator, epsilon, publication.delta),
        identities=[] if identity is None else [identity, *described.families],
    )
    rows = found.release.replace_schema_metadata(None)
    return _describe_release(curator, publication, rows, found.entry, repeated=found.repeated)


def _describe_release(
    curator: Curator, publication: Publication, rows: pa.Table, entry: int, *, repeated: bool
) -> ReleasedCounts:
    return ReleasedCounts(
        publication=publication,
        rows=rows,
        belief=curator.ledger.compute_belief(analyst=curator.belief_scope),
        sentence=curator.ledger.describe_belief(analyst=curator.belief_scope),
        entry=entry,
        repeated=repeated,
    )


def _find_repeated(curator: Curator, publication: Publication) -> StoredAnswer | None:
    """Return what the same request released before."""
    key = curator.answer_cache.compute_release_key(publication.verb, publication.terms)
    return curator.answer_cache.find(key)


# -- The measurement store ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredCounts:
    """The counts of a publication from one stored measurement, and the publication with its noise."""

    publication: Publication
    rows: pa.Table
    entry: int
    found: FoundMeasurements


def find_stored_counts(curator: Curator, publication: Publication) -> StoredCounts | None:
    """Return the counts from the measurement store; None if it lacks them, or has more noise than planned."""
    measurement, plan = publication.measurement, publication.plan
    if measurement is None or not isinstance(plan, ContingencyPlan) or not measurement.has_all_cells:
        return None
    if measurement.planned_noise != plan.noise:
        return None
    found = curator.measurement_store.find(measurement.plan, publication.ledger_text)
    if found.missing:
        return None
    # the best of those that a mean is made of, since a certificate states the guarantee of one
    parts, identity = found.stored[measurement.name], found.identities[measurement.name]
    best = min(parts, key=lambda each: float(each.primitives[identity].noise.variance))
    found = replace(found, stored={measurement.name: (best,)})
    measured = found.combine({})[measurement.core.table]
    noise = measured.primitives[measurement.name].noise
    if not isinstance(noise, DiscreteLaplace):
        return None
    budget = replace(plan.budget, amount=Fraction(noise.epsilon))
    made = replace(plan, budget=budget)
    if made.noise != noise or budget.amount < plan.budget.amount:
        return None
    return StoredCounts(
        publication=replace(
            publication,
            epsilon=budget.amount,
            guarantee=budget.guarantee,
            plan=made,
            plan_summary={**publication.plan_summary, "error95": made.error95},
        ),
        rows=build_contingency_table(made, measurement.arrange_cells(measured)).to_arrow(),
        entry=found.entries[0],
        found=found,
    )


def _identify_measurement(curator: Curator, publication: Publication) -> str | None:
    """Return the identity of what a publication measures for the measurement store; None for nothing."""
    measurement = publication.measurement
    if measurement is None:
        return None
    found = curator.measurement_store.find(measurement.plan, publication.ledger_text, Reuse.NOTHING)
    return found.identities[measurement.name]


# -- Files --------------------------------------------------------------------------------------------------


def require_writable_output(curator: Curator, publication: Publication, output: Path | None) -> None:
    """Raise, before anything is charged, if `output` cannot be written or is a data source."""
    if output is None:
        return
    place = ReleaseTarget.parse(output)
    require_own_certificate(place)
    tables = {publication.table: curator.policy.tables[publication.table]}
    Sources(tables=tables, frames={}, engine=curator.policy.engine).require_safe_target(place)
    require_not_source(curator.policy, output)


def write_release(released: ReleasedCounts, output: Path | None) -> tuple[Path, ...]:
    """Write the counts to a file, and the certificate beside it; return the paths."""
    if output is None:
        return ()
    place = ReleaseTarget.parse(output)
    with place.lock():
        with stage_output(place) as file, DuckDBPublisher({}, {"rows": released.rows}) as engine:
            engine.write('SELECT * FROM "rows"', file)
        return output, write_certificate(released.publication.certificate, place)
