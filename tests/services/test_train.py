"""`discreet train` as an analyst runs it: a model, its charge, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from discreet.mining.model_training import train_model
from discreet.services.curator import Curator
from discreet.services.stored_releases import release_or_replay
from discreet.services.train import TrainRequest, plan_model, train_private_model
from tests.services.test_promise import discreet

POLICY = """\
promise: {prior: 1%, posterior: 5%}
tables:
  people:
    source: people.csv
    rows: 2000
    columns:
      age:    {type: integer, low: 18, high: 79}
      smoker: {type: category, values: ["yes", "no"]}
      ill:    {type: category, values: ["yes", "no"]}
      weight: {type: integer, low: 40, high: 120}
      alive:  {type: category, values: ["yes"]}
      legs:   {type: integer, low: 2, high: 2}
      name:   {role: identifier}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """People of whom those are ill who smoke and are 50 or older."""
    lines = ["age,smoker,ill,weight,alive,legs,name"]
    for place in range(2000):
        age, smokes = 18 + place % 62, place % 3 == 0
        ill = smokes and age >= 50
        words = ["yes" if each else "no" for each in (smokes, ill)]
        lines.append(f"{age},{words[0]},{words[1]},{60 + age % 40},yes,2,p{place}")
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "privacy.yaml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def trained(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert discreet("train", *words, "--json") == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_a_tree_finds_who_is_ill_and_is_charged_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (
        "tree",
        "people",
        "--target",
        "ill",
        "--epsilon",
        "1.5",
        "-o",
        "model.json",
        "--draw",
        "tree.svg",
    )
    first = trained(capsys, *words)
    asked = {str(each).split(" ")[0] for each in json.loads((folder / "model.json").read_text())["question"]}
    assert {"age", "smoker"} <= asked
    assert "svg" in ET.parse(folder / "tree.svg").getroot().tag
    again = trained(capsys, *words)
    assert again["repeated"] is True
    assert again["model"] == first["model"]
    assert again["entry"] == first["entry"]
    assert first["epsilon"] == 1.5
    assert discreet("ledger", "--json") == 0
    ledger = json.loads(capsys.readouterr().out)
    assert [each["question"] for each in ledger["entries"]] == ["train tree people --target ill"]


def test_saying_what_is_usual_is_the_same_request(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("tree", "people", "--target", "ill", "--epsilon", "0.5")
    first = trained(capsys, *words)
    again = trained(capsys, *words, "--criterion", "gini", "--selection", "permute-and-flip")
    assert (again["repeated"], again["entry"]) == (True, first["entry"])


@pytest.mark.parametrize("kind", ["forest", "bayes"])
def test_other_models_show_what_moves_them(
    folder: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("train", kind, "people", "--target", "ill", "--epsilon", "1.5") == 0
    told = capsys.readouterr().out
    assert "score for no" in told
    assert "smoker" in told
    assert "promise: 5%" in " ".join(told.split())


def test_neighbouring_bins_that_score_alike_are_told_as_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who is ill is 50 or older, which a forest of 62 bins shows in a line or two."""
    assert discreet("train", "forest", "people", "--target", "ill", "--epsilon", "1.5") == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    ages = [words for words in shown if words and words[0] == "age"]
    assert 2 <= len(ages) <= 6
    assert len({words[-1] for words in ages}) == len(ages)


def test_a_delta_is_told_with_the_cost(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    terms = POLICY.replace("posterior: 5%}", "posterior: 5%, tail: 1e-5}")
    (folder / "privacy.yaml").write_text(terms)
    words = ("forest", "people", "--target", "ill", "--epsilon", "0.5", "--delta", "1e-7")
    assert discreet("train", *words) == 0
    assert "epsilon 0.5, delta 1e-07 (entry 1)" in capsys.readouterr().out
    assert trained(capsys, *words)["delta"] == 1e-7


def test_a_regression_predicts_a_number(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = trained(capsys, "regression", "people", "--target", "weight", "--epsilon", "1.5")["model"]
    assert isinstance(model, dict)
    means = [value[0] for value in model["value"]]
    assert all(40 <= mean <= 120 for mean in means)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("tree", "people", "--target", "ill"), 2, "--epsilon"),
        (("tree", "people", "--target", "name", "--epsilon", "1"), 2, "no column name"),
        (("tree", "people", "--target", "weight", "--epsilon", "1"), 2, "must be a category"),
        (("shrub", "people", "--target", "ill", "--epsilon", "1"), 2, "kind must be one of"),
        (("tree", "dogs", "--target", "ill", "--epsilon", "1"), 2, "no table dogs"),
        (("tree", "people", "--target", "ill", "--epsilon", "1", "-o", "model.txt"), 2, ".json"),
        (("forest", "people", "--target", "ill", "--epsilon", "1", "--draw", "tree.svg"), 2, "not one tree"),
        (("tree", "people", "--target", "ill", "--epsilon", "9"), 3, "left to analyst"),
        (("tree", "people", "--target", "ill", "--epsilon", "1/3"), 2, "a finite number such as 0.5"),
        *(
            ((kind, "people", "--target", "alive", "--epsilon", "1"), 2, "alive has one declared value")
            for kind in ("tree", "bayes", "forest")
        ),
        (
            ("tree", "people", "--target", "ill", "--epsilon", "1", "--features", "legs"),
            2,
            "legs can have one value alone",
        ),
        (
            ("bayes", "people", "--target", "ill", "--epsilon", "1", "--depth", "3"),
            2,
            "depth does not apply to",
        ),
        (
            ("forest", "people", "--target", "ill", "--epsilon", "1", "--criterion", "gini"),
            2,
            "criterion does not apply to forest; it is an option of tree",
        ),
        (
            ("regression", "people", "--target", "weight", "--epsilon", "1", "--criterion", "max"),
            2,
            "criterion does not apply to regression",
        ),
        (
            ("bayes", "people", "--target", "ill", "--epsilon", "1", "--selection", "laplace"),
            2,
            "option of tree and regression",
        ),
        (
            ("tree", "people", "--target", "ill", "--epsilon", "1", "--log", "smoker"),
            2,
            "log scale does not apply to smoker",
        ),
    ],
)
def test_what_cannot_be_learned_is_refused_and_costs_nothing(
    folder: Path, words: tuple[str, ...], code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("train", *words) == code
    assert told in " ".join(capsys.readouterr().err.split())
    assert discreet("ledger", "--json") == 0
    assert json.loads(capsys.readouterr().out)["entries"] == []


def test_the_former_name_of_the_command_is_refused_with_its_present_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("mine", "tree", "people", "--target", "ill", "--epsilon", "0.5") == 2
    assert "Write discreet train." in capsys.readouterr().err


def test_a_model_of_a_ledger_from_before_the_command_was_renamed_is_not_charged_again(folder: Path) -> None:
    """Ledgers of `discreet mine` store models under a key with that word."""
    request = TrainRequest(kind="tree", table="people", target="ill", epsilon=0.5)
    terms = request.model_dump() | {"criterion": "gini", "selection": "permute-and-flip"}
    with Curator.open(folder / "privacy.yaml") as curator:
        plan = plan_model(curator, request)
        stored = release_or_replay(
            curator,
            "mine",
            "mine tree people --target ill",
            terms,
            plan.guarantee,
            lambda engine, random: train_model(plan, engine, random).to_json(),
            serialize=str.encode,
            deserialize=bytes.decode,
        )
        again = train_private_model(curator, request, lambda message, fraction=None: None)
    assert not stored.repeated
    assert again.repeated
    assert again.entry == stored.entry
    assert again.model_json == stored.release
