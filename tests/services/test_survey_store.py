"""The file of a survey's reports, and the server when something is in its way."""

from __future__ import annotations

import http.client
import json
import os
import random
import shutil
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.core.errors import RequestError
from discreet.services.collect import report_store
from discreet.services.collect.report_store import ReportStore
from discreet.services.collect.surveys import BatchedResults, load_survey
from tests.patience import PATIENCE
from tests.services.surveys import Served, served, write_survey
from tests.services.test_survey import message


@pytest.fixture
def survey(tmp_path: Path) -> Iterator[Served]:
    with served(write_survey(tmp_path)) as found:
        yield found


def opened(folder: Path) -> ReportStore:
    survey = load_survey(write_survey(folder))
    return ReportStore.open_or_create(survey.store, survey.id, survey.descriptions)


def test_the_bytes_of_the_file_do_not_depend_on_the_order_of_arrival(tmp_path: Path) -> None:
    """The same reports in two orders, enough for several pages; at every moment the file may be copied."""
    tickets = [random.randbytes(16) for _ in range(400)]
    images = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with opened(tmp_path / name) as store:
            for number, ticket in enumerate(tickets):
                assert store.add(ticket, [[ticket[0] % 3], [0, 1]])
                if number in (7, 399):
                    images.append(store.path.read_bytes())
                if number == 7:
                    first = tickets[:8]
        random.shuffle(first)
        rest = tickets[8:]
        random.shuffle(rest)
        tickets = first + rest
    assert images[0] == images[2]
    assert images[1] == images[3]
    assert len(images[1]) > 4 * 4096


