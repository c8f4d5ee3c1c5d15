"""The guides to other engines: their statements, policies and commands, run where the rows are."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.services.sample import SAMPLES
from tests.engines.servers import PostgresServer, SparkServer
from tests.test_docs import DOCS, require_shown

EXAMPLE = DOCS.parent / "examples" / "move_to_another_engine.py"
SHOWN = "postgresql://reader@db.example/clinic"


@pytest.fixture(scope="module")
def census() -> pa.Table:
    return SAMPLES["census"][1]()


def block(page: str, language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
    return str(found)


@pytest.mark.xdist_group("postgres")
def test_the_guide_to_postgresql_does_what_it_shows(
    postgres: PostgresServer,
    census: pa.Table,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    page = (DOCS / "how-to" / "move-to-postgresql.md").read_text()
    clinic = postgres.put({"census": census})["census"].partition(".")[0]
    postgres.run(f"ALTER SCHEMA {clinic} RENAME TO clinic")
    postgres.run(*block(page, "sql").split(";\n")[:-1])
    url = postgres.url.replace("discreet@", "reader@")
    (tmp_path / "privacy.yaml").write_text(block(page, "yaml").replace(SHOWN, url))
    require_shown(page, capsys)
    (tmp_path / "python").mkdir()
    monkeypatch.chdir(tmp_path / "python")
    monkeypatch.setattr(sys, "argv", [EXAMPLE.name, url, "clinic.census"])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert "can now be at most 1.22% sure" in capsys.readouterr().out


@pytest.mark.night
@pytest.mark.xdist_group("spark")
def test_the_guide_to_spark_does_what_it_shows(
    spark: SparkServer,
    census: pa.Table,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert spark.folder.exists()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    page = (DOCS / "how-to" / "move-to-spark.md").read_text()
    pq.write_table(census.slice(0, 1_000), "census.parquet")
    (tmp_path / "privacy.yaml").write_text(block(page, "yaml"))
    require_shown(page, capsys)
