"""DuckDB: counts right, reaches nothing but its sources, and tells nothing when it fails."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.core.engine import Engine
from discreet.core.engine_faults import FAULT_MESSAGE, run_guarded
from discreet.core.errors import EngineFault, RequestError
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import PreparedStore, prepare_store
from discreet.engines.row_ranking import KEYS
from tests.engines.stores import policy_of

PEOPLE = pa.table({"name": ["Ada", "Bo", "Cyd", "Di"], "team": ["x", "y", "x", "x"], "age": [30, 40, 50, 61]})


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.parquet"
    pq.write_table(PEOPLE, path)
    return path


@pytest.fixture
def engine(people: Path) -> Iterator[Engine]:
    with DuckDB({"people": people}) as opened:
        yield opened


def test_counts_and_integer_sums_by_group_are_exact(engine: Engine) -> None:
    counted = engine.count(
        "SELECT team, count(*) AS n, sum(age)::BIGINT AS s FROM people GROUP BY team ORDER BY team"
    )
    assert counted.secret.to_pylist() == [{"team": "x", "n": 3, "s": 141}, {"team": "y", "n": 1, "s": 40}]


def test_what_was_counted_does_not_print(engine: Engine) -> None:
    assert "Ada" not in f"{engine.count('SELECT name FROM people')!r}"


def test_csv_files_are_sources_too(tmp_path: Path) -> None:
    path = tmp_path / "ages.csv"
    path.write_text("team;age\nx;30\ny;40\n")
    with DuckDB({"ages": path}) as engine:
        assert engine.count("SELECT sum(age)::BIGINT AS s FROM ages").secret.to_pylist() == [{"s": 70}]


@pytest.mark.parametrize("name", ["it's.parquet", "a*b?[c].parquet", "two words.parquet", "Ümlaut.PARQUET"])
def test_a_path_is_taken_literally(tmp_path: Path, name: str) -> None:
    pq.write_table(PEOPLE, tmp_path / name)
    pq.write_table(PEOPLE, tmp_path / "aXbYc.parquet")
    with DuckDB({"people": tmp_path / name}) as engine:
        assert engine.count("SELECT count(*) AS n FROM people").secret.to_pylist() == [{"n": 4}]


def test_the_engine_sees_one_state_of_the_data(people: Path) -> None:
    with DuckDB({"people": people}) as engine:
        people.unlink()
        assert engine.count("SELECT count(*) AS n FROM people").secret.to_pylist() == [{"n": 4}]


READS = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM read_parquet('{people}')",
    "SELECT * FROM PEOPLE_OF_THIS_PROCESS",
    "SELECT getenv('HOME')",
]
COMMANDS = [
    "ATTACH '{folder}/other.db'",
    "COPY people TO '{folder}/copy.csv'",
    "COPY people TO '{people}' (USE_TMP_FILE false)",
    "EXPORT DATABASE '{folder}/export'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "RESET lock_configuration",
    "PRAGMA enable_profiling",
    "DROP TABLE people",
    "SELECT 1; SELECT 2",
    "",
]


@pytest.mark.parametrize("sql", READS)
def test_nothing_outside_its_sources_can_be_read(engine: Engine, people: Path, sql: str) -> None:
    PEOPLE_OF_THIS_PROCESS = PEOPLE  # noqa: F841, N806  (a replacement scan would find it)
    with pytest.raises(EngineFault):
        engine.count(sql.format(people=people))


@pytest.mark.parametrize("sql", COMMANDS)
def test_only_one_select_is_run(engine: Engine, people: Path, sql: str) -> None:
    before = sorted(people.parent.iterdir())
    with pytest.raises(RequestError, match="one SELECT"):
        engine.count(sql.format(people=people, folder=people.parent))
    assert sorted(people.parent.iterdir()) == before


@pytest.mark.parametrize("sql", [sql for sql in COMMANDS if sql and not sql.startswith(("SELECT", "DROP"))])
def test_the_connection_itself_refuses_what_the_engine_never_sends(
    engine: DuckDB, people: Path, sql: str
) -> None:
    """The lock-down holds without the check of the statement's type."""
    with pytest.raises(EngineFault):
        _run_past_the_check(engine, sql.format(people=people, folder=people.parent))