def test_a_store_that_was_changed_in_place_is_laid_out_anew_when_it_is_opened(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        path = store.path
    tickets = [random.randbytes(16) for _ in range(40)]
    with sqlite3.connect(path) as connection:
        for ticket in tickets:
            connection.execute("INSERT INTO report VALUES (?, 1, 3)", (ticket,))
            connection.commit()
    connection.close()
    with opened(tmp_path):
        image = path.read_bytes()
    places = [image.index(ticket) for ticket in sorted(tickets)]
    assert places in (sorted(places), sorted(places, reverse=True))


def test_reports_that_arrive_at_once_are_all_kept(tmp_path: Path) -> None:
    tickets = [random.randbytes(16) for _ in range(60)]
    with opened(tmp_path) as store:

        def send(part: list[bytes]) -> None:
            for ticket in part:
                store.add(ticket, [[0], [0, 1]])

        threads = [threading.Thread(target=send, args=(tickets[k::6],)) for k in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with ReportStore.open_readonly(tmp_path / "survey.sqlite") as again:
        assert again.count("SELECT COUNT(*) AS n FROM report").secret["n"].to_pylist() == [60]


def test_only_one_process_keeps_reports_and_others_may_read(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.add(b"0" * 16, [[0], [0, 1]])
        with pytest.raises(RequestError, match="Another process writes reports"):
            opened(tmp_path)
        with ReportStore.open_readonly(store.path) as read:
            assert read.count("SELECT COUNT(*) AS n FROM report").secret["n"].to_pylist() == [1]
    with opened(tmp_path):
        pass


def test_a_store_keeps_who_may_read_it(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        assert store.path.stat().st_mode & 0o777 == 0o600
        store.path.chmod(0o640)
        store.add(b"0" * 16, [[0], [0, 1]])
        assert store.path.stat().st_mode & 0o777 == 0o640


def test_other_reports_under_a_known_ticket_are_not_said_to_be_kept(survey: Served) -> None:
    survey.post(message(survey))
    status, told = survey.post(message(survey, reports=[[0], [0, 1]]))
    assert (status, "kept" in told) == (409, False)
    assert "did not store these" in told["error"]
    assert survey.post(message(survey)) == (200, {"kept": True})


def asked(survey: Served, method: str, path: str, body: object = None) -> tuple[int, dict[str, str], Any]:
    port = int(survey.url.rstrip("/").rpartition(":")[2])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        kind = {"Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), kind)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read().decode()
    finally:
        connection.close()


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A disk without room, which is told from then on."""

    def refuse(*_: object) -> int:
        raise OSError(28, "No space left on device")

    return lambda: monkeypatch.setattr(report_store, "_replace_file", refuse)


def test_a_full_disk_is_told_to_respondents_and_once_to_the_custodian(
    capfd: pytest.CaptureFixture[str],
    survey: Served,
    full: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    full()
    for number in range(3):
        status, headers, text = asked(survey, "POST", "/reports", message(survey, ticket=f"{number:032x}"))
        assert status == 503
        assert "Send the same reports again later" in json.loads(text)["error"]
        assert (
            "default-src 'none'"
            in {key.lower(): value for key, value in headers.items()}["content-security-policy"]
        )
    assert asked(survey, "GET", "/results")[0] == 200
    told = capfd.readouterr().err
    assert told.count("No space left on device") == 1
    assert "Traceback" not in told
    monkeypatch.undo()
    assert survey.post(message(survey, ticket=f"{0:032x}")) == (200, {"kept": True})
    with ReportStore.open_readonly(survey.survey.store) as kept:
        assert kept.count("SELECT COUNT(*) AS n FROM report").secret["n"].to_pylist() == [3]


def test_a_browser_that_goes_away_leaves_no_trace(capfd: pytest.CaptureFixture[str], survey: Served) -> None:
    port = int(survey.url.rstrip("/").rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as line:
        head = (
            "POST /reports HTTP/1.1",
            "Host: localhost",
            "Content-Type: application/json",
            "Content-Length: 500",
        )
        line.sendall("\r\n".join((*head, "Expect: 100-continue", "", "")).encode())
        assert b"100 Continue" in line.recv(1000)  # the server waits for the rest
        line.sendall(b"{")
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(b"no request at all\r\n\r\n")
        line.recv(1000)
    assert survey.post(message(survey))[0] == 200
    assert capfd.readouterr().err == ""


def test_what_nobody_thought_of_is_answered_with_the_same_headers(
    capfd: pytest.CaptureFixture[str], survey: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(BatchedResults, "estimate", fail)
    for _ in range(2):
        status, headers, text = asked(survey, "GET", "/results")
        assert status == 500
        assert "no-store" in headers.values() or headers.get("cache-control") == "no-store"
        assert "secret" not in text
    told = capfd.readouterr().err
    assert told.count("an internal error, ZeroDivisionError") == 1
    assert "secret" not in told
    assert "Traceback" not in told


def test_whoever_reads_does_not_wait_for_a_disk_that_hangs(
    survey: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on = threading.Event(), threading.Event()
    put = report_store._replace_file

    def slow(path: Path, image: bytes, held: int | None) -> int:
        began.set()
        go_on.wait(PATIENCE)
        return put(path, image, held)

    monkeypatch.setattr(report_store, "_replace_file", slow)
    sender = threading.Thread(target=survey.post, args=(message(survey),))
    sender.start()
    try:
        assert began.wait(PATIENCE)
        assert asked(survey, "GET", "/results")[0] == 200
        assert asked(survey, "GET", "/")[0] == 200
    finally:
        go_on.set()
        sender.join()


def test_a_store_that_is_copied_or_linked_is_one_like_any_other(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.add(b"0" * 16, [[0], [0, 1]])
        shutil.copy(store.path, tmp_path / "copy.sqlite")
    (tmp_path / "real").mkdir()
    os.replace(tmp_path / "survey.sqlite", tmp_path / "real" / "survey.sqlite")
    (tmp_path / "survey.sqlite").symlink_to(tmp_path / "real" / "survey.sqlite")
    with opened(tmp_path) as store:
        store.add(b"1" * 16, [[0], [0, 1]])
    assert (tmp_path / "survey.sqlite").is_symlink()
    for name, reports in (("copy.sqlite", 1), ("real/survey.sqlite", 2)):
        with ReportStore.open_readonly(tmp_path / name) as read:
            assert read.count("SELECT COUNT(*) AS n FROM report").secret["n"].to_pylist() == [reports]
