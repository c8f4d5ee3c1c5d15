"""A synthetic table of a policy's table: planned, charged like a question, kept so that it is made once.

Budget      epsilon is for the promise's own secret. Under a promise without a tail it is pure; with a delta
            the noise is Gaussian, as a promise with a tail allows.
Again       the same request of the same analyst gives the same rows for nothing.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.app.curator import Curator
from discreet.app.policies import policy_version
from discreet.core.errors import BudgetError, RequestError
from discreet.core.numbers import Real
from discreet.mechanisms.sampling import Integers
from discreet.mining.synthesis import Plan, plan, synthesize
from discreet.mining.tabulation.budget import Budget

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Wish:
    """Which table, how well, and for how much."""

    table: str
    epsilon: Real | None = None
    delta: Real = 0
    quality: Literal["lean", "best"] = "lean"
    columns: Sequence[str] | None = None
    logarithmic: Sequence[str] = ()


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

    @property
    def codes(self) -> Integers:
        """The rows as bins."""
        columns = [self.table.column(each.name) for each in self.plan.schema.attributes]
        return np.asarray(self.plan.schema.codes([_plain(column) for column in columns]), np.int64)


def planned(curator: Curator, wish: Wish) -> Plan:
    """What would be counted, promised and expected; reads no data."""
    budget = Budget.within(epsilon=_cost(curator, wish), delta=wish.delta, relation=curator.promise.secret)
    return plan(
        curator.policy,
        wish.table,
        budget.guarantee,
        quality=wish.quality,
        columns=wish.columns,
        logarithmic=wish.logarithmic,
    )


def synthetic(curator: Curator, wish: Wish, tell: Tell) -> Synthetic:
    """The rows, charged before anything is read."""
    made, key = planned(curator, wish), _key(curator, wish)
    stored = curator.ledger.stored(curator.analyst, key)
    if stored is not None:
        return _synthetic(curator, wish, made, _unpacked(stored.answer), stored.entry.id, repeated=True)
    text = f"synthesize {wish.table} --quality {wish.quality}"
    try:
        table, entry = curator.charged(
            key,
            text,
            made.guarantee,
            lambda engine, random: (
                synthesize(
                    made,
                    curator.policy,
                    engine,
                    random,
                    progress=lambda share: tell(f"synthesizing: {share:.0%} of the budget spent"),
                ).table
            ),
            _packed,
        )
    except BudgetError as refusal:
        raise BudgetError(refusal.message.replace("reserve:", "synthesize:", 1), hint=refusal.hint) from None
    return _synthetic(curator, wish, made, table, entry.id, repeated=False)


def _synthetic(
    curator: Curator, wish: Wish, made: Plan, table: pa.Table, entry: int, *, repeated: bool
) -> Synthetic:
    alone = curator.analyst if len(curator.policy.analysts) > 1 else None
    return Synthetic(
        plan=made,
        table=table,
        epsilon=_cost(curator, wish),
        delta=wish.delta,
        entry=entry,
        repeated=repeated,
        sentence=curator.ledger.sentence(analyst=alone),
    )


def _cost(curator: Curator, wish: Wish) -> Real:
    usual = curator.policy.epsilon if wish.epsilon is None else wish.epsilon
    if usual is None:
        raise RequestError(
            "synthesize: nothing says how much the table may cost.",
            hint="Give --epsilon 1, or set epsilon in the policy.",
        )
    return usual


def _key(curator: Curator, wish: Wish) -> str:
    terms = asdict(wish) | {
        "epsilon": str(Fraction(_cost(curator, wish))),
        "delta": str(Fraction(wish.delta)),
    }
    meaning = ["synthesize", terms, policy_version(curator.policy), str(curator.policy.data_version)]
    return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()


def _packed(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def _unpacked(content: bytes) -> pa.Table:
    return pq.read_table(io.BytesIO(content))


def _plain(column: pa.ChunkedArray) -> object:
    """A column as `Attribute.codes` takes it."""
    if pa.types.is_dictionary(column.type):
        return column.combine_chunks().dictionary_decode().to_pylist()
    if pa.types.is_boolean(column.type):
        return column.to_pylist()
    return column.to_numpy(zero_copy_only=False) if column.null_count == 0 else column.to_pylist()
