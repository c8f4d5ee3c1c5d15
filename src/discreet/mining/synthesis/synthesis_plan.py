"""The plan of a synthesis, from policy and parameters alone, and its run: one round of counting.

Columns     all that declare bounds or values, or those that are named; identifiers never.
Counted     the marginals of all sets that may be measured: the columns and their pairs, and for the best
            quality their triples, as far as each is small enough. Only noisy ones of them leave.
Memory      every marginal that may be measured is held twice, as it is and as a model expects it, 16 bytes a
            cell: at most `MAX_COUNTED_CELLS` cells of all together, 2 GB. A lean model has a pair for every
            column but one, and its descent holds some 30 numbers a cell: at most `MAX_FITTED_CELLS` cells of
            the largest such pairs, 4 GB; the best quality's is smaller. What has more is refused while it is
            planned.
Guarantee   that of the budget, which the run cannot pass; see `marginal_measurement`.
Expected    how large the noise on measured counts is, as far as it follows from the budget: exactly for the
            columns and, of the lean quality, for the pairs of its tree; further pairs share what is left, so
            theirs is as much larger as more of them are worth it. What a choice among sets adds to the error
            depends on the data, and nothing is said of it.
Earlier     answers that were released before, over some of the columns, are taken as further measurements:
            they cost nothing again, and with a small `deviation` the rows agree with them.

In a run the engine counts all marginals of the plan at once, as few statements as it takes; no other query
follows, whatever is found. The number of rows is estimated from what was measured, unless it is public.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Literal

import numpy as np
import pyarrow as pa

from discreet.core.column_entry import Column, Role
from discreet.core.engine import Engine
from discreet.core.errors import RequestError, require_parameter
from discreet.core.exact_values import Exact
from discreet.core.guarantees import Guarantee, PureDP, ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.core.table_entry import Impossible
from discreet.mechanisms import get_mechanism_name as mechanism_name
from discreet.mechanisms.sampling import Floats, Integers
from discreet.mining.attributes import DEFAULT_BINS
from discreet.mining.bin_counters import Counter, EngineCounter, Progress
from discreet.mining.schema import Schema
from discreet.mining.synthesis import aim, graphical_model, mst, row_generation
from discreet.mining.synthesis.graphical_model import GraphicalModel, Measurement
from discreet.mining.synthesis.junction_tree import JunctionTree
from discreet.mining.synthesis.marginal_measurement import MarginalMeasurer
from discreet.mining.tabulation import cells
from discreet.mining.tabulation.cells import Columns, count_cells
from discreet.mining.tabulation.noise_budget import NoiseBudget, compute_mean_magnitude

Quality = Literal["lean", "best"]

CONFIDENCE = 0.95
MAX_CELLS = 1_000_000
MAX_SETS = 1_000
MAX_COUNTED_CELLS = 1 << 27
MAX_FITTED_CELLS = 1 << 24
AGREEMENT_DEVIATION = 0.5


@dataclass(frozen=True, kw_only=True, eq=False)
class EarlierAnswer:
    """Counts over columns that were released before, with the deviation of their noise.

    The default deviation takes them as true up to rounding, so that the rows agree with them. NaN marks
    counts that were not released.
    """

    columns: tuple[str, ...]
    counts: Floats = field(repr=False)
    deviation: float = AGREEMENT_DEVIATION


@dataclass(frozen=True, kw_only=True)
class ExpectedError:
    """The noise on the counts of some columns: 95% of them err by no more than `error95`.

    `variation` is the largest total variation that the noise alone adds on average, where the number of rows
    is public.
    """

    columns: tuple[str, ...]
    mechanism: str
    error95: int
    variation: float | None


@dataclass(frozen=True, kw_only=True, eq=False)
class SynthesisPlan:
    """A planned synthesis: everything but its rows."""

    table: str
    columns: Mapping[str, Column]
    schema: Schema
    left_out: tuple[str, ...]
    quality: Quality
    budget: NoiseBudget
    sets: tuple[Columns, ...]
    impossible: Mapping[Columns, Floats]
    earlier: tuple[EarlierAnswer, ...]
    rows: int | None

    @property
    def guarantee(self) -> PureDP | ZeroConcentratedDP:
        return self.budget.guarantee

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(each.bins for each in self.schema.attributes)

    def get_names(self, columns: Columns) -> tuple[str, ...]:
        return tuple(self.schema.attributes[place].name for place in columns)

    @property
    def expected_error(self) -> tuple[ExpectedError, ...]:
        """The noise that is known before anything is read."""
        number = len(self.shape)
        pairs = [each for each in self.sets if len(each) == 2]
        if self.quality == "best":
            first = self.budget.take_share(Fraction(1, aim.ROUNDS * number) * (1 - aim.CHOICE_SHARE))
            return tuple(self._compute_expected_error((place,), first) for place in range(number))
        single = self.budget.take_share((mst.SINGLE if pairs else Fraction(1)) / number)
        return (
            *(self._compute_expected_error((place,), single) for place in range(number)),
            *(self._compute_expected_error(pair, mst.get_pair_budget(self.budget, number)) for pair in pairs),
        )

    def _compute_expected_error(self, columns: Columns, budget: NoiseBudget) -> ExpectedError:
        noise = budget.make_noise()
        off = compute_mean_magnitude(noise) * count_cells(columns, self.shape)
        return ExpectedError(
            columns=self.get_names(columns),
            mechanism=mechanism_name(type(noise)),
            error95=noise.half_width(CONFIDENCE),
            variation=None if self.rows is None else min(1.0, off / 2 / self.rows),
        )


def plan_synthesis(
    policy: Policy,
    table: str,
    budget: PureDP | ZeroConcentratedDP,
    *,
    quality: Quality = "lean",
    columns: Collection[str] | None = None,
    bins: int | Mapping[str, int] = DEFAULT_BINS,
    logarithmic: Collection[str] = (),
    earlier: Sequence[EarlierAnswer] = (),
) -> SynthesisPlan:
    """Return the plan of a synthetic table, or refuse; reads no data."""
    if table not in policy.tables:
        raise RequestError(
            f"synthesize: the policy has no table {table}.", hint=f"It has {', '.join(policy.tables)}."
        )
    require_parameter(quality in ("lean", "best"), "synthesize", "quality", repr(quality), "'lean' or 'best'")
    declared = policy.tables[table]
    if declared.person == "none":
        raise RequestError(f"synthesize: {table} is about nobody.", hint="Publish it as it is.")
    schema = cells.cut_at_impossible_ranges(
        Schema.from_table(declared, features=columns, bins=bins, logarithmic=logarithmic), declared
    )
    shape = tuple(each.bins for each in schema.attributes)
    # where presence is the secret, the number of rows is estimated from noisy marginals
    rows = declared.rows if budget.relation is Relation.VALUE else None
    sets = tuple(_list_sets(shape, quality))
    _require_memory(sets, shape, quality)
    kept = {each.name for each in schema.attributes}
    return SynthesisPlan(
        table=table,
        columns={name: declared.columns[name] for name in kept},
        schema=schema,
        left_out=tuple(
            name
            for name, column in declared.columns.items()
            if name not in kept and column.role is not Role.IDENTIFIER
        ),
        quality=quality,
        budget=NoiseBudget.from_guarantee(budget, rows_per_person=declared.rows_per_person),
        sets=sets,
        impossible=_find_impossible(schema, declared.impossible, shape),
        earlier=tuple(_validate_earlier(each, schema) for each in earlier),
        rows=rows,
    )


def _list_sets(shape: tuple[int, ...], quality: Quality) -> list[Columns]:
    """Return the sets that may be measured; triples are left out if there would be too many."""
    most = aim.MAX_CELLS if quality == "best" else MAX_CELLS
    found: list[Columns] = [(place,) for place in range(len(shape))]
    for size in (2, 3) if quality == "best" else (2,):
        more = [each for each in combinations(range(len(shape)), size) if count_cells(each, shape) <= most]
        if size == 2 or len(found) + len(more) <= MAX_SETS:
            found += more
    return found


def _require_memory(sets: Sequence[Columns], shape: tuple[int, ...], quality: Quality) -> None:
    """Refuse marginals and models that are too large to be held in memory."""
    sizes = [count_cells(each, shape) for each in sets]
    pairs = sorted((size for each, size in zip(sets, sizes, strict=True) if len(each) == 2), reverse=True)
    fitted = sum(pairs[: len(shape) - 1]) if quality == "lean" else 0
    if sum(sizes) > MAX_COUNTED_CELLS or fitted > MAX_FITTED_CELLS:
        raise RequestError(
            f"synthesize: {len(shape)} columns of up to {max(shape):,} values have {sum(sizes):,} "
            "combinations to count, which take too much memory.",
            hint="Name fewer columns, or leave out those of the most values.",
        )


def _find_impossible(
    schema: Schema, impossible: Sequence[Impossible], shape: tuple[int, ...]
) -> dict[Columns, Floats]:
    for entry in impossible:
        places = [place for place, each in enumerate(schema.attributes) if each.name in entry]
        if count_cells(places, shape) > MAX_CELLS:
            raise RequestError(
                f"synthesize: what is impossible of {', '.join(entry)} has "
                f"{count_cells(places, shape):,} cells.",
                hint="Name fewer columns in it, or give them fewer bins.",
            )
    barred = cells.find_impossible_cells(schema, impossible)
    tree = JunctionTree.from_sets(barred, shape)
    homes = {columns: place for columns in barred if (place := tree.find_clique(columns)) is not None}
    # the logarithm of the number of possible rows
    if np.isneginf(tree.calibrate(barred, homes)[1]):
        raise RequestError(
            "synthesize: what is declared impossible leaves no row possible.",
            hint="Leave some combination possible in the policy.",
        )
    return barred


def _validate_earlier(earlier: EarlierAnswer, schema: Schema) -> EarlierAnswer:
    """Return the release with its columns in the order of the schema."""
    places = {each.name: place for place, each in enumerate(schema.attributes)}
    for name in earlier.columns:
        require_parameter(
            name in places, "Earlier", "columns", name, "columns that are synthesized, each once"
        )
    require_parameter(
        len(set(earlier.columns)) == len(earlier.columns) > 0,
        "Earlier",
        "columns",
        ", ".join(earlier.columns) or "none",
        "columns that are synthesized, each once",
    )
    shape = tuple(schema.attributes[places[name]].bins for name in earlier.columns)
    told = np.shape(earlier.counts) == shape and not bool(np.isinf(earlier.counts).any())
    fits = told and not bool(np.isnan(earlier.counts).all())
    require_parameter(
        fits, "Earlier", "counts", f"an array of {np.shape(earlier.counts)}", f"{shape} finite numbers"
    )
    size = math.prod(shape)
    require_parameter(size <= MAX_CELLS, "Earlier", "counts", f"{size:,}", f"at most {MAX_CELLS:,}")
    require_parameter(earlier.deviation > 0, "Earlier", "deviation", earlier.deviation, "above 0")
    order = sorted(range(len(shape)), key=lambda axis: places[earlier.columns[axis]])
    return EarlierAnswer(
        columns=tuple(earlier.columns[axis] for axis in order),
        counts=np.transpose(np.asarray(earlier.counts, np.float64), order),
        deviation=float(earlier.deviation),
    )


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
