"""A file that is named as a database and is not DuckDB's is refused in a sentence, before any charge."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from discreet.core.errors import RequestError
from discreet.engines.prepared_store import prepare_store
from discreet.services.ledgers import open_ledger_readonly
from discreet.services.policies import load_policy
from tests.engines.stores import visits_of
from tests.services import patients
from tests.services.test_promise import discreet

SQLITE = "other.db is a SQLite file, not a DuckDB file. Export the table as a CSV or Parquet file"


def write_sqlite(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE patients (id INTEGER, sex TEXT)")
        database.commit()
    return path


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    patients.write(tmp_path)
    write_sqlite(tmp_path / "other.db")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        (
            "synthesize",
            "patients",
            "--columns",
            "sex",
            "--epsilon",
            "0.01",
            "--panel",
            "other.db",
            "-o",
            "m.csv",
        ),
        ("attack", "patients.parquet", "--quasi", "age", "--knows", "other.db"),
        (
            "collect",
            "randomize",
            "other.db",
            "--column",
            "sex",
            "--values",
            "f,m",
            "--promise",
            "1%:5%",
            "-o",
            "r.parquet",
        ),
        ("init", "other.db", "-o", "draft.yaml"),
        ("init", "--engine", "duckdb:///other.db", "-o", "draft.yaml"),
    ],
    ids=lambda words: words[0],
)
def test_a_sqlite_file_as_rows_is_refused_and_costs_nothing(
    place: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("check", "--accept") == 0
    capsys.readouterr()
    assert discreet(*words) == 2
    assert SQLITE in capsys.readouterr().err
    with open_ledger_readonly(load_policy(place / "privacy.yaml")) as ledger:
        assert ledger.list_entries() == []


@pytest.mark.parametrize("source", ["other.db", "other.db#patients"])
@pytest.mark.parametrize("words", [("check",), ("ask", "SELECT COUNT(*) FROM patients")], ids=lambda w: w[0])
def test_a_sqlite_file_as_a_source_is_refused(
    place: Path, source: str, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    path = place / "privacy.yaml"
    path.write_text(path.read_text().replace("patients.parquet", source))
    assert discreet(*words) == 2
    assert SQLITE in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"user,city\n", b"DUCK", b"\0" * 4096])
def test_a_file_that_is_no_database_is_refused_whatever_its_suffix(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.duckdb").write_bytes(content)
    with pytest.raises(RequestError, match=r"^x\.duckdb is not a DuckDB file\. Export the table"):
        prepare_store(visits_of(tmp_path / "x.duckdb"), None)
