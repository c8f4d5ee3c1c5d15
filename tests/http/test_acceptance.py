"""Nobody is answered before the custodian has accepted the data: over HTTP and the PostgreSQL protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.services.check.acceptance import list_unaccepted
from discreet.services.check.check import run_check
from discreet.services.check.check_request import CheckRequest
from discreet.services.policies import load_policy
from tests.http.served import COUNT, Server, both_listeners
from tests.pgwire.served import PASSWORD, write_data

SENTENCE = "the custodian has not accepted this version of the data yet; nothing was charged."


def ask(client: httpx.Client, sql: str = COUNT) -> httpx.Response:
    return client.post("/api/ask", json={"sql": sql, "epsilon": 0.01})


def psql(server: Server, user: str, sql: str) -> list[Any]:
    place: dict[str, Any] = {"host": "127.0.0.1", "port": server.postgres, "dbname": "discreet"}
    with psycopg.connect(**place, user=user, password=PASSWORD) as connection:
        connection.execute("SET discreet.epsilon = 0.01")
        return connection.execute(sql).fetchall()


def test_analysts_are_refused_by_one_sentence_until_the_custodian_accepts(tmp_path: Path) -> None:
    write_data(tmp_path)
    with (
        both_listeners(tmp_path, accepted=False) as server,
        server.client("alice") as alice,
        server.client("bob") as bob,
        server.client("carl") as carl,
    ):
        assert alice.post("/api/plan", json={"sql": COUNT, "epsilon": 0.01}).status_code == 200
        refusals = [
            ask(client, sql)
            for client in (alice, bob)
            for sql in (
                COUNT,
                "SELECT AVG(cost) AS c FROM visits",
                "SELECT COUNT(*) FROM people WHERE age < 0",
            )
        ]
        assert {each.status_code for each in refusals} == {400}
        assert {each.text for each in refusals} == {refusals[0].text}
        told = refusals[0].json()
        assert (told["code"], SENTENCE in told["error"]) == ("not-accepted", True)
        with pytest.raises(psycopg.Error, match="has not accepted this version"):
            psql(server, "bob", COUNT)
        assert (server.charges("alice"), server.charges("bob")) == (0, 0)
        seen = carl.get("/api/check").json()
        assert (seen["accepted"], [each["accepted"] for each in seen["tables"]]) == (False, [False, False])
        found = carl.post("/api/check", json={"accept": True}).json()
        assert [table["accepted"] for table in found["tables"]] == [True, True]
        assert ask(alice).status_code == 200
        assert len(psql(server, "bob", COUNT)) == 1
        assert carl.get("/api/check").json()["accepted"] is True


def test_the_check_is_for_the_custodian_alone(tmp_path: Path) -> None:
    write_data(tmp_path)
    with both_listeners(tmp_path, accepted=False) as server:
        for user in ("alice", "audrey"):
            with server.client(user) as client:
                assert client.get("/api/check").status_code == 403
                assert client.post("/api/check", json={"accept": True}).status_code == 403
        with server.client(None) as stranger:
            assert stranger.post("/api/check", json={}).status_code == 401
        with server.client("carl") as carl:
            assert carl.post("/api/check", json={"tables": ["nowhere"]}).status_code == 400
            assert carl.post("/api/check", json={"despite": True}).status_code in (400, 422)
            (people,) = carl.post("/api/check", json={"tables": ["people"]}).json()["tables"]
            assert (people["name"], people["accepted"]) == ("people", False)
        assert list_unaccepted(server.curators.ledger, server.curators.table_states) == ["people", "visits"]


def test_an_acceptance_on_the_command_line_holds_at_a_running_server(tmp_path: Path) -> None:
    write_data(tmp_path)
    with both_listeners(tmp_path, accepted=False) as server, server.client("alice") as alice:
        assert ask(alice).status_code == 400
        policy = load_policy(tmp_path / "privacy.yaml")
        run_check(policy, CheckRequest(tables=("people",), accept=True))
        assert ask(alice).status_code == 400
        run_check(policy, CheckRequest(tables=("visits",), accept=True))
        assert ask(alice).status_code == 200


def test_another_version_needs_another_acceptance(tmp_path: Path) -> None:
    write_data(tmp_path)
    with both_listeners(tmp_path) as server, server.client("alice") as alice:
        assert ask(alice).status_code == 200
    path = tmp_path / "privacy.yaml"
    pq.write_table(pa.table({"person": [1], "cost": [2]}), tmp_path / "visits.parquet")
    path.write_text(f"data_version: 2\n{path.read_text()}")
    with both_listeners(tmp_path, accepted=False) as server, server.client("alice") as alice:
        # an answer of the other version is another question, and this one is refused
        assert ask(alice).json()["code"] == "not-accepted"
        assert server.charges() == 1


def test_the_console_shows_the_check_and_accepts_the_data(tmp_path: Path) -> None:
    write_data(tmp_path)
    html = {"Accept": "text/html"}
    with (
        both_listeners(tmp_path, accepted=False) as server,
        server.client("carl") as carl,
        server.client("alice") as alice,
    ):
        shown = carl.get("/check", headers=html)
        assert ("not accepted: analysts are refused" in shown.text, "Check and accept" in shown.text) == (
            True,
            True,
        )
        assert alice.get("/check", headers=html).status_code == 403
        csrf = carl.headers["X-CSRF-Token"]
        assert carl.post("/check", data={"do": "accept", "csrf": "wrong"}, headers=html).status_code == 403
        assert ask(alice).status_code == 400
        looked = carl.post("/check", data={"do": "check", "csrf": csrf}, headers=html)
        assert ("<h2>people" in looked.text, ask(alice).status_code) == (True, 400)
        carl.post("/check", data={"do": "accept", "csrf": csrf}, headers=html)
        assert ask(alice).status_code == 200
        assert "accepted: analysts are answered" in carl.get("/check", headers=html).text
