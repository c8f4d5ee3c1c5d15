"""Models beside other libraries': accuracy on Adult at the same epsilon, and training against counting.

Trained on adult.data and tested on adult.test, the mean of 10 runs. Bounds and categories are those of
adult.names; what else a model chooses follows from epsilon, the declared number of rows and the schema. All
epsilons are for added and removed people but diffprivlib's, which are for replaced ones.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.peers import environments
from benchmarks.peers import uci_adult as adult
from benchmarks.peers.environments import DIFFPRIVLIB_MODELS, INTERPRET, Peer, Progress
from discreet.core.engine import Closeable, Engine
from discreet.core.exact_values import Exact
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.mining.bin_counters import ArrayCounter
from discreet.mining.count_sql import RowSelection, write_set_counts
from discreet.mining.model_training import TrainingPlan, plan_training, train_from_counter, train_model

HEADINGS = ("model", "guarantee", *(f"ε = {epsilon:g}" for epsilon in adult.EPSILONS))
ABOUT = (
    "Accuracy on UCI Adult: trained on adult.data, tested on adult.test, the mean of "
    f"{adult.RUNS} runs. Bounds and categories are those of adult.names. Depth, rounds and bins follow from "
    "ε, the declared number of rows and the schema, by the rules that `mining/growing.py` and "
    f"`mining/boosting.py` state; where there is a δ it is {adult.DELTA:g}. ε is for added and removed "
    "people; diffprivlib's is for replaced ones."
)
BARS = {
    "bar for one tree": (0.82, 0.84, 0.844, 0.847, 0.849),
    "bar for boosted trees": (0.826, 0.85, 0.852, 0.855, 0.858),
}
OURS = (
    ("discreet, one tree", "tree", 0.0),
    ("discreet, forest", "forest", adult.DELTA),
    ("discreet, forest", "forest", 0.0),
    ("discreet, naive Bayes", "bayes", 0.0),
)
PEERS = {DIFFPRIVLIB_MODELS: "pure ε", INTERPRET: "(ε, δ)"}
LIMIT = 500
COPIES = (31, 308)
"""So many times Adult are one and ten million rows."""


def tables(progress: Progress) -> tuple[list[tuple[str, ...]], list[str]]:
    """The rows of the report, and the notes under them."""
    folder = find_adult()
    if folder is None:
        return [], ["There is no Adult data: set DISCREET_ADULT to a folder with adult.data."]
    found = [(name, "", *(f"{bar:.3f}" for bar in bars)) for name, bars in BARS.items()]
    for name, kind, delta in OURS:
        progress(f"{name} …")
        guarantee = "(ε, δ)" if delta else "pure ε"
        found.append((name, guarantee, *_accuracies(folder, kind, delta)))
    problems = environments.install(tuple(PEERS), progress)
    notes = []
    for peer, guarantee in PEERS.items():
        theirs, problem = _theirs(peer, folder, problems[peer], guarantee, progress)
        found += theirs
        notes += [f"{peer.name} {peer.version}: {problem}."] if problem else []
    progress("training against counting …")
    return found, [*notes, *_times(folder)]


def find_adult() -> str | None:
    """Return the folder of UCI Adult, or None where it is missing."""
    place = Path(
        os.environ.get("DISCREET_ADULT", Path(__file__).parents[2] / "shared" / "data" / "adult_uci")
    )
    return str(place) if (place / "adult.data").exists() else None


def policy(folder: str, source: str, *, rows: int = adult.ROWS) -> Policy:
    """Adult as its documentation declares it."""
    columns: dict[str, dict[str, Any]] = {
        name: {"type": "integer", "low": low, "high": high} for name, (low, high) in adult.BOUNDS.items()
    }
    listed = adult.values(folder)
    columns |= {name: {"type": "category", "values": each} for name, each in listed.items()}
    ordered = {name: columns[name] for name in adult.COLUMNS}
    ordered["income"] = {"type": "category", "values": list(adult.CLASSES)}
    return Policy.model_validate({"tables": {"adult": {"source": source, "rows": rows, "columns": ordered}}})


def planned(folder: str, kind: str, epsilon: float, delta: float = 0.0) -> TrainingPlan:
    """What is learned, from the policy alone."""
    terms = policy(folder, "adult.parquet")
    return plan_training(
        kind, terms, "adult", "income", epsilon=epsilon, delta=delta, logarithmic=adult.LOGARITHMIC
    )


def accuracy(made: TrainingPlan, folder: str, random: Randomness | None = None) -> float:
    """The share of adult.test that a model of adult.data predicts rightly."""
    (train_on, truth), (test, expected) = (adult.rows(folder, f"adult.{each}") for each in ("data", "test"))
    schema = made.schema
    here, there = (
        schema.encode([each[column.name] for column in schema.attributes]) for each in (train_on, test)
    )
    counter = ArrayCounter(schema=schema, codes=here, targets=truth.astype(np.int64))
    model = train_from_counter(made.model_plan, counter, random or Randomness())
    return float(np.mean(model.predict(there).argmax(axis=1) == expected))


def _accuracies(folder: str, kind: str, delta: float) -> list[str]:
    return [
        f"{np.mean([accuracy(planned(folder, kind, epsilon, delta), folder) for _ in range(adult.RUNS)]):.3f}"
        for epsilon in adult.EPSILONS
    ]


def _theirs(
    peer: Peer, folder: str, problem: str, guarantee: str, progress: Progress
) -> tuple[list[tuple[str, ...]], str]:
    if problem:
        return [], problem
    progress(f"{peer.name}: {adult.RUNS} runs at each epsilon …")
    told = environments.run(peer, "learn", folder, seconds=LIMIT)
    by_model: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for each in told.found:
        by_model[each["model"]][each["epsilon"]].append(each["accuracy"])
    found = [
        (
            f"{peer.name} {peer.version}, {model}",
            guarantee,
            *(f"{np.mean(known[e]):.3f}" if known[e] else "–" for e in adult.EPSILONS),
        )
        for model, known in by_model.items()
    ]
    return found, told.problem


class _Timed(Closeable):
    """An engine that knows how often it counted, and the processor time that took."""

    def __init__(self, over: Engine) -> None:
        self.over, self.seconds, self.statements = over, 0.0, 0

    def count(self, sql: str) -> Exact[pa.Table]:
        start = time.process_time()
        found = self.over.count(sql)
        self.seconds += time.process_time() - start
        self.statements += 1
        return found

    def close(self) -> None:
        self.over.close()


def _times(folder: str) -> list[str]:
    """Training inside the engine, as a multiple of the counting that it cannot do without."""
    columns, income = adult.rows(folder, "adult.data")
    table = pa.table({**columns, "income": np.array(adult.CLASSES)[income]})
    notes = []
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as place:
        source = Path(place) / "adult.parquet"
        for copies in COPIES:
            with pq.ParquetWriter(source, table.schema) as writer:
                for _ in range(copies):
                    writer.write_table(table)
            notes += _trained(policy(folder, str(source), rows=copies * adult.ROWS))
    return notes


def _trained(terms: Policy) -> list[str]:
    store, notes = prepare_store(terms, None), []
    for kind, delta in (("tree", 0.0), ("forest", adult.DELTA), ("bayes", 0.0)):
        made = plan_training(
            kind, terms, "adult", "income", epsilon=1, delta=delta, logarithmic=adult.LOGARITHMIC
        )
        with _Timed(DuckDB.open(store)) as over:
            start, worked = time.perf_counter(), time.process_time()
            train_model(made, over, Randomness())
            spent, worked = time.perf_counter() - start, time.process_time() - worked
            asked = over.statements
            counting = asked * _counting(over, made)
        notes.append(
            f"{kind}, {terms.tables['adult'].rows:,} rows in DuckDB: {spent:.1f} s for {asked} statements; "
            f"{worked / counting:.1f}× the processor time of counting every column's bins by "
            f"class as often (bar 5×)."
        )
    return notes


def _counting(over: _Timed, made: TrainingPlan) -> float:
    """The processor time of one plain GROUP BY for each column, by bin and class."""
    before = over.seconds
    target = made.schema.target
    assert target is not None
    for each in made.schema.attributes:
        over.count(
            write_set_counts(
                RowSelection(table="adult", attributes=(each, target), max_rows_per_person=None), [(0, 1)]
            )
        )
    return over.seconds - before
