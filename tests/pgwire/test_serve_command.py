"""`discreet serve`, as it is started and stopped."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from discreet.cli.server_process import ServerProcess
from discreet.services.policies import load_policy
from discreet.services.serving.job import JobState
from discreet.services.serving.job_queue import JobQueue
from discreet.services.users import open_user_storage
from tests.http.data_forms import read_page
from tests.patience import PATIENCE
from tests.pgwire.served import accept_data, write_data
from tests.services.test_promise import discreet


def _started(*words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "discreet", "serve", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_it_serves_a_policy_until_it_is_stopped(tmp_path: Path) -> None:
    write_data(tmp_path)
    accept_data(tmp_path, "sqlite:///kept.db")
    policy = str(tmp_path / "privacy.yaml")
    # a busy machine misses deadlines, which is a fault
    places = ["--http", "0", "--postgres", "0", "--ledger", "sqlite:///kept.db", "--no-padding"]
    server = _started("--policy", policy, *places, "--json")
    try:
        assert server.stdout is not None
        told = json.loads(server.stdout.readline())
        address = {**told["postgres"], "user": "alice", "dbname": "discreet"}
        with psycopg.connect(**address, password=told["passwords"]["alice"]) as connection:
            assert connection.execute("SELECT COUNT(*) FROM people").fetchone() is not None
        with pytest.raises(psycopg.OperationalError, match="Name or password is wrong"):
            psycopg.connect(**address, password=told["passwords"]["bob"])
        first = {**address, "user": "custodian"}
        with pytest.raises(psycopg.OperationalError, match="has to be changed first"):
            psycopg.connect(**first, password=told["passwords"]["custodian"])
        with pytest.raises(psycopg.OperationalError, match="Name or password is wrong"):
            psycopg.connect(**first, password=told["passwords"]["bob"])
        _choose_password(told)
    finally:
        server.send_signal(signal.SIGTERM)
        said = server.communicate(timeout=PATIENCE)
    assert (server.returncode, said[1]) == (0, "")
    assert (tmp_path / "kept.db").exists()
    assert not (tmp_path / "ledger.db").exists()


def test_ports_are_announced_when_both_listeners_accept_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_data(tmp_path)
    said = []

    async def open_listeners(
        self: ServerProcess,
        web: object,
        wire: object,
        stopped: object,
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        said.append(capsys.readouterr().out)
        ready()
        said.append(capsys.readouterr().out)

    monkeypatch.setattr(ServerProcess, "run_listeners", open_listeners)
    words = ("--http", "0", "--postgres", "0", "--no-padding", "--json")
    assert discreet("serve", "--policy", str(tmp_path / "privacy.yaml"), *words) == 0
    before, after = said
    assert before == ""
    assert json.loads(after)["passwords"]
    assert capsys.readouterr().out == ""


def _choose_password(told: dict[str, Any]) -> None:
    """The custodian's first password opens nothing but the place where another is chosen."""
    url, first = f"http://127.0.0.1:{told['http']['port']}", told["passwords"]["custodian"]
    with httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE) as client:
        entered = client.post("/api/login", json={"name": "custodian", "password": first}).json()
        assert client.get("/api/ledger").json()["code"] == "password"
        client.headers["X-CSRF-Token"] = entered["csrf"]
        body = {"old": first, "new": "another password"}
        assert client.post("/api/password", json=body).json()["once"] is False
        assert len(client.get("/api/ledger").json()["entries"]) == 1


def test_it_ends_while_a_job_runs_that_would_take_hours(tmp_path: Path) -> None:
    write_data(tmp_path)
    accept_data(tmp_path)
    server = _started("--policy", str(tmp_path / "privacy.yaml"), "--http", "0", "--postgres", "0", "--json")
    try:
        assert server.stdout is not None
        told = json.loads(server.stdout.readline())
        url = f"http://127.0.0.1:{told['http']['port']}"
        with httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE) as client:
            _begin_audit(client, told["passwords"]["custodian"])
    finally:
        server.send_signal(signal.SIGTERM)
        said = server.communicate(timeout=PATIENCE)
    assert (server.returncode, said[1]) == (0, "")
    with open_user_storage(load_policy(tmp_path / "privacy.yaml").ledger) as file:
        (job,) = JobQueue(file).list_jobs()
    assert job.failure is not None
    assert (job.state, job.failure.code) == (JobState.FAILED, "stopped")


