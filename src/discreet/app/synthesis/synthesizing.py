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
from discreet.app.curator import Curator
from discreet.app.kept_rows import packed, unpacked
from discreet.app.once import cost_of, once, require_least_epsilon
from discreet.app.progress import Tell
from discreet.app.synthesis.earlier import earlier_of, entries_of
from discreet.belief import Promise
from discreet.core.engine import Engine
from discreet.core.number_checks import Real
from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import Integers
from discreet.mining.synthesis import Earlier, Plan, plan, synthesize
from discreet.mining.tabulation.budget import Budget


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request for a synthetic table; its cost is an epsilon, or prior and posterior of a promise."""

    table: str
    epsilon: Real | None = None
    promise: tuple[float, float] | None = None
    delta: Real = 0
    quality: Literal["lean", "best"] = "lean"
    columns: Sequence[str] | None = None
    logarithmic: Sequence[str] = ()
    earlier: Sequence[int] | Literal["all"] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Synthetic:
    """Synthetic rows that may be published, and their cost."""

    plan: Plan
    table: pa.Table = field(repr=False)
    epsilon: Real
    delta: Real
    entry: int
    repeated: bool
    sentence: str
    earlier: tuple[Entry, ...] = ()

    @property
    def codes(self) -> Integers:
        """The rows as codes of bins."""
        columns = [self.table.column(each.name) for each in self.plan.schema.attributes]
        return np.asarray(self.plan.schema.codes([_plain(column) for column in columns]), np.int64)


def _cost(curator: Curator, request: Request) -> Real:
    """Return the epsilon: as given, or the one of the request's promise about the same secret."""
    secret, group = curator.promise.secret, curator.promise.group
    epsilon = (
        cost_of(curator, request.epsilon, "synthesize")
        if request.promise is None
        else Promise(*request.promise, secret=secret, group=group).epsilon
    )
    require_least_epsilon("synthesize", epsilon)
    return epsilon


def planned(curator: Curator, request: Request) -> Plan:
    """Return the plan: measurements, guarantee and expected error; reads no data."""
    return _planned(curator, request)[0]


def _planned(curator: Curator, request: Request) -> tuple[Plan, tuple[Entry, ...]]:
    """Return the plan, and the ledger entries that it is consistent with."""
    epsilon = _cost(curator, request)
    budget = Budget.within(epsilon=epsilon, delta=request.delta, relation=curator.promise.secret)

    def made(earlier: Sequence[Earlier] = ()) -> Plan:
        return plan(
            curator.policy,
            request.table,
            budget.guarantee,
            quality=request.quality,
            columns=request.columns,
            logarithmic=request.logarithmic,
            earlier=earlier,
        )

    first = made()
    if not request.earlier:
        return first, ()
    entries = entries_of(curator, first, request.earlier)
    return made([earlier_of(curator, first, each) for each in entries]), tuple(entries)


def synthetic(curator: Curator, request: Request, tell: Tell) -> Synthetic:
    """Charge and synthesize the rows; the charge precedes any read of data."""
    (made, earlier), epsilon = _planned(curator, request), _cost(curator, request)
    agreed = {"earlier": [each.number for each in earlier]}

    def work(engine: Engine, random: Randomness) -> pa.Table:
        def told(share: float) -> None:
            tell("synthesizing", share)

        return synthesize(made, curator.policy, engine, random, progress=told).table

    found = once(
        curator,
        "synthesize",
        f"synthesize {request.table} --quality {request.quality}",
        asdict(request) | {"epsilon": epsilon, "promise": None} | agreed,
        made.guarantee,
        work,
        packed=packed,
        unpacked=unpacked,
    )
    return Synthetic(
        plan=made,
        table=found.released,
        epsilon=epsilon,
        delta=request.delta,
        entry=found.entry,
        repeated=found.repeated,
        sentence=curator.ledger.describe_belief(analyst=curator.alone),
        earlier=earlier,
    )


def _plain(column: pa.ChunkedArray) -> object:
    """Return a column in a form that `Attribute.codes` accepts."""
    if pa.types.is_dictionary(column.type):
        return column.combine_chunks().dictionary_decode().to_pylist()
    if pa.types.is_boolean(column.type):
        return column.to_pylist()
    return column.to_numpy(zero_copy_only=False) if column.null_count == 0 else column.to_pylist()
