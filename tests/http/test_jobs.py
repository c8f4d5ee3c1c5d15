"""Long work over HTTP: begun once, followed, its result fetched, and all of it by the custodian alone."""

from __future__ import annotations

import hashlib
import io
import re
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tests.http.served import Server, both_listeners
from tests.patience import PATIENCE
from tests.pgwire.served import POLICY, write_data

PEOPLE = 400
WITH_ROLES = (
    POLICY.replace("age: {type: integer,", "age: {type: integer, role: quasi,")
    .replace("sex: {type: category,", "sex: {type: category, role: quasi, missing: category,")
    .replace("smoker: {type: boolean}", "smoker: {type: boolean, role: sensitive}")
    .replace("town: {type: text}", "town: {type: text, role: identifier}")
)
SYNTHESIS = {
    "kind": "synthesize",
    "table": "people",
    "analyst": "bob",
    "epsilon": 0.2,
    "columns": ["age", "sex"],
}
ANONYMIZATION = {"kind": "anonymize", "table": "people", "k": 5, "suppress": "10%"}
FORMS = ("csv", "arrow", "parquet")
MISSING = pyarrow.csv.ConvertOptions(strings_can_be_null=True)


def followed(client: httpx.Client, name: str) -> dict[str, Any]:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        told: dict[str, Any] = client.get(f"/api/jobs/{name}").json()
        if told["state"] not in ("waiting", "running"):
            return told
        time.sleep(0.05)
    raise AssertionError("the job does not end")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose people have roles, and one among them who is alone at an age."""
    folder = tmp_path_factory.mktemp("jobs")
    write_data(folder, PEOPLE)
    people = pq.read_table(folder / "people.parquet").to_pydict()
    people["age"][0] = 90
    pq.write_table(pa.table(people), folder / "people.parquet")
    (folder / "privacy.yaml").write_text(WITH_ROLES)
    with both_listeners(folder) as running:
        yield running


@pytest.fixture
def carl(server: Server) -> Iterator[httpx.Client]:
    with server.client("carl") as client:
        yield client


def done(carl: httpx.Client, body: object) -> dict[str, Any]:
    begun = carl.post("/api/jobs", json=body)
    assert begun.status_code == 202, begun.text
    assert begun.headers["location"] == f"/api/jobs/{begun.json()['id']}"
    told = followed(carl, begun.json()["id"])
    assert (told["state"], told["share"]) == ("done", 1.0), told
    return told


def rows(carl: httpx.Client, told: dict[str, Any]) -> dict[str, pa.Table]:
    sent = {form: carl.get(told["result"], params={"format": form}).content for form in FORMS}
    return {
        "csv": pyarrow.csv.read_csv(io.BytesIO(sent["csv"]), convert_options=MISSING),
        "arrow": pa.ipc.open_stream(sent["arrow"]).read_all(),
        "parquet": pq.read_table(io.BytesIO(sent["parquet"])),
    }


def test_a_synthetic_table_is_charged_once_however_often_it_is_sent(
    server: Server, carl: httpx.Client
) -> None:
    key, sent = {"Idempotency-Key": "s1"}, []

    def post() -> None:
        with server.client("carl") as client:
            sent.append(client.post("/api/jobs", json=SYNTHESIS, headers=key))

    threads = [threading.Thread(target=post) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {each.status_code for each in sent} == {202}
    assert len({each.content for each in sent}) == 1
    told = followed(carl, sent[0].json()["id"])
    assert told["state"] == "done", told
    other = carl.post("/api/jobs", json=SYNTHESIS | {"epsilon": 0.3}, headers=key)
    assert (other.status_code, "another request" in other.json()["error"]) == (400, True)
    assert server.charges("bob") == 1
    again = done(carl, SYNTHESIS)
    assert again["found"]["repeated"] is True
    assert server.charges("bob") == 1


def test_a_result_is_the_same_in_every_form_and_its_certificate_fits_it(carl: httpx.Client) -> None:
    told = done(carl, SYNTHESIS | {"name": "made-up"})
    tables = rows(carl, told)
    plain = [table.cast(pa.schema([("age", "int64"), ("sex", "string")])) for table in tables.values()]
    assert plain[0].to_pylist() == plain[1].to_pylist() == plain[2].to_pylist()
    file = carl.get(told["result"], params={"format": "parquet"})
    assert 'filename="made-up.parquet"' in file.headers["content-disposition"]
    certificate = carl.get(told["result"]).json()
    assert certificate["kind"] == "differentially private synthetic table"
    assert certificate["sha256"] == hashlib.sha256(file.content).hexdigest()


def test_an_analyst_fetches_the_rows_that_were_charged_to_the_own_share(
    server: Server, carl: httpx.Client
) -> None:
    told = done(carl, SYNTHESIS)
    made = rows(carl, told)["parquet"]
    with server.client("bob") as bob, server.client("alice") as alice, server.client("audrey") as audrey:
        release = next(
            each
            for each in bob.get("/api/releases").json()["releases"]
            if each["kind"] == "synthetic table" and each["certificate"]["epsilon"] == 0.2
        )
        place = f"/api/releases/bob/{release['id']}/rows"
        sent = {form: bob.get(place, params={"format": form}).content for form in FORMS}
        assert pq.read_table(io.BytesIO(sent["parquet"])).to_pylist() == made.to_pylist()
        assert pa.ipc.open_stream(sent["arrow"]).read_all().to_pylist() == made.to_pylist()
        assert sent["csv"].count(b"\n") == made.num_rows + 1
        assert bob.get(place, params={"format": "json"}).status_code == 400
        assert (alice.get(place).status_code, audrey.get(place).status_code) == (404, 403)
        assert carl.get(place).content == sent["parquet"]
        answered = alice.post("/api/ask", json={"sql": "SELECT COUNT(*) AS n FROM people"}).json()
        assert answered["repeated"] is False
        assert alice.get("/api/releases/alice/1/rows").status_code == 400
    assert server.charges("bob") == 1


@pytest.mark.parametrize(
    "sql",
    [
        "FROM people SELECT COUNT(*) AS n",
        "; SELECT COUNT(*) AS n FROM people",
        "/* a /* b */ synthesize */ SELECT COUNT(*) AS n FROM people",
        "-- a comment\nSELECT COUNT(*) AS n FROM people",
    ],
)
def test_no_text_of_a_question_makes_its_answer_another_kind_of_release(server: Server, sql: str) -> None:
    with server.client("alice") as alice:
        asked = alice.post("/api/ask", json={"sql": sql, "epsilon": 0.01})
        assert asked.status_code == 200, asked.text
        number = server.charges("alice")
        assert alice.get(f"/api/releases/alice/{number}").json()["kind"] == "answer"
        for form in FORMS:
            sent = alice.get(f"/api/releases/alice/{number}/rows", params={"format": form})
            assert (sent.status_code, sent.json()["error"]) == (400, "This release has no stored rows.")


def test_a_generalized_table_keeps_to_its_model_and_stands_in_the_ledger(
    server: Server, carl: httpx.Client
) -> None:
    before = len(server.curators.ledger.list_releases())
    told = done(carl, ANONYMIZATION)
    published = rows(carl, told)["parquet"].to_pylist()
    assert min(Counter((row["age"], row["sex"]) for row in published).values()) >= 5
    assert "town" not in published[0]
    assert carl.get(told["result"]).json()["models"][0]["name"] == "5-anonymity"
    assert {each["name"] for each in told["found"]["trial"]["attacks"]}
    assert len(server.curators.ledger.list_releases()) == before + 1
    begun = carl.post("/api/attacks", json={"release": server.curators.ledger.list_releases()[-1].id})
    attacked = followed(carl, begun.json()["id"])
    assert attacked["state"] == "done", attacked
    assert {each["name"] for each in attacked["found"]["attacks"]}


def test_a_private_generalization_is_charged_to_the_analyst_it_names(tmp_path: Path) -> None:
    write_data(tmp_path, PEOPLE)
    terms = "posterior: 50%, tail: 1e-3, secret: presence}"
    (tmp_path / "privacy.yaml").write_text(WITH_ROLES.replace("posterior: 5%}", terms))
    body = {"kind": "anonymize", "table": "people", "method": "private", "epsilon": 0.4, "delta": 2e-5}
    with both_listeners(tmp_path) as server, server.client("carl") as carl, server.client("bob") as bob:
        assert carl.post("/api/jobs", json=body | {"k": 5}).status_code == 400
        told = done(carl, body | {"analyst": "bob", "level": {"age": 4}})
        assert carl.get(told["result"]).json()["kind"] == "differentially private generalization"
        assert (server.charges("alice"), server.charges("bob")) == (0, 1)
        (release,) = bob.get("/api/releases").json()["releases"]
        assert (release["kind"], release["analyst"]) == ("generalization", "bob")


def test_a_table_that_meets_no_model_is_refused_to_the_custodian_and_not_published(
    server: Server, carl: httpx.Client
) -> None:
    before = len(server.curators.ledger.list_releases())
    begun = carl.post("/api/jobs", json=ANONYMIZATION | {"k": PEOPLE + 1, "suppress": "0"}).json()
    told = followed(carl, begun["id"])
    assert (told["state"], told["error"]["code"]) == ("failed", "unmet")
    missing = carl.get(f"/api/jobs/{begun['id']}/result")
    assert (missing.status_code, missing.json()["code"]) == (404, "missing")
    assert len(server.curators.ledger.list_releases()) == before


def test_an_audit_reads_no_data_and_its_result_is_a_bound(server: Server, carl: httpx.Client) -> None:
    before = server.charges("alice"), server.charges("bob")
    told = done(carl, {"kind": "audit", "audited": "discrete-laplace", "runs": 2_000})
    result = carl.get(told["result"]).json()
    assert result == told["found"]
    assert result["holds"] is True
    table = carl.get(told["result"], params={"format": "csv"})
    assert (table.status_code, table.json()["code"]) == (400, "refused")
    assert (server.charges("alice"), server.charges("bob")) == before


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"kind": "publish"}, 422),
        (ANONYMIZATION | {"table": "nowhere"}, 400),
        (ANONYMIZATION | {"table": "/etc/passwd"}, 400),
        (ANONYMIZATION | {"table": "people.parquet"}, 400),
        (ANONYMIZATION | {"population": "/etc/passwd"}, 400),
        (ANONYMIZATION | {"name": "../people"}, 422),
        (ANONYMIZATION | {"name": "people\n"}, 422),
        (ANONYMIZATION | {"method": "erase"}, 400),
        (ANONYMIZATION | {"with": [99]}, 404),
        (ANONYMIZATION | {"population": "visits", "k_map": 5}, 400),
        (ANONYMIZATION | {"k": None}, 400),
        (ANONYMIZATION | {"output": "/tmp/x.csv"}, 422),
        (ANONYMIZATION | {"l_diversity": ["smoker"]}, 422),
        (SYNTHESIS | {"analyst": None}, 400),
        (SYNTHESIS | {"analyst": "carl"}, 400),
        (SYNTHESIS | {"columns": ["nothing"]}, 400),
        (SYNTHESIS | {"with": [99]}, 400),
        (SYNTHESIS | {"epsilon": 5e-324}, 422),
        (SYNTHESIS | {"panel": "/etc/passwd"}, 422),
    ],
)
def test_what_can_be_refused_is_refused_before_a_job_begins(
    carl: httpx.Client, body: dict[str, object], status: int
) -> None:
    before = len(carl.get("/api/jobs").json()["jobs"])
    told = carl.post("/api/jobs", json=body, headers={"Idempotency-Key": "refused"})
    assert told.status_code == status, told.text
    assert "--" not in re.sub("`discreet .*?`", "", told.text)  # fields are named, not options
    assert len(carl.get("/api/jobs").json()["jobs"]) == before


def test_what_is_cancelled_before_its_charge_costs_nothing(server: Server, carl: httpx.Client) -> None:
    before = server.charges("bob")
    with closing(sqlite3.connect(server.folder / "ledger.db", isolation_level=None)) as rival:
        rival.execute("BEGIN IMMEDIATE")  # until it is over, nothing can be charged
        first = carl.post("/api/jobs", json=SYNTHESIS | {"epsilon": 0.11}).json()["id"]
        second = carl.post("/api/jobs", json=ANONYMIZATION).json()["id"]
        assert carl.delete(f"/api/jobs/{second}").json()["state"] == "cancelled"
        assert carl.delete(f"/api/jobs/{first}").status_code == 200
        rival.execute("ROLLBACK")
    told = followed(carl, first)
    assert (told["state"], told["found"]) == ("cancelled", None)
    assert server.charges("bob") == before
    late = carl.delete(f"/api/jobs/{first}")
    assert (late.status_code, late.json()["code"]) == (409, "too-late")


def test_jobs_are_the_custodians_alone(server: Server, carl: httpx.Client) -> None:
    name = done(carl, {"kind": "audit", "audited": "discrete-laplace", "runs": 500})["id"]
    for user in ("alice", "audrey"):
        with server.client(user) as client:
            for method, path in (
                ("POST", "/api/jobs"),
                ("GET", "/api/jobs"),
                ("GET", f"/api/jobs/{name}"),
                ("GET", f"/api/jobs/{name}/result"),
                ("DELETE", f"/api/jobs/{name}"),
                ("GET", "/api/jobs/0"),
            ):
                told = client.request(method, path, json=SYNTHESIS if method == "POST" else None)
                assert (told.status_code, told.json()["code"]) == (403, "forbidden"), (user, path)
    late = carl.delete(f"/api/jobs/{name}")
    assert (late.status_code, late.json()["code"]) == (409, "too-late")
    assert carl.get("/api/jobs/0").status_code == 404


def test_the_answers_are_attacked_for_the_custodian_and_nothing_is_charged(
    server: Server, carl: httpx.Client
) -> None:
    before = server.charges()
    body = {"table": "people", "claim": "sex = 'Female'", "victims": 1}
    with server.client() as alice:
        assert alice.post("/api/attacks", json=body).status_code == 403
    begun = carl.post("/api/attacks", json=body)
    assert begun.status_code == 202
    told = followed(carl, begun.json()["id"])
    assert told["state"] == "done", told
    assert {each["name"] for each in told["found"]["attacks"]}
    listed = next(each for each in carl.get("/api/jobs").json()["jobs"] if each["id"] == told["id"])
    assert "found" not in listed
    assert carl.get(f"/api/jobs/{told['id']}/result").status_code == 404
    assert server.charges() == before


def test_files_that_are_no_releases_are_not_attacked(server: Server, carl: httpx.Client) -> None:
    gone = server.curators.ledger.record_release("gone", "people, 5-anonymity", {"path": "/nowhere.parquet"})
    for number in (gone.id, 99, -1):
        told = carl.post("/api/attacks", json={"release": number})
        assert (told.status_code, told.json()["code"]) == (404, "missing")
    wrong = carl.post("/api/attacks", json={"table": "nothing"}).json()
    failed = followed(carl, wrong["id"])
    assert (failed["state"], failed["error"]["code"]) == ("failed", "refused")
