"""The demonstration: its intervals hold, its cost is within the promise, and it shows nothing exact."""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from discreet.app.demo import (
    CLASSES,
    CONFIDENCE,
    HIGH,
    LOW,
    PROMISE,
    Demo,
    Group,
    Question,
    mean_interval,
    run,
)
from discreet.app.demo_view import TOO_FEW, as_object, show
from discreet.app.sample import SAMPLES
from discreet.attacks.audit import epsilon_lower_bound
from discreet.belief.promise import Promise
from discreet.core.engine import Engine
from discreet.core.randomness import Randomness
from discreet.core.values import Exact
from discreet.engines.duckdb import DuckDB
from tests.conftest import seeded
from tests.statistical import FALSE_ALARM, acceptance, assert_probability, power

RUNS = 1_500
QUESTION = Question.under(PROMISE)


@dataclass(frozen=True)
class Counted:
    """An engine that has counted already, so that many answers come quickly."""

    table: pa.Table

    def count(self, sql: str) -> Exact[pa.Table]:
        return Exact(self.table)

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def counted(people: list[int], centred: list[int]) -> Engine:
    return Counted(
        pa.table({"people": pa.array(people, pa.int64()), "centred": pa.array(centred, pa.int64())})
    )


def first_class(people: int, mean: float) -> Engine:
    empty = [0] * (len(CLASSES) - 1)
    return counted([people, *empty], [round(people * (2 * mean - LOW - HIGH)), *empty])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sample")


@pytest.fixture(scope="module")
def demo(folder: Path) -> Demo:
    return run(folder, random=seeded(7))


def shown(demo: Demo, width: int) -> str:
    text = io.StringIO()
    show(Console(file=text, width=width), demo)
    return text.getvalue()


# -- The answer ------------------------------------------------------------------------------------------


def test_answer_is_close_to_the_truth_where_there_are_many_people(demo: Demo) -> None:
    private = demo.groups[CLASSES.index("Private")]
    assert private.mean == pytest.approx(40.27, abs=0.2)
    assert private.high - private.low < 0.2
    assert private.people == pytest.approx(34_044, abs=150)


def test_answer_does_not_speak_of_groups_too_small_to_tell(demo: Demo) -> None:
    silent = {group.workclass for group in demo.groups if group.mean is None}
    assert silent == {"Without-pay", "Never-worked"}


def test_answer_has_the_declared_classes_whatever_the_data_holds(tmp_path: Path) -> None:
    path = tmp_path / "census.parquet"
    odd = {"workclass": ["Private", "Spy", None, "Private"], "hours_per_week": [40, 50, 60, None]}
    pq.write_table(pa.table(odd), path)
    with DuckDB({"census": path}) as engine:
        groups = QUESTION.ask(engine, seeded(1))
    assert tuple(group.workclass for group in groups) == CLASSES
    assert all(group.mean is None for group in groups)


def test_sums_are_of_clamped_hours(tmp_path: Path) -> None:
    path = tmp_path / "census.parquet"
    pq.write_table(pa.table({"workclass": ["Private"] * 60_000, "hours_per_week": [1_000] * 60_000}), path)
    with DuckDB({"census": path}) as engine:
        private = QUESTION.ask(engine, seeded(1))[CLASSES.index("Private")]
    assert private.mean == pytest.approx(HIGH, abs=0.2)
    assert private.high == HIGH


def test_noise_is_fresh_in_every_run(folder: Path) -> None:
    one, other = run(folder), run(folder)
    assert [group.people for group in one.groups] != [group.people for group in other.groups]


@pytest.mark.parametrize(("people", "mean"), [(0, 50.0), (3, 99.0), (40, 1.0), (400, 40.0)])
def test_all_that_is_shown_lies_in_the_declared_range(people: int, mean: float, random: Randomness) -> None:
    engine = first_class(people, mean)
    for _ in range(300):
        for group in QUESTION.ask(engine, random):
            assert group.people >= 0
            assert LOW <= group.low <= group.high <= HIGH
            assert group.mean is None or group.low <= group.mean <= group.high


# -- The interval ----------------------------------------------------------------------------------------


