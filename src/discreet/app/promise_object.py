"""A promise as one JSON object."""

from __future__ import annotations

from discreet.belief import Promise


def terms(promise: Promise) -> dict[str, object]:
    """A promise for machines, in its own terms."""
    return {
        "prior": promise.prior,
        "posterior": promise.posterior,
        "secret": promise.secret.value,
        "group": promise.group,
        "tail": promise.tail,
        "gamma": promise.gamma,
        "epsilon": promise.epsilon,
    }
