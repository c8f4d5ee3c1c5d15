"""`discreet synthesize` as a custodian runs it: rows, certificate, report, trial, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.belief import Promise
from discreet.core.errors import ModelNotMetError
from discreet.services.attack.synthetic_attack import People
from discreet.services.curator import Curator
from discreet.services.synthesize.synthesize_request import SynthesizeRequest
from discreet.services.synthesize.synthetic_publication import build_synthetic_certificate, evaluate_synthetic
from discreet.services.synthesize.synthetic_results import SyntheticTable
from discreet.services.synthesize.synthetic_table import plan_synthetic
from tests.services.test_promise import discreet

POLICY = """\
promise: {prior: 1%, posterior: 5%}
tables:
  people:
    source: people.parquet
    rows: 4000
    impossible: [{smoker: "yes", age: {low: 18, high: 30}}]
    columns:
      age:    {type: integer, low: 18, high: 79}
      smoker: {type: category, values: ["yes", "no"], nulls: false}
      city:   {type: category, values: [Bern, Genf, Chur]}
      name:   {role: identifier}
"""
NUMBERS = """\
      income: {type: integer, low: 0, high: 1000000}
      wealth: {type: integer, low: 0, high: 1000000}
"""


def people(number: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    age = random.integers(18, 80, number)
    smoker = np.where((age > 30) & (random.random(number) < 0.5), "yes", "no")
    city = random.choice(["Bern", "Genf", "Chur"], number, p=[0.6, 0.3, 0.1])
    return pa.table({"age": age, "smoker": smoker, "city": city, "name": [f"p{i}" for i in range(number)]})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pq.write_table(people(4000, 1), tmp_path / "people.parquet")
    pq.write_table(people(1000, 2), tmp_path / "others.parquet")
    (tmp_path / "privacy.yaml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_rows_are_like_the_real_ones_and_only_declared_values_appear(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("synthesize", "people", "--epsilon", "1.5", "-o", "made.parquet", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    made = pq.read_table(folder / "made.parquet")
    assert made.column_names == ["age", "smoker", "city"]
    assert made.num_rows == 4000
    assert set(made.column("city").to_pylist()) <= {"Bern", "Genf", "Chur", None}
    bern = made.column("city").to_pylist().count("Bern") / 4000
    assert abs(bern - 0.6) < 0.1
    ages, smokers = made.column("age").to_pylist(), made.column("smoker").to_pylist()
    assert all(18 <= age <= 79 for age in ages if age is not None)
    assert not [
        age for age, smoker in zip(ages, smokers, strict=True) if smoker == "yes" and age and age <= 30
    ]
    assert told["variation"]["columns"] < 0.1
    certificate = json.loads((folder / "made.certificate.json").read_text())
    assert certificate["epsilon"] == 1.5
    assert certificate["expected_error"]
    assert "variation_found" not in certificate
    assert "total variation" in (folder / "made.report.html").read_text()


def test_the_same_request_is_free_and_gives_the_same_rows(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one.csv", "two.csv"):
        assert discreet("synthesize", "people", "--epsilon", "1", "-o", name) == 0
    assert (folder / "one.csv").read_text() == (folder / "two.csv").read_text()
    assert "nothing: the same table was made before" in capsys.readouterr().out
    assert discreet("ledger", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["entries"]) == 1


def test_a_promise_of_its_own_says_what_a_table_may_cost(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("synthesize", "people", "--promise", "1%:2%", "-o", "one.csv", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["epsilon"] == pytest.approx(Promise(0.01, 0.02).epsilon)
    words = ("--epsilon", repr(told["epsilon"]), "-o", "two.csv", "--json")
    assert discreet("synthesize", "people", *words) == 0
    assert json.loads(capsys.readouterr().out)["repeated"] is True


COUNTED = (
    "SELECT city, COUNT(*) AS n FROM people GROUP BY city",
    "SELECT smoker, COUNT(*) AS n FROM people GROUP BY smoker ORDER BY n",
    "SELECT COUNT(*), age, smoker FROM people GROUP BY age, smoker",
)


def test_rows_agree_with_counts_that_were_answered_before(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Though this table has next to no budget of its own: it is made of what was released."""
    (folder / "privacy.yaml").write_text(POLICY.replace("5%", "90%").replace("    rows: 4000\n", ""))
    answered = []
    for sql in COUNTED:
        assert discreet("ask", sql, "--epsilon", "2", "--json") == 0
        answered.append(json.loads(capsys.readouterr().out))
    words = ("--epsilon", "0.01", "--with", "all", "-o", "made.parquet", "--json")
    assert discreet("synthesize", "people", *words) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["earlier"] == [1, 2, 3]
    made = pq.read_table(folder / "made.parquet")
    cities = made.column("city").to_pylist()
    for name, number in answered[0]["rows"]:
        assert abs(cities.count(name) - number) <= 25
    smokers = made.column("smoker").to_pylist()
    for name, number in answered[1]["rows"]:
        assert abs(smokers.count(name) - number) <= 120  # the two answers about smokers differ by their noise
    told = json.loads((folder / "made.certificate.json").read_text())
    assert [each["columns"] for each in told["earlier"]] == [["city"], ["smoker"], ["age", "smoker"]]
    assert all("epsilon" in each["guarantee"] for each in told["earlier"])


