"""`discreet tabulate`, `itemsets` and `stream` as an analyst runs them: counts, charges, files, refusals."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.core.errors import BudgetError, RequestError
from discreet.mining.tabulation import frequent_itemsets
from discreet.services.count_publication import release_counts
from discreet.services.count_requests import ItemsetsRequest, StreamRequest
from discreet.services.curator import Curator
from discreet.services.stream import open_stream, plan_stream_release
from tests.services.test_least_epsilon import count_charges
from tests.services.test_promise import discreet

POLICY = """\
promise: {prior: 1%, posterior: 50%}
tables:
  people:
    source: people.csv
    rows: 3000
    columns:
      age:    {type: integer, low: 18, high: 79, nulls: false}
      smoker: {type: boolean, nulls: false}
      ill:    {type: boolean, nulls: false}
      sex:    {type: category, values: [f, m], nulls: false}
      born:   {type: date, low: 1940-01-01, high: 2009-12-31}
      name:   {role: identifier}
      note:   {type: text}
"""
QUESTIONS = """\
-- who is ill
SELECT COUNT(*) FROM people WHERE ill

SELECT COUNT(*) FROM people WHERE smoker AND age >= 50
select count(*) from people where sex = 'f';
SELECT COUNT(*) FROM people WHERE ill
"""
Run = Callable[..., dict[str, Any]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """People of whom a third smokes, and those are ill who smoke and are 50 or older."""
    lines = ["age,smoker,ill,sex,born,name,note"]
    for place in range(3000):
        age, smokes = 18 + place % 62, place % 3 == 0
        born = f"{2025 - age}-01-01"
        lines.append(f"{age},{smokes},{smokes and age >= 50},{'fm'[place % 2]},{born},p{place},")
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "privacy.yaml").write_text(POLICY)
    (tmp_path / "questions.sql").write_text(QUESTIONS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def found(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """What a command says to machines."""

    def run(*words: str) -> dict[str, Any]:
        assert discreet(*words, "--json") == 0
        told: dict[str, Any] = json.loads(capsys.readouterr().out)
        return told

    return run


def test_numbers_are_printed_in_their_sensible_digits(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("tabulate", "people", "--ranges", "age", "--bins", "age=7", "--epsilon", "0.5") == 0
    rows = capsys.readouterr().out.split("\n\n")[0].splitlines()[1:]
    shown = [number for row in rows for number in row.split()[2:]]
    assert shown
    assert not [number for number in shown if not re.fullmatch(r"-?[\d,]+(\.[1-9])?", number)]


def test_a_guarantee_is_a_json_object(found: Run) -> None:
    told = found("tabulate", "people", "--columns", "sex", "--epsilon", "0.5")
    assert told["guarantee"] == {"type": "PureDP", "epsilon": "1/2", "relation": "value"}


def test_a_contingency_table_is_charged_once_and_written_with_its_certificate(
    folder: Path, found: Run
) -> None:
    words = ("tabulate", "people", "--columns", "sex,ill", "--epsilon", "2", "-o", "table.csv")
    first = found(*words)
    assert first["names"] == ["sex", "ill", "count", "noisy"]
    assert len(first["rows"]) == first["cells"] == 4
    assert sum(row[2] for row in first["rows"]) == pytest.approx(3000)
    with (folder / "table.csv").open() as file:
        assert [row["sex"] for row in csv.DictReader(file)] == ["f", "f", "m", "m"]
    certificate = json.loads((folder / "table.certificate.json").read_text())
    assert certificate["epsilon"] == 2
    assert certificate["sha256"] == hashlib.sha256((folder / "table.csv").read_bytes()).hexdigest()
    assert not {"rows", "counts"} & set(certificate)
    again = found(*words)
    assert again["repeated"] is True
    assert again["rows"] == first["rows"]
    (entry,) = found("ledger")["entries"]
    assert entry["question"] == "tabulate people --columns sex,ill"


def test_ranges_are_measured_by_the_strategy_of_least_error_for_every_combination(found: Run) -> None:
    words = (
        "tabulate",
        "people",
        "--columns",
        "sex",
        "--ranges",
        "age",
        "--bins",
        "age=62",
        "--epsilon",
        "2",
    )
    planned = found(*words, "--plan")
    errors = {name: error for name, error in planned["errors"].items() if error is not None}
    assert planned["errors"][planned["strategy"]] == min(errors.values())
    assert any(name.startswith("hierarchical") for name in errors)
    assert found("ledger")["entries"] == []
    rows = found(*words)["rows"]
    assert len(rows) == planned["questions"] == 2 * 62 * 63 // 2
    ends = {(row[0], row[1], row[2]): row[3] for row in rows}
    assert ends["f", "18", "79"] == pytest.approx(1500, abs=20 * 8)
    young = sum(1 for place in range(3000) if place % 2 == 0 and 18 + place % 62 <= 29)
    # 20 deviations of a sum of independent noises are passed with probability below 1e-9
    assert abs(ends["f", "18", "29"] - young) < 20 * max(row[4] for row in rows)


def test_marginals_are_consistent_and_say_which_columns_are_summed_over(found: Run) -> None:
    marginals = ("--marginal", "sex", "--marginal", "sex,ill")
    rows = found("tabulate", "people", *marginals, "--epsilon", "2")["rows"]
    counts = {tuple(row[:2]): row[2] for row in rows}
    assert list(counts)[:2] == [("f", "all"), ("m", "all")]
    assert counts["f", "all"] == pytest.approx(counts["f", "true"] + counts["f", "false"], abs=0.2)


def test_date_ranges_end_on_the_last_day_of_a_bin(found: Run) -> None:
    rows = found("tabulate", "people", "--ranges", "born", "--bins", "born=7", "--epsilon", "2")["rows"]
    assert ["1940-01-01", "2009-12-31"] in [row[:2] for row in rows]
    assert all(first <= last for first, last, *_ in rows)


def test_itemsets_are_found_and_charged_once(found: Run) -> None:
    words = ("itemsets", "people", "--threshold", "10%", "--epsilon", "3")
    first = found(*words)
    sets = {row[0]: row[1] for row in first["rows"]}
    assert set(sets) == {"smoker", "ill", "smoker, ill"}
    assert sets["smoker"] == pytest.approx(1 / 3, abs=0.05)
    assert found(*words)["repeated"] is True
    assert len(found("ledger")["entries"]) == 1


def test_a_stream_from_a_file_is_one_charge_for_all_its_questions(found: Run) -> None:
    words = ("stream", "people", "questions.sql", "--epsilon", "2", "--method", "weights", "--bins", "age=31")
    first = found(*words)
    assert first["rows"][0][0] == "SELECT COUNT(*) FROM people WHERE ill"
    assert first["rows"][0][1:] == first["rows"][3][1:]
    assert first["columns"] == ["ill", "smoker", "age", "sex"]
    assert found(*words)["rows"] == first["rows"]
    (entry,) = found("ledger")["entries"]
    assert entry["question"] == "stream people --questions 4 --method weights"


def test_few_questions_are_best_answered_by_noise_on_each(found: Run) -> None:
    planned = found("stream", "people", "questions.sql", "--epsilon", "2", "--plan")
    assert planned["method"] == "laplace"
    assert planned["fits"] is True
    assert found("ledger")["entries"] == []


def test_a_stream_says_why_its_method_was_chosen(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("stream", "people", "questions.sql", "--epsilon", "2", "--plan")
    assert discreet(*words) == 0
    assert "laplace errs least; weights ±" in " ".join(capsys.readouterr().out.split())
    assert discreet(*words, "--method", "weights") == 0
    assert "errs least" not in capsys.readouterr().out


def test_a_long_stream_tells_how_far_it_is(folder: Path) -> None:
    heard: list[tuple[str, float | None]] = []
    with Curator.open("privacy.yaml") as curator:
        request = StreamRequest(table="people", epsilon=1)
        texts = [f"SELECT COUNT(*) FROM people WHERE age >= {age}" for age in range(20, 30)]
        release_counts(
            curator, plan_stream_release(curator, request, texts, lambda *each: heard.append(each))
        )
    for doing in ("reading questions", "finding what they count", "answering"):
        assert [share for said, share in heard if said == doing] == [place / 10 for place in range(1, 11)]


def test_a_stream_that_is_out_of_updates_refuses_the_rest(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("stream", "people", "questions.sql", "--epsilon", "3", "--method", "weights", "--updates", "1")
    assert discreet(*words, "--columns", "ill,smoker,age,sex", "--bins", "age=31") == 0
    assert "refused" in capsys.readouterr().out


def test_more_updates_than_there_is_memory_for_are_refused_and_cost_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("stream", "people", "questions.sql", "--epsilon", "3", "--updates", "1" + "0" * 23)
    assert discreet(*words) == 2
    assert "Ask for at most" in capsys.readouterr().err
    assert count_charges(folder) == 0


def test_a_stream_in_python_is_charged_when_it_is_opened(folder: Path) -> None:
    with Curator.open("privacy.yaml") as curator:
        stream = open_stream(
            curator, StreamRequest(table="people", columns=("sex", "ill"), questions=2, epsilon=2)
        )
        assert len(curator.ledger.list_entries()) == 1
        answer = stream.ask("SELECT COUNT(*) FROM people WHERE sex = 'f'")
        assert abs(answer.count - 1500) <= 20 * answer.error95
        with pytest.raises(RequestError, match="not one of the stream's"):
            stream.ask("SELECT COUNT(*) FROM people WHERE age > 30")
        stream.ask("SELECT COUNT(*) FROM people WHERE ill")
        with pytest.raises(BudgetError, match="all 2 questions of the stream are asked"):
            stream.ask("SELECT COUNT(*) FROM people WHERE NOT ill")
        assert len(curator.ledger.list_entries()) == 1
        with pytest.raises(RequestError, match="must be given"):
            open_stream(curator, StreamRequest(table="people", epsilon=1))


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("tabulate", "people", "--epsilon", "1"), 2, "no column is named"),
        (("tabulate", "people", "--columns", "sex"), 2, "--epsilon"),
        (("tabulate", "people", "--columns", "name", "--epsilon", "1"), 2, "no column name"),
        (("tabulate", "people", "--ranges", "sex", "--epsilon", "1"), 2, "sex has no order"),
        (("tabulate", "dogs", "--columns", "sex", "--epsilon", "1"), 2, "no table dogs"),
        (("tabulate", "people", "--columns", "sex", "--bins", "age=3", "--epsilon", "1"), 2, "not counted"),
        (("tabulate", "people", "--columns", "age", "--bins", "age", "--epsilon", "1"), 2, "such as age=8"),
        (
            ("tabulate", "people", "--columns", "sex", "--epsilon", "1", "-o", "people.csv"),
            2,
            "being published",
        ),
        (("tabulate", "people", "--columns", "sex", "--epsilon", "1", "-o", "t.txt"), 2, "supported output"),
        (("tabulate", "people", "--columns", "sex", "--epsilon", "99"), 3, "tabulate:"),
        (("tabulate", "people", "--ranges", "age", "--marginal", "sex", "--epsilon", "1"), 2, "one of them"),
        (("itemsets", "people", "--items", "sex", "--epsilon", "1"), 2, "true or false"),
        (("tabulate", "people", "--columns", "note", "--epsilon", "1"), 2, "Column note declares neither"),
        (("itemsets", "people", "--threshold", "x", "--epsilon", "1"), 2, "a probability such as"),
        (("stream", "people", "nowhere.sql", "--epsilon", "1"), 2, "there is no file nowhere.sql"),
        (("stream", "people", "privacy.yaml", "--epsilon", "1"), 2, "stream: question 1:"),
        (("stream", "people", "questions.sql", "--epsilon", "1", "--bins", "age=3"), 2, "question 2: the"),
        (("stream", "people", "questions.sql", "--epsilon", "1", "--method", "x"), 2, "one of median"),
        (("stream", "people", "questions.sql", "--epsilon", "1", "--columns", "sex"), 2, "not one of the"),
    ],
)
def test_what_cannot_be_counted_is_refused_and_costs_nothing(
    folder: Path, words: tuple[str, ...], code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet(*words) == code
    assert told in " ".join(capsys.readouterr().err.split())
    assert discreet("ledger", "--json") == 0
    assert json.loads(capsys.readouterr().out)["entries"] == []


def test_defaults_of_itemsets_are_those_of_the_algorithm() -> None:
    request = ItemsetsRequest(table="people")
    assert (request.basis, request.largest) == (frequent_itemsets.BASIS, frequent_itemsets.LARGEST)
