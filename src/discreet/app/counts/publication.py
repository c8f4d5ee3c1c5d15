"""A publication: counts that are planned from a request, charged once, stored, and certified.

request → publication (no data) → `make_offer`: its cost and effect on belief → `release_counts`: charged,
free if repeated → `write_release`: a file and its certificate
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from discreet.app.curator import Curator
from discreet.app.kept_rows import packed, unpacked
from discreet.app.once import cost_of, once
from discreet.app.publishing.counted_table import Sources
from discreet.app.publishing.release_certificate import require_own_certificate, write_certificate
from discreet.app.publishing.table_request import require_not_source
from discreet.belief import Belief
from discreet.core.engine import Engine
from discreet.core.guarantees import PureDP, ZeroConcentratedDP
from discreet.core.number_checks import Real
from discreet.core.randomness import Randomness
from discreet.engines.duckdb_publisher import DuckDBPublisher, ReleaseTarget, stage_output
from discreet.mining.tabulation.budget import Budget

ATTACKER = "knows all other records, or takes records as independent"


@dataclass(frozen=True, kw_only=True, eq=False)
class Publication:
    """A planned release of counts, and its cost.

    `plan_summary` describes the plan for JSON and the certificate, `facts` in words for the terminal.
    """

    verb: str
    kind: str
    table: str
    text: str
    terms: Mapping[str, object]
    epsilon: Real
    delta: Real
    guarantee: PureDP | ZeroConcentratedDP
    expected: Mapping[str, object]
    facts: tuple[tuple[str, str], ...]
    work: Callable[[Engine, Randomness], pa.Table] = field(repr=False)

    @property
    def certificate(self) -> dict[str, object]:
        """The certificate to publish with the counts; it depends on the request and the policy only."""
        return {
            "kind": self.kind,
            "table": self.table,
            **self.expected,
            "relation": self.guarantee.relation.value,
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "guarantee": repr(self.guarantee),
            "attacker": ATTACKER,
        }


@dataclass(frozen=True, kw_only=True)
class Offer:
    """The effect of a publication on belief; `fits_budget` if the budget that is left allows it."""

    publication: Publication
    before: Belief
    after: Belief
    fits: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Made:
    """The released counts, and their cost."""

    publication: Publication
    rows: pa.Table
    belief: Belief
    sentence: str
    entry: int
    repeated: bool


def budget_of(
    curator: Curator, verb: str, epsilon: Real | None, delta: Real
) -> tuple[Real, PureDP | ZeroConcentratedDP]:
    """Return the epsilon to spend, and its guarantee for the neighbor relation of the promise's secret."""
    spent = cost_of(curator, epsilon, verb)
    return spent, Budget.within(epsilon=spent, delta=delta, relation=curator.promise.secret).guarantee


def offer(curator: Curator, publication: Publication) -> Offer:
    """Return the effect of a publication on belief; charges nothing and reads no data."""
    spent = curator.ledger.get_accountant(curator.alone)
    fits = curator.ledger.has_room_for(curator.analyst, publication.guarantee)
    after = spent.spend(publication.guarantee).compute_belief() if fits else spent.compute_belief()
    return Offer(publication=publication, before=spent.compute_belief(), after=after, fits=fits)


def make(curator: Curator, publication: Publication) -> Made:
    """Charge a publication and return its counts; repeating the same request is free for the analyst."""
    found = once(
        curator,
        publication.verb,
        publication.text,
        publication.terms,
        publication.guarantee,
        publication.work,
        packed=packed,
        unpacked=unpacked,
    )
    return Made(
        publication=publication,
        rows=found.released,
        belief=curator.ledger.compute_belief(analyst=curator.alone),
        sentence=curator.ledger.describe_belief(analyst=curator.alone),
        entry=found.entry,
        repeated=found.repeated,
    )


def require_place(curator: Curator, publication: Publication, output: Path | None) -> None:
    """Raise, before anything is charged, if `output` cannot be written or is a data source."""
    if output is None:
        return
    place = ReleaseTarget.parse(output)
    require_own_certificate(place)
    tables = {publication.table: curator.policy.tables[publication.table]}
    Sources(tables=tables, frames={}, engine=curator.policy.engine).require_safe_target(place)
    require_not_source(curator.policy, output)


def publish(made: Made, output: Path | None) -> tuple[Path, ...]:
    """Write the counts to a file, and the certificate beside it; return the paths."""
    if output is None:
        return ()
    place = ReleaseTarget.parse(output)
    with stage_output(place) as file, DuckDBPublisher({}, {"rows": made.rows}) as engine:
        engine.write('SELECT * FROM "rows"', file)
    return output, write_certificate(made.publication.certificate, place)
