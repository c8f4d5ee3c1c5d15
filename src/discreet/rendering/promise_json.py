"""A promise as one JSON object."""

from __future__ import annotations

from discreet.belief import Promise


def promise_to_json(promise: Promise) -> dict[str, object]:
    """Return the parameters of a promise as a JSON object."""
    return {
        "prior": promise.prior,
        "posterior": promise.posterior,
        "secret": promise.secret.value,
        "group": promise.group,
        "tail": promise.tail,
        "gamma": promise.gamma,
        "epsilon": promise.epsilon,
    }
