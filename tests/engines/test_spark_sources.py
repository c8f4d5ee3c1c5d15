"""Spark's sources: no value of one person changes how the rows of others are read, nor whether they are."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.belief import Promise
from discreet.core.engine_faults import run_charged
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.engines.released_queries import query_released_tables
from discreet.engines.spark import Spark
from discreet.engines.spark_publisher import SparkPublisher
from discreet.engines.spark_session import SETTINGS, find_engine_table, start_session
from discreet.sql.plan_execution import execute_plan
from discreet.sql.planner import plan_query
from tests.engines.servers import ADDRESS, KEY, SparkServer

pytestmark = pytest.mark.xdist_group("spark")

INFERRED_FOLDERS = "spark.sql.sources.partitionColumnTypeInference.enabled"
COLUMNS: dict[str, Any] = {
    "who": {"type": "text", "role": "identifier"},
    "age": {"type": "integer", "low": 0, "high": 99},
    "note": {"type": "text"},
}
EVERYBODY = "SELECT count(*) AS n FROM t"
OTHERS = [(f"p{number}", 30, "ok") for number in range(20)]


def policy_of(source: object, columns: Mapping[str, Any] = COLUMNS, person: str = "who") -> Policy:
    table = {"source": str(source), "person": person, "columns": columns}
    return Policy.model_validate({"engine": ADDRESS, "tables": {"t": table}})


def counted(policy: Policy, *statements: str) -> list[tuple[Any, ...]]:
    """The rows of statements about the table as it is read, before anything is added to them."""
    with Spark.open(policy, ADDRESS, KEY) as engine:
        return [tuple(row.values()) for sql in statements for row in engine.count(sql).secret.to_pylist()]


def write_csv(path: Path, rows: Iterable[Sequence[object]], newline: str = "\n") -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator=newline)
        writer.writerow(["who", "age", "note"])
        writer.writerows(rows)
    return path


@contextmanager
def catalogued(made: str, *names: str) -> Iterator[None]:
    """Tables and views of the catalogue, created in a session with the application's own settings."""
    from pyspark.sql import SparkSession

    session = SparkSession.active().newSession()
    assert session.conf.get(INFERRED_FOLDERS) == session.conf.get("spark.sql.ansi.enabled") == "true"
    try:
        for statement in made.split(";"):
            session.sql(statement)
        yield
    finally:
        for name in names:
            kind = "VIEW" if name.startswith("v") else "TABLE"
            session.sql(f"DROP {kind} IF EXISTS {name}")


# -- CSV ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "note",
    [
        "fine\n" + "".join(f"ghost{number},99,x\n" for number in range(50)) + "bye",
        "a\rghost1,1,1\rghost2,2,2",
        "a\r\nghost1,1,1\r\n",
        "a\n" + "," * 30_000 + "\nb",
        'say "hi" \\" \\',
        "\\",
    ],
    ids=["lines", "carriage returns", "both", "commas", "quotes", "backslash"],
)
def test_one_quoted_note_is_one_row(note: str, spark: SparkServer, tmp_path: Path) -> None:
    rows = [*OTHERS[:10], ("eve", 50, note), *OTHERS[10:]]
    found = counted(
        policy_of(write_csv(tmp_path / "t.csv", rows)),
        "SELECT count(*) AS n, sum(age) AS s FROM t",
        "SELECT note, count(*) AS n FROM t GROUP BY note ORDER BY n",
    )
    assert found[0] == (21, 650)
    assert [row[1] for row in found[1:]] == [1, 20]
    assert note.startswith(found[1][0]), "of a long text only the beginning is kept"
    assert found[2][0] == "ok"


def test_a_row_of_any_width_leaves_the_other_rows_as_they_are(spark: SparkServer, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "t.csv", OTHERS)
    with path.open("a") as file:
        file.write("eve" + "," * 30_000 + "\nlast,31,ok\n")
    ((rows, older),) = counted(
        policy_of(path), "SELECT count(*) AS n, count(*) FILTER (WHERE age = 31) AS m FROM t"
    )
    assert rows in (21, 22)
    assert older == 1


