"""One person's rows cannot cause so much work that time, memory or a fault tells whether they are there.

The attack: 400 people of at most 46 rows, `secret: presence`. Three subqueries that keep nobody but the
target, joined by person, make 46 x 46 x 46 rows of one person, on which costly text functions are computed:
0.8 s without the person, 9 to 17 s with, where the answer had to leave after 2 s.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.app.curator import Curator
from discreet.app.policies import load, promise_of
from discreet.app.work_limits import MEMORY, WorkLimits
from discreet.core.errors import RequestError
from discreet.core.policy import LONGEST_TEXT, Policy
from discreet.engines.duckdb import DuckDB
from discreet.engines.store import prepare
from discreet.sql.plan import plan

ROWS = 46
POLICY = """
promise: {prior: 1%, posterior: 5%, secret: presence}
epsilon: 0.001
tables:
  visits:
    source: visits.parquet
    person: patient
    rows_per_person: 46
    columns:
      patient: {type: integer, role: identifier}
      age: {type: integer, low: 0, high: 120}
      zip: {type: integer, low: 0, high: 99999}
      cost: {type: integer, low: 0, high: 100000}
      note: {type: text}
"""
TARGET = "SELECT patient, cost, note FROM visits WHERE age = 33 AND zip = 99999"


def nested(text: str, times: int) -> str:
    for _ in range(times):
        text = f"UPPER(LOWER({text}))"
    return text


def attack(times: int = 10, tables: str = "abc") -> str:
    """Every pair of rows of the target, with text functions over the product of their numbers."""
    product = " * ".join(f"{each}.cost" for each in tables)
    first, *others = tables
    joins = "".join(f" JOIN ({TARGET}) AS {each} ON {first}.patient = {each}.patient" for each in others)
    text = nested(f"CAST({product} AS VARCHAR)", times)
    return f"SELECT COUNT(*) AS n FROM ({TARGET}) AS {first}{joins} WHERE LENGTH({text}) > 3"


def write_clinic(folder: Path, *, present: bool, people: int = 400) -> Path:
    """A clinic with or without the target, whose rows are as many and as long as they can be."""
    folder.mkdir(exist_ok=True)
    every = [
        (person, 20 + person % 60, 10_000 + person, 7, "a") for person in range(people) for _ in range(3)
    ]
    target = [(people, 33, 99_999, 99_000 + row, "é" * 2_000) for row in range(ROWS)]
    rows = every + (target if present else [])
    names = ("patient", "age", "zip", "cost", "note")
    pq.write_table(
        pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)}),
        folder / "visits.parquet",
    )
    path = folder / "privacy.yaml"
    path.write_text(POLICY)
    return path


@pytest.mark.parametrize("present", [False, True])
def test_work_that_one_person_causes_is_refused_before_it_is_charged(tmp_path: Path, present: bool) -> None:
    with Curator.open(write_clinic(tmp_path, present=present)) as curator:
        with pytest.raises(RequestError) as refusal:
            curator.ask(attack())
        assert curator.ledger.entries() == []
    assert "rows could take" in refusal.value.message
    assert "rows_per_person" in refusal.value.hint


def limits(folder: Path, **more: object) -> tuple[WorkLimits, Policy]:
    policy = load(write_clinic(folder, present=False)).model_copy(update=more)
    table = policy.tables["visits"].model_copy(update={"most_rows": 20_000})
    policy = policy.model_copy(update={"tables": {"visits": table}})
    return WorkLimits(policy=policy), policy


ACCEPTED = [
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT age, AVG(cost) AS c FROM visits WHERE UPPER(note) LIKE '%FLU%' GROUP BY age",
    "SELECT MEDIAN(a.cost) AS m FROM visits AS a JOIN visits AS b ON a.patient = b.patient",
    attack(1, "ab"),
]


@pytest.mark.parametrize("engine", ["duckdb", "postgresql://reader@host/clinic", "spark:local"])
@pytest.mark.parametrize("text", ACCEPTED, ids=range(len(ACCEPTED)))
def test_honest_questions_are_answered_and_one_person_is_a_small_part_of_them(
    tmp_path: Path, text: str, engine: str
) -> None:
    limit, policy = limits(tmp_path, engine=engine, store="prepared")
    made = plan(text, policy, promise_of(policy), epsilon=1)
    limit.require(made)
    seconds, memory = limit.one_person(made)
    assert 0 < seconds <= 0.05 * limit.fixed_time(made)
    assert memory <= 0.05 * MEMORY


REFUSED = {
    "rows inside of a join that a total hides": (
        "SELECT COUNT(*) AS n FROM (SELECT a.patient, COUNT(*) AS c FROM visits AS a "
        "JOIN visits AS b ON a.patient = b.patient JOIN visits AS c ON a.patient = c.patient "
        f"WHERE LENGTH({nested('a.note', 9)}) > 1 GROUP BY a.patient) AS t WHERE c > 1"
    ),
    "a column that subqueries use again and again": (
        "SELECT COUNT(*) AS n FROM "
        + "(SELECT patient, UPPER(SUBSTR(note, LENGTH(note))) AS note FROM " * 14
        + "visits"
        + ") AS t" * 14
        + " JOIN visits AS v ON t.patient = v.patient WHERE t.note = 'X'"
    ),
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_work_is_counted_wherever_it_hides(tmp_path: Path, text: str) -> None:
    limit, policy = limits(tmp_path)
    with pytest.raises(RequestError, match="rows_per_person|fewer times"):
        limit.require(plan(text, policy, promise_of(policy), epsilon=1))


def test_a_question_that_doubles_with_each_subquery_is_refused_at_once(tmp_path: Path) -> None:
    """Forty levels would be 2**40 terms to whoever writes them out, an engine or the planner itself."""
    _, policy = limits(tmp_path)
    steps = [f"t{step} AS (SELECT cost + cost AS cost FROM t{step - 1})" for step in range(1, 41)]
    doubling = f"WITH t0 AS (SELECT cost FROM visits), {', '.join(steps)}"
    for text in (
        "SELECT COUNT(*) AS n FROM t40 WHERE cost > 5",
        "SELECT cost, COUNT(*) AS n FROM t40 GROUP BY cost",
    ):
        with pytest.raises(RequestError, match="once its subqueries are written out"):
            plan(f"{doubling} {text}", policy, promise_of(policy), epsilon=1)


def test_memory_that_one_person_takes_is_bounded(tmp_path: Path) -> None:
    limit, policy = limits(tmp_path)
    table = policy.tables["visits"].model_copy(update={"rows_per_person": 10_000})
    policy = policy.model_copy(update={"tables": {"visits": table}})
    text = "SELECT COUNT(*) AS n FROM (SELECT patient, MIN(note) AS m FROM visits GROUP BY patient) AS t WHERE m < 'b'"
    with pytest.raises(RequestError, match="MiB of memory"):
        WorkLimits(policy=policy, slack=1e6).require(plan(text, policy, promise_of(policy), epsilon=1))


def test_slack_is_a_way_out_and_the_same_holds_without_a_server(tmp_path: Path) -> None:
    limit, policy = limits(tmp_path)
    made = plan(
        "SELECT COUNT(*) AS n FROM visits WHERE " + " AND ".join(["UPPER(note) > 'A'"] * 12),
        policy,
        promise_of(policy),
        epsilon=1,
    )
    with pytest.raises(RequestError, match="--slack"):
        limit.require(made)
    WorkLimits(policy=policy, slack=64).require(made)


def test_patterns_that_an_engine_may_match_in_many_ways_count_all_of_them(tmp_path: Path) -> None:
    spark, policy = limits(tmp_path, engine="spark:local", store="prepared")
    made = plan(
        "SELECT COUNT(*) AS n FROM visits WHERE note LIKE '%a%a%a%a%b'", policy, promise_of(policy), epsilon=1
    )
    with pytest.raises(RequestError, match="one person"):
        spark.require(made)
    limits(tmp_path)[0].require(made)


def test_what_a_store_keeps_of_a_person_is_bounded(tmp_path: Path) -> None:
    """Text by characters, rows by rank: more of either takes a statement no longer."""
    rows = [(0, 33, 1, 1, "é" * 5_000)] * 3_000 + [(1, 40, 2, 2, "b")]
    names = ("patient", "age", "zip", "cost", "note")
    path = write_clinic(tmp_path, present=False)
    pq.write_table(
        pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)}),
        tmp_path / "visits.parquet",
    )
    with DuckDB.open(prepare(load(path), None)) as engine:
        text = "SELECT max(length(note)) AS longest, max(_discreet_rank) AS last FROM visits"
        found = engine.count(text).secret.to_pylist()
    assert found == [{"longest": LONGEST_TEXT, "last": 1_000}]
