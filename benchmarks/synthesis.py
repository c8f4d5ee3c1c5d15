"""Synthetic tables of Adult: how far their marginals are off, what a model learns from them, and the time.

Adult is coarsened to 13 columns by declared bounds alone (fnlwgt and education-num, which repeats education,
are left out): age 17 to 90 in 20 bins, hours 1 to 99 in 12, capital gain 0 to 99,999 and loss 0 to 4,356 in
10 bins each on a log scale, every category as it is, with a bin for what is missing: 1.8e12 combinations.
The 32,561 rows of adult.data are synthesized, with epsilon 1 and delta 1e-9 for added and removed people;
adult.test is what a model that was trained on synthetic rows is tested on.
"""

from __future__ import annotations

import os
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pyarrow import csv
from sklearn.ensemble import HistGradientBoostingClassifier

from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.mechanisms.sampling import Integers
from discreet.mining.bin_counters import EngineCounter
from discreet.mining.synthesis import Synthesis, SynthesisPlan, plan_synthesis, synthesize
from discreet.mining.synthesis.marginal_comparison import compare_marginals, measure_usefulness
from discreet.mining.tabulation.noise_budget import NoiseBudget

FOLDER = Path(os.environ.get("DISCREET_ADULT", Path(__file__).parents[2] / "shared" / "data" / "adult_uci"))
NAMES = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]
LEFT_OUT = ("fnlwgt", "education-num")
BOUNDS = {
    "age": (17, 90),
    "hours-per-week": (1, 99),
    "capital-gain": (0, 99_999),
    "capital-loss": (0, 4_356),
}
BINS = {"age": 20, "hours-per-week": 12, "capital-gain": 10, "capital-loss": 10}
LOGARITHMIC = ("capital-gain", "capital-loss")
RUNS = {"lean": 3, "best": 1}
BARS = {"lean": ("0.042 / 0.090", "", "2 s"), "best": ("0.027 / 0.057", "0.845", "300 s")}


def read(name: str) -> pa.Table:
    """The rows of a UCI file, without its comment line; `?` is missing."""
    text = (FOLDER / name).read_text().replace(", ", ",").replace(".\n", "\n")
    lines = [line for line in text.splitlines() if line and not line.startswith("|")]
    found = csv.read_csv(
        pa.py_buffer("\n".join(lines).encode()),
        read_options=csv.ReadOptions(column_names=NAMES),
        convert_options=csv.ConvertOptions(null_values=["?"], strings_can_be_null=True),
    )
    return found.drop_columns(list(LEFT_OUT))


def policy_of(rows: pa.Table, source: Path) -> Policy:
    """What a custodian would declare: the documented categories, and bounds."""

    def column(name: str) -> dict[str, Any]:
        if name in BOUNDS:
            low, high = BOUNDS[name]
            return {"type": "integer", "low": low, "high": high, "nulls": False}
        values = sorted(rows.column(name).unique().drop_null().to_pylist())
        return {"type": "category", "values": values, "nulls": rows.column(name).null_count > 0}

    columns = {name: column(name) for name in rows.column_names}
    return Policy.model_validate({"tables": {"adult": {"source": str(source), "columns": columns}}})


def rows() -> list[tuple[str, str, str]]:
    """The figures of both qualities, and of what the counting alone takes."""
    with tempfile.TemporaryDirectory() as folder:
        return _measured(read("adult.data"), read("adult.test"), Path(folder) / "adult.csv")


def _measured(real: pa.Table, unseen: pa.Table, source: Path) -> list[tuple[str, str, str]]:
    csv.write_csv(real, source)
    policy = policy_of(real, source)
    with DuckDB.open(prepare_store(policy, None)) as engine:
        found = [_counting(policy, engine)]
        for quality in ("lean", "best"):
            found += _quality(quality, policy, engine, real, unseen)
    return found


def planned(policy: Policy, quality: Literal["lean", "best"]) -> SynthesisPlan:
    """What is measured and promised, from the policy alone."""
    budget = NoiseBudget.from_epsilon(epsilon=1, delta=1e-9).guarantee
    return plan_synthesis(policy, "adult", budget, quality=quality, bins=BINS, logarithmic=LOGARITHMIC)


def _counting(policy: Policy, engine: DuckDB) -> tuple[str, str, str]:
    schema = planned(policy, "lean").schema
    names = [each.name for each in schema.attributes]
    counter = EngineCounter.from_table(engine, policy, "adult", schema)
    sets = [(name,) for name in names] + list(combinations(names, 2))
    start = time.perf_counter()
    counter.count_marginals(sets)
    return f"{len(sets)} marginals of 1 and 2 columns, counted", f"{time.perf_counter() - start:.2f} s", ""


def _quality(
    quality: Literal["lean", "best"], policy: Policy, engine: DuckDB, real: pa.Table, unseen: pa.Table
) -> list[tuple[str, str, str]]:
    terms, variations, seconds, right = planned(policy, quality), [], [], []
    counter = EngineCounter.from_table(engine, policy, "adult", terms.schema)
    for _ in range(RUNS[quality]):
        start, worked = time.perf_counter(), time.process_time()
        made = synthesize(terms, policy, engine, Randomness())
        seconds.append((time.perf_counter() - start, time.process_time() - worked))
        seen = compare_marginals(terms.schema, counter, made.codes, columns=3)
        variations.append((seen.compute_mean(2), seen.compute_mean(3)))
        right.append(_useful(made, real, unseen))
    two, three = np.mean(variations, axis=0)
    passed, worked = np.median(seconds, axis=0)
    off, learned, slow = BARS[quality]
    return [
        (f"{quality}: mean total variation of pairs / triples", f"{two:.4f} / {three:.4f}", off),
        (f"{quality}: gradient boosting on synthetic rows", f"{np.mean(right):.3f}", learned),
        (f"{quality}: time", f"{passed:.1f} s ({worked:.1f} s of processor time)", slow),
    ]


def _useful(made: Synthesis, real: pa.Table, unseen: pa.Table) -> float:
    schema = made.plan.schema

    def codes(table: pa.Table) -> Integers:
        columns = [table.column(each.name).to_pylist() for each in schema.attributes]
        return schema.encode(columns).astype(np.int64)

    def learner(features: Integers, targets: Integers) -> Any:
        return HistGradientBoostingClassifier().fit(features, targets)

    target = [each.name for each in schema.attributes].index("income")
    return measure_usefulness(learner, made.codes, codes(real), codes(unseen), target=target)[0]
