"""A synthetic table of a policy's table: planned, charged like a question, kept so that it is made once.

Budget      epsilon is for the promise's own secret. Under a promise without a tail it is pure; with a delta
            the noise is Gaussian, as a promise with a tail allows.
Earlier     answers that the rows are to agree with, by their entries in the ledger; see `earlier`.
Again       the same request of the same analyst gives the same rows for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa

from discreet.accounting.ledger_entries import Entry
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
    """Which table, how well, and for how much: an epsilon, or prior and posterior of a promise of its own."""

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
    """Made-up rows that may be published, and what they cost."""

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
        """The rows as bins."""
        columns = [self.table.column(each.name) for each in self.plan.schema.attributes]
        return np.asarray(self.plan.schema.codes([_plain(column) for column in columns]), np.int64)


def _cost(curator: Curator, request: Request) -> Real:
    """The epsilon: as given, or what a promise about the same secret allows."""
    secret, group = curator.promise.secret, curator.promise.group
    epsilon = (
        cost_of(curator, request.epsilon, "synthesize")
        if request.promise is None
        else Promise(*request.promise, secret=secret, group=group).epsilon
    )
    require_least_epsilon("synthesize", epsilon)
    return epsilon


def planned(curator: Curator, request: Request) -> Plan:
    """What would be counted, promised and expected; reads no data."""
    return _planned(curator, request)[0]


def _planned(curator: Curator, request: Request) -> tuple[Plan, tuple[Entry, ...]]:
    """The plan, and the answers that it agrees with."""
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
    """The rows, charged before anything is read."""
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
    """A column as `Attribute.codes` takes it."""
    if pa.types.is_dictionary(column.type):
        return column.combine_chunks().dictionary_decode().to_pylist()
    if pa.types.is_boolean(column.type):
        return column.to_pylist()
    return column.to_numpy(zero_copy_only=False) if column.null_count == 0 else column.to_pylist()