def test_each_csv_file_is_read_by_its_own_header(spark: SparkServer, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("who,age,note\n" + "".join(f"a{n},20,x\n" for n in range(9)))
    (tmp_path / "b.csv").write_text("note,who,age\n" + "".join(f"y,b{n},30\n" for n in range(9)))
    (tmp_path / "c.csv").write_text("age;note;who\n" + "40;z;c0\n" * 9)
    people = "SELECT note, count(*) AS n, sum(age) AS s FROM t GROUP BY note ORDER BY note"
    found = counted(policy_of(tmp_path / "*.csv"), people)
    assert [row[0] for row in found] == ["x", "y", "z"]
    assert found[:2] == [("x", 9, 180), ("y", 9, 270)]


def test_csv_is_read_by_the_options_of_the_policy(spark: SparkServer, tmp_path: Path) -> None:
    text = "Wer?;Gewicht/kg;Tag\n" + "Zoë;60,5;05.06.2024\n" * 3 + "?; 70 ;31.12.23\n" + "a;b\n"
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode("cp1252")))
    options = {
        **{"delimiter": ";", "encoding": "cp1252", "decimal": ",", "nulls": ["?"]},
        **{"dates": ["%d.%m.%Y", "%d.%m.%y"], "two_digit_years": 1930},
    }
    columns = {
        "who": {"from": "Wer?", "type": "text"},
        "weight": {"from": "Gewicht/kg", "type": "decimal", "low": 0, "high": 99, "resolution": "0.1"},
        "day": {"from": "Tag", "type": "date", "low": "2000-01-01", "high": "2030-12-31"},
    }
    table = {"source": str(tmp_path / "t.csv.gz"), "person": "row", "columns": columns, "csv": options}
    policy = Policy.model_validate({"engine": ADDRESS, "tables": {"t": table}})
    late = "count(*) FILTER (WHERE day >= DATE '2024-01-01')"
    sql = f"SELECT who, count(*) AS n, sum(weight) AS s, {late} AS late FROM t GROUP BY who ORDER BY n"
    assert counted(policy, sql) == [(None, 1, 700, 0), ("Zoë", 3, 1815, 3)]


def test_csv_is_read_again_once_it_changes_and_the_release_may_not_replace_it(
    spark: SparkServer, tmp_path: Path
) -> None:
    path = write_csv(tmp_path / "t.csv", OTHERS)
    assert counted(policy_of(path), EVERYBODY) == [(20,)]
    write_csv(path, OTHERS[:7])
    assert counted(policy_of(path), EVERYBODY) == [(7,)]
    with SparkPublisher(ADDRESS, policy_of(path).tables) as publisher:
        assert publisher.is_source(path)
        assert not publisher.is_source(tmp_path / "other.csv")