def _run_past_the_check(engine: DuckDB, sql: str) -> None:
    run_guarded(lambda: engine._connection.execute(sql))


@pytest.mark.parametrize(
    "sql",
    [
        "WITH gone AS (DELETE FROM people RETURNING age) SELECT count(*) FROM gone",
        "WITH more AS (INSERT INTO people VALUES ('Eve', 'x', 1) RETURNING age) SELECT count(*) FROM more",
    ],
)
def test_a_select_cannot_change_the_data(engine: Engine, sql: str) -> None:
    with pytest.raises(EngineFault):
        engine.count(sql)
    assert engine.count("SELECT count(*) AS n FROM people").secret.to_pylist() == [{"n": 4}]


def test_a_fault_shows_a_constant_text_and_no_data_value(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "discreet.custodian"), pytest.raises(EngineFault) as caught:
        engine.count("SELECT name::INTEGER FROM people")
    fault = caught.value
    assert fault.message == FAULT_MESSAGE
    assert "Ada" not in f"{fault} {fault.hint} {fault.__cause__} {fault.__context__}"
    assert "Ada" in caplog.text, "the custodian does get the driver's words"
    assert fault.hint.split()[-1].rstrip(".") in caplog.text, "under the incident that the analyst can name"


def test_faults_of_different_causes_read_the_same_but_for_the_incident(engine: Engine) -> None:
    seen = set()
    for sql in ("SELECT name::INTEGER FROM people", "SELECT nothing FROM people", "SELECT FROM WHERE"):
        with pytest.raises(EngineFault) as caught:
            engine.count(sql)
        seen.add((caught.value.message, caught.value.hint.rsplit(" ", 1)[0]))
    assert len(seen) == 1


def test_the_engine_counts_on_after_a_fault(engine: Engine) -> None:
    with pytest.raises(EngineFault):
        engine.count("SELECT name::INTEGER FROM people")
    assert engine.count("SELECT count(*) AS n FROM people").secret.to_pylist() == [{"n": 4}]


@pytest.mark.parametrize(
    ("name", "file", "complaint"),
    [
        ("people", "missing.parquet", r"no such file"),
        ("people", "folder.parquet", r"no such file"),
        ("people", "people.xlsx", r"not a Parquet or CSV file"),
        ('x"; DROP', "people.parquet", r"letters, digits and underscores"),
    ],
)
def test_a_source_that_cannot_be_is_refused_in_one_sentence(
    people: Path, name: str, file: str, complaint: str
) -> None:
    (people.parent / "folder.parquet").mkdir()
    with pytest.raises(RequestError, match=complaint):
        DuckDB({name: people.parent / file})


def test_a_broken_file_is_a_fault_that_does_not_quote_it(tmp_path: Path) -> None:
    path = tmp_path / "broken.parquet"
    path.write_text("Ada, 30")
    with pytest.raises(EngineFault, match=FAULT_MESSAGE):
        DuckDB({"people": path})


def test_nothing_is_left_on_disk_after_closing(
    people: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spills = tmp_path / "spills"
    spills.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spills))
    with DuckDB({"people": people}):
        (folder,) = spills.iterdir()
        assert folder.stat().st_mode & 0o077 == 0, "only this user can read what is spilled"
    assert list(spills.iterdir()) == []


def test_no_progress_bar_is_written_among_the_results() -> None:
    """DuckDB takes a process without a script for an interactive one."""
    script = """from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb_connection import connect_duckdb
sql = "SELECT current_setting('enable_progress_bar') AS bar"
print(DuckDB({}).count(sql).secret.to_pylist(), connect_duckdb().sql(sql).fetchall())"""
    told = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert told.stdout.strip() == "[{'bar': False}] [(False,)]"


# Over a prepared store

