"""Clusters: the same question through Spark Connect and on a standalone cluster, by the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from benchmarks import clusters
from tests.engines.servers import had

pytestmark = [pytest.mark.night, pytest.mark.xdist_group("spark")]

PEOPLE = 3_000
ROWS_EACH, KEPT = 4, 2
QUESTION = "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY ward ORDER BY ward"
LOOSE = {
    "spark.sql.sources.partitionColumnTypeInference.enabled": "true",
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.ansi.enabled": "true",
}
STARTED = {"sc": clusters.spark_connect, "spark": clusters.spark_cluster}


def policy_in(folder: Path, engine: str, store: str | None) -> Path:
    """Every person has four rows of the same ward and cost, and keeps two."""
    people = [place // ROWS_EACH for place in range(ROWS_EACH * PEOPLE)]
    rows = {"who": people, "ward": ["ab"[who % 2] for who in people], "cost": [3] * len(people)}
    pq.write_table(pa.table(rows), folder / "visits.parquet")
    columns = {
        "who": {"role": "identifier"},
        "ward": {"type": "category", "values": ["a", "b"]},
        "cost": {"type": "integer", "low": 0, "high": 9},
    }
    table = {
        "source": "visits.parquet",
        "person": "who",
        "rows_per_person": KEPT,
        "columns": columns,
    }
    policy = {
        "promise": {"prior": "1%", "posterior": "99.999999%"},
        "engine": engine,
        "tables": {"visits": table},
        **({"store": store} if store else {}),
    }
    path = folder / "privacy.yaml"
    path.write_text(yaml.safe_dump(policy))
    return path


def asked(policy: Path, question: str = QUESTION) -> list[dict[str, object]]:
    """In a process of its own, as a Spark application is one of its process."""
    command = [sys.executable, "-m", "discreet", "ask", question, "--policy", str(policy)]
    told = subprocess.run(
        [*command, "--epsilon", "20", "--json"], capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    return [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]


@pytest.mark.parametrize("prepared", [False, True], ids=["in place", "prepared"])
@pytest.mark.parametrize("scheme", list(STARTED))
def test_a_question_is_answered_on_a_cluster(scheme: str, prepared: bool, tmp_path: Path) -> None:
    with had(STARTED[scheme]()) as address:
        rows = asked(policy_in(tmp_path, address, str(tmp_path / "store") if prepared else None))
    assert [row["ward"] for row in rows] == ["a", "b"]
    for row in rows:
        assert abs(float(str(row["n"])) - KEPT * PEOPLE / 2) < 30, "noise of scale 0.2 at most"
        assert abs(float(str(row["s"])) - 3 * KEPT * PEOPLE / 2) < 200


def test_a_servers_own_settings_do_not_change_how_rows_are_read(tmp_path: Path) -> None:
    """They would infer the type of zip from all folder names, and leave out files that cannot be read."""
    for code in ("01234", "99999"):
        (tmp_path / "visits" / f"zip={code}").mkdir(parents=True)
        table = pa.table({"who": [f"{code} {n}" for n in range(PEOPLE)]})
        pq.write_table(table, tmp_path / "visits" / f"zip={code}" / "part.parquet")
    (tmp_path / "t.csv").write_text("who,zip\na,01234\n")
    columns = {"who": {"role": "identifier"}, "zip": {"type": "text"}}
    sources = {"visits": "visits/", "told": "t.csv"}
    tables = {
        name: {"source": source, "person": "who", "columns": columns} for name, source in sources.items()
    }
    policy = {"promise": {"prior": "1%", "posterior": "99.999999%"}, "ledger": "ledger.db"}
    question = "SELECT COUNT(*) AS n FROM {} WHERE zip = '01234'"
    with had(clusters.spark_connect(LOOSE)) as address:
        path = tmp_path / "privacy.yaml"
        path.write_text(yaml.safe_dump({**policy, "engine": address, "tables": {"visits": tables["visits"]}}))
        (row,) = asked(path, question.format("visits"))
        assert abs(float(str(row["n"])) - PEOPLE) < 30
        path.write_text(yaml.safe_dump({**policy, "engine": address, "tables": {"told": tables["told"]}}))
        with pytest.raises(AssertionError, match="Convert it to Parquet"):
            asked(path, question.format("told"))


def test_a_policy_is_drafted_through_spark_connect(tmp_path: Path) -> None:
    policy_in(tmp_path, "duckdb", None)
    (tmp_path / "drafts").mkdir()
    command = [sys.executable, "-m", "discreet", "init", "*.parquet", "-o", "drafts/privacy.yaml", "--json"]
    with had(clusters.spark_connect()) as address:
        told = subprocess.run(
            [*command, "--engine", f"{address}/;user_id=ann"],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    assert found["engine"] == f"{address}/;user_id=ann"
    (table,) = found["tables"].values()
    assert (table["source"], list(table["columns"])) == ("../*.parquet", ["who", "ward", "cost"])