@given(
    st.tuples(st.integers(-20, 300), st.integers(0, 60)),
    st.tuples(st.integers(-9_000, 9_000), st.integers(0, 900)),
)
def test_interval_holds_every_mean_in_the_box(people: tuple[int, int], centred: tuple[int, int]) -> None:
    box = (people[0], sum(people)), (centred[0], sum(centred))
    low, high = mean_interval(*box)
    possible = np.arange(max(box[0][0], 1), max(box[0][1], 1) + 1)
    for s in (box[1][0], sum(box[1]) // 2, box[1][1]):
        means = np.clip((LOW + HIGH) / 2 + s / (2 * possible), LOW, HIGH)
        assert low - 1e-9 <= means.min()
        assert means.max() <= high + 1e-9


@pytest.mark.parametrize(("people", "mean"), [(60, 80.0), (250, 45.0), (20_000, 98.0)])
def test_interval_covers_the_true_mean_at_least_as_often_as_stated(
    people: int, mean: float, random: Randomness
) -> None:
    engine = first_class(people, mean)
    answers = [QUESTION.ask(engine, random)[0] for _ in range(RUNS)]
    misses = sum(not group.low <= mean <= group.high for group in answers)
    assert misses <= acceptance(1 - CONFIDENCE, RUNS)[1], "more misses than 5% can explain"
    assert power(1 - CONFIDENCE, 0.12, RUNS) > 1 - 1e-3, "an interval of 88% would be noticed"


def test_count_is_within_its_error_as_often_as_stated(random: Randomness) -> None:
    engine = first_class(500, 40.0)
    groups = [QUESTION.ask(engine, random)[0] for _ in range(RUNS)]
    error = groups[0].people_error
    inside = sum(abs(group.people - 500) <= error for group in groups)
    rate = float(Fraction(PROMISE.epsilon) / 8)  # a quarter of epsilon, for a sensitivity of 2
    exactly = 1 - 2 * np.exp(-rate * (error + 1)) / (1 + np.exp(-rate))
    assert exactly >= CONFIDENCE
    assert_probability(inside, RUNS, float(exactly))


# -- Cost, belief, attack --------------------------------------------------------------------------------


def test_half_of_the_promise_is_spent(demo: Demo) -> None:
    assert demo.epsilon == pytest.approx(1.6506809 / 2)
    odds = demo.belief / (1 - demo.belief) / (0.01 / 0.99)
    assert np.log(odds) == pytest.approx(demo.epsilon)
    assert demo.belief < PROMISE.posterior


def loss_shown(question: Question, random: Randomness) -> float:
    """One person moves from the first class to the second, with the longest hours instead of the shortest."""
    trials, rest = 5_000, [0] * (len(CLASSES) - 2)
    here = counted([1_000, 1_000, *rest], [0] * len(CLASSES))
    there = counted([999, 1_001, *rest], [HIGH - LOW, HIGH - LOW, *rest])

    def looks_like_here(groups: tuple[Group, ...]) -> bool:
        a, b = groups[:2]
        assert a.mean is not None
        assert b.mean is not None
        return a.people >= 1_000 and b.people <= 1_000 and max(a.mean, b.mean) <= (LOW + HIGH) / 2

    def hits(world: Engine) -> int:
        return sum(looks_like_here(question.ask(world, random)) for _ in range(trials))

    return epsilon_lower_bound(hits(here), hits(there), trials, miss=FALSE_ALARM)


AUDITED = Question.under(Promise(0.01, 0.5))  # less noise than in the demo, so that few runs show its loss


def test_neighbours_are_as_hard_to_tell_apart_as_the_cost_says(random: Randomness) -> None:
    assert 0.4 * AUDITED.cost < loss_shown(AUDITED, random) <= AUDITED.cost


def test_forgetting_that_a_replaced_person_moves_two_groups_is_caught(random: Randomness) -> None:
    broken = Question(
        counts=replace(AUDITED.counts, sensitivity=1), sums=replace(AUDITED.sums, sensitivity=HIGH - LOW)
    )
    assert broken.cost == AUDITED.cost
    assert loss_shown(broken, random) > AUDITED.cost


def test_asking_again_gains_nothing_unless_fresh_noise_were_free(demo: Demo) -> None:
    attack = demo.attack
    assert PROMISE.prior < attack.stored < demo.belief
    assert attack.fresh > 0.999
    assert attack.allowed == 2
    assert attack.allowed * demo.epsilon <= PROMISE.epsilon < (attack.allowed + 1) * demo.epsilon
    assert attack.epsilon_of_fresh == pytest.approx(attack.repeats * demo.epsilon)


# -- What it looks like ----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 120])
def test_text_fits_the_width_and_tells_everything(demo: Demo, width: int) -> None:
    text = shown(demo, width)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    words = re.sub(r"\s+", " ", text)
    for part in (*CLASSES, TOO_FEW, "Cost", "Belief", "2.25%", "5%", "Attack", "1,000 times"):
        assert part in words


def test_text_shows_no_interval_wider_than_the_range(demo: Demo) -> None:
    for mean, error in re.findall(r"(\d+\.\d\d) ± (\d+\.\d\d)", shown(demo, 80)):
        assert LOW <= float(mean) <= HIGH
        assert float(error) < HIGH - LOW


def test_object_is_json_in_the_shapes_of_promise_ask_and_attack(demo: Demo) -> None:
    made = json.loads(json.dumps(as_object(demo)))
    assert set(made) == {"promise", "ask", "attacks"}
    assert {"prior", "posterior", "secret", "group", "tail", "gamma", "epsilon"} <= set(made["promise"])
    assert {"columns", "rows", "intervals", "epsilon", "belief"} <= set(made["ask"])
    assert {"name", "success", "baseline", "victims"} <= set(made["attacks"][0])
    assert len(made["ask"]["rows"]) == len(made["ask"]["intervals"]) == len(CLASSES)


def test_progress_is_told_only_while_the_sample_is_made(tmp_path: Path) -> None:
    told: list[str] = []
    run(tmp_path, progress=told.append)
    assert len(told) == len(SAMPLES)
    run(tmp_path, progress=told.append)
    assert len(told) == len(SAMPLES)
