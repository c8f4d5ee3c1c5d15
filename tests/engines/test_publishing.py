"""Publishing and attacking where the rows are: the same release, certificate and findings on every engine."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from discreet.anonymity.models import KAnonymity
from discreet.core.errors import DataError, RequestError
from discreet.core.policy import Policy
from discreet.engines.inventory import compute_engine_pattern_shares
from discreet.papers import lecture_tables as tables
from discreet.services.anonymize.anonymizer import Anonymizer
from discreet.services.publishers import open_publisher
from discreet.services.source_tables import build_file_table
from tests.engines.servers import PostgresServer, Server, SparkServer, spark_by_night
from tests.engines.support import shows
from tests.engines.test_asking import address, store
from tests.services.test_promise import discreet

DISEASES = ("flu", "cancer", "HIV")
PEOPLE = pa.table(
    {
        "name": [f"person {i}" for i in range(48)],
        "age": pa.array([None if i == 9 else 20 + 7 * i % 40 for i in range(48)], pa.int32()),
        "zip": [None if i == 5 else "" if i == 6 else f"130{i % 3}{i % 5}" for i in range(48)],
        "disease": [DISEASES[i % 3] for i in range(48)],
        "score": [(-0.0, 0.0, 1.5, None)[i % 4] for i in range(48)],
        "seen": pa.array([date(2026, 1, 1 + i % 2) for i in range(48)], pa.date32()),
    }
)
COLUMNS: dict[str, Any] = {
    "name": {"role": "identifier"},
    "age": {"type": "integer", "low": 0, "high": 99, "role": "quasi", "missing": "suppress"},
    "zip": {"role": "quasi", "missing": "category"},
    "disease": {"role": "sensitive"},
    "score": {"type": "decimal", "role": "other"},
    "seen": {"type": "date", "low": "2026-01-01", "high": "2026-12-31", "role": "other"},
}
HIERARCHIES = {"age": {"widths": [10, 50]}, "zip": {"mask": "right"}}
MODELS = ("-k", "3", "--l-diversity", "disease:2:distinct", "--suppress", "30%")
Rows = Counter[tuple[object, ...]]


def terms(folder: Path, source: str, **more: Any) -> Path:
    """A policy in a folder of its own."""
    folder.mkdir(exist_ok=True)
    table = {"source": source, "columns": COLUMNS, **more.pop("table", {})}
    text = yaml.safe_dump({"tables": {"people": table}, "hierarchies": HIERARCHIES, **more}, sort_keys=False)
    (folder / "privacy.yaml").write_text(text)
    return folder / "privacy.yaml"


def both(server: Server, tmp_path: Path, rows: pa.Table = PEOPLE, **more: Any) -> tuple[Path, Path]:
    """The same policy over a file here, and over the same rows there."""
    pq.write_table(rows, tmp_path / "people.parquet")
    here = terms(tmp_path / "here", str(tmp_path / "people.parquet"), **dict(more))
    source = server.put({"people": rows})["people"]
    there = terms(tmp_path / "there", source, engine=address(server), **dict(more))
    return here, there


def anonymize(policy: Path, output: str, *options: str) -> int:
    return discreet("anonymize", "people", "--policy", str(policy), *options, "-o", output)


def rows_of(table: pa.Table) -> Rows:
    return Counter(tuple(row.values()) for row in table.to_pylist())


def kept(server: Server, relation: str) -> pa.Table:
    """The rows of a table or folder that the engine keeps."""
    named = {"release": build_file_table(relation, {}, engine=address(server))}
    with open_publisher(address(server), named) as engine:
        return engine.count('SELECT * FROM "release"').secret


def certified(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return {name: each for name, each in found.items() if name not in ("sha256", "file", "kept_as")}


@shows("`anonymize`, to a file")
def test_the_same_rows_and_certificate_are_published_on_every_engine(server: Server, tmp_path: Path) -> None:
    here, there = both(server, tmp_path)
    for policy in (here, there):
        assert anonymize(policy, str(policy.parent / "out.parquet"), *MODELS) == 0
    one, two = (pq.read_table(policy.parent / "out.parquet") for policy in (here, there))
    assert rows_of(one) == rows_of(two)
    assert 30 <= two.num_rows < 48
    assert two.column_names == ["age", "zip", "disease", "score", "seen"]
    assert two.schema.field("seen").type == pa.date32()
    assert certified(here.parent / "out.certificate.json") == certified(there.parent / "out.certificate.json")
    assert two.to_pylist() == sorted(two.to_pylist(), key=_in_order)


@spark_by_night
def test_what_is_judged_as_one_value_is_shown_as_one(server: Server, tmp_path: Path) -> None:
    """NULL and the empty text, NaN, and a person whose number is written in two ways."""
    rows = pa.table(
        {
            "name": ["1", "1.0", "2", "3", "4", "5", "6", "7"],
            "zip": [*"aaaabbbb"],
            "disease": [None, None, None, None, "", "", "", ""],
            "score": [float("nan"), 0.0, -0.0, 1.5] * 2,
        }
    )
    columns = {
        "name": {"role": "identifier", "type": "integer"},
        "zip": {"role": "quasi"},
        "disease": {"role": "sensitive", "missing": "category"},
        "score": {"type": "decimal", "role": "sensitive"},
    }
    table = {"columns": columns, "person": "name", "rows_per_person": 2}
    for policy in both(server, tmp_path, rows, table=table):
        output = policy.parent / "out.parquet"
        models = ("--t-closeness", "disease:0.1:equal", "--level", "zip=0")
        assert anonymize(policy, str(output), *models, "-k", "4") == 4  # the first class is three people
        assert anonymize(policy, str(output), *models, "-k", "3") == 0
        assert pq.read_table(output).column("disease").null_count == 8
        diverse = ("--l-diversity", "score:4:distinct", "--level", "zip=0")
        assert anonymize(policy, str(output), *diverse) == 4  # 0.0 and -0.0 are one score


def _in_order(row: Mapping[str, Any]) -> list[tuple[bool, Any]]:
    return [(value is None, value if value is not None else 0) for value in row.values()]


def place_for(server: Server, tmp_path: Path, name: str) -> tuple[str, dict[str, Any]]:
    """What a table of the engine is called, and what the policy has to say that it may be written."""
    if isinstance(server, PostgresServer):
        schema = store(server, tmp_path, f"{name}_store")
        return f"{schema}.{name}", {"store": schema}
    return str(tmp_path / "kept" / name), {}


@shows("`anonymize`, to a table of the engine")
@spark_by_night
def test_a_release_may_stay_in_the_engine_and_be_attacked_there(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    relation, more = place_for(server, tmp_path, "release")
    (tmp_path / "kept").mkdir()
    here, there = both(server, tmp_path, **more)
    assert anonymize(here, "here/out.parquet", *MODELS) == 0
    assert anonymize(there, relation, *MODELS) == 0
    assert rows_of(kept(server, relation)) == rows_of(pq.read_table("here/out.parquet"))
    capsys.readouterr()
    assert anonymize(there, relation, *MODELS) == 2
    assert f"{relation} already exists" in capsys.readouterr().err
    found = [
        told(capsys, place, "--policy", str(policy))
        for place, policy in (("here/out.parquet", here), (relation, there))
    ]
    assert found[0] == found[1]
    assert found[1]["attacks"][0]["bounds"]


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, Any]:
    """What an attack finds, without what names the files."""
    capsys.readouterr()
    assert discreet("attack", *words, "--json") == code
    found = json.loads(capsys.readouterr().out)
    return {name: found[name] for name in ("attacks", "criteria", "skipped") if name in found}


LECTURES = {"four": tables.FOUR_ANONYMOUS, "three": tables.THREE_DIVERSE, "people": tables.PEOPLE}
ILLNESS = ("--quasi", "zip,age,nationality", "--sensitive", "disease")


@shows("`attack` of a published table")
def test_an_attack_finds_on_every_engine_what_it_finds_on_files(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    attacked(server, tmp_path, capsys, "four", "--knows", "people", "--victim", "name=Bob")


@spark_by_night
@pytest.mark.parametrize(
    "words",
    [("four", "--knows", "people", "--with", "three"), ("three", "--victim", "zip=13053,age=31")],
    ids=["two releases", "values"],
)
def test_two_releases_and_a_victims_values_are_attacked_alike(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    attacked(server, tmp_path, capsys, *words)


def attacked(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> None:
    """The lectures' tables as files and where the engine has them: the same is found."""
    for name, table in LECTURES.items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    sources = server.put(LECTURES)
    files = [str(tmp_path / f"{word}.parquet") if word in LECTURES else word for word in words]
    there = [sources.get(word, word) for word in words]
    found = told(capsys, *files, *ILLNESS)
    assert told(capsys, *there, *ILLNESS, "--engine", address(server)) == found
    assert any(each["victims"] for each in found["attacks"])


