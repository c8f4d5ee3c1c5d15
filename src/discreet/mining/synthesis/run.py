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
from discreet.mining.counting import Counter, EngineCounter, Progress
from discreet.mining.synthesis import adaptive, generation, inference, lean, values
from discreet.mining.synthesis.inference import Measurement, Model
from discreet.mining.synthesis.measuring import Measuring
from discreet.mining.synthesis.plan import Plan

UNTOLD = 1e12
"""The deviation of an unreleased count: larger than any table's number of rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Synthesis:
    """Synthetic rows, as values and as bins, and the sets of columns that were measured for them."""

    plan: Plan
    table: pa.Table = field(repr=False)
    codes: Integers = field(repr=False)
    measured: tuple[tuple[str, ...], ...]

    @property
    def guarantee(self) -> Guarantee:
        return self.plan.guarantee


def synthesize(
    plan: Plan, policy: Policy, engine: Engine, random: Randomness, *, progress: Progress | None = None
) -> Synthesis:
    """Synthesize the rows of a planned table; `progress` receives the share of budget spent."""
    counter = EngineCounter.of_table(engine, policy, plan.table, plan.schema)
    return from_counter(plan, counter, random, progress=progress)


def from_counter(
    plan: Plan, counter: Counter, random: Randomness, *, progress: Progress | None = None
) -> Synthesis:
    """Synthesize the rows of a planned table from any counter."""
    model, measured = learned(plan, counter, random, progress or (lambda _: None))
    codes = generation.draw(model, round(model.rows), random)
    return Synthesis(
        plan=plan,
        table=values.shown(plan.schema, plan.columns, codes, random),
        codes=codes,
        measured=tuple(dict.fromkeys(plan.names(each.columns) for each in measured)),
    )


def learned(
    plan: Plan, counter: Counter, random: Randomness, told: Progress
) -> tuple[Model, list[Measurement]]:
    """Return the model, and all measurements that it was fitted to."""
    plan.budget.require_bounded(counter.rows_per_person)
    counts = counter.marginals([plan.names(each) for each in plan.sets])
    marginals = Exact(dict(zip(plan.sets, counts.secret, strict=True)))
    measuring = Measuring(marginals=marginals, budget=plan.budget, random=random)
    places = {each.name: place for place, each in enumerate(plan.schema.attributes)}
    for each in plan.earlier:
        columns, known = tuple(places[name] for name in each.columns), ~np.isnan(each.counts)
        deviation = np.where(known, each.deviation, UNTOLD)
        counted = np.where(known, each.counts, 0.0)
        measuring.measurements.append(Measurement(columns=columns, counts=counted, deviation=deviation))

    def fit(start: Model | None, steps: int) -> Model:
        rows = plan.rows or inference.estimated_rows(measuring.measurements)
        return inference.fit(
            plan.shape, measuring.measurements, plan.barred, rows=rows, start=start, steps=steps
        )

    if plan.quality == "best":
        return adaptive.learn(measuring, plan.sets, len(plan.shape), fit, told), measuring.measurements
    pairs = [each for each in plan.sets if len(each) == 2]
    return lean.learn(measuring, pairs, plan.shape, fit), measuring.measurements
