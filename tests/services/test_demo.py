"""The demonstration: what it shows is private, charged, attacked for real, and fits on a screen."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from discreet.rendering.demo_view import demo_to_json, print_demo
from discreet.services.demo import SMALLEST, Demo, run_demo
from discreet.services.policies import load_policy
from discreet.services.sample import SAMPLES
from tests.conftest import seeded

PRINTED = {"Private": 40.27, "Self-emp-not-inc": 44.42, "Self-emp-inc": 48.82, "Federal-gov": 41.38}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sample")


@pytest.fixture(scope="module")
def demo(folder: Path) -> Demo:
    return run_demo(folder, random=seeded(7))


def shown(demo: Demo, width: int) -> str:
    text = io.StringIO()
    print_demo(Console(file=text, width=width), demo)
    return text.getvalue()


def test_the_answer_is_close_to_the_papers_means_where_there_are_many_people(demo: Demo) -> None:
    hours = dict(zip(*(demo.answer.table[name].to_pylist() for name in ("workclass", "hours")), strict=True))
    low, high = demo.answer.intervals["hours"]
    for place, name in enumerate(demo.answer.table["workclass"].to_pylist()):
        if name in PRINTED:
            assert hours[name] == pytest.approx(PRINTED[name], abs=2.5)
            assert (low[place] or 0) <= hours[name] <= (high[place] or 0)


def test_every_declared_class_is_there_whoever_is_in_it(demo: Demo) -> None:
    declared = SAMPLES["census"][0].get_column("workclass").values
    assert sorted(demo.answer.table["workclass"].to_pylist()) == sorted(declared)


def test_half_of_the_promise_is_spent_on_the_answer(demo: Demo) -> None:
    assert demo.answer.epsilon == pytest.approx(demo.promise.epsilon / 2)
    assert demo.answer.belief.highest == pytest.approx(0.02255, abs=1e-4)


def test_the_attack_gains_nothing_by_repeating_and_ends_at_the_promise(demo: Demo) -> None:
    assert demo.attack.distinct_answers == 1
    assert demo.attack.fresh_answers == 8
    assert demo.attack.belief.highest <= demo.promise.posterior
    assert demo.attack.unlimited_posterior > 0.99
    assert "left to" in demo.attack.refusal


def test_another_run_draws_other_noise(folder: Path, demo: Demo) -> None:
    again = run_demo(folder)
    assert again.answer.table["people"].to_pylist() != demo.answer.table["people"].to_pylist()


def test_egm_is_shown_with_what_it_would_mean(demo: Demo) -> None:
    assert demo.egm.epsilon == pytest.approx(0.9815, abs=1e-3)
    assert demo.real_epsilon == pytest.approx(demo.egm.epsilon * 98 / SMALLEST)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_text_fits_the_width_and_tells_everything(demo: Demo, width: int) -> None:
    text = shown(demo, width)
    told = " ".join(text.split())
    table = text[text.index("workclass  ") : text.index("Try it")]
    assert max(map(len, table.splitlines())) <= width
    for fact in ("± at 95%", "epsilon 0.825", "2.26%", "1% → 5%", "refused", "Epsilon Generation Model"):
        assert fact in told


def test_the_object_is_json_in_the_shapes_of_promise_ask_and_attack(demo: Demo) -> None:
    told = json.loads(json.dumps(demo_to_json(demo)))
    assert {"promise", "ask", "egm", "attacks"} <= set(told)
    assert {"columns", "rows", "intervals", "epsilon", "belief", "entry"} <= set(told["ask"])
    assert told["attacks"][0]["name"] == "averaging"


def test_the_samples_policy_is_valid_and_says_what_the_schemas_say(demo: Demo) -> None:
    policy = load_policy(demo.policy)
    for name, (schema, _) in SAMPLES.items():
        table = policy.tables[name]
        assert table.rows_per_person == schema.rows_per_person
        for column in schema.columns:
            declared = table.columns[column.name]
            if column.role == "identifier":
                continue
            assert (declared.low, declared.high) == (column.days or (column.low, column.high))
            assert (declared.values or ()) == column.values
            assert declared.nulls is False


def test_progress_is_told_only_while_something_is_made(tmp_path: Path) -> None:
    first: list[str] = []
    run_demo(tmp_path, progress=first.append)
    again: list[str] = []
    run_demo(tmp_path, progress=again.append)
    assert any("census" in line for line in first)
    assert not any("making" in line for line in again)
