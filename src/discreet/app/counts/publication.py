"""A publication: counts that are planned from a request, charged once, kept, and certified.

request → publication (no data) → offer: what it would cost and do to belief → make: charged, again is free
→ publish: a file and its certificate beside it
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
    """What will be counted and released, and what that costs.

    `expected` is what is known of it beforehand, for machines and the certificate; `facts` the same in words.
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
        """What may be published beside it."""
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
    """What a publication would do to belief, and whether what is left allows it."""

    publication: Publication
    before: Belief
    after: Belief
    fits: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Made:
    """What was released, and what it cost."""

    publication: Publication
    rows: pa.Table
    belief: Belief
    sentence: str
    entry: int
    repeated: bool


def budget_of(
    curator: Curator, verb: str, epsilon: Real | None, delta: Real
) -> tuple[Real, PureDP | ZeroConcentratedDP]:
    """The epsilon that is spent, for the promise's own secret, and the guarantee that it stands for."""
    spent = cost_of(curator, epsilon, verb)
    return spent, Budget.within(epsilon=spent, delta=delta, relation=curator.promise.secret).guarantee


def offer(curator: Curator, publication: Publication) -> Offer:
    """Costs nothing, reads no data."""
    spent = curator.ledger.get_accountant(curator.alone)
    fits = curator.ledger.has_room_for(curator.analyst, publication.guarantee)
    after = spent.spend(publication.guarantee).compute_belief() if fits else spent.compute_belief()
    return Offer(publication=publication, before=spent.compute_belief(), after=after, fits=fits)


def make(curator: Curator, publication: Publication) -> Made:
    """The rows; the same request of the same analyst is free."""
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
    """Refuse a file that cannot be written, or that is what is read, before anything is charged."""
    if output is None:
        return
    place = ReleaseTarget.parse(output)
    require_own_certificate(place)
    tables = {publication.table: curator.policy.tables[publication.table]}
    Sources(tables=tables, frames={}, engine=curator.policy.engine).require_safe_target(place)
    require_not_source(curator.policy, output)


def publish(made: Made, output: Path | None) -> tuple[Path, ...]:
    """The rows as a file, and the certificate beside it."""
    if output is None:
        return ()
    place = ReleaseTarget.parse(output)
    with stage_output(place) as file, DuckDBPublisher({}, {"rows": made.rows}) as engine:
        engine.write('SELECT * FROM "rows"', file)
    return output, write_certificate(made.publication.certificate, place)
