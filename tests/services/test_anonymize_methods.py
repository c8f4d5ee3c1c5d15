"""`discreet anonymize` by every method, and what it is told beside the models, read from its files."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from statistics import mean

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from discreet.services.anonymize.anonymize_request import METHODS, PRIVATE
from tests.services.test_anonymize import POLICY, ROWS, classes, publish, write_people
from tests.services.test_promise import discreet

QUASI = ("age", "zipcode")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_people(tmp_path, ROWS)
    (tmp_path / "privacy.yaml").write_text(POLICY)
    return tmp_path


@pytest.mark.parametrize("method", [each for each in METHODS if each != PRIVATE])
def test_every_method_publishes_classes_of_k_and_says_which_it_was(
    folder: Path, method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(folder, "-k", "4", "--method", method, "--suppress", "20%", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    published = pacsv.read_csv(folder / "release.csv")
    found = classes(published, QUASI)
    assert all(len(rows) >= 4 for rows in found.values())
    assert (told["method"], told["classes"]) == (method, len(found))
    assert told["suppressed"] == len(ROWS) - published.num_rows <= 12
    assert set(told["levels"]) == set(QUASI)
    assert {"loss", "models", "risk", "seconds"} <= set(told)
    assert 0 <= told["loss"] <= 1
    certificate = json.loads((folder / "release.certificate.json").read_text())
    assert certificate["method"] == method


def test_intervals_end_where_nobody_need_be(folder: Path) -> None:
    """The ages of a part are 20 and 80: a label that told the extremes would show them."""
    write_people(folder, [(f"p{i}", (20, 80)[i % 2], "13053", "flu", "n") for i in range(20)])
    assert publish(folder, "-k", "10", "--method", "mondrian") == 0
    published = pacsv.read_csv(folder / "release.csv")
    assert set(published.column("age").to_pylist()) == {"[0, 49]", "[50, 99]"}


def test_missing_values_are_not_put_into_intervals(folder: Path) -> None:
    text = POLICY.replace("high: 99,", "high: 99, missing: category,")
    (folder / "privacy.yaml").write_text(text)
    rows = [row if i % 5 else (row[0], "", *row[2:]) for i, row in enumerate(ROWS)]
    write_people(folder, rows)
    assert publish(folder, "-k", "4", "--method", "mondrian", name="release.parquet") == 0
    shown = pq.read_table(folder / "release.parquet").column("age").to_pylist()
    assert not [label for label in shown if label is not None and label.endswith(", ]")]


def test_cells_are_blanked_and_others_stay_as_they_are(folder: Path) -> None:
    assert publish(folder, "-k", "3", "--method", "cells") == 0
    published = pacsv.read_csv(folder / "release.csv").to_pylist()
    ages, codes = {str(row[1]) for row in ROWS}, {row[2] for row in ROWS}
    assert {str(row["age"]) for row in published} <= ages | {"*"}
    assert {str(row["zipcode"]) for row in published} <= codes | {"*"}
    assert publish(folder, "-k", "3", "--method", "cells", "--level", "age=1") == 0
    shown = {str(row["age"]) for row in pacsv.read_csv(folder / "release.csv").to_pylist()}
    assert shown <= {f"[{low}, {low + 9}]" for low in range(0, 100, 10)} | {"*"}


def test_a_column_shows_the_mean_of_its_class_and_the_other_its_labels(folder: Path) -> None:
    write_people(folder, [(f"p{i}", 20 + i, "13053", "flu", "n") for i in range(20)])
    options = ("-k", "10", "--method", "mondrian", "--centre", "age=mean")
    assert publish(folder, *options, name="release.parquet") == 0
    published = pq.read_table(folder / "release.parquet")
    ages = [list(range(20, 30)), list(range(30, 40))]
    assert Counter(published.column("age").to_pylist()) == {round(mean(each)): 10 for each in ages}
    assert pa.types.is_string(published.schema.field("zipcode").type)


def test_one_class_shows_the_mean_and_the_median(folder: Path) -> None:
    ages = [20, 21, 22, 23, 90]
    write_people(folder, [(f"p{i}", age, "13053", "flu", "n") for i, age in enumerate(ages)])
    for centre, shown in (("mean", 35), ("median", 22)):
        options = ("-k", "5", "--method", "microaggregate", "--centre", f"age={centre}")
        assert publish(folder, *options, name="release.parquet") == 0
        published = pq.read_table(folder / "release.parquet")
        assert published.column("age").to_pylist() == [shown] * 5
        assert published.column("zipcode").to_pylist() == [13053] * 5


def test_the_best_generalizations_are_listed_and_any_of_them_can_be_published(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = str(folder / "privacy.yaml")
    options = ("anonymize", "people", "--policy", policy, "-k", "5", "--suppress", "20%")
    assert discreet(*options, "--top", "4", "--json") == 0
    top = json.loads(capsys.readouterr().out)["top"]
    assert len(top) == 4
    assert [each["loss"] for each in top] == sorted(each["loss"] for each in top)
    for each in top:
        levels = [f"--level={name}={level}" for name, level in each["levels"].items()]
        assert discreet(*options, *levels, "--json") == 0
        told = json.loads(capsys.readouterr().out)
        assert told["levels"] == each["levels"]
        assert told["loss"] == pytest.approx(each["loss"])
        assert (told["suppressed"], told["classes"]) == (each["suppressed"], each["classes"])
    assert discreet(*options, "--top", "2") == 0
    assert "--level" in capsys.readouterr().out


def test_minimal_generalizations_do_not_generalize_each_other(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = str(folder / "privacy.yaml")
    assert discreet("anonymize", "people", "--policy", policy, "-k", "3", "--minimal", "--json") == 0
    nodes = [list(each["levels"].values()) for each in json.loads(capsys.readouterr().out)["minimal"]]
    assert nodes
    for one in nodes:
        assert not [
            other for other in nodes if other != one and all(a <= b for a, b in zip(other, one, strict=True))
        ]


SQUARE = """\
tables:
  people:
    source: people.csv
    columns:
      x: {type: integer, low: 0, high: 15, role: quasi}
      y: {type: integer, low: 0, high: 15, role: quasi}
