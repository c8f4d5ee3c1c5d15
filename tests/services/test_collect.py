"""`discreet collect` as a user meets it: reports that keep a promise, estimates, analyses, designs."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.local import KaryResponse
from discreet.services.collect.analyse import load_task
from discreet.services.collect.operators import load_operator
from discreet.services.collect.report_files import read_description
from discreet.services.collect.surveys import load_survey
from tests.services.test_promise import discreet

DISEASES = ("none", "flu", "diabetes", "cancer")
PEOPLE = {"none": 7_000, "flu": 2_000, "diabetes": 900, "cancer": 100}
SLIDES = """
operators:
  R1: {operator: kary-response, values: 1001, truth: 20%}
  R2: {operator: modular-noise, values: 1001, reach: 100, share: 1}
  R3: {operator: modular-noise, values: 1001, reach: 100, share: 1/2}
prior: {0: 1%}
properties:
  X = 0: 0
  X outside of 200 to 800: [0..199, 801..1000]
report: 0
promise: 1%:50%
"""
POLICY = """
promise: {prior: 1%, posterior: 5%}
tables:
  people:
    source: answers.csv
    person: row
    columns:
      disease: {type: category, values: [none, flu, diabetes, cancer]}
      age: {type: integer, low: 0, high: 3}
      note: {type: text}
  visits:
    source: visits.csv
    person: age
    rows_per_person: 2
    columns:
      age: {type: integer, low: 0, high: 3}
      disease: {type: category, values: [none, flu, diabetes, cancer]}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with answers, in an order that tells who is who."""
    monkeypatch.chdir(tmp_path)
    rows = [disease for disease, people in PEOPLE.items() for _ in range(people)]
    lines = [f"{disease},{number % 4},x" for number, disease in enumerate(rows)]
    for name in ("answers.csv", "visits.csv"):
        (tmp_path / name).write_text("\n".join(["disease,age,note", *lines]) + "\n")
    return tmp_path


def randomize(*more: str, out: str = "reports.parquet") -> int:
    return discreet(
        "collect", "randomize", "answers.csv", "--column", "disease", "-o", out, "--spend-all", *more
    )


def shown(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_reports_are_written_and_estimated_from_with_nothing_else(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert randomize("--promise", "1%:5%", "--values", ",".join(DISEASES)) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "10,000, by kary-response over 4 values" in told
    assert "after that person's report, be at most 5% sure" in told
    (here / "answers.csv").unlink()
    assert discreet("collect", "estimate", "reports.parquet", "--confidence", "99.99999999%", "--json") == 0
    found = shown(capsys)
    assert found["clients"] == 10_000
    assert found["belief"] == {"prior": 0.01, "posterior": pytest.approx(0.05)}
    assert [each["value"] for each in found["estimates"]] == list(DISEASES)
    for each in found["estimates"]:  # intervals that miss once in 10**10
        assert each["low"] <= PEOPLE[each["value"]] / 10_000 <= each["high"]
    assert sum(each["share"] for each in found["estimates"]) == pytest.approx(1)


def test_the_operator_that_was_used_keeps_the_promise_and_no_better_one_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert randomize("--promise", "1%:5%", "--values", ",".join(DISEASES), "--json") == 0
    found = shown(capsys)
    assert 5.2105 < found["gamma"] <= 99 / 19 + 1e-12
    assert found["operator"]["operator"] == "kary-response"


def test_reports_do_not_stand_in_the_order_of_the_answers() -> None:
    assert randomize("--promise", "1%:5%", "--values", ",".join(DISEASES)) == 0
    reports = pq.read_table("reports.parquet")["report"].to_numpy()
    assert np.all(np.diff(reports) >= 0)


@pytest.mark.parametrize(
    ("operator", "columns"), [("local-hashing", ["report"]), ("subset-selection", ["w0", "w1"])]
)
def test_many_values_are_counted_in_the_engine_as_codes_or_bits(
    operator: str, columns: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ages = "\n".join(["age", *(str(20 + number % 2) for number in range(20_000))])
    (here / "ages.csv").write_text(ages + "\n")
    (here / "operator.yaml").write_text(f"operator: {operator}\nvalues: 120\npromise: 1%:5%\n")
    words = ("ages.csv", "--column", "age", "--values", "0..119", "--operator", "operator.yaml")
    assert discreet("collect", "randomize", *words, "-o", "ages.parquet", "--json") == 0
    assert shown(capsys)["operator"]["operator"] == operator
    assert pq.read_schema("ages.parquet").names == columns
    assert discreet("collect", "estimate", "ages.parquet", "--confidence", "99.999999999%", "--json") == 0
    found = {each["value"]: each for each in shown(capsys)["estimates"]}
    assert all(each["low"] <= 0 for value, each in found.items() if value not in ("20", "21"))
    assert all(found[value]["low"] <= 0.5 <= found[value]["high"] for value in ("20", "21"))
    assert discreet("collect", "estimate", "ages.parquet") == 0
    assert "and 100 more values, all with --json" in capsys.readouterr().out


def test_among_operators_of_almost_the_least_error_the_shortest_reports_are_taken(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "ages.csv").write_text("age\n7\n")
    words = ("ages.csv", "--column", "age", "--values", "0..9999", "--promise", "1%:5%")
    assert discreet("collect", "randomize", *words, "-o", "ages.parquet", "--json") == 0
    assert shown(capsys)["operator"]["operator"] == "local-hashing"


def test_a_picture_is_drawn(here: Path) -> None:
    assert randomize("--promise", "1%:5%", "--values", ",".join(DISEASES)) == 0
    assert discreet("collect", "estimate", "reports.parquet", "--plot", "estimate.svg") == 0
    picture = (here / "estimate.svg").read_text()
    assert all(word in picture for word in ("disease, from 10,000 reports", "diabetes", "at most 5%"))


def test_an_answer_outside_of_the_domain_is_neither_named_nor_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert randomize("--promise", "1%:5%", "--values", "none,flu,diabetes") == 2
    told = capsys.readouterr().err
    assert "Some answers in disease are not among the 3 values." in told
    assert "cancer" not in told
    assert "100" not in told
    assert not Path("reports.parquet").exists()


def test_a_value_may_stand_for_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    assert randomize("--promise", "1%:5%", "--values", "none,flu,other", "--other", "other") == 0
    capsys.readouterr()
    assert discreet("collect", "estimate", "reports.parquet", "--confidence", "99.99999999%", "--json") == 0
    other = shown(capsys)["estimates"][2]
    assert other["low"] <= 0.1 <= other["high"]


def test_the_domain_and_the_promise_come_from_the_policy_and_its_ledger_is_charged(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "privacy.yaml").write_text(POLICY)
    assert randomize("--promise", "1%:3%", "--json") == 0  # the file is that of the policy's table
    first = shown(capsys)
    assert first["entry"] == 1
    words = ("collect", "randomize", "people", "--column", "age", "-o", "ages.parquet")
    assert discreet(*words, "--promise", "1%:3%") == 3
    assert "32.2% is left to analyst" in capsys.readouterr().err
    assert not Path("ages.parquet").exists()
    assert discreet(*words, "--promise", "1%:1.5%", "--json") == 0
    assert shown(capsys)["entry"] == 2
    assert discreet("ledger", "--json") == 0
    ledger = shown(capsys)
    assert ledger["spent"] == pytest.approx(first["epsilon"] + 0.4099, abs=1e-3)


def test_the_whole_promise_of_a_policy_may_go_into_one_collection(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "privacy.yaml").write_text(POLICY)
    assert randomize("--json") == 0
    assert shown(capsys)["belief"] == {"prior": 0.01, "posterior": pytest.approx(0.05)}
    assert randomize(out="again.parquet") == 3


def test_who_is_charged_is_asked_where_the_policy_knows_several(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "privacy.yaml").write_text(POLICY + "analysts: {alice: {share: 50%}, bob: {share: 50%}}\n")
    assert randomize("--promise", "1%:2%") == 2
    assert "--analyst NAME" in capsys.readouterr().err
    assert not Path("reports.parquet").exists()
    assert randomize("--promise", "1%:2%", "--analyst", "bob", "--json") == 0
    assert shown(capsys)["entry"] == 1
    assert randomize("--promise", "1%:2%", "--analyst", "bob", out="again.parquet") == 3


def test_a_table_whose_people_have_several_rows_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "privacy.yaml").write_text(POLICY)
    assert discreet("collect", "randomize", "visits", "--column", "disease", "-o", "x.parquet") == 2
    assert "each report would cost the promise once more" in capsys.readouterr().err


def test_the_best_operator_can_be_kept_in_a_file_and_used(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--promise", "1%:5%", "--domain", "4", "--clients", "10000")
    assert discreet("collect", "design", *words, "-o", "operator.yaml", "--json") == 0
    best = shown(capsys)["designs"][0]
    assert randomize("--operator", "operator.yaml", "--values", ",".join(DISEASES), "--json") == 0
    assert shown(capsys)["operator"] == best["operator"]
    description = read_description(here / "reports.parquet")
    assert isinstance(description.operator, KaryResponse)
    assert description.values == DISEASES


def test_reports_from_elsewhere_are_estimated_with_an_operator_that_is_told(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("operator.yaml").write_text("operator: kary-response\nvalues: 2\ntruth: 75%\n")
    Path("reports.csv").write_text("report\n" + "0\n" * 60 + "1\n" * 40)
    assert discreet("collect", "estimate", "reports.csv", "--operator", "operator.yaml", "--json") == 0
    assert [each["raw"] for each in shown(capsys)["estimates"]] == pytest.approx([0.7, 0.3])


def test_designs_are_listed_best_first(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--promise", "1%:5%", "--domain", "128", "--clients", "100000")
    assert discreet("collect", "design", *words, "--json") == 0
    designs = shown(capsys)["designs"]
    assert designs[0]["operator"]["operator"] == "subset-selection"
    assert [each["error"] for each in designs] == sorted(each["error"] for each in designs)
    assert all(each["gamma"] <= 99 / 19 + 1e-12 for each in designs)
    assert discreet("collect", "design", *words) == 0
    assert "0.339%" in capsys.readouterr().out


def test_the_slides_table_is_printed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "slides.yaml").write_text(SLIDES)
    assert discreet("collect", "analyse", "slides.yaml") == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    for line in ("nothing 1% 40.5%", "R1(X) = 0 71.6% 83%", "R2(X) = 0 4.81% 100%", "R3(X) = 0 2.94% 70.8%"):
        assert line in lines
    assert "often a little 0.02905 0.02905 60%" in lines
    assert "rarely almost all 9.19e-05 0.9192 99%" in lines


def test_an_analysis_has_gamma_both_bounds_and_both_informations(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "slides.yaml").write_text(SLIDES)
    assert discreet("collect", "analyse", "slides.yaml", "--json") == 0
    found = shown(capsys)
    r1, r2, r3 = found["operators"]
    assert [each["gamma"] for each in (r1, r2, r3)] == [
        pytest.approx(250),
        None,
        pytest.approx(5.9801, abs=1e-4),
    ]
    assert [each["keeps"] for each in (r1, r2, r3)] == [False, False, True]
    at_one_percent = next(bound for bound in r3["bounds"] if bound["prior"] == 0.01)
    assert at_one_percent["amplification"] == pytest.approx(5.9801 / (5.9801 + 99), abs=1e-4)
    for each in (r1, r2, r3):
        assert each["mutual_information"] <= each["worst_case_information"]
        bound = next(bound for bound in each["bounds"] if bound["prior"] == 0.01)
        assert each["posteriors"][0] <= min(bound["amplification"], bound["information"]) + 1e-12
    mutual, worst = ([each[key] for each in found["warning"]] for key in ("mutual", "worst_case"))
    assert mutual[0] > mutual[1]
    assert worst[0] < worst[1]


def test_baskets_are_analysed_though_they_are_too_many_to_list(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    basket = "operator: select-a-size\nitems: 1000\nsize: 5\nepsilon: 2\n"
    (here / "baskets.yaml").write_text(basket + "promise: 5%:50%\n")
    assert discreet("collect", "analyse", "baskets.yaml", "--json") == 0
    found = shown(capsys)["operators"][0]
    assert found["gamma"] == pytest.approx(math.exp(2), rel=1e-6)
    assert found["keeps"] is True
    assert discreet("collect", "analyse", "baskets.yaml") == 0
    assert "5% → 50% is kept" in capsys.readouterr().out
    (here / "baskets.yaml").write_text(basket + "prior: {0: 1%}\n")
    assert discreet("collect", "analyse", "baskets.yaml") == 2
    assert "too many to list" in " ".join(capsys.readouterr().err.split())


def test_an_operator_whose_reports_last_says_what_all_of_them_tell(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "rappor.yaml").write_text("operator: rappor\nvalues: 8\n")
    assert discreet("collect", "analyse", "rappor.yaml") == 0
    assert "gamma 81, of all reports of a value" in " ".join(capsys.readouterr().out.split())


def test_without_a_report_the_worst_one_is_meant(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    matrix = "operator: matrix-operator\nrows: [[0.6, 0.4], [0.1, 0.9]]\n"
    (here / "operator.yaml").write_text(matrix + "labels: [sick, well]\nprior: {sick: 10%}\n")
    assert discreet("collect", "analyse", "operator.yaml", "--json") == 0
    found = shown(capsys)
    assert [each["name"] for each in found["properties"]] == ["X = sick", "X = well"]
    assert found["operators"][0]["posteriors"] == pytest.approx([0.06 / 0.15, 0.81 / 0.85])
    assert found["operators"][0]["gamma"] == pytest.approx(6)


BAD_FILES = {
    "operator: matrix-operator\nrows: [[0.6, 0.5], [0.4, 0.6]]": "a sum of 1.1 in row 0",
    "operator: warner\nvalues: 2": "There is no operator warner",
    "operator: kary-response\nvalues: 3\ntruth: 0.6\nreport: 3": "3 is outside of the domain",
    "operator: kary-response\nvalues: 3\ntruth: 0.6\nprior: {0: 70%, 1: 70%}": "its probabilities sum to 1.4",
    "operator: kary-response\nvalues: 3\ntruth: 0.6\nproperties: {big: [2..7]}": "7 is outside of the domain",
    "operator: kary-response\nvalues: 3\ntruth: 60%%": "is not a number",
    "operator: kary-response\nvalues: 3": "has other parameters",
    "operators: {}": "there is no operator",
    "operators: {R: {operator: kary-response, values: 3, truth: 0.6}}\npriors: {0: 1%}": "did you mean",
    "operators: {R: {operator: unary-encoding, values: 3, epsilon: 1}}\nreport: 1": "sets of bits",
}


@pytest.mark.parametrize("text", BAD_FILES)
def test_a_bad_operator_file_gets_one_sentence(
    text: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "operator.yaml").write_text(text)
    assert discreet("collect", "analyse", "operator.yaml") == 2
    told = capsys.readouterr().err
    assert BAD_FILES[text] in told
    assert "operator.yaml, line" in told


BAD_WORDS: list[tuple[list[str], str]] = [
    (
        ["randomize", "answers.csv", "--column", "disease", "-o", "x.parquet", "--promise", "1%:5%"],
        "never taken from",
    ),
    (["design", "--promise", "5%", "--domain", "4", "--clients", "1"], "prior:posterior such as 1%:5%"),
    (["design", "--promise", "5%:1%", "--domain", "4", "--clients", "1"], "above the prior"),
    (["design", "--promise", "1%:5%", "--domain", "1", "--clients", "1"], "must be at least 2"),
    (["estimate", "nowhere.parquet"], "There is no file nowhere.parquet"),
    (["estimate", "plain.parquet"], "does not say which operator"),
    (["estimate", "answers.csv"], "not a Parquet file"),
    (["analyse", "nowhere.yaml"], "There is no file of operators nowhere.yaml"),
    (["survey", "nowhere.yaml"], "There is no survey nowhere.yaml"),
]
SOME = [
    "randomize",
    "answers.csv",
    "--column",
    "disease",
    "--values",
    ",".join(DISEASES),
    "--promise",
    "1%:5%",
]
BAD_WORDS += [
    ([*SOME, "-o", "x.csv"], "ends in .parquet"),
    ([*SOME, "-o", "nowhere/x.parquet"], "There is no folder nowhere"),
    ([*SOME, "-o", "x.parquet", "--other", "measles"], "one of the values"),
    ([*SOME, "-o", "x.parquet", "--operator", "weak.yaml"], "promised is 5%"),
    ([*SOME, "-o", "x.parquet", "--operator", "three.yaml"], "is for 3 values"),
    ([*SOME[:4], "-o", "x.parquet", "--values", "a,a"], "at least two different values"),
    ([*SOME[:3], "illness", "-o", "x.parquet", *SOME[4:]], "has no column illness. It has disease"),
    ([*SOME[:1], "odd.csv", *SOME[2:3], "How old?", "-o", "x.parquet", *SOME[4:]], "another name"),
]


@pytest.mark.parametrize(("words", "said"), BAD_WORDS)
def test_bad_input_gets_one_sentence(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("weak.yaml").write_text("operator: kary-response\nvalues: 4\ntruth: 99%\n")
    Path("three.yaml").write_text("operator: kary-response\nvalues: 3\ntruth: 50%\n")
    Path("odd.csv").write_text("How old?\n1\n")
    pq.write_table(pa.table({"report": [0, 1]}), "plain.parquet")
    assert discreet("collect", *words, "--json") == 2
    told = json.loads(capsys.readouterr().out)
    assert said in f"{told['error']} {told['hint']}"
    assert not Path("x.parquet").exists()


def test_a_file_whose_reports_were_tampered_with_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert randomize("--promise", "1%:5%", "--values", ",".join(DISEASES)) == 0
    table = pq.read_table("reports.parquet")
    pq.write_table(
        pa.table({"report": [0, 7]}).replace_schema_metadata(table.schema.metadata), "more.parquet"
    )
    pq.write_table(pa.table({"other": [0, 7]}).replace_schema_metadata(table.schema.metadata), "else.parquet")
    pq.write_table(table.replace_schema_metadata({b"discreet": b"{}"}), "damaged.parquet")
    for file, said in (
        ("more", "codes from 0 to 3"),
        ("else", "not those of this operator"),
        ("damaged", "is damaged"),
    ):
        assert discreet("collect", "estimate", f"{file}.parquet") == 2
        assert said in " ".join(capsys.readouterr().err.split())


def test_words_of_a_policy_are_read_as_their_type_says(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = "smokes: {type: boolean}, age: {type: integer, low: 0, high: 9}"
    table = f"people: {{source: people.csv, person: row, columns: {{{columns}}}}}"
    (here / "privacy.yaml").write_text(f"tables: {{{table}}}\n")
    (here / "people.csv").write_text("smokes,age\nTRUE,07\nfalse,7\n")
    for column, values in (("smokes", 3), ("age", 11)):
        words = ("people", "--column", column, "--promise", "1%:5%", "-o", f"{column}.parquet", "--json")
        assert discreet("collect", "randomize", *words) == 0
        found = shown(capsys)
        assert (found["clients"], found["values"], found["entry"]) == (2, values, None)


def test_values_are_shown_as_text_not_as_markup(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "odd.csv").write_text("a\n[/b]\n[red]x\n")
    listed = ("--column", "a", "--values", "[/b],[red]x", "--promise", "1%:5%")
    for more in ((), ("--basket", "a", "--size", "1")):
        assert discreet("collect", "randomize", "odd.csv", *listed, *more, "-o", "odd.parquet") == 0
        assert discreet("collect", "estimate", "odd.parquet") == 0
        told = capsys.readouterr().out
        assert all(word in told for word in ("[/b]", "[red]x"))
    names = "labels: ['[/b]', '[red]x']\nprior: {'[/b]': 50%}\nproperties: {'[/i]': '[/b]'}\n"
    (here / "odd.yaml").write_text(
        f"operators: {{'[/a]': {{operator: kary-response, values: 2, epsilon: 1}}}}\n{names}"
    )
    assert discreet("collect", "analyse", "odd.yaml") == 0
    assert "[/i]" in capsys.readouterr().out


def test_intervals_that_rest_on_a_normal_law_are_said_to_hold_about(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind, said in (("bounded-laplace", "with about 95% each"), ("kary-response", "with 95% each")):
        (here / "operator.yaml").write_text(f"operator: {kind}\nvalues: 4\nepsilon: 1\n")
        assert randomize("--values", ",".join(DISEASES), "--operator", "operator.yaml") == 0
        assert discreet("collect", "estimate", "reports.parquet") == 0
        assert said in capsys.readouterr().out


def test_the_lines_of_python_that_the_documentation_shows_do_what_it_says() -> None:
    page = (Path(__file__).parents[2] / "docs" / "collect.md").read_text()
    (text,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(text, names)
    kept, weak = names["operator"], names["KaryResponse"](values=4, truth=0.9)
    asked = names["prior"], [names["rare"]], names["promise"]
    assert kept.find_breaches(*asked) == ()
    assert len(weak.find_breaches(*asked)) == 1
    assert len(names["reports"]) == names["found"].clients == 10_000


def test_the_files_that_the_documentation_shows_can_be_used(here: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "collect.md").read_text()
    operator, slides, survey = re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
    for name, text in (("operator", operator), ("slides", slides), ("survey", survey)):
        (here / f"{name}.yaml").write_text(text)
    assert load_operator(here / "operator.yaml")[0].values == 4
    assert list(load_task(here / "slides.yaml").operators) == ["R1", "R2", "R3"]
    assert len(load_survey(here / "survey.yaml").questions) == 2


def test_a_usage_error_points_to_the_help_of_its_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("collect", "estimate") == 2
    assert "See discreet collect estimate --help." in capsys.readouterr().err
    assert discreet("collect") == 2
    assert "See discreet collect --help." in capsys.readouterr().err


def test_a_mean_is_estimated_where_the_operator_is_one_of_means(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Intervals of normal form; six standard errors leave out two cases in 10**9."""
    (here / "mean.yaml").write_text("operator: two-point-mean\nvalues: 101\nlow: 0\nhigh: 100\nepsilon: 1\n")
    (here / "ages.csv").write_text("age\n" + "30\n50\n" * 5_000)
    words = ("ages.csv", "--column", "age", "--values", "0..100", "--operator", "mean.yaml")
    assert discreet("collect", "randomize", *words, "-o", "ages.parquet", "--json") == 0
    capsys.readouterr()
    assert discreet("collect", "estimate", "ages.parquet", "--json") == 0
    found = shown(capsys)
    assert abs(found["mean"] - 40) <= 6 * (found["high"] - found["low"]) / 2 / 1.959
    assert discreet("collect", "estimate", "ages.parquet", "--plot", "mean.svg") == 2
