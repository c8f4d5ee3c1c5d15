"""Audit a mechanism: run it on two neighbours, and see how well outputs tell them apart.

A sound one keeps what it claims. Its twin has half of the noise that it should have, and is caught.

    python examples/audit_a_mechanism.py
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet import audit

CONFIDENCE = 1 - 1e-9  # so that a sound mechanism is not accused by chance


def noisy_count(count: int, epsilon: float) -> Callable[[int], NDArray[np.int64]]:
    """A count with two-sided geometric noise, as a function of how many outputs are wanted."""
    dice, stop = np.random.default_rng(), 1 - np.exp(-epsilon)
    return lambda runs: count + dice.geometric(stop, runs) - dice.geometric(stop, runs)


def main() -> None:
    ours = audit("discrete-laplace", epsilon=1, runs=40_000, confidence=CONFIDENCE)
    print(f"a mechanism of discreet: epsilon is at least {ours.epsilon_audit.lower_bound:.3f}")
    print(f"  {ours.verdict}\n")

    half = noisy_count(100, epsilon=2), noisy_count(101, epsilon=2)  # half of the noise, sold as epsilon 1
    broken = audit(half, epsilon=1, runs=40_000, confidence=CONFIDENCE)
    print(f"your own, with half of the noise: epsilon is at least {broken.epsilon_audit.lower_bound:.3f}")
    print(f"  {broken.verdict}")


if __name__ == "__main__":
    main()
