"""Cache of releases other than SQL answers: charged before data is read, stored, replayed for free.

Released rows are stored in the ledger as the bytes of a Parquet file.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.accounting.entries import StoredAnswer
from discreet.core.engine import Engine
from discreet.core.errors import BudgetError, RequestError
from discreet.core.guarantees import Guarantee
from discreet.core.number_checks import Real, is_real, require_positive
from discreet.core.randomness import Randomness
from discreet.services.answers import build_damaged_ledger_error
from discreet.services.curator import Curator
from discreet.services.policies import compute_policy_version
from discreet.services.request_fields import MIN_EPSILON

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class CachedRelease(Generic[T]):
    """A release and the number of its ledger entry; `repeated` if it was charged earlier."""

    release: T
    entry: int
    repeated: bool


def resolve_epsilon(curator: Curator, epsilon: Real | None, verb: str) -> Real:
    """Return the epsilon to spend: the one given, or the policy's default."""
    usual = curator.policy.epsilon if epsilon is None else epsilon
    if usual is None:
        raise RequestError(
            f"{verb}: no epsilon is given.",
            hint="Give `epsilon=0.5`, or set epsilon in the policy.",
        )
    require_min_epsilon(verb, usual)
    return usual


def require_min_epsilon(verb: str, epsilon: Real) -> None:
    """Raise `RequestError` for an epsilon so small that only noise would be released; nothing is charged.

    >>> require_min_epsilon("train", 0.5)
    """
    require_positive(verb, "epsilon", epsilon)
    if epsilon < MIN_EPSILON:
        raise RequestError(
            f"{verb}: an epsilon below {MIN_EPSILON:g} leaves nothing but noise.", hint="Give more of it."
        )


def release_or_replay(
    curator: Curator,
    verb: str,
    text: str,
    terms: Mapping[str, object],
    guarantee: Guarantee,
    compute: Callable[[Engine, Randomness], T],
    *,
    serialize: Callable[[T], bytes],
    deserialize: Callable[[bytes], T],
    stored_verb: str | None = None,
) -> CachedRelease[T]:
    """Return the release of `compute`; the same terms, analyst, policy and data replay it for free.

    `stored_verb` is the verb in the key of stored releases, for a verb that had another name before.
    """
    key = _compute_key(curator, stored_verb or verb, terms)
    try:
        found = curator.release_or_replay(key, text, guarantee, compute, serialize)
    except BudgetError as refusal:
        raise BudgetError(refusal.message.replace("reserve:", f"{verb}:", 1), hint=refusal.hint) from None
    if isinstance(found, StoredAnswer):
        return CachedRelease(release=deserialize(found.answer), entry=found.entry.number, repeated=True)
    released, entry = found
    return CachedRelease(release=released, entry=entry.number, repeated=False)


def _compute_key(curator: Curator, verb: str, terms: Mapping[str, object]) -> str:
    told = {name: str(Fraction(str(value))) if is_real(value) else value for name, value in terms.items()}
    meaning = [verb, told, compute_policy_version(curator.policy), str(curator.policy.data_version)]
    return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()


def table_to_bytes(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def table_from_bytes(content: bytes) -> pa.Table:
    try:
        return pq.read_table(io.BytesIO(content))
    except (pa.ArrowException, ValueError, OSError):
        raise build_damaged_ledger_error() from None
