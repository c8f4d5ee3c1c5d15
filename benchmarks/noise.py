"""Exact noise in bulk: ours against OpenDP's samplers and NumPy's floats, in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from statistics import median

import numpy as np
import opendp.prelude as dp

from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import sample_discrete_gaussian, sample_discrete_laplace

MILLION = 1_000_000
PEER = 100_000


def seconds(work: Callable[[], object], repeat: int = 5) -> float:
    """The median of a few runs, after one that warms up."""
    work()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return median(times)


def opendp_noise(kind: str, scale: float) -> Callable[[], object]:
    dp.enable_features("contrib")
    space = (
        dp.vector_domain(dp.atom_domain(T=int)),
        dp.l1_distance(T=int) if kind == "laplace" else dp.l2_distance(T=float),
    )
    make = dp.m.make_laplace if kind == "laplace" else dp.m.make_gaussian
    measurement = make(*space, scale=scale)
    zeros = [0] * PEER
    return lambda: measurement(zeros)


def rows() -> list[tuple[str, str, str]]:
    random, found = Randomness(), []
    for scale in (1, 1_000, 10**6, 10**12):
        ours = seconds(lambda s=scale: sample_discrete_laplace(Fraction(1, s), MILLION, random))  # type: ignore[misc]
        floats = seconds(lambda s=scale: np.random.default_rng().laplace(0, s, MILLION))  # type: ignore[misc]
        found.append(
            (
                f"1,000,000 discrete Laplace values, scale {scale:,}",
                f"{ours:.3f} s ({ours * 1000:.0f} ns a value, {ours / floats:.0f}× NumPy's float Laplace)",
                "under 0.5 s",
            )
        )
    for kind, draw in (
        ("laplace", lambda: sample_discrete_laplace(Fraction(1, 1000), PEER, random)),
        ("gaussian", lambda: sample_discrete_gaussian(Fraction(10**6), PEER, random)),
    ):
        peer = seconds(opendp_noise(kind, 1000.0), repeat=3)
        ours = seconds(draw)
        bar = "at least 10×" if kind == "laplace" else ""
        found.append(
            (f"100,000 discrete {kind.title()} values against OpenDP", f"{peer / ours:.0f}× faster", bar)
        )
    return found
