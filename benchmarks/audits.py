"""Attacks on answers, audits, and the uniqueness of column sets: what they show, and in what time.

Reconstruction: 1,000 people, 8,000 counts of random halves, each off by at most the noise, by box least
squares. Audits: what it takes to decide, with the outputs drawn. Column sets: all of up to 4 of 13 columns of
UCI Adult, counted by the engine.
"""

from __future__ import annotations

import math
import os
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.peers import uci_adult
from discreet.anonymity.risk.quasi_identifier_discovery import discover_quasi_identifiers, make_engine_counter
from discreet.attacks.neighbor_pairs import make_sampler
from discreet.attacks.privacy_audit import Sampler, audit_epsilon
from discreet.attacks.reconstruction import decode_bits, draw_random_sets
from discreet.core.randomness import Randomness
from discreet.engines.duckdb_publisher import DuckDBPublisher
from discreet.mechanisms.discrete_laplace import DiscreteLaplace

ADULT = Path(os.environ.get("DISCREET_ADULT", Path(__file__).parents[2] / "shared" / "data" / "adult_uci"))
PEOPLE, PER_PERSON = 1_000, 8
MOST = 4
Row = tuple[str, str, str]


def rows() -> list[Row]:
    """The figures."""
    noises = ((0.25, "100%"), (0.5, "99.3%"), (1.0, "88%"))
    return [*(_reconstruction(*each) for each in noises), _geometric(), _floats(), _column_sets()]


def _reconstruction(noise: float, bar: str) -> Row:
    draw, sets = np.random.default_rng(2003), draw_random_sets(PER_PERSON * PEOPLE, PEOPLE, Randomness())
    truth, most = draw.random(PEOPLE) < 0.5, noise * math.sqrt(PEOPLE)
    answers = sets.astype(np.float64) @ truth + draw.uniform(-most, most, len(sets))
    start = time.perf_counter()
    right = float((decode_bits(sets, answers) == truth).mean())
    spent = time.perf_counter() - start
    return (
        f"reconstruction, {PEOPLE:,} people, noise {noise:g}√n",
        f"{right:.1%} of bits in {spent:.2f} s",
        f"{bar}, in under a second",
    )


def _drawn(draw: Sampler, runs: int) -> Sampler:
    outputs = draw(runs)
    return lambda _: outputs


def _geometric() -> Row:
    runs, noise = 20_000, DiscreteLaplace(epsilon=Fraction(1), sensitivity=1)
    here, there = (_drawn(make_sampler(noise, value, Randomness()), runs) for value in (0, 1))
    start = time.perf_counter()
    found = audit_epsilon(here, there, claimed=1, runs=runs)
    spent = (time.perf_counter() - start) * 1e3
    return (
        "audit of the geometric mechanism, ε = 1",
        f"ε ≥ {found.lower_bound:.2f} from {runs:,} runs a side, {spent:.0f} ms to decide",
        "ε ≥ 0.9 from 10,000 runs a side that count, in milliseconds",
    )


def _floats() -> Row:
    runs = 100_000
    here, there = (
        _drawn(lambda many, value=value: value + np.random.default_rng(value).laplace(0, 1, many), runs)  # type: ignore[misc]
        for value in (0, 1)
    )
    found = audit_epsilon(here, there, claimed=1, runs=runs)
    return (
        "audit of NumPy's Laplace, ε = 1 claimed",
        f"ε ≥ {found.lower_bound:.2f} from {runs:,} runs, half of which choose the event",
        "7.25 from 100,000 samples by an event that is named",
    )


def _column_sets() -> Row:
    if not ADULT.is_dir():
        return ("uniqueness of 1,092 column sets of Adult", f"not measured: no data at {ADULT}", "9 s")
    columns, _ = uci_adult.rows(str(ADULT), "adult.data")
    names = [name for name in uci_adult.COLUMNS if name != "fnlwgt"]
    table = pa.table({name: columns[name] for name in names})
    with DuckDBPublisher({}, {"adult": table}) as engine:
        start = time.perf_counter()
        found = discover_quasi_identifiers(names, make_engine_counter(engine, "adult"), most=MOST)
        spent = time.perf_counter() - start
    best = found[0]
    return (
        f"uniqueness of {len(found):,} column sets of Adult",
        f"{spent:.1f} s; {', '.join(best.columns)} tell {best.distinction:.1%} of rows apart",
        "9 s",
    )
