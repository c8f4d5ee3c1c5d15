"""Frames of Spark stay in Spark, and are read by what is declared, as other frames are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet import Curator
from discreet.services import session_ledger
from discreet.services.spark_frames import VIEWS
from tests.engines.servers import SparkServer

pytestmark = pytest.mark.xdist_group("spark")

CODES = "SELECT code, COUNT(*) AS n FROM df GROUP BY code"


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    session_ledger.make_session_ledger.cache_clear()
    yield
    session_ledger.make_session_ledger.cache_clear()


def make_frame(spark: SparkServer, sql: str) -> Any:
    from pyspark.sql import SparkSession

    return SparkSession.builder.getOrCreate().sql(sql)


def test_a_frame_of_spark_is_asked_where_it_is(spark: SparkServer) -> None:
    frame = make_frame(spark, "SELECT CAST(id % 2 + 1 AS DOUBLE) AS code, id AS age FROM range(1000)")
    arguments: dict[str, Any] = {"columns": {"code": [1, 2], "age": (0, 1000)}, "epsilon": 0.5}
    answer = discreet.ask(frame, CODES, **arguments)
    assert answer.to_arrow().column("code").to_pylist() == ["1", "2"]
    assert all(abs(n - 500) < 100 for n in answer.to_arrow().column("n").to_pylist())
    assert "in this session" in answer.sentence
    assert discreet.ask(frame, CODES, **arguments).repeated
    with Curator(
        {"promise": ("1%", "5%"), "tables": {"df": {"columns": arguments["columns"]}}}, tables={"df": frame}
    ) as curator:
        assert curator.policy.engine == "spark:local"
    release = discreet.anonymize(frame, quasi=["code"], columns={"code": [1, 2]}, k=5)
    assert release.to_arrow().num_rows == 1000
    known = len(VIEWS)
    del frame, release, curator
    assert len(VIEWS) < known


def test_types_that_no_policy_declares_and_mixed_frames_are_refused(spark: SparkServer) -> None:
    nested = make_frame(spark, "SELECT array(1) AS a")
    with pytest.raises(discreet.RequestError, match=r"column a of table df has the type array<int>"):
        discreet.ask(nested, "SELECT COUNT(*) AS n FROM df", columns={"a": "text"}, epsilon=0.1)
    policy = {"promise": ("1%", "5%"), "tables": {name: {"columns": {"a": "text"}} for name in ("x", "y")}}
    import pyarrow as pa

    with pytest.raises(discreet.RequestError, match="x is a frame of Spark and y is not"):
        Curator(policy, tables={"x": nested, "y": pa.table({"a": ["b"]})})


def test_two_names_for_one_frame_of_spark_have_one_unit(spark: SparkServer) -> None:
    frame = make_frame(spark, "SELECT id, id AS age FROM range(10)")
    tables = {
        "visits": {"columns": {"id": "integer"}, "person": "id", "rows_per_person": 9},
        "rows": {"columns": {"age": (0, 9)}},
    }
    with pytest.raises(discreet.RequestError, match="visits and rows of the policy have rows in common"):
        Curator({"promise": ("1%", "5%"), "tables": tables}, tables={"visits": frame, "rows": frame})


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT", "DECIMAL(9,3)", "BIGINT", "STRING"])
def test_a_number_has_the_same_text_in_every_type(spark: SparkServer, kind: str) -> None:
    frame = make_frame(spark, f"SELECT CAST(x AS {kind}) AS code FROM VALUES (7), (7), (NULL) AS t(x)")
    with Curator(
        {"promise": ("1%", "99.99%"), "tables": {"df": {"columns": {"code": [7]}}}},
        tables={"df": frame},
        ledger=":memory:",
    ) as curator:
        found = curator.inspect_data(lambda engine: engine.count("SELECT code FROM df")).secret
    assert sorted(found.column("code").to_pylist(), key=str) == ["7", "7", None]
