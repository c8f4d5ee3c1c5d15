"""Things that answer SQL without a promise, and the made-up people that attacks on answers are tried on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.attacks.query_attacks import Refusal, Victim
from discreet.core.exact_values import Exact
from discreet.core.randomness import Randomness
from discreet.mechanisms.discrete_laplace import DiscreteLaplace

PEOPLE = 120
CLAIM = "ill = 'yes'"
TABLE = "people"


def ill(person: int) -> bool:
    """Half of the people, in no order that a condition could use."""
    return bool(np.random.default_rng(5).permutation(PEOPLE)[person] % 2)


def rows(changed: Mapping[int, bool] | None = None) -> pa.Table:
    """Everybody; `changed` says of some whether they are ill."""
    order = np.random.default_rng(5).permutation(PEOPLE)
    known = {person: bool(place % 2) for person, place in enumerate(order)} | dict(changed or {})
    return pa.table(
        {
            "id": range(PEOPLE),
            "age": [20 + person % 60 for person in range(PEOPLE)],
            "ill": ["yes" if known[person] else "no" for person in range(PEOPLE)],
        }
    )


VICTIMS = tuple(
    Victim(name=f"person {place}", where=f"id = {place}", truth=ill(place)) for place in range(PEOPLE)
)

POLICY = """
promise: {prior: 50%, posterior: 70%}
ledger: ":memory:"
store: ":memory:"
tables:
  people:
    source: people.parquet
    person: row
    columns:
      id: {type: integer, low: 0, high: 1000}
      age: {type: integer, low: 18, high: 90}
      ill: {type: category, values: ['yes', 'no']}
"""


def write_policy(folder: Path, changed: Mapping[int, bool] | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    pq.write_table(rows(changed), folder / "people.parquet")
    path = folder / "privacy.yaml"
    path.write_text(POLICY)
    return path


@cache
def _database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("arriving", rows())
    connection.execute(f"CREATE TABLE {TABLE} AS FROM arriving")
    return connection


@dataclass(frozen=True)
class Exactly:
    """Answers everything as it is."""

    def ask(self, sql: str) -> pa.Table | Refusal:
        return _database().sql(sql).to_arrow_table()


@dataclass(frozen=True)
class LeastCount:
    """Refuses counts of fewer than `least` people, and of all but fewer than `least`."""

    least: int = 10

    def ask(self, sql: str) -> pa.Table | Refusal:
        answer = Exactly().ask(sql)
        assert isinstance(answer, pa.Table)
        within = self.least <= answer.column(0)[0].as_py() <= PEOPLE - self.least
        return answer if within else Refusal(message="too few")


@dataclass(frozen=True)
class FreshNoise:
    """Adds noise to every count anew, and never stops."""

    noise: DiscreteLaplace
    random: Randomness

    def ask(self, sql: str) -> pa.Table | Refusal:
        answer = Exactly().ask(sql)
        assert isinstance(answer, pa.Table)
        truth = Exact(int(answer.column(0)[0].as_py()))
        return pa.table({"n": [self.noise.release(truth, self.random).value]})
