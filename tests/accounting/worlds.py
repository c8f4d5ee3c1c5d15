"""Releases small enough to list every output, with its exact probability in both worlds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TypeVar

History = TypeVar("History")

Output = tuple[float, float]
"""Its probability in the world where the claim holds, and in the other."""


@dataclass(frozen=True)
class Response:
    """Randomized response at odds `gamma`, which tells all with probability `delta`."""

    gamma: Fraction
    delta: Fraction = Fraction(0)

    @property
    def outputs(self) -> list[tuple[Fraction, Fraction]]:
        heads, tails = ((1 - self.delta) * x / (1 + self.gamma) for x in (self.gamma, Fraction(1)))
        told = [(self.delta, Fraction(0)), (Fraction(0), self.delta)]
        return [(heads, tails), (tails, heads), *(told if self.delta else [])]

    @property
    def epsilon(self) -> float:
        return math.log(self.gamma)


def exact_delta(releases: Iterable[Response], odds: Fraction) -> Fraction:
    """The least delta at e = ln odds, by listing all outputs of all releases together."""
    return sum(
        (
            max(Fraction(0), math.prod(p for p, _ in each) - odds * math.prod(q for _, q in each))
            for each in product(*(release.outputs for release in releases))
        ),
        Fraction(0),
    )


def transcripts(
    start: History, ask: Callable[[History], list[Output] | None], note: Callable[[History, int], History]
) -> list[Output]:
    """Every transcript of an adversary who chooses each release by all earlier outputs, until None."""
    open_, closed = [(start, 1.0, 1.0)], []
    while open_:
        history, p, q = open_.pop()
        outputs = ask(history)
        if outputs is None:
            closed.append((p, q))
            continue
        open_ += [(note(history, i), p * a, q * b) for i, (a, b) in enumerate(outputs)]
    return closed


def breach_probability(outputs: list[Output], gamma: float) -> float:
    """The largest P(S) of any set of outputs, split if need be, with P(S) >= gamma Q(S)."""
    ranked = sorted(outputs, key=lambda each: -math.inf if each[1] == 0 else -each[0] / each[1])
    mass, spare = 0.0, 0.0
    for p, q in ranked:
        gain = p - gamma * q
        if spare + gain < 0:
            return mass + p * (spare / -gain)
        mass, spare = mass + p, spare + gain
    return mass