POLICY = {
    "name": {"role": "identifier"},
    "team": {"type": "category", "values": ["x", "y"]},
    "age": {"type": "integer"},
}


@pytest.fixture(params=["file", "memory"])
def prepared(request: pytest.FixtureRequest, people: Path) -> PreparedStore:
    policy = policy_of(people, POLICY, name="people", person="name")
    return prepare_store(policy, people.parent / "store" if request.param == "file" else None)


def test_a_store_is_counted_by_any_number_of_engines_at_once(prepared: PreparedStore) -> None:
    sql = "SELECT team, count(*) AS n FROM people WHERE _discreet_rank <= 1 GROUP BY team ORDER BY team"
    with DuckDB.open(prepared) as one, DuckDB.open(prepared) as other:
        assert one.count(sql).secret.to_pylist() == [{"team": "x", "n": 3}, {"team": "y", "n": 1}]
        one.close()
        assert other.count(sql).secret.num_rows == 2


@pytest.mark.parametrize("sql", [sql for sql in READS if "PEOPLE" not in sql])
def test_nothing_outside_the_store_can_be_read(prepared: PreparedStore, people: Path, sql: str) -> None:
    with DuckDB.open(prepared) as engine, pytest.raises(EngineFault):
        engine.count(sql.format(people=people))


@pytest.mark.parametrize("sql", [sql for sql in COMMANDS if sql and not sql.startswith(("SELECT", "DROP"))])
def test_the_connection_to_a_store_itself_refuses_what_the_engine_never_sends(
    prepared: PreparedStore, people: Path, sql: str
) -> None:
    with DuckDB.open(prepared) as engine, pytest.raises(EngineFault):
        _run_past_the_check(engine, sql.format(people=people, folder=people.parent))


def test_a_select_cannot_change_a_store(prepared: PreparedStore) -> None:
    with DuckDB.open(prepared) as engine:
        with pytest.raises(EngineFault):
            engine.count("WITH gone AS (DELETE FROM people RETURNING age) SELECT count(*) FROM gone")
        assert engine.count("SELECT count(*) AS n FROM people").secret.to_pylist() == [{"n": 4}]


def test_the_key_of_a_store_cannot_be_asked_for(prepared: PreparedStore) -> None:
    with DuckDB.open(prepared) as engine:
        for key in KEYS:
            assert engine.count(f"SELECT getvariable('{key}') AS k").secret.to_pylist() == [{"k": None}]


# What statistics must not decide

UNKNOWN = pa.table({"age": [30, 40], "note": pa.nulls(2, pa.string())})
REWRITTEN = "SELECT count(*) AS n FROM people WHERE if(note IS NULL, NULL, 'a') LIKE 'abc'"


@pytest.fixture(params=["files", "a store in memory", "a store on disk"])
def unknown(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """Engines over a table with a column of NULLs alone."""
    path = tmp_path / "people.parquet"
    pq.write_table(UNKNOWN, path)
    columns = {"age": {"type": "integer"}, "note": {"type": "text"}}
    policy, folder = policy_of(path, columns, name="people"), tmp_path / "store"
    sources: dict[str, dict[str, Path] | PreparedStore] = {
        "files": {"people": path},
        "a store in memory": prepare_store(policy, None),
        "a store on disk": prepare_store(policy, folder),
    }
    with DuckDB(sources[request.param]) as opened:
        yield opened


def test_no_statement_is_rewritten_by_what_columns_hold(unknown: Engine) -> None:
    """DuckDB would put NULL for a condition on a column of NULLs alone, and not find LIKE for it."""
    assert unknown.count(REWRITTEN).secret.to_pylist() == [{"n": 0}]


def test_the_statement_errs_where_it_is_rewritten_so() -> None:
    with duckdb.connect() as rewriting:
        rewriting.register("people", UNKNOWN)
        rewriting.execute("CREATE TABLE copied AS FROM people")
        with pytest.raises(duckdb.Error):
            rewriting.execute(REWRITTEN.replace("people", "copied"))
