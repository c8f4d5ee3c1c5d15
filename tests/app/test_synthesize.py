"""`discreet synthesize` as a custodian runs it: rows, certificate, report, trial, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.app.curator import Curator
from discreet.app.synthesis.report import certificate
from discreet.app.synthesis.synthesizing import Synthetic, Wish, planned
from discreet.app.synthesis.synthetic_trial import People, try_synthetic
from discreet.core.errors import UnmetError
from tests.app.test_promise import discreet

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
        plan = planned(curator, Wish(table="people", epsilon=1))
        leak = Synthetic(
            plan=plan, table=rows, epsilon=1, delta=0, entry=1, repeated=False, sentence="as if released"
        )
        table = curator.policy.tables["people"]
        both = People.read(plan, table, folder / "others.parquet")
        trial = try_synthetic(leak, table, both, at_most=0.3, promise=curator.promise)
    with pytest.raises(UnmetError, match="--at-most allows at most 30%"):
        trial.refuse()
    trial.refuse(forced=True)
    assert certificate(leak, trial)["forced"] is True


def _with_numbers(rows: pa.Table, seed: int) -> pa.Table:
    random = np.random.default_rng(seed + 10)
    for name in ("income", "wealth"):
        rows = rows.append_column(name, pa.array(random.integers(0, 1_000_000, rows.num_rows)))
    return rows


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("people", "-o", "made.parquet"), 2, "--epsilon"),
        (("dogs", "--epsilon", "1", "-o", "made.parquet"), 2, "no table dogs"),
        (("people", "--epsilon", "1", "-o", "made.txt"), 2, "no kind of file"),
        (("people", "--epsilon", "1", "-o", "people.parquet"), 2, "people"),
        (("people", "--epsilon", "1", "-o", "panel.parquet"), 2, "the table panel of the policy"),
        (("people", "--epsilon", "1", "-o", "./link.parquet"), 2, "the table panel of the policy"),
        (("people", "--epsilon", "1", "--quality", "good", "-o", "made.parquet"), 2, "lean or best"),
        (("people", "--epsilon", "1", "--target", "city", "-o", "made.parquet"), 2, "--panel"),
        (("people", "--epsilon", "1", "--panel", "none.csv", "-o", "made.parquet"), 2, "does not exist"),
        (
            ("people", "--epsilon", "1", "--panel", "others.parquet", "--target", "name", "-o", "made.csv"),
            2,
            "name is not synthesized",
        ),
        (("people", "--epsilon", "9", "-o", "made.parquet"), 3, "left to analyst"),
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
