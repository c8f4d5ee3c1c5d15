"""Each attack on something that it must succeed against, and on something that must stop it.

Those that ask: of a curator, of somebody without noise, or of a mechanism.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from discreet import Curator
from discreet.attacks.averaging import Averaging
from discreet.attacks.differencing import Differencing, Tracker
from discreet.attacks.findings import Findings
from discreet.attacks.floating_point import FloatingPoint
from discreet.attacks.informed_adversary import InformedAdversary
from discreet.attacks.neighbor_pairs import make_sampler
from discreet.attacks.query_attacks import Answerer
from discreet.attacks.reconstruction import Reconstruction
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.laplace import Laplace
from discreet.services.attack.answers_evaluation import CuratorAnswerer
from tests.attacks.answerers import (
    CLAIM,
    PEOPLE,
    TABLE,
    VICTIMS,
    Exactly,
    FreshNoise,
    LeastCount,
    ill,
    write_policy,
)
from tests.attacks.case import Case
from tests.conftest import seeded

EPSILON = Fraction(1, 10)
NOISE = DiscreteLaplace(epsilon=EPSILON, sensitivity=1)
LESS_NOISE = DiscreteLaplace(epsilon=Fraction(1), sensitivity=1)


def under_a_promise(attack: Callable[[Answerer], Findings]) -> Callable[[Path], Findings]:
    """The attack on a curator that promises 50% → 70%."""

    def run(folder: Path) -> Findings:
        with Curator.open(write_policy(folder), random=seeded(3)) as curator:
            return attack(CuratorAnswerer(curator=curator, epsilon=EPSILON))

    return run


def difference(answerer: Answerer, noise: DiscreteLaplace | None) -> Findings:
    return Differencing(table=TABLE, claim=CLAIM, noise=noise).run(answerer, VICTIMS)


def track(answerer: Answerer, noise: DiscreteLaplace | None) -> Findings:
    trackers = ("age < 21", "age < 50")
    return Tracker(table=TABLE, claim=CLAIM, trackers=trackers, noise=noise).run(answerer, VICTIMS)


def average(answerer: Answerer, noise: DiscreteLaplace) -> Findings:
    attack = Averaging(table=TABLE, claim=CLAIM, noise=noise, repeats=30, same="age >= -{i}")
    return attack.run(answerer, VICTIMS[:40])


def reconstruct(answerer: Answerer) -> Findings:
    truth = [ill(person) for person in range(PEOPLE)]
    attack = Reconstruction(table=TABLE, claim=CLAIM, key="id", per_person=8)
    return attack.run(answerer, range(PEOPLE), truth, seeded(9))


def inform(epsilon: float) -> Findings:
    """A sum in which one person has one of ten values, each of them equally often."""
    noise = DiscreteLaplace(epsilon=Fraction(epsilon), sensitivity=9)
    worlds: dict[object, float] = {value: float(value) for value in range(10)}
    truths = [value for value in range(10) for _ in range(200)]
    outputs = [float(each) for value in range(10) for each in make_sampler(noise, value, seeded(value))(200)]  # type: ignore[arg-type]
    return InformedAdversary(worlds=worlds, mechanism=Whole(noise)).run(outputs, truths)


@dataclass(frozen=True)
class Whole:
    """An integer mechanism whose outputs are kept as floats."""

    noise: DiscreteLaplace | DiscreteGaussian

    def likelihood(self, output: float, truth: float) -> float:
        return self.noise.likelihood(int(output), int(truth))


def float_laplace(value: int, runs: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """What many libraries do: a double plus a double, here at epsilon 1."""
    return value + np.random.default_rng(value).laplace(0, 1, runs)


def grid_laplace(value: int, runs: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    noise = Laplace(epsilon=Fraction(1), sensitivity=Fraction(1), resolution=Fraction(1, 1000))
    return np.asarray(make_sampler(noise, Fraction(value), seeded(value))(runs), np.float64)


QUERIES = (
    Case(
        attack=Differencing,
        unprotected=lambda _: difference(Exactly(), None),
        protected=under_a_promise(lambda answerer: difference(answerer, NOISE)),
    ),
    Case(
        attack=Averaging,
        unprotected=lambda _: average(FreshNoise(LESS_NOISE, seeded(4)), LESS_NOISE),
        protected=under_a_promise(lambda answerer: average(answerer, NOISE)),
    ),
    Case(
        attack=Tracker,
        unprotected=lambda _: track(LeastCount(), None),
        protected=under_a_promise(lambda answerer: track(answerer, NOISE)),
    ),
    Case(
        attack=Reconstruction,
        unprotected=lambda _: reconstruct(FreshNoise(LESS_NOISE, seeded(6))),
        protected=under_a_promise(reconstruct),
    ),
    Case(
        attack=InformedAdversary,
        unprotected=lambda _: inform(20),
        protected=lambda _: inform(0.05),
    ),
    Case(
        attack=FloatingPoint,
        unprotected=lambda _: FloatingPoint().run(float_laplace),
        protected=lambda _: FloatingPoint().run(grid_laplace),
    ),
)