def test_rows_agree_with_a_table_of_counts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "privacy.yaml").write_text(POLICY.replace("5%", "90%").replace("    rows: 4000\n", ""))
    assert discreet("tabulate", "people", "--columns", "smoker", "--epsilon", "2", "--json") == 0
    counts = {smoker: noisy for smoker, _, noisy in json.loads(capsys.readouterr().out)["rows"]}
    assert discreet("tabulate", "people", "--columns", "age", "--epsilon", "0.1") == 0
    capsys.readouterr()
    words = ("--epsilon", "0.01", "--with", "all", "-o", "made.parquet", "--json")
    assert discreet("synthesize", "people", *words) == 0
    assert json.loads(capsys.readouterr().out)["earlier"] == [1]
    made = pq.read_table(folder / "made.parquet").column("smoker").to_pylist()
    assert all(abs(made.count(smoker) - counts[smoker]) <= 25 for smoker in ("yes", "no"))
    assert discreet("synthesize", "people", "--epsilon", "0.01", "--with", "2", "-o", "other.csv") == 2
    assert "entry 2 is not a table of counts" in " ".join(capsys.readouterr().err.split())


def test_answers_that_are_no_counts_of_these_columns_are_refused_and_cost_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = (
        "SELECT city, COUNT(*) FROM people WHERE age > 30 GROUP BY city",
        "SELECT city, COUNT(*) FROM people GROUP BY city HAVING COUNT(*) > 100",
        "SELECT city, AVG(age) FROM people GROUP BY city",
        "SELECT COUNT(*) FROM people",
        "SELECT age > 30, COUNT(*) FROM people GROUP BY age > 30",
        "SELECT smoker, COUNT(*) + 1 FROM people GROUP BY smoker",
    )
    for sql in others:
        assert discreet("ask", sql, "--epsilon", "0.1") == 0
    for entry in range(1, len(others) + 1):
        words = ("--epsilon", "0.1", "--with", str(entry), "-o", "made.csv")
        assert discreet("synthesize", "people", *words) == 2
        assert f"entry {entry} is not a table of counts" in " ".join(capsys.readouterr().err.split())
    for name, told in (
        ("all", "no answer to analyst"),
        ("99", "no answer in entry 99"),
        ("x", "--with"),
    ):
        assert discreet("synthesize", "people", "--epsilon", "0.1", "--with", name, "-o", "made.csv") == 2
        assert told in " ".join(capsys.readouterr().err.split())
    assert discreet("ledger", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["entries"]) == len(others)