VISITS = pa.table(
    {
        "name": ["Ann", "Ann", "Bob", "Cid", "Dan", None],
        "age": pa.array([21, 21, 22, 31, 33, 33], pa.int64()),
        "disease": ["flu", "flu", "acne", "flu", "gout", "gout"],
    }
)


@shows("people, pseudonyms and chains of releases")
@spark_by_night
def test_people_pseudonyms_and_chains_are_as_they_are_here(server: Server, tmp_path: Path) -> None:
    columns = {name: COLUMNS[name] for name in VISITS.column_names}
    table = {"person": "name", "columns": columns}
    chained = ("--m-invariance", "disease:2", "--suppress", "60%", "--pseudonym", "name")
    found = []
    for policy in both(server, tmp_path, VISITS, table=table):
        folder = policy.parent
        key = ("--key", str(tmp_path / "key"))
        assert anonymize(policy, str(folder / "one.parquet"), *chained, *key) == 0
        earlier = ("--earlier", str(folder / "one.parquet"))
        assert anonymize(policy, str(folder / "two.parquet"), *chained, *key, *earlier) == 0
        names = ("one.parquet", "one.signatures.parquet", "two.parquet", "two.signatures.parquet")
        found.append([rows_of(pq.read_table(folder / name)) for name in names])
    assert found[0] == found[1]
    assert found[0][0].total() == 5


