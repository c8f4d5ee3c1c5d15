"""Streams over a table of a policy: what is asked, what is refused, when it ends, what the engine sees."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import BudgetError, InvalidParameterError, RequestError
from discreet.core.exact_values import Exact
from discreet.core.guarantees import PureDP, ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.engines.released_queries import query_released_tables
from discreet.mining.bin_counters import EngineCounter
from discreet.mining.stream import OnlineAnswerer, StreamPlan, parse_counting_query, plan_stream
from discreet.mining.stream.sparse_vector import SparseVector
from discreet.mining.stream.stream_plan import MAX_QUESTIONS, compute_max_updates, plan_method
from discreet.mining.stream.universe import Universe
from discreet.mining.tabulation.noise_budget import NoiseBudget
from tests.mining.stream.worlds import asked, declared
from tests.mining.synthesis.tables import IMPOSSIBLE, counter_of, opened, people, policy_of

ONE = PureDP(epsilon=1, relation=Relation.VALUE)
CONDITIONS = (
    "age >= 30",
    "age BETWEEN 20 AND 39 AND sex = 'f'",
    "kin = 'wife' OR ill",
    "kin IS NULL",
    "NOT ill",
    "age % 2 = 0 AND kin IN ('child', 'other')",
    "kin <> 'wife'",
    "ill IS NULL OR age < 3",
    "CASE WHEN sex = 'm' THEN age > 50 ELSE age > 60 END",
)


def question(condition: str) -> str:
    return f"SELECT COUNT(*) FROM people WHERE {condition}"


def planned(**options: Any) -> StreamPlan:
    return plan_stream(policy_of(), "people", ["age", "sex", "kin", "ill"], ONE, questions=100, **options)


def test_a_question_counts_the_cells_that_the_engine_would_count(tmp_path: Path) -> None:
    with opened(tmp_path, people(700)) as (policy, engine):
        universe = planned().universe
        counter = EngineCounter.from_table(engine, policy, "people", universe.schema)
        names = tuple(each.name for each in universe.schema.attributes)
        counts = counter.count_marginals([names]).secret[0].reshape(-1)
        for condition in CONDITIONS:
            cells = universe.find_cells(
                parse_counting_query(question(condition), policy, "people"), query_released_tables
            )
            (truth,) = engine.count(f"SELECT count(*) AS n FROM people WHERE {condition}").secret.to_pylist()
            assert counts[cells.reshape(-1)].sum() == truth["n"], condition


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("SELECT COUNT(kin) FROM people", "kin IS NOT NULL"),
        ("SELECT COUNT_IF(age > 7) AS n FROM people", "age > 7"),
        ("SELECT COUNT(*) FILTER (WHERE ill) FROM people AS p WHERE p.age > 7", "age > 7 AND ill"),
        ("SELECT COUNT(*) FROM people", "true"),
    ],
)
def test_counts_are_conditions_however_they_are_written(text: str, condition: str) -> None:
    universe, policy = planned().universe, policy_of()
    one, other = (
        universe.find_cells(parse_counting_query(each, policy, "people"), query_released_tables)
        for each in (text, question(condition))
    )
    assert (one == other).all()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT sex, COUNT(*) FROM people GROUP BY sex", "one count, and nothing else"),
        ("SELECT COUNT(*) + 1 FROM people", "one count, and nothing else"),
        ("SELECT COUNT(*), COUNT(kin) FROM people", "one count, and nothing else"),
        ("SELECT SUM(age) FROM people", "one count, and nothing else"),
        ("SELECT COUNT(*) FROM (SELECT age FROM people)", "one table as they are"),
        ("SELECT COUNT(*) FROM people WHERE pay > 3", "the column pay is not one of the stream's"),
        ("SELECT COUNT(*) FROM people WHERE name = 'x'", "identifies people"),
        ("SELECT COUNT(*) FROM dogs", "there is no table dogs"),
        ("SELECT * FROM people", "show rows"),
        ("COUNT people", "SELECT"),
    ],
)
def test_what_a_stream_does_not_answer_is_refused(text: str, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        planned().universe.find_cells(
            parse_counting_query(text, policy_of(), "people"), query_released_tables
        )


def test_a_question_that_divides_a_bin_is_refused_and_one_that_does_not_is_answered() -> None:
    universe = plan_stream(policy_of(), "people", ["age"], ONE, questions=9, bins={"age": 4}).universe
    cells = universe.find_cells(
        parse_counting_query(question("age >= 50"), policy_of(), "people"), query_released_tables
    )
    assert cells.tolist() == [False, False, True, True]
    with pytest.raises(RequestError, match=r"a part of a bin of age.*25, 50, 75"):
        universe.find_cells(
            parse_counting_query(question("age >= 51"), policy_of(), "people"), query_released_tables
        )


def test_a_stream_asks_the_engine_once_and_knows_what_it_was_told(tmp_path: Path, random: Randomness) -> None:
    real = people(5_000)
    with opened(tmp_path, real, rows=5_000) as (policy, engine):
        made = plan_stream(policy, "people", ["sex", "ill"], ONE, questions=500, method="weights")
        stream = OnlineAnswerer.open(made, policy, engine, random)
        text = parse_counting_query(question("sex = 'f'"), policy, "people")
        first, again = stream.ask(text, query_released_tables), stream.ask(text, query_released_tables)
        assert len(engine.asked) == 1
    assert first is again
    assert stream.asked == 1
    truth = real.column("sex").to_pylist().count("f")
    # the noise of test and answer passes nine times its 95% reach with probability below 1e-9
    assert abs(first.count - truth) <= 9 * made.error95


def test_what_the_policy_declares_impossible_is_no_cell_and_counts_as_0_for_nothing(
    tmp_path: Path, random: Randomness
) -> None:
    with opened(tmp_path, people(700), impossible=IMPOSSIBLE) as (policy, engine):
        made = plan_stream(policy, "people", ["sex", "kin", "age"], ONE, questions=9, bins={"age": 2})
        stream = OnlineAnswerer.open(made, policy, engine, random)
        never = parse_counting_query(question("sex = 'm' AND kin = 'wife'"), policy, "people")
        assert stream.ask(never, query_released_tables).count == 0
        assert stream.ask(never, query_released_tables).error95 == 0
        assert stream.asked == 0
        stream.ask(
            parse_counting_query(question("age <= 14"), policy, "people"), query_released_tables
        )  # bins are cut there
        assert stream.asked == 1
    # ages to 14, 49 and 99; two sexes; four kins and none: of 30, one a sex and age, and two of the young
    assert made.universe.cells == 30 - 6 - 2


def test_nothing_possible_at_all_is_refused() -> None:
    nothing = [{"sex": ["f", "m"], "ill": [True]}, {"sex": ["f", "m"], "ill": [False, None]}]
    with pytest.raises(RequestError, match="everything is declared impossible"):
        plan_stream(policy_of(impossible=nothing), "people", ["sex", "ill"], ONE, questions=9)


def test_without_a_name_the_method_that_errs_least_is_taken_and_all_that_fit_are_told() -> None:
    few, many = (plan_stream(declared(cells, 20_000), "t", ["x"], ONE, questions=2_000) for cells in (4, 400))
    assert set(few.method_errors) == {"median", "weights", "laplace"}
    assert set(many.method_errors) == {"weights", "laplace"}
    assert few.method_errors[few.method] == few.error95 == min(few.method_errors.values())
    named = plan_stream(declared(4, 20_000), "t", ["x"], ONE, questions=2_000, method="median")
    assert named.error95 == few.method_errors["median"]
    assert not named.method_errors


@pytest.mark.parametrize("method", ["median", "weights", "laplace"])
@pytest.mark.parametrize("budget", [ONE, ZeroConcentratedDP(rho=Fraction(1, 50), relation=Relation.PRESENCE)])
def test_a_stream_ends_with_the_same_sentence_on_neighbours(
    method: str, budget: PureDP | ZeroConcentratedDP, random: Randomness
) -> None:
    made = plan_stream(declared(3, 40), "t", ["x"], budget, questions=2, method=method)
    said = []
    for counts in ([20, 10, 10], [19, 11, 10]):
        stream = OnlineAnswerer(made, Exact(np.array(counts, np.int64)), random)
        for each in asked([1, 0, 0], [0, 1, 0]):
            assert stream.answer_cells(each).count >= 0
        with pytest.raises(BudgetError) as refusal:
            stream.answer_cells(asked([0, 0, 1])[0])
        said.append(str(refusal.value))
        assert stream.answer_cells(asked([1, 0, 0])[0])  # what was told is told again
    assert said[0] == said[1]
    assert "stream" in said[0]


def test_when_all_updates_are_used_the_stream_ends(random: Randomness) -> None:
    made = plan_stream(declared(2, 10**6), "t", ["x"], ONE, questions=50, method="weights", updates=1)
    stream = OnlineAnswerer(made, Exact(np.array([10**6, 0], np.int64)), random)
    assert stream.answer_cells(asked([1, 0])[0]).is_fresh
    with pytest.raises(BudgetError, match="all 1 updates of the stream are used"):
        stream.answer_cells(asked([0, 1])[0])


@pytest.mark.parametrize("method", ["median", "weights"])
def test_many_questions_are_answered_better_than_by_noise_on_each(method: str, random: Randomness) -> None:
    dice, counts = np.random.default_rng(4), np.array([9_000, 500, 2_500, 8_000])
    made, plain = (
        plan_stream(declared(4, 20_000), "t", ["x"], ONE, questions=2_000, method=each)
        for each in (method, "laplace")
    )
    stream = OnlineAnswerer(made, Exact(counts), random)
    cells = [dice.random(4) < 0.5 for _ in range(300)]
    errors = [abs(stream.answer_cells(each).count - counts[each].sum()) for each in cells]
    assert np.mean(errors) < made.error95 < plain.error95
    assert stream.updates <= made.updates


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "guess"}, "one of median, weights, laplace"),
        ({"method": "laplace", "updates": 3}, "laplace has no updates"),
        ({"method": "median"}, "too many for the median mechanism"),
        ({"updates": 0, "method": "weights"}, "updates=` must be"),
        ({"updates": 10**23}, "more memory or time than there is. Ask for at most"),
        ({"updates": 10**23, "method": "weights"}, "more memory or time than there is. Ask for at most"),
        ({"questions": 10**23}, "questions=` must be at most 5,000,000"),
        ({"bins": {"pay": 3}}, "for columns that are asked for"),
    ],
)
def test_streams_that_cannot_be_planned_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(RequestError, match=said):
        plan_stream(policy_of(), "people", ["age", "kin", "ill"], ONE, **{"questions": 9} | options)


@pytest.mark.parametrize("cells", [2, 1_000, 1 << 20])
def test_a_stream_of_as_many_questions_as_there_may_be_is_planned(cells: int) -> None:
    universe = Universe.from_table(declared(cells).tables["t"], ["x"], bins={"x": min(cells, 32_000)})
    budget = NoiseBudget(amount=Fraction(1, 10**6), is_pure=True, relation=Relation.VALUE)
    made = plan_method("weights", "t", universe, budget, questions=MAX_QUESTIONS)
    assert 1 <= made.updates <= compute_max_updates(universe.cells)
    assert made.error95 > made.updates


def test_noise_of_any_size_is_bounded() -> None:
    """Also where neighbouring floats are further apart than what the search stops at."""
    for digits in range(0, 60, 4):
        found = SparseVector.from_epsilon(Fraction(1, 10**digits), passes=7, sensitivity=1)
        assert found.bound_error(0.01) > 10**digits


def test_a_person_with_several_rows_is_paid_for_and_more_rows_than_planned_are_refused(
    random: Randomness,
) -> None:
    tables: tuple[dict[str, Any], ...] = ({}, {"person": "name", "rows_per_person": 4})
    one, four = (
        plan_stream(policy_of(**table), "people", ["sex"], ONE, questions=20, method="weights", updates=3)
        for table in tables
    )
    assert four.answer_noise.variance > 15 * one.answer_noise.variance
    assert one.sparse_vector is not None
    assert four.sparse_vector is not None
    assert four.sparse_vector.sensitivity == 4 * one.sparse_vector.sensitivity
    counter = replace(counter_of(one.universe.schema, [[0]] * 9), rows_per_person=4)
    assert OnlineAnswerer.from_counter(four, counter, random).answer_cells(asked([1, 0])[0]).count >= 0
    with pytest.raises(InvalidParameterError, match="at least the 4 that a person may have"):
        OnlineAnswerer.from_counter(one, counter, random)


def test_universes_that_are_too_large_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="cells or less"):
        plan_stream(policy_of(), "people", ["age", "born"], ONE, questions=9, bins={"born": 20_000})
    with pytest.raises(RequestError, match=r'born has 36,525 values.*bins="born=20"'):
        plan_stream(policy_of(), "people", ["born"], ONE, questions=9)
    with pytest.raises(InvalidParameterError, match="questions=` must be"):
        plan_stream(policy_of(), "people", ["age"], ONE, questions=0)
    with pytest.raises(RequestError, match="no column fur"):
        plan_stream(policy_of(), "people", ["fur"], ONE, questions=9)
