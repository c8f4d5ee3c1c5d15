"""Where no error bar holds, none is shown in plans, answers, files and pictures, and within is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import Curator
from discreet.belief import Belief
from discreet.belief.wording import format_number_up
from discreet.core.errors import RequestError
from discreet.pgwire.curator_backend import format_explain, format_notices
from discreet.rendering.answer_chart import draw_answer_chart
from discreet.services.answer_cache import answer_to_bytes
from discreet.services.answers import Answer, format_cell
from discreet.services.tradeoff import compute_tradeoff
from tests.services import patients
from tests.services.test_promise import discreet

BY_AGE = "SELECT age, COUNT(*) AS n FROM patients GROUP BY age"
TOP = f"{BY_AGE} ORDER BY n DESC LIMIT 3"
TOTAL = f"SELECT SUM(n) AS total FROM ({BY_AGE})"
TWICE = "SELECT sex, COUNT(*) * 2 AS twice FROM patients GROUP BY sex"
HOW_MANY = f"SELECT COUNT(*) AS ages FROM ({BY_AGE}) WHERE n > 10"
PICKED = "SELECT sex, MEDIAN(age) AS m FROM patients GROUP BY sex HAVING COUNT(*) > 10"
DECIDED = "SELECT sex, COUNT(*) > 10 AS many FROM patients GROUP BY sex"
WITH = {TOP: ("n", "all_rows"), TOTAL: ("total", "per_row"), TWICE: ("twice", "per_row")}
WITHOUT = [HOW_MANY, PICKED, DECIDED]


@pytest.fixture
def policy(tmp_path: Path) -> str:
    return str(patients.write(tmp_path))


@pytest.mark.parametrize("sql", WITHOUT)
def test_no_error_bar_is_printed_where_none_holds(
    policy: str, sql: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("plan", "ask"):
        assert discreet(command, sql, "--policy", policy) == 0
        told = capsys.readouterr().out
        assert "±" not in told
        assert "noisy values" in " ".join(told.split())
    assert discreet("ask", sql, "--policy", policy, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["intervals"] is None
    assert found["ranks"] == {}
    assert all("noisy values" in reason for reason in found["no_interval"].values())
    assert discreet("plan", sql, "--policy", policy, "--json") == 0
    for measure in json.loads(capsys.readouterr().out)["measures"]:
        assert (measure["error95"], measure["rows95"]) == (None, None)
        assert "noisy values" in measure["note"]
    assert discreet("ask", sql, "--policy", policy, "--csv") == 0
    assert ".low" not in capsys.readouterr().out


@pytest.mark.parametrize("sql", WITHOUT)
def test_within_is_refused_and_nothing_is_charged_where_no_error_bar_holds(
    policy: str, sql: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("plan", "ask"):
        assert discreet(command, sql, "--policy", policy, "--within", "10") == 2
        assert "cannot be promised" in capsys.readouterr().err
    with Curator.open(policy) as curator:
        with pytest.raises(RequestError, match="cannot be promised"):
            curator.ask(sql, within=10)
        assert curator.ledger.list_entries() == []
        with pytest.raises(RequestError, match=r"does not follow from the question alone: .*noisy values"):
            compute_tradeoff(sql, curator.policy, curator.promise)


@pytest.mark.parametrize("sql", WITH)
def test_an_error_bar_and_its_kind_are_shown_where_one_holds(
    policy: str, sql: str, capsys: pytest.CaptureFixture[str]
) -> None:
    column, kind = WITH[sql]
    together = "hold together" if kind == "all_rows" else "Intervals cover the noise"
    assert discreet("plan", sql, "--policy", policy, "--json") == 0
    planned = json.loads(capsys.readouterr().out)["measures"][-1]
    assert (planned["name"], planned["interval_kind"]) == (column, kind)
    assert discreet("ask", sql, "--policy", policy) == 0
    told = capsys.readouterr().out
    assert "±" in told
    assert together in " ".join(told.split())
    assert discreet("ask", sql, "--policy", policy, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["interval_kind"] == {column: kind}
    place = found["columns"].index(column)
    for row, (low, high) in zip(found["rows"], found["intervals"][column], strict=True):
        assert max(high - row[place], row[place] - low) <= planned["error95"]
    assert discreet("ask", sql, "--policy", policy, "--csv") == 0
    assert f"{column}.low" in capsys.readouterr().out
    assert discreet("plan", sql, "--policy", policy, "--within", str(2 * planned["error95"])) == 0


def test_the_kind_of_an_interval_is_told_on_the_wire_and_in_pictures(policy: str) -> None:
    with Curator.open(policy) as curator:
        proposal = curator.plan(TOP)
        assert any("±" in line and "all rows together" in line for line in format_explain(proposal))
        answer = curator.ask(proposal)
        assert answer.interval_kind == {"n": "all_rows"}
        (bar,) = (line for line in format_notices(answer) if line.startswith("error"))
        assert "all rows together" in bar
        drawn = json.dumps(draw_answer_chart(answer).to_dict(), ensure_ascii=False)
        assert "all rows together" in drawn
        assert "hold together" in answer._repr_html_()


def test_an_answer_without_error_bars_has_none_in_python_on_the_wire_and_as_a_picture(policy: str) -> None:
    with Curator.open(policy) as curator:
        proposal = curator.plan(HOW_MANY)
        assert not any("±" in line for line in format_explain(proposal))
        answer = curator.ask(proposal)
        assert answer.intervals == {}
        assert answer.measures == ["ages"]
        (reason,) = (line for line in format_notices(answer) if line.startswith("error"))
        assert reason.startswith("error: No error bar for ages: it is computed over rows that noisy values")
        drawn = draw_answer_chart(answer).to_dict()
        assert "±" not in json.dumps(drawn, ensure_ascii=False)
        assert "No error bar" in json.dumps(drawn)
        assert [layer["mark"]["type"] for layer in drawn["layer"]] == ["bar"]
        shown = curator.ask("SELECT age, COUNT(*) AS n FROM patients GROUP BY age LIMIT 3")
        assert len(draw_answer_chart(shown).to_dict()["layer"]) == 2


def test_an_answer_that_an_earlier_version_stored_loses_the_error_bars_that_do_not_hold(policy: str) -> None:
    with Curator.open(policy) as curator:
        proposal = curator.plan(TOP)
        table = pa.table({"age": [30, 40, 50], "n": [9, 8, 7]})
        curator.charge_and_release(
            proposal.key,
            proposal.text,
            proposal.query_plan.guarantee,
            lambda engine, random: table,
            lambda table: answer_to_bytes(table, {"n": ([0.0] * 3, [20.0] * 3)}),
            verb="ask",
        )
        answer = curator.ask(TOP)
    assert answer.repeated
    assert answer.table == table
    assert answer.intervals == {}
    assert "earlier version" in answer.no_interval["n"]


# -- Digits --------------------------------------------------------------------------------------------------


@given(st.floats(-1e6, 1e6), st.floats(1e-5, 1e5), st.floats(1e-5, 1e5))
def test_the_printed_error_bar_covers_the_interval(value: float, below: float, above: float) -> None:
    ends = (value - below, value + above)
    answer = Answer(
        table=pa.table({"x": [value]}),
        intervals={"x": ([ends[0]], [ends[1]])},
        confidence=0.95,
        epsilon=1,
        belief=Belief(prior=0.01, highest=0.05, lowest=0, tail=0),
        entries=(1,),
        sentence="",
    )
    middle, half = (float(part.replace(",", "")) for part in format_cell(answer, "x", 0, value).split(" ± "))
    slack = 1e-9 * max(1, abs(value))
    assert middle - half <= ends[0] + slack
    assert middle + half >= ends[1] - slack


@given(st.floats(1e-6, 1e12))
def test_an_error_is_rounded_up_and_by_less_than_a_hundredth(value: float) -> None:
    shown = float(format_number_up(value).replace(",", ""))
    assert value * (1 - 1e-11) <= shown <= value * 1.0101 or math.isclose(shown, value)
