"""Tables of many columns: a request is done, or refused before it is charged."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.mining.bin_counters import EngineCounter
from discreet.mining.schema import Schema
from discreet.services.curator import Curator
from tests.services import patients
from tests.services.test_least_epsilon import count_charges
from tests.services.test_promise import discreet

COLUMNS = 64
"""More than one statement can tell apart."""


def write_wide(folder: Path, *, columns: int, values: int) -> None:
    names = [f"c{place}" for place in range(columns)]
    rows = [[f"v{(person + place) % values}" for place in range(columns)] for person in range(30)]
    (folder / "wide.csv").write_text("".join(",".join(each) + "\n" for each in [names, *rows]))
    words = ", ".join(f"v{value}" for value in range(values))
    declared = "".join(
        f"      {name}: {{type: category, values: [{words}], nulls: false}}\n" for name in names
    )
    (folder / "privacy.yaml").write_text(
        "promise: {prior: 1%, posterior: 5%}\n"
        f"tables:\n  wide:\n    source: wide.csv\n    columns:\n{declared}"
    )


def test_pairs_of_more_columns_than_one_statement_tells_apart_are_counted(tmp_path: Path) -> None:
    write_wide(tmp_path, columns=COLUMNS, values=2)
    pairs = [(f"c{place}", f"c{place + 1}") for place in range(COLUMNS - 1)]
    with Curator.open(tmp_path / "privacy.yaml") as curator:
        policy = curator.policy
        schema = Schema.from_table(policy.tables["wide"])
        found = curator.inspect_data(
            lambda engine: EngineCounter.from_table(engine, policy, "wide", schema).count_marginals(pairs)
        )
    # neighbouring columns differ in every row
    assert {tuple(table.reshape(-1).tolist()) for table in found.secret} == {(0, 15, 15, 0)}
    assert len(found.secret) == len(pairs)


@pytest.mark.night
def test_pairs_of_more_columns_than_one_statement_counts_are_synthesized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wide(tmp_path, columns=COLUMNS, values=2)
    monkeypatch.chdir(tmp_path)
    assert discreet("synthesize", "wide", "--epsilon", "0.01", "-o", "made.csv") == 0
    assert (tmp_path / "made.csv").exists()


@pytest.mark.parametrize("quality", ["lean", "best"])
def test_more_combinations_than_there_is_memory_for_are_refused_and_cost_nothing(
    quality: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All pairs of 60 columns of 1,000 values are 1.8 billion counts, of 400 values 283 million."""
    write_wide(tmp_path, columns=60, values=1_000 if quality == "lean" else 400)
    monkeypatch.chdir(tmp_path)
    words = ("synthesize", "wide", "--epsilon", "0.5", "--quality", quality, "-o", "made.csv")
    assert discreet(*words) == 2
    assert "take too much memory. Name fewer columns" in capsys.readouterr().err
    assert count_charges(tmp_path) == 0


@pytest.mark.parametrize("kind", ["tree", "forest", "bayes"])
def test_a_model_of_too_many_columns_is_refused_and_costs_nothing(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_wide(tmp_path, columns=COLUMNS, values=2)
    monkeypatch.chdir(tmp_path)
    assert discreet("train", kind, "wide", "--target", "c0", "--epsilon", "0.5", "-o", "model.json") == 2
    assert "at most 60 attributes" in capsys.readouterr().err
    assert count_charges(tmp_path) == 0


@pytest.mark.parametrize("bins", ["1000000000", "1" + "0" * 23])
@pytest.mark.parametrize("kind", [("--columns", "sex,age"), ("--ranges", "age")], ids=["columns", "ranges"])
def test_more_bins_than_can_be_counted_are_refused_at_once(
    kind: tuple[str, str], bins: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patients.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    words = ("tabulate", "patients", *kind, "--bins", f"age={bins}", "--epsilon", "0.1", "-o", "out.csv")
    assert discreet(*words) == 2
    assert count_charges(tmp_path) == 0
