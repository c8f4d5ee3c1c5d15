"""Every example runs, in a folder of its own, and prints what it is about."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.pgwire.served import served
from tests.test_docs import DOCS, words

PROMPT = "discreet=> "
EXAMPLES = Path(__file__).parents[1] / "examples"
FIGURE_FOLDER = Path(__file__).parents[1] / "benchmarks" / "figures"
SAID = {
    "ask": ["It would cost epsilon 0.1 of 1.65", "can now be at most 1.11% sure", "charged again: no"],
    "attack_a_release": ["Bob: disease is Cancer, 41.7% → 100%", "Not run (similarity)"],
    "audit_a_mechanism": ["the runs do not contradict it", "The claim is broken"],
    "choose_a_promise": ["gamma 5.211, epsilon 1.6507", "1% → at most 5%"],
    "make_a_synthetic_table": ["Male, <=50K", "can now be at most 1.64% sure", "wrote synthetic.parquet"],
    "publish_a_table": ["wrote release.certificate.json", "5-anonymity: "],
    "run_a_survey": ["loses epsilon 1.651 of 1.651", "An attacker who gave each answer 20% gives one 56.6%"],
    "train_a_tree": ["A tree over 10 columns", "wrote tree.svg", "epsilon 1.0: "],
}
"""What of each does not depend on noise."""
ELSEWHERE = {
    "connect_psql": "below",
    "move_to_another_engine": "tests/engines/test_guides.py",
}
FIGURES = {
    "choosing_a_split": ["exponential mechanism", "The figure is in choosing.svg."],
    "what_attacks_need": ["zip, sex, day of birth         65.9%", "The figure is in needed.svg."],
}
"""Figures of the guides, which are drawn by internal modules."""


@pytest.fixture
def folder(samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(samples, tmp_path / "sample")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(name: str, monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", [name, *words])
    folder = FIGURE_FOLDER if name in FIGURES else EXAMPLES
    runpy.run_path(str(folder / f"{name}.py"), run_name="__main__")


def shared(folder: Path) -> Path:
    """The samples with an analyst whom `served` knows."""
    with (folder / "sample" / "privacy.yaml").open("a") as policy:
        policy.write("analysts: {alice: {share: 100%}}\n")
    return folder / "sample"


@pytest.mark.parametrize("name", [*SAID, *FIGURES])
def test_an_example_runs_and_prints_what_it_is_about(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert folder.exists()
    ran(name, monkeypatch)
    printed = capsys.readouterr().out
    for each in (SAID | FIGURES)[name]:
        assert each in printed


def test_no_example_is_left_untried() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*SAID, *ELSEWHERE}


def test_a_client_asks_a_server_of_the_samples(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(shared(folder)) as server:
        ran("connect_psql", monkeypatch, server.address)
        assert server.charges() == 1
    printed = capsys.readouterr().out
    assert "cost: epsilon 0.1 of 1.65" in printed
    assert "NOTICE: cost: epsilon 0.1 (entry 1)" in printed
    assert "left of the own share: epsilon 1.55068" in printed
    assert "refused, for nothing: ask: the question would show rows." in printed


def test_the_guide_to_psql_shows_what_it_says(folder: Path) -> None:
    if shutil.which("psql") is None:
        pytest.skip("psql is not installed: apt-get install postgresql-client")
    (block,) = re.findall(r"```psql\n(.*?)```", (DOCS / "how-to" / "connect-psql.md").read_text(), re.DOTALL)
    lines = block.splitlines()
    asked = [line.removeprefix(PROMPT) for line in lines if line.startswith(PROMPT)]
    with served(shared(folder)) as server:
        command = ["psql", server.address, "--no-psqlrc", "--pset=pager=off"]
        done = subprocess.run(
            [*command, *(word for each in asked for word in ("-c", each))],
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
    said = words(done.stdout + done.stderr)
    for line in lines:
        assert line.startswith(PROMPT) or words(line) in said, line


def test_the_figure_of_many_questions_has_three_methods(folder: Path) -> None:
    names = runpy.run_path(str(FIGURE_FOLDER / "many_questions.py"), run_name="many_questions")
    names["measured"].__globals__.update(NUMBERS=(10, 30), RUNS=1)
    points = names["measured"]()
    assert {(each["world"][0], each["method"]) for each in points} == {
        ("4", "median"), ("4", "weights"), ("4", "laplace"), ("2", "weights"), ("2", "laplace"),
    }  # fmt: skip
    names["save_chart"](names["figure"](points), folder / "figure.svg")
    assert "<svg" in (folder / "figure.svg").read_text()
