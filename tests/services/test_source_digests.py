"""Data that changes under the same data_version stops answers until the version is raised."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import Curator
from discreet.core.errors import RequestError
from discreet.services.source_digests import DIGESTS_SUFFIX
from tests.services import patients
from tests.services.test_promise import discreet

COUNT = "SELECT COUNT(*) AS n FROM patients"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return patients.write(tmp_path)


def ask(path: Path) -> int | None:
    with Curator.open(path) as curator:
        return curator.ask(COUNT).entry


def change(path: Path) -> None:
    rows = patients.patients()
    pq.write_table(rows.slice(0, rows.num_rows - 1), path.with_name("patients.parquet"))


def test_changed_data_is_refused_until_its_version_is_raised(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(path) == 1
    change(path)
    for command in ("ask", "plan"):
        assert discreet(command, COUNT, "--policy", str(path)) == 2
        told = capsys.readouterr().err
        assert "The data of table patients has changed" in told
        assert "data_version" in told
    path.write_text(f'data_version: "2"\n{path.read_text()}')
    assert ask(path) == 2
    assert ask(path) == 2


def test_data_that_is_put_back_or_written_again_is_the_same(path: Path, tmp_path: Path) -> None:
    source = path.with_name("patients.parquet")
    shutil.copy(source, tmp_path / "kept.parquet")
    assert ask(path) == 1
    change(path)
    with pytest.raises(RequestError, match="has changed"):
        ask(path)
    shutil.copy(tmp_path / "kept.parquet", source)
    assert ask(path) == 1
    os.utime(source, (1, 1))
    assert ask(path) == 1


def test_a_table_in_a_database_is_told_from_its_neighbours(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(file)) as database:
        database.register("rows", patients.patients())
        database.execute("CREATE TABLE patients AS FROM rows")
    path.write_text(path.read_text().replace("patients.parquet", "clinic.duckdb#patients"))
    assert ask(path) == 1
    with duckdb.connect(str(file)) as database:
        database.execute("CREATE TABLE other AS SELECT 1 AS x")
    assert ask(path) == 1
    with duckdb.connect(str(file)) as database:
        database.execute("UPDATE patients SET stays = 0 WHERE id = 7")
    with pytest.raises(RequestError, match="has changed"):
        ask(path)


def test_a_frame_in_place_of_a_table_has_a_version_too(path: Path) -> None:
    first, second = (patients.patients().slice(0, rows) for rows in (100, 50))

    def ask_frame(frame: pa.Table, version: str) -> int | None:
        with Curator(path, tables={"patients": frame}, data_version=version) as curator:
            return curator.ask(COUNT).entry

    assert ask_frame(first, "1") == 1
    assert ask_frame(patients.patients().slice(0, 100), "1") == 1
    with pytest.raises(RequestError, match=r"has changed.* another `data_version=`"):
        ask_frame(second, "1")
    assert ask_frame(second, "2") == 2


@pytest.mark.parametrize("content", ["", "[]", "{", '{"1": {"patients": 3}}', '{"1": {"patients": {}}}'])
def test_what_cannot_be_read_is_named(path: Path, content: str) -> None:
    ask(path)
    (place,) = path.parent.glob(f"*{DIGESTS_SUFFIX}")
    assert place.stat().st_mode & 0o077 == 0
    place.write_text(content)
    with pytest.raises(RequestError, match="cannot be read"):
        ask(path)
