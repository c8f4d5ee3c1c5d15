"""`discreet collect randomize --mean` as a user meets it: numbers, their mean and its interval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from discreet.local import TwoPointMean
from discreet.services.collect.report_files import read_description
from tests.services.test_promise import discreet

SURE = "99.9999999%"
POLICY = """
promise: {prior: 1%, posterior: 5%}
tables:
  people:
    source: people.csv
    person: row
    columns:
      age: {type: integer, low: 18, high: 80}
      pay: {type: decimal, low: 0, high: 100, resolution: 0.01}
      name: {type: text}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ages 20 to 59, equally often, and pay that is half of the age."""
    monkeypatch.chdir(tmp_path)
    lines = [f"{20 + number % 40},{(20 + number % 40) / 2},x" for number in range(20_000)]
    (tmp_path / "people.csv").write_text("\n".join(["age,pay,name", *lines]) + "\n")
    return tmp_path


def randomize(*words: str, table: str = "people.csv", column: str = "age") -> int:
    return discreet(
        "collect", "randomize", table, "--column", column, "-o", "reports.parquet", "--spend-all", *words
    )


def shown(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_mean_is_estimated_with_an_interval_from_the_reports_alone(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert randomize("--mean", "--values", "0..100", "--promise", "1%:5%") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "20,000, by piecewise-mean over numbers from 0 to 100" in told
    assert "be at most 5% sure" in told
    (here / "people.csv").unlink()
    assert discreet("collect", "estimate", "reports.parquet", "--confidence", SURE, "--json") == 0
    found = shown(capsys)
    assert found["low"] <= 39.5 <= found["high"]
    assert found["high"] - found["low"] < 7
    assert discreet("collect", "estimate", "reports.parquet") == 0
    assert "mean of" in capsys.readouterr().out


def test_the_operator_is_the_one_with_the_least_error_under_the_promise(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for promise, operator in (("1%:2%", "two-point-mean"), ("1%:30%", "piecewise-mean")):
        assert randomize("--mean", "--values", "0..100", "--promise", promise, "--json") == 0
        assert shown(capsys)["operator"]["operator"] == operator
        assert (
            discreet("collect", "design", "--mean", "0..100", "--promise", promise, "--clients", "1000") == 0
        )
        lines = capsys.readouterr().out.splitlines()
        assert lines[1].startswith(operator)
        assert any(line.startswith("laplace-mean") for line in lines)


def test_bounds_and_grid_come_from_the_policy_and_its_ledger_is_charged(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "privacy.yaml").write_text(POLICY)
    assert randomize("--mean", "--promise", "1%:3%", "--other", "18", "--json") == 0
    found = shown(capsys)
    assert found["entry"] == 1
    operator = read_description(here / "reports.parquet").operator
    assert isinstance(operator, TwoPointMean)
    assert (operator.low, operator.high, operator.values) == (18, 80, 63)
    assert discreet("collect", "estimate", "reports.parquet", "--confidence", SURE, "--json") == 0
    told = shown(capsys)
    assert told["low"] <= 39.5 <= told["high"]
    assert randomize("--mean", "--promise", "1%:1.5%", "--other", "0", "--json", column="pay") == 0
    operator = read_description(here / "reports.parquet").operator
    assert (operator.values, shown(capsys)["entry"]) == (10_001, 2)


def test_a_number_beyond_the_range_counts_as_its_nearer_end(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "people.csv").write_text("age\n" + "1e9\n-1e9\n 50 \ninf\n" * 5_000)
    assert randomize("--mean", "--values", "0..100", "--promise", "1%:30%") == 0
    capsys.readouterr()
    assert discreet("collect", "estimate", "reports.parquet", "--confidence", SURE, "--json") == 0
    found = shown(capsys)
    assert found["low"] <= 62.5 <= found["high"]


def test_what_is_no_number_is_neither_named_nor_counted_and_may_be_stood_for(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "people.csv").write_text("age,b\n" + "50,1\nsecret,1\n,1\nnan,1\n" * 5_000)
    words = ("--mean", "--values", "0..100", "--promise", "1%:30%")
    assert randomize(*words) == 2
    told = capsys.readouterr().err
    assert "Some answers in age are not numbers." in " ".join(told.split())
    assert "secret" not in told
    assert "15,000" not in told
    assert randomize(*words, "--other", "0") == 0
    capsys.readouterr()
    assert discreet("collect", "estimate", "reports.parquet", "--confidence", SURE, "--json") == 0
    found = shown(capsys)
    assert found["low"] <= 12.5 <= found["high"]


def test_one_report_leaves_the_whole_range(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "people.csv").write_text("age\n50\n")
    assert randomize("--mean", "--values", "0..100", "--promise", "1%:5%") == 0
    capsys.readouterr()
    assert discreet("collect", "estimate", "reports.parquet", "--json") == 0
    found = shown(capsys)
    assert (found["low"], found["high"]) == (0, 100)


def test_an_operator_of_means_says_by_itself_that_a_mean_is_wanted(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "mean.yaml").write_text("operator: laplace-mean\nvalues: 101\nlow: 0\nhigh: 100\nepsilon: 2\n")
    assert randomize("--operator", "mean.yaml", "--json") == 0
    assert shown(capsys)["operator"]["operator"] == "laplace-mean"
    assert discreet("collect", "estimate", "reports.parquet", "--confidence", SURE, "--json") == 0
    found = shown(capsys)
    assert found["low"] <= 39.5 <= found["high"]


BAD: list[tuple[list[str], str]] = [
    (["--mean"], "are never taken from the data"),
    (["--mean", "--values", "100..0"], "must go upwards"),
    (["--mean", "--values", "a,b"], "a range such as 0..100"),
    (["--mean", "--values", "0..1e999"], "finite number"),
    (["--mean", "--values", "0..100", "--other", "101"], "from 0 to 100"),
    (["--mean", "--values", "0..100", "--operator", "shares.yaml"], "kary-response does not estimate a mean"),
    (["--values", "0..90", "--operator", "mean.yaml"], "for numbers from 0 to 100; age goes from 0 to 90"),
    (["--mean", "--values-from", "people.csv"], "a range, not a list"),
    (["--mean", "--size", "3", "--values", "0..100"], "Baskets have no mean"),
]


@pytest.mark.parametrize(("words", "said"), BAD)
def test_bad_input_gets_one_sentence(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("shares.yaml").write_text("operator: kary-response\nvalues: 101\ntruth: 2%\n")
    Path("mean.yaml").write_text("operator: two-point-mean\nlow: 0\nhigh: 100\nepsilon: 1\n")
    assert randomize(*words, "--promise", "1%:5%", "--json") == 2
    told = json.loads(capsys.readouterr().out)
    assert said in f"{told['error']} {told['hint']}"
    assert not Path("reports.parquet").exists()


def test_a_column_of_the_policy_without_bounds_has_no_mean(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "privacy.yaml").write_text(POLICY)
    assert randomize("--mean", column="name") == 2
    assert "declares no bounds for people.name" in " ".join(capsys.readouterr().err.split())


def test_a_design_is_for_one_thing(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("collect", "design", "--promise", "1%:5%", "--clients", "10")
    for more in ((), ("--domain", "3", "--mean", "0..1"), ("--items", "3")):
        assert discreet(*words, *more) == 2
        assert "--size" in capsys.readouterr().err
