"""Other synthesizers on the same bins of Adult, judged as ours are.

A peer gets the bins of `synthesis`, so that all differ in nothing but what they measure and how they draw
rows. MST is run with its defaults, until a limit; AIM is run where DISCREET_SLOW is set: it takes the better
part of an hour.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from benchmarks import synthesis
from benchmarks.peers import environments
from benchmarks.peers.environments import DPMM, Progress
from discreet.mining.bin_counters import ArrayCounter
from discreet.mining.synthesis.marginal_comparison import compare_marginals

LIMIT = 900


def rows(progress: Progress) -> list[tuple[str, str, str]]:
    """The figures of every model that came to an end, and why others did not."""
    problem = environments.install((DPMM,), progress)[DPMM]
    models = ("MST", "AIM") if os.environ.get("DISCREET_SLOW") else ("MST",)
    found = []
    for model in models:
        progress(f"{DPMM.name}: {model} …")
        with tempfile.TemporaryDirectory() as folder:
            measured = problem or _made(model, Path(folder))
        found.append(
            (f"{DPMM.name} {DPMM.version}, {model}: mean total variation of pairs / triples", measured, "")
        )
    return found


def _made(model: str, folder: Path) -> str:
    real = synthesis.read("adult.data")
    schema = synthesis.planned(synthesis.policy_of(real, folder / "adult.csv"), "lean").schema
    names = [each.name for each in schema.attributes]
    codes = schema.encode([real.column(name).to_pylist() for name in names])
    csv.write_csv(pa.table({name: codes[:, j] for j, name in enumerate(names)}), folder / "bins.csv")
    sizes = json.dumps({each.name: each.bins for each in schema.attributes})
    words = ("synthesize", str(folder / "bins.csv"), sizes, model, str(folder / "made.csv"))
    told = environments.run(DPMM, *words, seconds=LIMIT)
    if told.problem or not told.found:
        return told.problem or "told nothing"
    drawn = csv.read_csv(folder / "made.csv")
    made = np.stack([drawn.column(name).to_numpy() for name in names], axis=1).astype(np.int64)
    counter = ArrayCounter(schema=schema, codes=codes, targets=np.zeros(len(codes), np.int64))
    seen = compare_marginals(schema, counter, made, columns=3)
    passed, worked = told.found[0]["seconds"], told.found[0]["worked"]
    spent = f"{passed:.0f} s ({worked:.0f} s of processor time)"
    return f"{seen.compute_mean(2):.4f} / {seen.compute_mean(3):.4f} in {spent}"
