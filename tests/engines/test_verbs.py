"""Every command counts where the rows are: the same coins give the same tables, and what reads no row needs
no engine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import yaml

from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.services import itemsets, stream, tabulate
from discreet.services.count_publication import Publication, release_counts
from discreet.services.count_requests import ItemsetsRequest, StreamRequest, TabulateRequest
from discreet.services.curator import Curator
from discreet.services.policies import load_policy
from discreet.services.record_evaluation import RecordRequest, attack_record
from discreet.sql.true_values import compute_true_values
from tests.conftest import seeded
from tests.engines.servers import Server, spark_by_night
from tests.engines.support import shows
from tests.engines.test_asking import address
from tests.http.served import both_listeners
from tests.services.test_promise import discreet

PEOPLE = 300
COLUMNS: dict[str, dict[str, Any]] = {
    "name": {"role": "identifier"},
    "age": {"type": "integer", "low": 20, "high": 59, "role": "quasi", "nulls": False},
    "town": {"type": "category", "values": ["north", "south"], "role": "quasi", "nulls": False},
    "ill": {"type": "category", "values": ["no", "yes"], "role": "sensitive", "nulls": False},
    "smokes": {"type": "boolean", "nulls": False},
    "drinks": {"type": "boolean", "nulls": False},
}
COUNTED = "SELECT town, COUNT(*) AS n FROM people GROUP BY town ORDER BY town"
NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"


def drawn(seed: int = 0) -> pa.Table:
    """People, of whom the first alone is twenty years old."""
    numbers = list(seeded(seed).draw_words(PEOPLE).tolist())
    ages = [20, *(21 + number % 39 for number in numbers[1:])]
    return pa.table(
        {
            "name": [f"p{place}" for place in range(PEOPLE)],
            "age": ages,
            "town": [("north", "south")[number >> 7 & 1] for number in numbers],
            "ill": [("no", "yes")[number >> 9 & 1] for number in numbers],
            "smokes": [number % 3 == 0 for number in numbers],
            "drinks": [number % 5 < 3 for number in numbers],
        }
    )


def written(folder: Path, engine: str, source: str, **more: Any) -> Path:
    """A policy in a folder, and so a ledger, of its own."""
    folder.mkdir()
    people = {"source": source, "person": "row", "rows": PEOPLE, "columns": COLUMNS}
    terms = {"promise": {"prior": "1%", "posterior": "99%"}, "engine": engine, **more}
    path = folder / "privacy.yaml"
    path.write_text(yaml.safe_dump({**terms, "tables": {"people": people}}))
    return path


def there(folder: Path, server: Server, **more: Any) -> Path:
    """A policy whose people the engine has."""
    return written(folder / "there", address(server), server.put({"people": drawn()})["people"], **more)


def here_and_there(folder: Path, server: Server) -> Iterator[Path]:
    pq.write_table(drawn(), folder / "people.parquet")
    yield written(folder / "here", "duckdb", str(folder / "people.parquet"))
    yield there(folder, server)


def publications(curator: Curator) -> Iterator[Publication]:
    cells = TabulateRequest(table="people", columns=("town", "ill"), epsilon=0.5)
    yield tabulate.plan_table_release(curator, cells)
    yield itemsets.plan_itemsets_release(curator, ItemsetsRequest(table="people", epsilon=0.5))
    asked = [f"SELECT COUNT(*) FROM people WHERE age > {age} AND ill = 'yes'" for age in (30, 40)]
    yield stream.plan_stream_release(
        curator, StreamRequest(table="people", epsilon=0.5), asked, lambda *_: None
    )


@shows("`tabulate`, `itemsets` and `stream`")
@spark_by_night
def test_the_same_coins_publish_the_same_counts_on_every_engine(server: Server, tmp_path: Path) -> None:
    found = []
    for policy in here_and_there(tmp_path, server):
        with Curator.open(policy, random=seeded(3)) as curator:
            found.append(
                [
                    release_counts(curator, publication).rows.to_pylist()
                    for publication in publications(curator)
                ]
            )
    assert found[0] == found[1]
    assert all(found[0])


@pytest.mark.parametrize("verb", ["tabulate", "itemsets", "stream"])
def test_the_address_may_be_told_to_what_publishes_counts(
    postgres: Server, verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = postgres.put({"people": drawn()})["people"]
    policy, questions = written(tmp_path / "told", "duckdb", source), tmp_path / "asked.sql"
    questions.write_text("SELECT COUNT(*) FROM people WHERE ill = 'yes'")
    words = {"tabulate": ("--columns", "town"), "itemsets": (), "stream": (str(questions),)}[verb]
    output = tmp_path / "counts.parquet"
    told = (*words, "--policy", str(policy), "--engine", address(postgres), "-o", str(output), "--json")
    assert discreet(verb, "people", *told, "--epsilon", "1") == 0
    assert json.loads(capsys.readouterr().out)["epsilon"] == 1
    assert pq.read_table(output).num_rows > 0


@shows("`synthesize`, and `attack` of its people beside a panel")
@spark_by_night
def test_a_table_is_synthesized_and_attacked_where_its_people_are(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, panel = str(there(tmp_path, server)), str(tmp_path / "panel.csv")
    pa.csv.write_csv(drawn(7), panel)
    output = str(tmp_path / "made.parquet")
    words = ("--policy", policy, "--panel", panel, "--json")
    assert discreet("synthesize", "people", "--epsilon", "2", "-o", output, *words) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"] == 2
    assert set(pq.read_schema(output).names) == set(COLUMNS) - {"name"}
    assert discreet("attack", output, *words) == 0
    assert len(json.loads(capsys.readouterr().out)["attacks"]) >= 3


@shows("`attack` of answers")
@spark_by_night
def test_answers_are_attacked_where_the_rows_are(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = str(there(tmp_path, server))
    assert discreet("attack", policy, "--claim", "ill = 'yes'", "--victims", "3", "--json") == 0
    found = json.loads(capsys.readouterr().out)["attacks"]
    assert {each["name"] for each in found} >= {"differencing", "averaging"}
    assert len(found[0]["victims"]) == 3
    assert not (tmp_path / "there" / "ledger.db").exists()


@shows("`hierarchy --uncovered`")
@spark_by_night
def test_what_a_hierarchy_leaves_out_is_looked_up_where_the_rows_are(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = server.put({"people": drawn()})["people"]
    people = {"source": source, "columns": {"town": {"type": "text"}}}
    hierarchies = {"town": {"tree": {"*": ["north", "east"]}}}
    policy = tmp_path / "privacy.yaml"
    policy.write_text(yaml.safe_dump({"tables": {"people": people}, "hierarchies": hierarchies}))
    words = ("hierarchy", "town", "--uncovered", "--json", "--policy", str(policy))
    assert discreet(*words, "--engine", address(server)) == 0
    assert json.loads(capsys.readouterr().out) == {"uncovered": ["south"], "missing": False}


@shows("`serve`, at both listeners")
@spark_by_night
def test_a_policy_is_served_where_its_rows_are(server: Server, tmp_path: Path) -> None:
    policy = there(tmp_path, server, analysts={"alice": {"share": "100%"}}, true_values="custodian")
    with both_listeners(policy.parent) as listeners:
        with listeners.client() as client:
            answer = client.post("/api/ask", json={"sql": COUNTED, "epsilon": 2}).json()
            again = client.post("/api/ask", json={"sql": COUNTED, "epsilon": 2}).json()
        assert [town for town, _ in answer["rows"]] == ["north", "south"]
        assert answer["rows"] == again["rows"]
        assert listeners.charges() == 1
        plan = listeners.curators.for_analyst("alice").plan(COUNTED, epsilon=2).query_plan
        with listeners.curators.open_engine() as engine:
            towns = drawn()["town"].to_pylist()
            assert compute_true_values(plan, engine).columns["n"] == {
                (town,): towns.count(town) for town in towns
            }
            found = attack_record(
                load_policy(policy), engine, RecordRequest(table="people", person={"age": "20"}, column="ill")
            )
    assert [found.beliefs[0].matching_rows, found.beliefs[0].posterior] == [1, 1.0]
    assert found.beliefs[2].posterior <= found.promised_cap


def test_what_reads_no_row_needs_no_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = ("--policy", str(written(tmp_path / "nowhere", NOWHERE, "people")))
    assert discreet("hierarchy", "age", "--json", *policy) == 0
    assert discreet("user", "list", "--json", *policy) == 0
    assert discreet("ledger", "--json", *policy) == 0


@pytest.mark.night
def test_an_audit_needs_no_engine(tmp_path: Path) -> None:
    policy = ("--policy", str(written(tmp_path / "nowhere", NOWHERE, "people")))
    question = "SELECT COUNT(*) AS n FROM people"
    assert discreet("audit", question, "--epsilon", "0.5", "--runs", "200", "--json", *policy) == 0


@pytest.mark.parametrize(
    "verb",
    [
        ("ask", "SELECT COUNT(*) AS n FROM people", "--epsilon", "1"),
        ("tabulate", "people", "--columns", "town", "--epsilon", "1"),
        ("synthesize", "people", "--epsilon", "1", "-o", "made.parquet"),
        ("train", "tree", "people", "--target", "ill", "--epsilon", "1"),
        ("anonymize", "people", "-k", "5"),
        ("collect", "randomize", "people", "--column", "ill", "-o", "sent.parquet"),
        ("hierarchy", "town", "--uncovered"),
        ("serve",),
    ],
    ids=lambda verb: verb[0],
)
def test_an_engine_that_is_not_there_is_one_sentence_and_costs_nothing(
    verb: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    policy = written(tmp_path / "nowhere", NOWHERE.replace("nobody", "ann:hidden"), "people")
    assert discreet(*verb, "--policy", str(policy)) == 2
    told = capsys.readouterr().err
    assert "PostgreSQL: no connection to 127.0.0.1." in " ".join(told.split())
    assert "hidden" not in told
    assert discreet("ledger", "--json", "--policy", str(policy)) == 0
    assert json.loads(capsys.readouterr().out)["entries"] == []


def test_a_policy_keeps_the_address_that_is_told(tmp_path: Path) -> None:
    policy = written(tmp_path / "told", "duckdb", "people")
    found = load_policy(policy, engine=NOWHERE)
    assert isinstance(found, Policy)
    assert (found.engine, found.tables["people"].source) == (NOWHERE, "people")


def test_frames_are_asked_as_files_are(tmp_path: Path) -> None:
    pq.write_table(drawn(), tmp_path / "people.parquet")
    frames = {
        "file": None,
        "arrow": drawn(),
        "pandas": drawn().to_pandas(),
        "polars": pl.from_arrow(drawn()),
        "lazy": pl.DataFrame(pl.from_arrow(drawn())).lazy(),
    }
    found = {}
    for name, frame in frames.items():
        policy = written(
            tmp_path / name, "duckdb", str(tmp_path / "people.parquet" if frame is None else "none")
        )
        held = None if frame is None else {"people": frame}
        with Curator.open(policy, tables=held, random=seeded(5)) as curator:
            found[name] = curator.ask(COUNTED, epsilon=1).table.to_pylist()
    assert all(each == found["file"] for each in found.values())


def test_a_frame_that_does_not_fit_is_refused_before_anything_is_charged(tmp_path: Path) -> None:
    policy = written(tmp_path / "here", "duckdb", "none")
    with pytest.raises(RequestError, match="the policy has no table persons"):
        Curator.open(policy, tables={"persons": drawn()})
    with pytest.raises(RequestError, match="declares the column age; the frame does not have it"):
        Curator.open(policy, tables={"people": drawn().drop_columns("age")})
    with pytest.raises(RequestError, match="a pandas or polars frame, an Arrow table"):
        Curator.open(policy, tables={"people": [1, 2]})  # type: ignore[dict-item]
    with pytest.raises(RequestError, match="a frame is in this program"):
        Curator.open(policy, tables={"people": drawn()}, engine=NOWHERE)