hierarchies:
  x: {widths: [4, 8]}
  y: {widths: [4, 8]}
"""


@pytest.mark.parametrize("method", [each for each in METHODS if each != PRIVATE])
def test_a_weight_moves_detail_to_its_column(tmp_path: Path, method: str) -> None:
    """Of two columns that are alike and cannot both stay as they are, the heavier one stays finer."""
    (tmp_path / "privacy.yaml").write_text(SQUARE)
    points = "".join(f"{x},{y}\n" for x in range(16) for y in range(16))
    (tmp_path / "people.csv").write_text("x,y\n" + points)
    for heavy, light in (("x", "y"), ("y", "x")):
        assert publish(tmp_path, "-k", "16", "--method", method, "--weight", f"{heavy}=50") == 0
        published = pacsv.read_csv(tmp_path / "release.csv")
        finer, coarser = (len(set(published.column(name).to_pylist())) for name in (heavy, light))
        assert finer > coarser


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-k", "5", "--method", "local", "--seconds", "3"), "seconds would have no effect"),
        (("-k", "5", "--method", "mondrian", "--objective", "height"), "objective would have no effect"),
        (("-k", "5", "--method", "mondrian", "--level", "age=1"), "levels would have no effect"),
        (("-k", "5", "--level", "age=9"), "has the levels 0 to 3; got 9"),
        (("-k", "5", "--level", "disease=1"), "not a quasi-identifier"),
        (("-k", "5", "--level", "age=high"), "--level must be COLUMN=NUMBER"),
        (("-k", "5", "--centre", "age=mode"), "mean or COLUMN=median"),
        (("-k", "5", "--centre", "disease=mean"), "not a quasi-identifier"),
        (("-k", "5", "--weight", "height=2"), "quasi-identifiers"),
        (("-k", "5", "--seconds", "0"), "above 0"),
        (("-k", "5", "--top", "3", "--minimal"), "exclude each other"),
        (("-k", "5", "--top", "3", "--method", "local"), "listed for the method generalize"),
        (("-k", "5", "--epsilon", "1"), "--method private"),
        (("--posterior", "50%", "--method", "microaggregate"), "-k 5"),
        (("--posterior", "20%:ordered"), "equal distance"),
        (("--posterior", "20%:lucky"), "probabilistic, recursive, equal"),
        (("-k", "5", "--sampling", "300%"), "--sampling"),
    ],
)
def test_an_option_that_could_do_nothing_is_refused_in_one_sentence(
    folder: Path, options: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(folder, *options) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert words in told
    assert not (folder / "release.csv").exists()


def test_words_have_no_mean(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_people(folder, [(f"p{i}", 30, "A12", "flu", "n") for i in range(9)])
    assert publish(folder, "-k", "3", "--method", "microaggregate") == 2
    told = capsys.readouterr().err
    assert "zipcode are not numbers" in told
    assert "A12" not in told


@pytest.mark.parametrize("kind", ["probabilistic", "recursive", "equal"])
def test_a_promise_is_kept_by_any_of_three_models(folder: Path, kind: str) -> None:
    assert publish(folder, "--posterior", f"60%:{kind}", "--suppress", "20%") == 0
    published = pacsv.read_csv(folder / "release.csv")
    for rows in classes(published, QUASI).values():
        most = max(Counter(row["disease"] for row in rows).values())
        assert most <= 0.6 * len(rows)