def test_types_of_a_csv_file_are_those_of_all_its_values(spark: SparkServer, tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("n\tx\tday\tmixed\tword\n1\t1.5\t2020-01-01\t1\ta\n2\t2\t2020-01-02\tb\tc\n")
    found = find_engine_table(start_session(ADDRESS), "t", str(path)).types
    assert found == {"n": "BIGINT", "x": "DOUBLE", "day": "DATE", "mixed": "VARCHAR", "word": "VARCHAR"}


def test_csv_elsewhere_is_refused(spark: SparkServer, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="reads CSV only in a session on this machine"):
        Spark.open(policy_of("hdfs://host/t.csv"), ADDRESS, KEY)
    path = write_csv(tmp_path / "t.csv", OTHERS)
    made = (
        "CREATE TABLE listed (who STRING, age INT, note STRING) USING csv "
        f"OPTIONS (path '{path}', header true);"
        "CREATE VIEW v_listed AS SELECT * FROM listed WHERE age > 1"
    )
    with catalogued(made, "v_listed", "listed"):
        for source in ("listed", "v_listed"):
            with pytest.raises(RequestError, match="which is stored as CSV"):
                Spark.open(policy_of(source), ADDRESS, KEY)


# -- Parquet ------------------------------------------------------------------------------------------------


def write_folders(folder: Path, people: Iterable[tuple[str, str]]) -> Path:
    by_code: dict[str, list[str]] = {}
    for who, code in people:
        by_code.setdefault(code, []).append(who)
    for code, names in by_code.items():
        (folder / f"zip={code}").mkdir(parents=True)
        pq.write_table(pa.table({"who": names}), folder / f"zip={code}" / "part.parquet")
    return folder


def test_a_folder_name_does_not_change_how_others_are_read(spark: SparkServer, tmp_path: Path) -> None:
    """Also where the cluster's configuration, or that of the session that made a view, says otherwise."""
    people = [(f"p{n}", "01234") for n in range(5)] + [(f"q{n}", "99999") for n in range(5)]
    columns = {"who": COLUMNS["who"], "zip": {"type": "text"}}
    without = write_folders(tmp_path / "without", people)
    beside = write_folders(tmp_path / "beside", [*people, ("eve", "K1A")])
    sql = "SELECT count(*) AS n FROM t WHERE zip = '01234'"
    assert counted(policy_of(without, columns), sql) == counted(policy_of(beside, columns), sql) == [(5,)]
    folder = tmp_path / "grows"
    write_folders(folder, [*people, ("eve", "K1A")])
    with catalogued(f"CREATE VIEW v_grows AS SELECT * FROM parquet.`{folder}`", "v_grows"):
        assert counted(policy_of("v_grows", columns), sql) == [(5,)]
        (folder / "zip=K1A" / "part.parquet").unlink()
        (folder / "zip=K1A").rmdir()
        assert counted(policy_of("v_grows", columns), sql) == [(5,)]


def test_the_settings_of_a_session_are_its_own(spark: SparkServer) -> None:
    from pyspark.sql import SparkSession

    session = start_session(ADDRESS)
    assert {name: session.conf.get(name) for name in SETTINGS} == SETTINGS
    assert SparkSession.active().newSession().conf.get(INFERRED_FOLDERS) == "true"


def test_a_row_is_found_whatever_is_stored_beside_it(spark: SparkServer, tmp_path: Path) -> None:
    """Of a row group's statistics NaN is left out, and -0.0 is another number than 0.0."""
    session = start_session(ADDRESS)
    counts = []
    for number, beside in enumerate((1.0, 10.0)):
        rows = pa.table({"x": [beside, float("nan"), -0.0, 3.0]})
        pq.write_table(rows, tmp_path / f"{number}.parquet", row_group_size=2)
        frame = session.read.parquet(str(tmp_path / f"{number}.parquet"))
        counts.append((frame.where("x > 5").count(), frame.where("x = 0").count()))
    assert counts == [(1, 1), (2, 1)]


def test_files_of_different_types_are_refused(spark: SparkServer, tmp_path: Path) -> None:
    for number, kind in enumerate((pa.int32(), pa.float64())):
        table = pa.table({"who": [f"p{number}"], "age": pa.array([30], kind)})
        pq.write_table(table, tmp_path / f"{number}.parquet")
    with pytest.raises(RequestError, match="the same column has different types"):
        Spark.open(policy_of(tmp_path, {"who": {}, "age": COLUMNS["age"]}), ADDRESS, KEY)


def test_a_column_that_only_some_files_have_is_read_from_them(spark: SparkServer, tmp_path: Path) -> None:
    pq.write_table(pa.table({"who": ["p"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"who": ["q"], "age": [30]}), tmp_path / "b.parquet")
    policy = policy_of(tmp_path, {"who": {}, "age": COLUMNS["age"]})
    assert counted(policy, "SELECT count(*) AS n, count(age) AS m FROM t") == [(2, 1)]


# -- Values that would raise --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind", "options"),
    [
        ([0, 2**63 - 1, -(2**63), 10**17, 1_600_000_000_000], pa.timestamp("ms"), {}),
        ([0, 2**63 - 1, -(2**63), 10**17, 1_600_000_000_000], pa.timestamp("ms", "UTC"), {}),
        ([0, 2**63 - 1, -(2**63), -(10**17), 1_600_000_000_000_000], pa.timestamp("us"), {}),
        ([0, -(2**62), 10**15, -(10**16), 1_600_000_000_000_000], pa.timestamp("us"), {"int96": True}),
    ],
    ids=["ms", "ms in UTC", "us", "int96"],
)
def test_no_timestamp_raises(
    values: list[int], kind: pa.DataType, options: Mapping[str, bool], spark: SparkServer, tmp_path: Path
) -> None:
    table = pa.table({"who": [f"p{n}" for n in range(len(values))], "at": pa.array(values, kind)})
    pq.write_table(table, tmp_path / "t.parquet", use_deprecated_int96_timestamps=options.get("int96", False))
    columns = {"who": COLUMNS["who"], "at": {"type": "timestamp"}}
    asked = "SELECT count(*) AS n, count(*) FILTER (WHERE date_part('year', at) = 2020) AS m FROM t"
    assert counted(policy_of(tmp_path / "t.parquet", columns), asked) == [(5, 1)]
    named = {"at": {"type": "text", "role": "identifier"}}
    assert counted(policy_of(tmp_path / "t.parquet", named, person="at"), EVERYBODY)[0][0] > 0


def test_milliseconds_that_cannot_be_guarded_are_refused(spark: SparkServer, tmp_path: Path) -> None:
    at = pa.array([0], pa.timestamp("ms"))
    columns = {"who": COLUMNS["who"], "at": {"type": "timestamp"}}
    nested = pa.table({"who": ["p"], "at": pa.StructArray.from_arrays([at], ["inner"])})
    pq.write_table(nested, tmp_path / "nested.parquet")
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    for unit in ("ms", "us"):
        pq.write_table(
            pa.table({"who": [unit], "at": at.cast(pa.timestamp(unit))}), mixed / f"{unit}.parquet"
        )
    for source in ("nested.parquet", "mixed"):
        with pytest.raises(RequestError, match="column at has timestamps in milliseconds"):
            Spark.open(policy_of(tmp_path / source, columns), ADDRESS, KEY)
        with Spark.open(policy_of(tmp_path / source, {"who": COLUMNS["who"]}), ADDRESS, KEY):
            pass


def unchecked_text(values: list[bytes]) -> pa.Array:
    return pa.Array.from_buffers(pa.string(), len(values), pa.array(values, pa.binary()).buffers())


@pytest.mark.parametrize("checked", [True, False], ids=["binary", "unchecked text"])
def test_bytes_that_are_no_text_are_released_like_others(
    checked: bool, spark: SparkServer, tmp_path: Path
) -> None:
    values = [b"ok"] * 200 + [b"\xff"] * 200 + [b"\xfe"] * 200 + ["\ufffd".encode()] * 200
    notes = pa.array(values, pa.binary()) if checked else unchecked_text(values)
    table = pa.table({"who": [f"p{n}" for n in range(len(values))], "note": notes})
    pq.write_table(table, tmp_path / "t.parquet")
    policy = policy_of(tmp_path / "t.parquet", {name: COLUMNS[name] for name in ("who", "note")})
    asked = "SELECT note, COUNT(*) AS n FROM t GROUP BY note"
    plan = plan_query(asked, policy, Promise(0.01, 0.05, tail=1e-6), epsilon=1, leak=1e-6)
    with Spark.open(policy, ADDRESS, KEY) as engine:
        answer = run_charged(lambda: execute_plan(plan, engine, Randomness(), query_released_tables))
    notes = set(answer.table.column("note").to_pylist())
    assert notes == {"ok", "\ufffdFF", "\ufffdFE", "\ufffdEFBFBD"}


@pytest.mark.parametrize(
    ("kind", "value", "complaint"),
    [
        (pa.timestamp("ns"), 1, r"column of the Parquet type INT64 \(TIMESTAMP\(NANOS"),
        (pa.float16(), 1.0, r"column of the Parquet type .*FLOAT16"),
        (pa.time64("us"), 1, "a column of times of day"),
        (pa.decimal256(50, 0), 1, "decimals of more digits than Spark can read"),
    ],
    ids=str,
)
def test_what_spark_cannot_read_is_named(
    kind: pa.DataType, value: Any, complaint: str, spark: SparkServer, tmp_path: Path
) -> None:
    table = pa.table({"who": ["p"], "x": pa.array([value], kind)})
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(RequestError, match=complaint):
        Spark.open(policy_of(tmp_path / "t.parquet", {"who": {}}), ADDRESS, KEY)
    with pytest.raises(RequestError, match="there is no such table or path"):
        Spark.open(policy_of(tmp_path / "none.parquet", {"who": {}}), ADDRESS, KEY)


# -- Views --------------------------------------------------------------------------------------------------


def test_people_are_not_named_by_a_collated_column_of_a_view(spark: SparkServer) -> None:
    made = (
        "CREATE TABLE people (who STRING COLLATE UTF8_LCASE, kind STRING) USING parquet;"
        "INSERT INTO people VALUES ('Bob', 'a'), ('bob', 'A');"
        "CREATE VIEW v_people AS SELECT * FROM people;"
        "CREATE VIEW v_folded AS SELECT kind COLLATE UNICODE_CI AS who, kind FROM people;"
        "CREATE VIEW v_by_bytes AS "
        "SELECT CAST(who AS STRING) AS who, kind COLLATE UTF8_LCASE AS kind FROM people"
    )
    columns = {"who": COLUMNS["who"], "kind": {"type": "text"}}
    with catalogued(made, "v_by_bytes", "v_folded", "v_people", "people"):
        for source in ("people", "v_people", "v_folded"):
            with pytest.raises(RequestError, match=r"column who of table t .* can be equal and yet"):
                Spark.open(policy_of(source, columns), ADDRESS, KEY)
        kinds = "SELECT kind, count(*) AS n FROM t GROUP BY kind ORDER BY kind"
        assert counted(policy_of("v_by_bytes", columns), kinds) == [("A", 1), ("a", 1)]


def test_no_value_makes_a_view_raise_that_was_created_in_ansi_mode(spark: SparkServer) -> None:
    made = (
        "CREATE TABLE told (who STRING, told STRING) USING parquet;"
        "INSERT INTO told VALUES ('a', '30'), ('eve', 'thirty');"
        "CREATE VIEW v_told AS SELECT who, CAST(told AS INT) AS age FROM told"
    )
    with catalogued(made, "v_told", "told"):
        policy = policy_of("v_told", {"who": COLUMNS["who"], "age": COLUMNS["age"]})
        assert counted(policy, "SELECT count(*) AS n, count(age) AS m FROM t") == [(2, 1)]
