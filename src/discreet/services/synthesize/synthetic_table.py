"""Synthesis of a table: planned, charged like a question, and stored.

Budget      epsilon is for the promise's secret: pure under a promise without a tail; with a delta, under a
            promise with a tail, the noise is Gaussian.
Earlier     answers that the rows must be consistent with, by ledger entry; see `earlier_answers`.
Repeats     the same request of the same analyst returns the same rows at no cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa

from discreet.accounting.entries import Entry
from discreet.belief import Promise
from discreet.belief.wording import format_count
from discreet.core.engine import Engine
from discreet.core.number_checks import Real
from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import Integers
from discreet.mining.synthesis import EarlierAnswer, SynthesisPlan, plan_synthesis, synthesize
from discreet.mining.tabulation.noise_budget import NoiseBudget
from discreet.services.curator import Curator
from discreet.services.progress import ProgressCallback
from discreet.services.release_cache import release_or_replay, require_min_epsilon, resolve_epsilon
from discreet.services.released_tables import ReleasedTable, describe_cost
from discreet.services.stored_tables import table_from_bytes, table_to_bytes
from discreet.services.synthesize.earlier_answers import find_eligible_entries, read_earlier_answer


@dataclass(frozen=True, kw_only=True)
class SynthesizeRequest:
    """A request for a synthetic table; its cost is an epsilon, or prior and posterior of a promise."""

    table: str
    epsilon: Real | None = None
    promise: tuple[float, float] | None = None
    delta: Real = 0
    quality: Literal["lean", "best"] = "lean"
    columns: Sequence[str] | None = None
    logarithmic: Sequence[str] = ()
    earlier: Sequence[int] | Literal["all"] = ()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SyntheticTable(ReleasedTable):
    """Synthetic rows that may be published, and their cost."""

    plan: SynthesisPlan
    table: pa.Table = field(repr=False)
    epsilon: Real
    delta: Real
    entry: int
    repeated: bool
    sentence: str
    earlier: tuple[Entry, ...] = ()

    def __repr__(self) -> str:
        rows, columns = format_count(self.table.num_rows, "row", "rows"), ", ".join(self.table.column_names)
        return f"<SyntheticTable of {self.plan.table}, {rows} ({columns}): {self._describe_cost()}>"

    def _repr_html_(self) -> str:
        facts = [("cost", self._describe_cost()), ("belief", self.sentence)]
        return self._summarize_rows(f"Synthetic table of {self.plan.table}", facts)

    def to_arrow(self) -> pa.Table:
        """Return the synthetic rows as an Arrow table."""
        return self.table

    def _describe_cost(self) -> str:
        return describe_cost(self.epsilon, self.delta, self.entry, repeated=self.repeated)

    @property
    def codes(self) -> Integers:
        """The rows as codes of bins."""
        columns = [self.table.column(each.name) for each in self.plan.schema.attributes]
        return np.asarray(
            self.plan.schema.encode([_column_to_values(column) for column in columns]), np.int64
        )


def _get_epsilon(curator: Curator, request: SynthesizeRequest) -> Real:
    """Return the epsilon: as given, or the one of the request's promise about the same secret."""
    secret, group = curator.promise.secret, curator.promise.group
    epsilon = (
        resolve_epsilon(curator, request.epsilon, "synthesize")
        if request.promise is None
        else Promise(*request.promise, secret=secret, group=group).epsilon
    )
    require_min_epsilon("synthesize", epsilon)
    return epsilon


def plan_synthetic(curator: Curator, request: SynthesizeRequest) -> SynthesisPlan:
    """Return the plan: measurements, guarantee and expected error; reads no data."""
    return _plan_with_entries(curator, request)[0]


def _plan_with_entries(
    curator: Curator, request: SynthesizeRequest
) -> tuple[SynthesisPlan, tuple[Entry, ...]]:
    """Return the plan, and the ledger entries that it is consistent with."""
    epsilon = _get_epsilon(curator, request)
    budget = NoiseBudget.from_epsilon(epsilon=epsilon, delta=request.delta, relation=curator.promise.secret)

    def make_plan(earlier: Sequence[EarlierAnswer] = ()) -> SynthesisPlan:
        return plan_synthesis(
            curator.policy,
            request.table,
            budget.guarantee,
            quality=request.quality,
            columns=request.columns,
            logarithmic=request.logarithmic,
            earlier=earlier,
        )

    first = make_plan()
    if not request.earlier:
        return first, ()
    entries = find_eligible_entries(curator, first, request.earlier)
    return make_plan([read_earlier_answer(curator, first, each) for each in entries]), tuple(entries)


def synthesize_table(
    curator: Curator, request: SynthesizeRequest, report_progress: ProgressCallback
) -> SyntheticTable:
    """Charge and synthesize the rows; the charge precedes any read of data."""
    (made, earlier), epsilon = _plan_with_entries(curator, request), _get_epsilon(curator, request)
    agreed = {"earlier": [each.number for each in earlier]}

    def compute_rows(engine: Engine, random: Randomness) -> pa.Table:
        def report_share(share: float) -> None:
            report_progress("synthesizing", share)

        return synthesize(made, curator.policy, engine, random, progress=report_share).table

    found = release_or_replay(
        curator,
        "synthesize",
        f"synthesize {request.table} --quality {request.quality}",
        asdict(request) | {"epsilon": epsilon, "promise": None} | agreed,
        made.guarantee,
        compute_rows,
        serialize=table_to_bytes,
        deserialize=table_from_bytes,
    )
    return SyntheticTable(
        plan=made,
        table=found.release,
        epsilon=epsilon,
        delta=request.delta,
        entry=found.entry,
        repeated=found.repeated,
        sentence=curator.ledger.describe_belief(analyst=curator.belief_scope),
        earlier=earlier,
    )


def _column_to_values(column: pa.ChunkedArray) -> object:
    """Return a column in a form that `Attribute.encode` accepts."""
    if pa.types.is_dictionary(column.type):
        return column.combine_chunks().dictionary_decode().to_pylist()
    if pa.types.is_boolean(column.type):
        return column.to_pylist()
    return column.to_numpy(zero_copy_only=False) if column.null_count == 0 else column.to_pylist()
