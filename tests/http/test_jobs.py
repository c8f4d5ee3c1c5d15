"""Long work over HTTP: begun, followed, and shown to the custodian alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.app.serve.jobs import Jobs, JobState
from discreet.core.errors import RequestError
from tests.conftest import PATIENCE
from tests.http.served import Server, both_doors
from tests.wire.served import CANARY, write_data


def followed(client: httpx.Client, number: int) -> dict[str, Any]:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        told: dict[str, Any] = client.get(f"/api/jobs/{number}").json()
        if told["state"] not in ("waiting", "running"):
            return told
        time.sleep(0.2)
    raise AssertionError("the job does not end")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server whose people have one among them who is alone at an age."""
    write_data(tmp_path)
    people = pq.read_table(tmp_path / "people.parquet").to_pydict()
    people["age"][0] = 90
    pq.write_table(pa.table(people), tmp_path / "people.parquet")
    with both_doors(tmp_path) as running:
        yield running


def test_the_answers_are_attacked_for_the_custodian_and_nothing_is_charged(server: Server) -> None:
    with server.client("carl") as carl, server.client() as alice:
        body = {"table": "people", "claim": "sex = 'Female'", "victims": 1}
        assert alice.post("/api/attacks", json=body).status_code == 403
        begun = carl.post("/api/attacks", json=body)
        assert begun.status_code == 202
        told = followed(carl, begun.json()["id"])
        assert told["state"] == "done", told
        assert {each["name"] for each in told["found"]["attacks"]}
        assert alice.get(f"/api/jobs/{told['id']}").status_code == 403
        assert "found" not in carl.get("/api/jobs").json()["jobs"][0]
    assert server.charges() == 0


def test_files_that_are_no_releases_are_not_attacked(server: Server) -> None:
    server.curators.ledger.note_release("gone", "people, 5-anonymity", {"path": "/nowhere.parquet"})
    with server.client("carl") as carl:
        for number in (1, 2, -1):
            told = carl.post("/api/attacks", json={"release": number})
            assert (told.status_code, told.json()["code"]) == (404, "missing")
        wrong = carl.post("/api/attacks", json={"table": "nothing"}).json()
        failed = followed(carl, wrong["id"])
        assert (failed["state"], failed["error"]["code"]) == ("failed", "refused")
        assert carl.get("/api/jobs/99").status_code == 404


def test_a_job_that_fails_unforeseen_tells_a_number(server: Server) -> None:
    jobs = Jobs()

    def fail(_: object) -> None:
        raise ValueError(CANARY)

    job = jobs.start("fails", fail)
    jobs.close()
    assert job.state is JobState.FAILED
    assert CANARY not in str(job.error)


def test_a_job_that_runs_when_the_server_stops_ends_with_it() -> None:
    jobs, told = Jobs(), []

    def work(tell: Any) -> None:
        while True:
            told.append(tell("working"))
            time.sleep(0.01)

    job = jobs.start("endless", work)
    waiting = [jobs.start("waits", work) for _ in range(4)]
    with pytest.raises(RequestError, match="waiting already"):
        jobs.start("one too many", work)
    while not told:
        time.sleep(0.01)
    jobs.close()
    assert job.state is JobState.STOPPED
    assert {each.state for each in waiting} == {JobState.WAITING}
