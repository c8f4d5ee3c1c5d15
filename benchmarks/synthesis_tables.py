"""Synthetic tables of other data than Adult, beside what needs no choice of what is measured.

Road deaths (FARS) and a questionnaire (MACH), with the codes of the ARX benchmarks as categories, and age and
size of family in bins. Beside each figure stand two that any synthesis is to be judged by: the variation of
as many rows drawn anew from the table itself, and that of Gaussian noise on all pairs, or all triples, within
the same budget (negative counts taken as 0), which gives no table at all.
"""

from __future__ import annotations

import os
import tempfile
import time
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.mechanisms.sampling import Integers
from discreet.mining.bin_counters import EngineCounter
from discreet.mining.synthesis import SynthesisPlan, plan_synthesis, synthesize
from discreet.mining.synthesis.marginal_comparison import compare_marginals
from discreet.mining.tabulation.noise_budget import NoiseBudget, compute_deviation

FOLDER = Path(os.environ.get("DISCREET_DATA", Path(__file__).parents[2] / "shared" / "data"))
TABLES = {"FARS": "fars/fars_int.csv", "MACH": "mach2019/mach2019_int.csv"}
NUMBERS = ("iage", "age", "familysize")
BUDGET = NoiseBudget.from_epsilon(epsilon=1, delta=1e-9).guarantee
QUALITIES: tuple[Literal["lean", "best"], ...] = ("lean", "best")


def rows() -> list[tuple[str, str, str]]:
    """The figures of every table that is there."""
    found = []
    for name, place in TABLES.items():
        if (FOLDER / place).exists():
            with tempfile.TemporaryDirectory() as folder:
                found += _of_table(name, FOLDER / place, Path(folder) / "people.parquet")
    return found


def _of_table(name: str, place: Path, copy: Path) -> list[tuple[str, str, str]]:
    table = csv.read_csv(place, parse_options=csv.ParseOptions(delimiter=";"))
    pq.write_table(table, copy)
    policy = _policy(table, copy)
    with DuckDB.open(prepare_store(policy, None)) as engine:
        lean = plan_synthesis(policy, "people", BUDGET)
        counter = EngineCounter.from_table(engine, policy, "people", lean.schema)
        columns = [table.column(each.name).to_pylist() for each in lean.schema.attributes]
        again = np.random.default_rng().integers(0, table.num_rows, table.num_rows)
        drawn = compare_marginals(
            lean.schema, counter, lean.schema.encode(columns)[again].astype(np.int64), columns=3
        )
        off = [_noise(counter, lean, size) for size in (2, 3)]
        sampled = _two(drawn.compute_mean(2), drawn.compute_mean(3))
        beside = f"{sampled} sampling; {_two(*off)} noise on all pairs / all triples"
        return [
            _made(name, plan_synthesis(policy, "people", BUDGET, quality=each), policy, engine, beside)
            for each in QUALITIES
        ]


def _made(
    name: str, planned: SynthesisPlan, policy: Policy, engine: DuckDB, beside: str
) -> tuple[str, str, str]:
    start, worked = time.perf_counter(), time.process_time()
    made = synthesize(planned, policy, engine, Randomness())
    passed, worked = time.perf_counter() - start, time.process_time() - worked
    counter = EngineCounter.from_table(engine, policy, "people", planned.schema)
    seen = compare_marginals(planned.schema, counter, made.codes, columns=3)
    return (
        f"{name}, {len(planned.shape)} columns, {planned.quality}: mean total variation of pairs / triples",
        f"{_two(seen.compute_mean(2), seen.compute_mean(3))} in {passed:.1f} s "
        f"({worked:.1f} s of processor time)",
        beside,
    )


def _policy(table: pa.Table, source: Path) -> Policy:
    """Codes as the benchmark's documentation counts them: from 0 to the largest."""

    def column(name: str) -> dict[str, Any]:
        most = max(table.column(name).to_pylist())
        if name in NUMBERS:
            return {"type": "integer", "low": 0, "high": most, "nulls": False}
        return {"type": "category", "values": [str(each) for each in range(most + 1)], "nulls": False}

    columns = {name: column(name) for name in table.column_names}
    return Policy.model_validate({"tables": {"people": {"source": str(source), "columns": columns}}})


def _noise(counter: EngineCounter, planned: SynthesisPlan, size: int) -> float:
    """The mean variation of all marginals of so many columns, each with its part of the budget."""
    sets = list(combinations([each.name for each in planned.schema.attributes], size))
    wide = compute_deviation(planned.budget.take_share(Fraction(1, len(sets))).make_noise())
    generator = np.random.default_rng()
    return float(
        np.mean([_variation(each, wide, generator) for each in counter.count_marginals(sets).secret])
    )


def _variation(counts: Integers, wide: float, generator: np.random.Generator) -> float:
    noisy = np.maximum(counts + generator.normal(0, wide, counts.shape), 0)
    return float(np.abs(counts / counts.sum() - noisy / noisy.sum()).sum() / 2)


def _two(pairs: float, triples: float) -> str:
    return f"{pairs:.4f} / {triples:.4f}"