def _begin_audit(client: httpx.Client, first: str) -> None:
    """Ten million sessions, each of many questions; until the first of them are asked."""
    entered = client.post("/api/login", json={"name": "custodian", "password": first}).json()
    client.headers["X-CSRF-Token"] = entered["csrf"]
    changed = client.post("/api/password", json={"old": first, "new": "another password"})
    client.headers["X-CSRF-Token"] = changed.json()["csrf"]
    body = {"kind": "audit", "audited": "SELECT COUNT(*) FROM people", "session": True, "runs": 10_000_000}
    begun = client.post("/api/jobs", json=body)
    assert begun.status_code == 202, begun.text
    while client.get(begun.headers["Location"]).json()["state"] == "waiting":
        time.sleep(0.05)


def test_it_says_which_tables_make_answers_wait_for_a_million_rows(tmp_path: Path) -> None:
    """A join of three small tables left after eight minutes, and nothing said why."""
    write_data(tmp_path)
    server = _started("--policy", str(tmp_path / "privacy.yaml"), "--http", "0", "--postgres", "0")
    try:
        assert server.stdout is not None
        lines = [server.stdout.readline() for _ in range(4)]
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=PATIENCE)
    assert lines[3].startswith("times ")
    assert "1,000,000 rows of " in lines[3]
    assert "most_rows" in lines[3]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "0.0.0.0"], "TLS is not configured"),
        (["--tls-cert", "cert.pem"], "goes with its key"),
        (["--http", "65536"], "--http must be at most 65535"),
        (["--slack", "0"], "slack must be a finite number above 0"),
        (["--policy", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_what_it_cannot_do_is_said_in_one_sentence(tmp_path: Path, words: list[str], said: str) -> None:
    server = _started(*words)
    out, err = server.communicate(timeout=PATIENCE)
    assert (server.returncode, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_the_policy_beside_it_is_served_and_named(tmp_path: Path) -> None:
    write_data(tmp_path)
    command = [sys.executable, "-m", "discreet", "serve", "--http", "0", "--postgres", "0", "--no-padding"]
    server = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        assert server.stdout.readline().split() == ["policy", "privacy.yaml"]
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=PATIENCE)
    assert not (tmp_path / "sample").exists()


def test_an_empty_folder_is_set_up_in_the_console_and_served_again(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age\n" + "\n".join(map(str, range(90))))
    words = (
        "--policy",
        str(tmp_path / "privacy.yaml"),
        "--setup",
        "--http",
        "0",
        "--postgres",
        "0",
        "--json",
    )
    server = _started(*words, "--no-padding")
    try:
        assert server.stdout is not None
        told = json.loads(server.stdout.readline())
        assert set(told["passwords"]) == {"custodian", "analyst"}
        url = f"http://127.0.0.1:{told['http']['port']}"
        with httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE) as client:
            first = told["passwords"]["custodian"]
            entered = client.post("/api/login", json={"name": "custodian", "password": first}).json()
            client.headers["X-CSRF-Token"] = entered["csrf"]
            changed = client.post("/api/password", json={"old": first, "new": "another password"})
            form = read_page(client.get("/data/new?source=people.csv").text).fields
            assert form["csrf"] == changed.json()["csrf"]
            form |= {"entries.person": "row", "columns.0.low": "0", "columns.0.high": "120", "do": "save"}
            assert client.post("/data/form", data=form).headers["location"] == "/check?saved=people"
    finally:
        server.send_signal(signal.SIGTERM)
        said = server.communicate(timeout=PATIENCE)
    assert (server.returncode, said[1]) == (0, "")
    again = _started(*words)
    try:
        assert again.stdout is not None
        assert json.loads(again.stdout.readline())["passwords"] == {}
    finally:
        again.send_signal(signal.SIGTERM)
        said = again.communicate(timeout=PATIENCE)
    assert again.returncode == 0
    assert "Analysts are refused until data version 1 is accepted" in said[1]