@spark_by_night
def test_the_ledger_knows_a_release_of_the_engine_and_it_is_tried_with_the_next(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    relation, more = place_for(server, tmp_path, "known")
    (tmp_path / "kept").mkdir()
    _, policy = both(server, tmp_path, promise={"prior": "1%", "posterior": "50%"}, **more)
    assert anonymize(policy, relation, *MODELS) == 0
    capsys.readouterr()
    assert discreet("anonymize", "people", "--policy", str(policy), *MODELS, "--json") == 0
    assumed = json.loads(capsys.readouterr().out)["trial"]["assumed"]
    assert any(f"They have the release {relation}, too." in each for each in assumed)


@spark_by_night
def test_a_population_may_be_a_file_here(server: Server, tmp_path: Path) -> None:
    here, there = both(server, tmp_path)
    pq.write_table(pa.concat_tables([PEOPLE, PEOPLE]), tmp_path / "everybody.parquet")
    everybody = ("--population", str(tmp_path / "everybody.parquet"), "--k-map", "4", "--suppress", "30%")
    for policy in (here, there):
        assert anonymize(policy, str(policy.parent / "out.csv"), *everybody) == 0
    assert (here.parent / "out.csv").read_text() == (there.parent / "out.csv").read_text()


@spark_by_night
def test_a_table_is_judged_and_released_privately_where_it_is(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, there = both(server, tmp_path, promise={"prior": "1%", "posterior": "50%"})
    judged = []
    for policy in (here, there):
        capsys.readouterr()
        assert discreet("anonymize", "people", "--check", "-k", "1", "--policy", str(policy), "--json") == 0
        judged.append(json.loads(capsys.readouterr().out))
    assert judged[0] == judged[1]
    private = ("--method", "private", "--epsilon", "0.5", "--delta", "1e-3", "--level", "age=2")
    assert anonymize(there, str(tmp_path / "private.csv"), *private) == 2  # codes of zip have no length


@spark_by_night
def test_what_looks_like_an_identifier_is_found_alike(server: Server, tmp_path: Path) -> None:
    from discreet.services.policy_draft.column_roles import HIPAA_PATTERNS

    values = ["ann@example.org", "12 Main Street", "12 streets", "+4912345678", "13053-1234", "x", None]
    rows = pa.table({"v": values})
    pq.write_table(rows, tmp_path / "rows.parquet")
    found = []
    for engine, source in (
        ("duckdb", str(tmp_path / "rows.parquet")),
        (address(server), server.put({"rows": rows})["rows"]),
    ):
        with open_publisher(engine, {"rows": build_file_table(source, {}, engine=engine)}) as opened:
            found.append(compute_engine_pattern_shares(opened, "rows", ["v"], HIPAA_PATTERNS))
    assert found[0] == found[1]
    assert found[0]["v"]["addresses"] == pytest.approx(1 / 6)


@pytest.mark.xdist_group("postgres")
def test_a_register_may_be_a_file_but_releases_that_are_joined_are_in_one_place(
    postgres: PostgresServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = pa.table({"who": ["p1", "p2"], "zip": ["130**", "130**"], "disease": ["flu", "gout"]})
    pq.write_table(shown, tmp_path / "before.parquet")
    pq.write_table(pa.table({"zip": ["13053", "13068"]}), tmp_path / "voters.parquet")
    source = postgres.put({"now": shown})["now"]
    words = ("--quasi", "zip", "--sensitive", "disease", "--person", "who", "--engine", postgres.url)
    voters = ("--knows", str(tmp_path / "voters.parquet"))
    linkage = told(capsys, source, *words, *voters)["attacks"][0]
    assert (linkage["name"], linkage["success"]) == ("linkage", 0.5)
    assert discreet("attack", source, *words, *voters, "--with", str(tmp_path / "before.parquet")) == 2
    assert "in different places" in capsys.readouterr().err


@pytest.mark.xdist_group("postgres")
def test_rows_that_changed_since_they_were_judged_are_not_published(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    _, there = both(postgres, tmp_path)
    fitted = Anonymizer(there, models=[KAnonymity(k=2)]).fit("people")
    source = Policy.model_validate(yaml.safe_load(there.read_text())).tables["people"].source
    postgres.run(f"UPDATE {source} SET disease = 'gout' WHERE name = 'person 3'")
    with pytest.raises(DataError, match="changed"):
        fitted.release.write_rows(tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.xdist_group("postgres")
def test_a_table_that_no_policy_names_is_published_as_a_file_is(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    source = postgres.put({"people": PEOPLE})["people"]
    told = ("--quasi", "age,zip", "--sensitive", "disease", "-k", "3", "--suppress", "50%")
    for name, *where in ((str(tmp_path / "people.parquet"),), (source, "--engine", postgres.url)):
        output = str(tmp_path / f"out{len(where)}.csv")
        assert discreet("anonymize", name, *where, *told, "-o", output) == 0
    assert (tmp_path / "out0.csv").read_text() == (tmp_path / "out2.csv").read_text()


@pytest.mark.xdist_group("postgres")
def test_nothing_is_written_where_the_policy_does_not_say_so(
    postgres: PostgresServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = store(postgres, tmp_path, "allowed")
    _, there = both(postgres, tmp_path)
    assert anonymize(there, "release", *MODELS) == 2
    assert "no schema that may be written to" in capsys.readouterr().err
    _, there = both(postgres, tmp_path, store=schema)
    for relation in ("public.release", "discreet_0123456789abcdef_people", 'release"; DROP'):
        assert anonymize(there, relation, *MODELS) == 2
        assert "may not be written" in capsys.readouterr().err
    assert anonymize(there, "release", *MODELS, "--method", "private", "--epsilon", "1") == 2


@pytest.mark.night
@pytest.mark.xdist_group("spark")
def test_a_release_may_be_a_table_of_sparks_catalogue(spark: SparkServer, tmp_path: Path) -> None:
    here, there = both(spark, tmp_path)
    for policy in (here, there):
        fitted = Anonymizer(policy, models=[KAnonymity(k=3)], suppress="30%").fit("people")
        fitted.release.write_rows("release_of_people" if policy is there else tmp_path / "out.parquet")
    assert rows_of(kept(spark, "release_of_people")) == rows_of(pq.read_table(tmp_path / "out.parquet"))
    with pytest.raises(RequestError, match="already"):
        fitted.release.write_rows("release_of_people")
