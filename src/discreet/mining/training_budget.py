"""Training budgets: from a promise or epsilon to a guarantee for added and removed people.

Everything that is learned here is proven for them. A promise about presence is spent as it is. A promise
about values is spent at half of its epsilon, since replacing is one removal and one addition; an epsilon with
a delta is what is then left for replaced values, not for added and removed people.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.accounting.profile_inversion import find_largest_rho
from discreet.belief import Promise
from discreet.core.errors import InvalidParameterError, require_parameter
from discreet.core.guarantees import PureDP, ZeroConcentratedDP, convert_guarantee
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import Real, is_real, require_positive

Budget = PureDP | ZeroConcentratedDP


def make_pure_budget(owner: object, epsilon: Real | None, promise: Promise | None) -> PureDP:
    """Return the epsilon for added and removed people, as given or as the promise allows.

    With a promise, `epsilon` is a part of its budget, for its own secret; without, it is the add/remove one.

    >>> make_pure_budget("train", None, Promise(0.01, 0.05)).epsilon
    0.8253...
    """
    if epsilon is None and promise is None:
        raise InvalidParameterError(
            f"{_get_owner_name(owner)}: `epsilon=` or `promise=` must be given.", hint="Give one of them."
        )
    if epsilon is not None:
        require_positive(owner, "epsilon", epsilon)
        halved = promise is not None and promise.secret is Relation.VALUE
        return PureDP(epsilon=Fraction(epsilon) / (2 if halved else 1), relation=Relation.PRESENCE)
    assert promise is not None
    return PureDP(epsilon=promise.epsilon_for(Relation.PRESENCE), relation=Relation.PRESENCE)


def make_noise_budget(owner: object, epsilon: Real | None, delta: Real, promise: Promise | None) -> Budget:
    """Return a concentrated budget if there is a delta or a tail, else a pure one; for noise alone."""
    fits = is_real(delta) and 0 <= delta < 1
    require_parameter(fits, owner, "delta", delta, "a number of at least 0 and below 1")
    if epsilon is None and promise is not None and promise.tail > 0:
        return find_largest_rho(promise.admits, Relation.PRESENCE)
    plain = make_pure_budget(owner, epsilon, promise)
    if delta == 0:
        return plain
    secret = Relation.PRESENCE if promise is None else promise.secret
    cap = convert_guarantee(plain, secret).cap
    return find_largest_rho(
        lambda held: convert_guarantee(held, secret).profile(cap) <= float(delta), Relation.PRESENCE
    )


def require_within_promise(owner: object, budget: Budget, promise: Promise | None) -> None:
    """Refuse a budget beyond the promise; where there is a ledger, the ledger does this."""
    if promise is not None and not promise.admits(convert_guarantee(budget, promise.secret)):
        raise InvalidParameterError(
            f"{_get_owner_name(owner)}: `epsilon=` and `delta=` are more than the promise allows.",
            hint="Leave both out to spend all that it allows, or give a smaller part of it.",
        )


def _get_owner_name(owner: object) -> str:
    return owner if isinstance(owner, str) else type(owner).__name__
