"""Stored releases other than SQL answers: tables of counts, models, synthetic tables.

They are charged before data is read, stored in the ledger, and replayed for free (`answer_cache`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from discreet.accounting.entries import StoredAnswer
from discreet.core.engine import Engine
from discreet.core.errors import RequestError
from discreet.core.guarantees import Guarantee
from discreet.core.number_checks import Real, require_positive
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.services.budget_units import GuaranteeAt, build_budget_refusal
from discreet.services.policy_version import compute_policy_version
from discreet.services.request_fields import MIN_EPSILON

if TYPE_CHECKING:
    from discreet.services.curator import Curator

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class StoredRelease(Generic[T]):
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
            f"{verb}: an epsilon below {MIN_EPSILON:g} leaves nothing but noise.", hint="Give a larger one."
        )


def compute_release_key(
    curator: Curator, verb: str, terms: Mapping[str, object], policy: Policy | None = None
) -> str:
    """Return the key of a release, under the curator's policy or the part of it that is given."""
    cache = curator.answer_cache
    if policy is not None:
        cache = replace(cache, policy_version=compute_policy_version(policy))
    return cache.compute_release_key(verb, terms)


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
    guarantee_at: GuaranteeAt | None = None,
    stored_verb: str | None = None,
    policy: Policy | None = None,
    identities: Collection[str] = (),
) -> StoredRelease[T]:
    """Return the release of `compute`; the same terms, analyst, policy and data replay it for free.

    `guarantee_at` returns the guarantee at another epsilon, for the hint of a refusal. `stored_verb` is the
    verb in the key of stored releases, for a verb that had another name before. `policy` is the part of the
    curator's that the release depends on, where it is not all of it. `identities` are the measurements that
    it releases.
    """
    key = compute_release_key(curator, stored_verb or verb, terms, policy)
    try:
        found = curator.release_or_replay(key, text, guarantee, compute, serialize, identities=identities)
    except RequestError as refusal:
        raise build_budget_refusal(
            curator.ledger, curator.analyst, verb, refusal, guarantee, guarantee_at
        ) from None
    if isinstance(found, StoredAnswer):
        return StoredRelease(release=deserialize(found.answer), entry=found.entry.number, repeated=True)
    released, entry = found
    return StoredRelease(release=released, entry=entry.number, repeated=False)
