"""Analysts who share answers, at both listeners: what is free, what is said of belief, and which entries."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet.services.serving.admission import Admission
from tests.http.served import COUNT, Server, both_listeners
from tests.pgwire.served import PASSWORD, write_data

OTHER = "SELECT SUM(age) AS s FROM people"


def write_shared_data(folder: Path) -> None:
    write_data(folder)
    policy = folder / "privacy.yaml"
    policy.write_text(f"share_answers: true\n{policy.read_text()}")


@pytest.fixture
def sharing(tmp_path: Path) -> Iterator[Server]:
    write_shared_data(tmp_path)
    with both_listeners(tmp_path) as running:
        yield running


def test_both_listeners_state_the_belief_of_all_answers_and_the_entries_used(sharing: Server) -> None:
    with sharing.client("alice") as alice, sharing.client("bob") as bob:
        assert alice.get("/api/policy").json()["share_answers"] is True
        alice.post("/api/ask", json={"sql": OTHER})
        first = alice.post("/api/ask", json={"sql": COUNT}).json()
        again = bob.post("/api/ask", json={"sql": COUNT}).json()
        assert (first["entries"], again["epsilon"], again["entries"]) == ([2], 0, [2])
        assert again["rows"] == first["rows"]
        whole = sharing.curators.ledger.describe_belief()
        assert again["sentence"] == bob.get("/api/belief").json()["sentence"] == whole
        assert bob.get("/api/ledger").json()["sentence"] == whole
        assert whole in bob.get("/ledger").text
        assert [each["id"] for each in alice.get("/api/releases").json()["releases"]] == [1, 2]
        bob.post("/api/ask", json={"sql": COUNT, "epsilon": 0.12})
        (own,) = bob.get("/api/releases").json()["releases"]
        assert own["id"] == 3
        assert bob.get("/api/releases/bob/3").status_code == 200
    address: dict[str, Any] = {"host": "127.0.0.1", "port": sharing.postgres, "dbname": "discreet"}
    with psycopg.connect(**address, user="bob", password=PASSWORD, autocommit=True) as connection:
        notices: list[str] = []
        connection.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
        connection.execute(OTHER)
        assert notices[0] == "cost: nothing: everything that it needs was released before (entry 1)"
        whole = sharing.curators.ledger.describe_belief()
        assert notices[-1] == f"belief: {whole}"
        assert connection.execute("SHOW discreet.belief").fetchone() == (whole,)
    assert (sharing.charges("alice"), sharing.charges("bob")) == (2, 1)


def test_who_waits_for_another_takes_no_slot_meanwhile(tmp_path: Path) -> None:
    write_shared_data(tmp_path)
    admission, found = Admission(slots=1, longest_wait=0), list[Any]()
    with both_listeners(tmp_path, slack=2, admission=admission) as server, server.client("bob") as bob:

        def ask() -> None:
            with server.client("alice") as alice:
                found.append(alice.post("/api/ask", json={"sql": COUNT}).json()["epsilon"])

        first = threading.Thread(target=ask)
        first.start()
        while first.is_alive() and not server.charges():
            time.sleep(0.01)
        answer = bob.post("/api/ask", json={"sql": COUNT})
        first.join()
        assert (found, answer.status_code, answer.json()["epsilon"]) == ([0.1], 200, 0)
