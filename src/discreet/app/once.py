"""Cache of releases other than SQL answers: charged before data is read, stored, replayed for free."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from discreet.accounting.entries import StoredAnswer
from discreet.app.curator import Curator
from discreet.app.policies import policy_version
from discreet.core.engine import Engine
from discreet.core.errors import BudgetError, RequestError
from discreet.core.guarantees import Guarantee
from discreet.core.number_checks import Real, is_real, require_positive
from discreet.core.randomness import Randomness

T = TypeVar("T")

LEAST_EPSILON = 1e-6
"""A smaller epsilon is refused: its noise, a million times what one person changes, leaves no information.

It also keeps every share of epsilon, and the noise that follows from it, among the numbers that models,
marginals and files can hold; otherwise a request could be charged and then fail.
"""


@dataclass(frozen=True, kw_only=True)
class Once(Generic[T]):
    """A release and the number of its ledger entry; `repeated` if it was charged earlier."""

    released: T
    entry: int
    repeated: bool


def cost_of(curator: Curator, epsilon: Real | None, verb: str) -> Real:
    """Return the epsilon to spend: the one given, or the policy's default."""
    usual = curator.policy.epsilon if epsilon is None else epsilon
    if usual is None:
        raise RequestError(
            f"{verb}: no epsilon is given.",
            hint="Give --epsilon 0.5, or set epsilon in the policy.",
        )
    require_least_epsilon(verb, usual)
    return usual


def require_least_epsilon(verb: str, epsilon: Real) -> None:
    """Raise `RequestError` for an epsilon so small that only noise would be released; nothing is charged.

    >>> require_least_epsilon("mine", 0.5)
    """
    require_positive(verb, "epsilon", epsilon)
    if epsilon < LEAST_EPSILON:
        raise RequestError(
            f"{verb}: an epsilon below {LEAST_EPSILON:g} leaves nothing but noise.", hint="Give more of it."
        )


def once(
    curator: Curator,
    verb: str,
    text: str,
    terms: Mapping[str, object],
    guarantee: Guarantee,
    work: Callable[[Engine, Randomness], T],
    *,
    packed: Callable[[T], bytes],
    unpacked: Callable[[bytes], T],
) -> Once[T]:
    """Return the release of `compute`; the same terms, analyst, policy and data replay it for free."""
    key = _key(curator, verb, terms)
    try:
        found = curator.once(key, text, guarantee, work, packed)
    except BudgetError as refusal:
        raise BudgetError(refusal.message.replace("reserve:", f"{verb}:", 1), hint=refusal.hint) from None
    if isinstance(found, StoredAnswer):
        return Once(released=unpacked(found.answer), entry=found.entry.number, repeated=True)
    released, entry = found
    return Once(released=released, entry=entry.number, repeated=False)


def _key(curator: Curator, verb: str, terms: Mapping[str, object]) -> str:
    told = {name: str(Fraction(str(value))) if is_real(value) else value for name, value in terms.items()}
    meaning = [verb, told, policy_version(curator.policy), str(curator.policy.data_version)]
    return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()
