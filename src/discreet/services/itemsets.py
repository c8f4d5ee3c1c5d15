"""Frequent itemsets of a table, as a differentially private publication."""

from __future__ import annotations

import pyarrow as pa

from discreet.belief.wording import format_percent
from discreet.core.engine import Engine
from discreet.core.randomness import Randomness
from discreet.mining.tabulation import frequent_itemsets
from discreet.services.count_publication import Publication, resolve_budget
from discreet.services.count_requests import ItemsetsRequest
from discreet.services.curator import Curator


def plan_itemsets_release(curator: Curator, request: ItemsetsRequest) -> Publication:
    """Return the publication of a request; reads no data."""
    epsilon, guarantee = resolve_budget(curator, "itemsets", request.epsilon, request.delta)
    plan = frequent_itemsets.plan_itemsets(
        curator.policy,
        request.table,
        guarantee,
        items=request.items,
        threshold=request.threshold,
        basis=request.basis,
        largest=request.largest,
    )

    def compute_rows(engine: Engine, random: Randomness) -> pa.Table:
        found = frequent_itemsets.find_itemsets(plan, curator.policy, engine, random)
        columns = {
            "items": pa.array([", ".join(each.items) for each in found], pa.string()),
            "support": pa.array([round(each.support, 6) for each in found], pa.float64()),
            "deviation": pa.array([round(each.deviation, 6) for each in found], pa.float64()),
        }
        return pa.table(columns)

    names = [each.name for each in plan.schema.attributes]
    return Publication(
        verb="itemsets",
        kind="differentially private frequent itemsets",
        table=request.table,
        ledger_text=f"itemsets {request.table} --threshold {format_percent(request.threshold)}",
        terms=request.model_dump() | {"epsilon": epsilon},
        epsilon=epsilon,
        delta=request.delta,
        guarantee=guarantee,
        plan_summary={
            "items": names,
            "basis": plan.basis,
            "largest": plan.largest,
            "threshold": plan.threshold,
            "deviation": plan.deviation,
        },
        plan=plan,
        compute_rows=compute_rows,
    )
