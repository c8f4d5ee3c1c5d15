"""Audit a mechanism: run it on two neighbours, and see how well outputs tell them apart.

A sound one keeps what it claims. Its twin has half of the noise that it should have, and is caught.

    python examples/audit_a_mechanism.py
"""

from __future__ import annotations

from discreet.attacks.neighbor_pairs import build_pair
from discreet.attacks.privacy_audit import audit_epsilon
from discreet.core.randomness import Randomness

CONFIDENCE = 1 - 1e-9  # so that a sound mechanism is not accused by chance


def main() -> None:
    random = Randomness()
    sound = build_pair("discrete-laplace", epsilon=1)
    broken = build_pair("discrete-laplace", epsilon=2)  # noise of half the scale, sold as epsilon 1
    for said, tried in {"as it should be": sound, "half of the noise": broken}.items():
        here, there = tried.make_samplers(random)
        found = audit_epsilon(here, there, claimed=1, runs=40_000, confidence=CONFIDENCE)
        print(f"{said}: epsilon is at least {found.lower_bound:.3f}")
        print(f"  {found.verdict}\n")


if __name__ == "__main__":
    main()
