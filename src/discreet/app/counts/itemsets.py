"""Frequent itemsets of a table, as a differentially private publication."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa

from discreet.app.counts.publication import Publication, budget_of
from discreet.app.curator import Curator
from discreet.belief.wording import format_number, format_percent
from discreet.core.engine import Engine
from discreet.core.number_checks import Real
from discreet.core.randomness import Randomness
from discreet.mining.tabulation import itemsets
from discreet.mining.tabulation.itemsets import BASIS, LARGEST


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request for the frequent itemsets of a table: items, threshold and budget."""

    table: str
    items: Sequence[str] | None = None
    threshold: float = 0.1
    basis: int = BASIS
    largest: int = LARGEST
    epsilon: Real | None = None
    delta: Real = 0


def publication(curator: Curator, request: Request) -> Publication:
    """Return the publication of a request; reads no data."""
    epsilon, guarantee = budget_of(curator, "itemsets", request.epsilon, request.delta)
    plan = itemsets.plan(
        curator.policy,
        request.table,
        guarantee,
        items=request.items,
        threshold=request.threshold,
        basis=request.basis,
        largest=request.largest,
    )

    def work(engine: Engine, random: Randomness) -> pa.Table:
        found = itemsets.mine(plan, curator.policy, engine, random)
        columns = {
            "items": pa.array([", ".join(each.items) for each in found], pa.string()),
            "support": pa.array([round(each.support, 6) for each in found], pa.float64()),
            "deviation": pa.array([round(each.deviation, 6) for each in found], pa.float64()),
        }
        return pa.table(columns)

    names = [each.name for each in plan.schema.attributes]
    picked = "all of them" if plan.basis == len(names) else f"{plan.basis}, picked privately"
    return Publication(
        verb="itemsets",
        kind="differentially private frequent itemsets",
        table=request.table,
        text=f"itemsets {request.table} --threshold {format_percent(request.threshold)}",
        terms=asdict(request) | {"epsilon": epsilon},
        epsilon=epsilon,
        delta=request.delta,
        guarantee=guarantee,
        expected={
            "items": names,
            "basis": plan.basis,
            "largest": plan.largest,
            "threshold": plan.threshold,
            "deviation": plan.deviation,
        },
        facts=(
            ("items", f"{len(names)}; combined are {picked}"),
            ("sets", f"up to {plan.largest} items, of at least {format_percent(plan.threshold)} of rows"),
            ("error", f"at most {format_number(plan.deviation)} rows, one deviation of a set's count"),
        ),
        work=work,
    )
