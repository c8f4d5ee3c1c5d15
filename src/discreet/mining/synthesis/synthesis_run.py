"""The run of a synthesis: one round of counting, then only what mechanisms release.

The engine counts all marginals of the plan at once, as few statements as it takes; no other query follows,
whatever is found. The number of rows is estimated from what was measured, unless it is public.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from discreet.core.engine import Engine
from discreet.core.exact_values import Exact
from discreet.core.guarantees import Guarantee
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import Integers
from discreet.mining.bin_counters import Counter, EngineCounter, Progress
from discreet.mining.synthesis import aim, graphical_model, mst, row_generation
from discreet.mining.synthesis.graphical_model import GraphicalModel, Measurement
from discreet.mining.synthesis.marginal_measurement import MarginalMeasurer
from discreet.mining.synthesis.synthesis_plan import SynthesisPlan

UNRELEASED_DEVIATION = 1e12
"""The deviation of an unreleased count: larger than any table's number of rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Synthesis:
    """Synthetic rows, as values and as bins, and the sets of columns that were measured for them."""

    plan: SynthesisPlan
    table: pa.Table = field(repr=False)
    codes: Integers = field(repr=False)
    measured: tuple[tuple[str, ...], ...]

    @property
    def guarantee(self) -> Guarantee:
        return self.plan.guarantee


def synthesize(
    plan: SynthesisPlan,
    policy: Policy,
    engine: Engine,
    random: Randomness,
    *,
    progress: Progress | None = None,
) -> Synthesis:
    """Synthesize the rows of a planned table; `progress` receives the share of budget spent."""
    counter = EngineCounter.from_table(engine, policy, plan.table, plan.schema)
    return synthesize_from_counter(plan, counter, random, progress=progress)


def synthesize_from_counter(
    plan: SynthesisPlan, counter: Counter, random: Randomness, *, progress: Progress | None = None
) -> Synthesis:
    """Synthesize the rows of a planned table from any counter."""
    model, measured = learn_model(plan, counter, random, progress or (lambda _: None))
    codes = row_generation.generate_rows(model, round(model.rows), random)
    return Synthesis(
        plan=plan,
        table=row_generation.decode_rows(plan.schema, plan.columns, codes, random),
        codes=codes,
        measured=tuple(dict.fromkeys(plan.get_names(each.columns) for each in measured)),
    )


def learn_model(
    plan: SynthesisPlan, counter: Counter, random: Randomness, report_progress: Progress
) -> tuple[GraphicalModel, list[Measurement]]:
    """Return the model, and all measurements that it was fitted to."""
    plan.budget.require_bounded(counter.rows_per_person)
    counts = counter.count_marginals([plan.get_names(each) for each in plan.sets])
    marginals = Exact(dict(zip(plan.sets, counts.secret, strict=True)))
    measuring = MarginalMeasurer(marginals=marginals, budget=plan.budget, random=random)
    places = {each.name: place for place, each in enumerate(plan.schema.attributes)}
    for each in plan.earlier:
        columns, known = tuple(places[name] for name in each.columns), ~np.isnan(each.counts)
        deviation = np.where(known, each.deviation, UNRELEASED_DEVIATION)
        counted = np.where(known, each.counts, 0.0)
        measuring.measurements.append(Measurement(columns=columns, counts=counted, deviation=deviation))

    def fit(start: GraphicalModel | None, steps: int) -> GraphicalModel:
        rows = plan.rows or graphical_model.estimate_rows(measuring.measurements)
        return graphical_model.fit_model(
            plan.shape, measuring.measurements, plan.impossible, rows=rows, start=start, steps=steps
        )

    if plan.quality == "best":
        return aim.fit_aim(
            measuring, plan.sets, len(plan.shape), fit, report_progress
        ), measuring.measurements
    pairs = [each for each in plan.sets if len(each) == 2]
    return mst.fit_mst(measuring, pairs, plan.shape, fit), measuring.measurements