def test_attacks_are_run_beside_people_who_are_not_in_the_data(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (
        "--epsilon",
        "1",
        "--panel",
        "others.parquet",
        "--target",
        "city",
        "-o",
        "made.parquet",
        "--json",
    )
    assert discreet("synthesize", "people", *words) == 0
    attacks = json.loads(capsys.readouterr().out)["trial"]["attacks"]
    assert {each["name"] for each in attacks} == {"singling out", "linkability", "attribute inference"}
    certificate = json.loads((folder / "made.certificate.json").read_text())
    assert sorted(certificate["attacks_run"]) == ["attribute inference", "linkability", "singling out"]
    page = (folder / "made.report.html").read_text()
    assert "from synthetic rows" in page
    assert "linkability" in page


def test_a_table_that_gives_people_away_is_refused_unless_it_is_forced(folder: Path) -> None:
    """The real rows as if they had been made up, with two numbers that are each person's own."""
    rows, others = (_with_numbers(people(number, seed), seed) for number, seed in ((4000, 1), (1000, 2)))
    pq.write_table(rows, folder / "people.parquet")
    pq.write_table(others, folder / "others.parquet")
    (folder / "privacy.yaml").write_text(POLICY + NUMBERS)
    with Curator.open(folder / "privacy.yaml") as curator:
        plan = plan_synthetic(curator, SynthesizeRequest(table="people", epsilon=1))
        leak = SyntheticTable(
            plan=plan, table=rows, epsilon=1, delta=0, entry=1, repeated=False, sentence="as if released"
        )
        table = curator.policy.tables["people"]
        both = People.read(plan, table, folder / "others.parquet", "duckdb")
        trial = evaluate_synthetic(leak, table, both, at_most=0.3, promise=curator.promise)
    with pytest.raises(ModelNotMetError, match="`at_most=` allows at most 30%"):
        trial.require_bounds()
    trial.require_bounds(is_forced=True)
    kept, broken = (replace(trial, runs=tried) for tried in (trial.runs[:0], trial.runs))
    assert broken.broken_bounds
    assert not kept.broken_bounds
    for forced in (True, False):
        told = [
            build_synthetic_certificate(leak, each, at_most=0.3, forced=forced) for each in (kept, broken)
        ]
        assert [each["forced"] for each in told] == [forced, forced]
        assert [each["bounds"][0]["most"] for each in told] == [0.3, 0.3]  # type: ignore[index]
        assert told[0] | {"attacks_run": []} == told[1] | {"attacks_run": []}


def _with_numbers(rows: pa.Table, seed: int) -> pa.Table:
    random = np.random.default_rng(seed + 10)
    for name in ("income", "wealth"):
        rows = rows.append_column(name, pa.array(random.integers(0, 1_000_000, rows.num_rows)))
    return rows


def test_zeros_that_leave_nothing_possible_together_are_refused_and_cost_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each entry leaves something, and all of them nothing."""
    all_ages = "{low: 18, high: 79}"
    entries = (
        f'{{city: [Bern, Genf]}}, {{city: [Chur], smoker: ["yes"]}}, {{smoker: ["no"], age: {all_ages}}}'
    )
    text = POLICY.replace('{smoker: "yes", age: {low: 18, high: 30}}', entries)
    text = text.replace("high: 79}\n", "high: 79, nulls: false}\n").replace("Chur]}", "Chur], nulls: false}")
    (folder / "privacy.yaml").write_text(text)
    assert discreet("synthesize", "people", "--epsilon", "1", "-o", "made.parquet") == 2
    assert "leaves no row possible" in " ".join(capsys.readouterr().err.split())
    assert discreet("ledger", "--json") == 0
    assert json.loads(capsys.readouterr().out)["entries"] == []


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("people", "-o", "made.parquet"), 2, "--epsilon"),
        (("dogs", "--epsilon", "1", "-o", "made.parquet"), 2, "no table dogs"),
        (("people", "--epsilon", "1", "-o", "made.txt"), 2, "not in a supported output format"),
        (("people", "--epsilon", "1", "--promise", "1%:2%", "-o", "made.csv"), 2, "exclude each other"),
        (("people", "--promise", "2%", "-o", "made.csv"), 2, "prior:posterior"),
        (("people", "--promise", "1%:20%", "-o", "made.csv"), 3, "left to analyst"),
        (("people", "--epsilon", "1", "-o", "people.parquet"), 2, "people"),
        (("people", "--epsilon", "1", "-o", "panel.parquet"), 2, "the table panel of the policy"),
        (("people", "--epsilon", "1", "-o", "./link.parquet"), 2, "is a symbolic link"),
        (("people", "--epsilon", "1", "--quality", "good", "-o", "made.parquet"), 2, "lean or best"),
        (("people", "--epsilon", "1", "--target", "city", "-o", "made.parquet"), 2, "--panel"),
        (("people", "--epsilon", "1", "--panel", "none.csv", "-o", "made.parquet"), 2, "does not exist"),
        (
            ("people", "--epsilon", "1", "--panel", "others.parquet", "--target", "name", "-o", "made.csv"),
            2,
            "name is not a synthesized column",
        ),
        (("people", "--epsilon", "9", "-o", "made.parquet"), 3, "left to analyst"),
        (("people", "--epsilon", "1e-9", "-o", "made.parquet"), 2, "leaves nothing but noise"),
        (("people", "--epsilon", "1", "--delta", "1e-9", "-o", "made.parquet"), 2, "tail"),
    ],
)
def test_what_cannot_be_made_is_refused_and_costs_nothing(
    folder: Path, words: tuple[str, ...], code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    more = "  panel: {source: panel.parquet, columns: {city: {type: category, values: [Bern]}}}\n"
    (folder / "privacy.yaml").write_text(POLICY + more)
    pq.write_table(people(10, 3), folder / "panel.parquet")
    (folder / "link.parquet").symlink_to("panel.parquet")
    assert discreet("synthesize", *words) == code
    assert told in " ".join(capsys.readouterr().err.split())
    assert discreet("ledger", "--json") == 0
    assert json.loads(capsys.readouterr().out)["entries"] == []
