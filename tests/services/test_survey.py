"""A survey's server and store, without a browser: what is taken, what is kept, what is told."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import RequestError
from discreet.core.randomness import Randomness
from discreet.local.bit_sampling import unpack_bits
from discreet.local.report_formats import ReportCounts
from discreet.services.collect.estimate import estimate_counts
from discreet.services.collect.report_store import ReportStore
from discreet.services.collect.surveys import load_survey
from tests.services.surveys import TEXT, Served, served, write_survey
from tests.services.test_promise import discreet

MISS = 1 - 1e-10


@pytest.fixture
def survey(tmp_path: Path) -> Iterator[Served]:
    with served(write_survey(tmp_path)) as found:
        yield found


def message(to: Served, /, **changed: Any) -> dict[str, Any]:
    """What a page would send."""
    return {"survey": to.survey.id, "ticket": "0" * 32, "reports": [[1], [2, 5]], **changed}


def test_a_report_is_kept_and_counted(survey: Served) -> None:
    assert survey.results == {"clients": 0, "batch": 20, "questions": []}
    assert "Results appear after 20 reports" in survey.get("results")
    for number in range(20):
        assert survey.post(message(survey, ticket=f"{number:032x}")) == (200, {"kept": True})
    found = survey.results
    assert found["clients"] == 20
    assert [each["question"] for each in found["questions"]] == ["smoking", "illness"]


def test_results_change_with_whole_batches_alone_also_after_a_restart(tmp_path: Path) -> None:
    """Whoever looks after each report sees the same until five more are there."""
    path, seen = write_survey(tmp_path, TEXT.replace("questions:", "batch: 5\nquestions:")), []
    for start in (0, 7):
        with served(path) as found:
            seen.append((found.results, found.get("results")))
            for number in range(start, start + 7):
                found.post(message(found, ticket=f"{number:032x}", reports=[[number % 3], [1, 3]]))
                found.post(message(found, ticket=f"{number:032x}", reports=[[number % 3], [1, 3]]))
                seen.append((found.results, found.get("results")))
            assert found.kept == start + 7
    shown = [results["clients"] for results, _ in seen]
    assert shown == [0] * 5 + [5] * 6 + [10] * 5
    by_count = {clients: {str(each) for each in seen if each[0]["clients"] == clients} for clients in shown}
    assert [len(pages) for pages in by_count.values()] == [1, 1, 1]
    (tmp_path / "survey.sqlite.shown.json").write_text("{")
    with served(path) as found:
        assert found.results["clients"] == 14


def test_estimates_that_no_honest_reports_explain_are_flagged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_survey(tmp_path, TEXT.replace("questions:", "batch: 60\nquestions:"))
    smoking = load_survey(path).descriptions[0]
    honest = ReportCounts(clients=60, cells=np.array([[60, 10, 35, 15]]))
    assert estimate_counts(smoking, honest, 0.95).warnings == ()
    with served(path) as found:
        for number in range(60):
            found.post(message(found, ticket=f"{number:032x}", reports=[[2], [5, 6]]))
        told = [each["warnings"] for each in found.results["questions"]]
        assert [each.partition(" is estimated")[0] for each in told[0]] == [
            "The share of Never",
            "The share of Sometimes",
            "The share of Every day",
        ]
        assert "The share of Never is estimated outside the possible range" in found.get("results")
    assert discreet("collect", "estimate", str(tmp_path / "survey.sqlite")) == 0
    assert "chance does not explain it" in " ".join(capsys.readouterr().out.split())


def test_the_same_ticket_again_is_not_counted_again_and_changes_nothing(survey: Served) -> None:
    survey.post(message(survey))
    before = survey.results
    assert survey.post(message(survey, reports=[[0], [0, 1]]))[0] == 409
    assert survey.results == before
    survey.post(message(survey, ticket="1" * 32))
    assert survey.kept == 2


REFUSED: dict[str, dict[str, Any]] = {
    "no set": {"reports": [1, 2]},
    "two where one is sent": {"reports": [[0, 1], [2, 5]]},
    "twice the same": {"reports": [[1], [2, 2]]},
    "outside": {"reports": [[3], [2, 5]]},
    "below": {"reports": [[-1], [2, 5]]},
    "no integer": {"reports": [[1.0], [2, 5]]},
    "a truth value": {"reports": [[True], [2, 5]]},
    "a question too few": {"reports": [[1]]},
    "no ticket": {"ticket": "x"},
    "another survey": {"survey": "0" * 32},
    "more than reports": {"answer": 1},
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_operator_sends_is_refused_and_not_kept(survey: Served, case: str) -> None:
    status, told = survey.post(message(survey, **REFUSED[case]))
    assert status == 400
    assert told["error"].endswith(".")
    assert survey.kept == 0


def test_what_is_no_json_or_too_long_is_refused(survey: Served) -> None:
    for body, kind in (
        (b"{", "application/json"),
        (b"[" * 70_000, "application/json"),
        (b"{}", "text/plain"),
    ):
        assert survey.post(body, kind)[0] == 400


def test_every_response_forbids_other_scripts_forms_and_frames(survey: Served) -> None:
    for path in ("", "survey.js", "results", "survey.json"):
        with urllib.request.urlopen(survey.url + path) as response:
            policy = response.headers["Content-Security-Policy"]
            assert "Set-Cookie" not in response.headers
            assert "Server" not in response.headers
        for part in (
            "default-src 'none'",
            "script-src 'self';",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ):
            assert part in policy


def test_the_pages_name_no_other_site(survey: Served) -> None:
    for path in ("", "survey.js", "survey.css", "results"):
        assert not re.search(r"(https?:)?//[a-z]", survey.get(path))


def test_the_store_holds_reports_and_random_tickets_and_nothing_else(survey: Served, tmp_path: Path) -> None:
    tickets = [f"{number:032x}" for number in (9, 3, 7, 1)]
    for ticket in tickets:
        survey.post(message(survey, ticket=ticket))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["survey.sqlite", "survey.yaml"]
    with sqlite3.connect(survey.survey.store) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(report)")]
        rows = connection.execute("SELECT * FROM report").fetchall()
        with pytest.raises(sqlite3.OperationalError):
            connection.execute("SELECT rowid FROM report")  # it would tell the order of arrival
    connection.close()
    assert columns == ["ticket", "q0", "q1"]
    assert [row[0].hex() for row in rows] == sorted(tickets)
    assert {row[1:] for row in rows} == {(0b10, 0b100100)}


def sent(survey: Served, people: int) -> list[list[list[int]]]:
    """Reports of people who all never smoke and have the flu, drawn by the operators themselves."""
    drawn = []
    for question, truth in zip(survey.survey.questions, (0, 1), strict=True):
        words = question.operator.randomize(np.full(people, truth), Randomness())
        sets = unpack_bits(words, question.operator.values)
        drawn.append([np.flatnonzero(row).tolist() for row in sets])
    return [list(pair) for pair in zip(*drawn, strict=True)]


def test_the_command_estimates_from_the_store_with_nothing_else(
    survey: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ReportStore.open_readonly(survey.survey.store) as store:
        for number, reports in enumerate(sent(survey, 300)):
            store.add(number.to_bytes(16, "big"), reports)
    store_file = str(survey.survey.store)
    assert discreet("collect", "estimate", store_file, "--confidence", repr(MISS), "--json") == 0
    smoking, illness = json.loads(capsys.readouterr().out)["questions"]
    assert smoking["clients"] == illness["clients"] == 300
    # answers may have to do with each other: what both reports tell counts for each
    assert smoking["belief"] == illness["belief"] == {"prior": 0.01, "posterior": pytest.approx(0.05)}
    assert discreet("collect", "estimate", store_file) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "From the person's reports to all questions, it goes from 1% to at most 5%." in told
    for question, truth in ((smoking, 0), (illness, 1)):
        for code, each in enumerate(question["estimates"]):
            assert each["low"] <= float(code == truth) <= each["high"]
    picture = tmp_path / "survey.svg"
    assert discreet("collect", "estimate", store_file, "--question", "illness", "--plot", str(picture)) == 0
    assert "smoking" not in capsys.readouterr().out
    assert "illness, from 300 reports" in picture.read_text()
    assert discreet("collect", "estimate", store_file, "--question", "age") == 2


def test_a_survey_that_is_changed_is_not_mixed_with_the_reports_of_the_old_one(tmp_path: Path) -> None:
    path = write_survey(tmp_path)
    with served(path):
        pass
    write_survey(tmp_path, TEXT.replace("1%:5%", "1%:10%"))
    changed = load_survey(path)
    with pytest.raises(RequestError, match="another version of this survey"):
        ReportStore.open_or_create(changed.store, changed.id, changed.descriptions)
    with served(write_survey(tmp_path)) as again:
        assert again.kept == 0


def test_another_file_is_not_taken_for_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    (tmp_path / "text.sqlite").write_text("no database, but longer than the header of one" * 10)
    for name in ("other.sqlite", "text.sqlite"):
        assert discreet("collect", "estimate", str(tmp_path / name)) == 2
        assert "is not the store of a survey" in capsys.readouterr().err
    assert discreet("collect", "estimate", str(tmp_path / "none.sqlite")) == 2


def test_the_promise_is_split_over_the_questions_and_kept_by_all_together(tmp_path: Path) -> None:
    alike = load_survey(write_survey(tmp_path))
    whole = alike.promise.epsilon
    assert alike.epsilon <= whole * (1 + 1e-12)
    assert [each.operator.epsilon for each in alike.questions] == pytest.approx([whole / 2] * 2)
    shares = TEXT.replace("    text: Do", "    share: 80%\n    text: Do")
    shares = shares.replace("    text: What", "    share: 20%\n    text: What")
    weighed = load_survey(write_survey(tmp_path, shares))
    assert [each.operator.epsilon for each in weighed.questions] == pytest.approx([0.8 * whole, 0.2 * whole])


def test_three_questions_of_a_third_each_do_not_pass_the_promise(tmp_path: Path) -> None:
    """Thirds are no floats: what they are rounded to must not add up to more than the whole."""
    more = TEXT + "  age: {text: How old are you?, values: [young, old]}\n"
    survey = load_survey(write_survey(tmp_path, more))
    assert survey.promise.epsilon * (1 - 1e-12) < survey.epsilon <= survey.promise.epsilon * (1 + 1e-15)


BAD_SURVEYS = {
    "promise: 1%:5%": "a survey needs title",
    "title: x\npromise: 5%:1%\nquestions: {}": "above the prior",
    "title: x\npromise: 1%:5%\nquestions: {}": "must be from 1 to 100",
    "title: x\npromise: 1%:5%\nquestions: {a: {text: Why?, values: [yes]}}": "from 2 to 64 different answers",
    "title: x\npromise: 1%:5%\nquestions: {a: {text: Why?, values: [yes, yes]}}": "different answers",
    "title: x\npromise: 1%:5%\nquestions: {a: {values: [yes, no]}}": "a question needs text",
    "title: x\npromise: 1%:5%\nquestions: {a: {text: b, values: [c, d], shar: 1}}": "did you mean share",
    "title: x\npromise: 1%:5%\nquestions: [a]": "entries of the form",
    "title: x\ntitle: y": "twice",
    "title: x\npromise: 1%:5%\nbatch: 1\nquestions: {a: {text: b, values: [c, d]}}": "from 5 to 1,000,000",
    "title: x\npromise: 1%:5%\nbatch: all\nquestions: {a: {text: b, values: [c, d]}}": "a whole number",
    "title: x\npromise: 1%:5%\nstore: x.txt\nquestions: {a: {text: b, values: [c, d]}}": "end in .sqlite",
    "title: x\npromise: 1%:5%\nquestions: {a: {text: b, values: [c, d], share: 60%},"
    " e: {text: b, values: [c, d], share: 50%}}": "sum to 110%",
    "title: x\npromise: 1%:5%\nquestions: {a: {text: b, values: [c, d], share: 0%},"
    " e: {text: b, values: [c, d], share: 50%}}": "too small to learn anything",
    "title: x\npromise: 1%:5%\nquestions: {a: {text: b, values: [c, d], share: 60%},"
    " e: {text: b, values: [c, d]}}": "give every question a share",
}


@pytest.mark.parametrize("text", BAD_SURVEYS)
def test_a_bad_survey_gets_one_sentence(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("collect", "survey", str(write_survey(tmp_path, text))) == 2
    told = capsys.readouterr().err
    assert BAD_SURVEYS[text] in told
    assert "survey.yaml, line" in told


def test_labels_are_shown_as_text_not_as_markup(tmp_path: Path) -> None:
    with served(write_survey(tmp_path, TEXT.replace("Never", "'<script>alert(1)</script>'"))) as found:
        for number in range(20):
            found.post(message(found, ticket=f"{number:032x}"))
        assert "<script>alert" not in found.get("results")
        assert "&lt;script&gt;alert" in found.get("results")


def test_the_command_serves_until_it_is_stopped_and_keeps_what_came(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "from discreet.cli.main import main; main()", "collect", "survey"]
    words += [str(write_survey(tmp_path)), "--port", "0", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        assert told["url"].startswith("http://127.0.0.1:")
        assert told["belief"] == {"prior": 0.01, "posterior": pytest.approx(0.05)}
        found = Served(url=told["url"], survey=load_survey(tmp_path / "survey.yaml"))
        assert found.post(message(found))[0] == 200
        process.send_signal(signal.SIGKILL)  # a crash right after the acknowledgement
        assert process.stderr is not None
        assert process.stderr.read() == ""
    with served(tmp_path / "survey.yaml") as again:
        assert again.kept == 1


def test_a_port_that_is_taken_is_told(
    survey: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = survey.url.rstrip("/").rpartition(":")[2]
    assert discreet("collect", "survey", str(tmp_path / "survey.yaml"), "--port", port) == 2
    assert f"Port {port} of 127.0.0.1 cannot be opened" in capsys.readouterr().err


def test_without_the_extra_the_way_to_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "discreet.http.survey.survey_server")
    assert discreet("collect", "survey", str(write_survey(tmp_path))) == 2
    assert (
        'A survey needs uvicorn, which is not installed. Install it with pip install "discreet[server]".'
        in (" ".join(capsys.readouterr().err.split()))
    )


def test_who_serves_others_is_told_what_that_takes(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "from discreet.cli.main import main; main()", "collect", "survey"]
    words += [str(write_survey(tmp_path)), "--port", "0", "--host", "0.0.0.0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "Put HTTPS in front of it" in process.stderr.readline()
        process.terminate()
