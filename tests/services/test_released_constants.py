"""Conditions on rows that compare with an answer: it is released first, and its value is a constant."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest

from discreet.core.errors import EngineFault, RequestError
from discreet.services.answers import Answer
from discreet.services.curator import Curator
from discreet.services.work_limits import WorkLimits
from tests.conftest import seeded

POLICY = {
    "promise": ("1%", "99.9%"),
    "tables": {
        "people": {
            "columns": {
                "age": (17, 90),
                "hours": (0, 99),
                "sex": ["f", "m"],
                "born": ("2000-01-01", "2020-12-31"),
            }
        },
        "visits": {
            "person": "patient",
            "rows_per_person": 3,
            "columns": {"patient": "integer", "days": (0, 9)},
        },
        "regions": {"person": "none", "columns": {"sex": ["f", "m"], "weight": (0, 9)}},
    },
}
ROWS = 4_000
TABLES = {
    "people": pa.table(
        {
            "age": [17 + place % 74 for place in range(ROWS)],
            "hours": [place * 7 % 100 for place in range(ROWS)],
            "sex": ["f", "m"] * (ROWS // 2),
            "born": pa.array([0x2B00] * ROWS, pa.int32()).cast(pa.date32()),
        }
    ),
    "visits": pa.table({"patient": [*range(500)] * 2, "days": [place % 10 for place in range(1000)]}),
    "regions": pa.table({"sex": ["f", "m"], "weight": [2, 3]}),
}
AVERAGE = "SELECT AVG(age) FROM people"
ABOVE = f"SELECT COUNT(*) AS n FROM people WHERE age > ({AVERAGE})"


def get_interval(answer: Answer) -> tuple[float, float]:
    (low,), (high,) = answer.intervals["n"]
    assert low is not None
    assert high is not None
    return low, high


@pytest.fixture
def curator() -> Iterator[Curator]:
    with Curator(POLICY, tables=TABLES, ledger=":memory:", random=seeded(7)) as opened:
        yield opened


def get_constant(answer: Answer) -> Any:
    (value,) = answer.constants.values()
    return value


def test_rows_are_counted_beyond_the_released_value(curator: Curator) -> None:
    answer = curator.ask(ABOVE, epsilon=2)
    constant = get_constant(answer)
    true = sum(age > constant for age in TABLES["people"]["age"].to_pylist())
    low, high = get_interval(answer)
    assert 17 <= constant <= 90
    assert low <= true <= high  # probability 5% of missing it: the seed is fixed
    assert (answer.epsilon, answer.entries) == (2, (1,))
    assert float(curator.budget.spent.epsilon) == 2  # type: ignore[union-attr]


def test_what_is_asked_again_is_the_same_measurement_and_free(curator: Curator) -> None:
    first = curator.ask(ABOVE, epsilon=1)
    planned = curator.plan(ABOVE, epsilon=1)
    again = curator.ask(f"SELECT COUNT(*) AS many FROM people AS p WHERE ({AVERAGE}) < p.age", epsilon=1)
    assert (planned.cost, planned.entries) == (0, (1,))
    assert (again.epsilon, again.entries, again.rows) == (0, (1,), first.rows)
    assert get_constant(again) == get_constant(first)
    assert len(curator.ledger.list_entries()) == 1


def test_what_was_released_before_is_the_constant_and_is_not_charged(curator: Curator) -> None:
    average = curator.ask(AVERAGE, epsilon=1)
    planned = curator.plan(ABOVE, epsilon=1)
    answer = curator.ask(planned)
    assert planned.cost == answer.epsilon < 1
    assert get_constant(answer) == pytest.approx(average.rows[0][0])
    assert answer.entries == (1, 2)


def test_stored_cells_serve_no_condition_before_its_constant_has_a_value(curator: Curator) -> None:
    curator.ask("SELECT age, COUNT(*) AS n FROM people GROUP BY age", epsilon=5)
    true = sum(age > 53 for age in TABLES["people"]["age"].to_pylist())
    for _ in range(2):
        answer = curator.ask(ABOVE, epsilon=2)
        low, high = get_interval(answer)
        assert get_constant(answer) == pytest.approx(53, abs=1)
        assert low - 100 < true < high + 100  # a value of age has 55 rows at most


def test_stored_cells_serve_a_condition_whose_constant_is_stored(curator: Curator) -> None:
    curator.ask("SELECT age, COUNT(*) AS n FROM people GROUP BY age", epsilon=5)
    average = curator.ask(AVERAGE, epsilon=1)
    answer = curator.ask(ABOVE, free=True)
    true = sum(age > average.rows[0][0] for age in TABLES["people"]["age"].to_pylist())
    low, high = get_interval(answer)
    assert answer.epsilon == 0
    assert low <= true <= high


def test_rows_beyond_a_value_are_as_exact_as_planned_beside_finer_counts(curator: Curator) -> None:
    by_age = "SELECT age, COUNT(*) AS n FROM people GROUP BY age"
    planned = curator.plan([by_age, ABOVE], epsilon=2)
    allowed = next(each.error95 for each in planned.plans[1].expected_errors if each.name == "count")
    low, high = get_interval(curator.ask(planned).answers[1])
    assert allowed is not None
    assert (high - low) / 2 <= allowed
    assert float(curator.budget.spent.epsilon) <= 2  # type: ignore[union-attr]


def test_another_noise_of_the_subquery_is_another_measurement(curator: Curator) -> None:
    first = curator.ask(ABOVE, epsilon=0.5)
    curator.ask(AVERAGE, epsilon=5)
    other = curator.ask(ABOVE, epsilon=0.5, fresh=True)
    assert get_constant(other) != get_constant(first)
    assert other.epsilon == 0.5


def test_the_plan_states_the_price_and_both_errors_and_charges_nothing(curator: Curator) -> None:
    planned = curator.plan(ABOVE, epsilon=1)
    assert planned.cost == 1
    assert [each.name for each in planned.expected_errors] == ["avg (compared with)", "count"]
    assert planned.expected_errors[1].error95 is not None
    assert curator.ledger.list_entries() == []


def test_the_answer_says_which_value_its_rows_were_compared_with(curator: Curator) -> None:
    answer = curator.ask(ABOVE, epsilon=1)
    (note,) = [each for each in answer.list_notes() if AVERAGE in each]
    assert "released value" in note
    assert answer.to_json()["constants"] == [{"subquery": AVERAGE, "value": get_constant(answer)}]


@pytest.mark.parametrize(
    "question",
    [
        f"SELECT sex, AVG(hours) AS h FROM people WHERE age >= 1.5 * ({AVERAGE}) GROUP BY sex",
        f"SELECT MEDIAN(hours) AS h FROM people WHERE age BETWEEN ({AVERAGE}) AND 80",
        f"SELECT COUNT(*) FROM (SELECT * FROM people WHERE age - ({AVERAGE}) < 3) AS t",
        f"WITH t AS (SELECT * FROM people WHERE age > ({AVERAGE})) SELECT sex, COUNT(*) FROM t GROUP BY sex",
        "WITH a AS (SELECT AVG(age) AS m FROM people) "
        "SELECT COUNT(*) FROM people WHERE age > (SELECT m FROM a)",
        "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people "
        "WHERE hours > (SELECT AVG(hours) FROM people))",
        f"{ABOVE} UNION ALL {AVERAGE}",
        f"{AVERAGE} UNION ALL {ABOVE}",
        f"SELECT 100.0 * COUNT(*) / (SELECT COUNT(*) FROM people) AS p FROM people WHERE age > ({AVERAGE})",
        "SELECT COUNT(*) FROM (SELECT patient, SUM(days) AS d FROM visits GROUP BY patient) AS t "
        "WHERE d > (SELECT AVG(d) FROM (SELECT patient, SUM(days) AS d FROM visits GROUP BY patient) AS u)",
        "SELECT COUNT(*) FROM visits WHERE days > (SELECT MEDIAN(days) FROM visits)",
        "SELECT COUNT(*) FROM people WHERE hours > (SELECT MAX(n) / 100.0 FROM (SELECT sex, COUNT(*) AS n "
        "FROM people GROUP BY sex) AS t)",
        f"SELECT COUNT(*) FROM people WHERE age > ({AVERAGE}) AND hours < (SELECT AVG(hours) FROM people)",
        f"SELECT sex, n FROM (SELECT sex, COUNT(*) AS n FROM people WHERE age > ({AVERAGE}) GROUP BY sex) "
        "AS t ORDER BY n DESC LIMIT 1",
    ],
)
def test_constants_stand_in_any_condition_on_rows(question: str, curator: Curator) -> None:
    planned = curator.plan(question, epsilon=2)
    answer = curator.ask(planned)
    again = curator.ask(question, epsilon=2)
    assert (planned.cost, answer.epsilon, again.epsilon) == (2, 2, 0)
    assert (again.rows, again.entries) == (answer.rows, answer.entries)
    assert answer.to_json()["constants"]


@pytest.mark.parametrize(
    ("compared", "at_least"),
    [
        ("SUM(age) * 1e6", 1e10),
        ("AVG(age) * 1e300", 1 << 53),
        ("-SUM(age) * 1e9", -(1 << 53)),
        ("SUM(age) * 1000000 + 0.123456789", 1e10),
    ],
)
@pytest.mark.parametrize("inside", ["{}", "CAST({} AS INTEGER)", "CAST({} AS DECIMAL(10, 2))", "1 / {}"])
def test_no_value_is_too_large(compared: str, at_least: float, inside: str, curator: Curator) -> None:
    value = inside.format(f"(SELECT {compared} FROM people)")
    answer = curator.ask(f"SELECT COUNT(*) AS n FROM people WHERE age > {value}", epsilon=5)
    assert get_constant(answer) >= at_least
    assert curator.ask(f"SELECT COUNT(*) AS n FROM people WHERE age > {value}", epsilon=5).epsilon == 0


@pytest.mark.parametrize(
    "question",
    [
        "SELECT SUM(age - (SELECT AVG(age) FROM people)) FROM people",
        "SELECT COUNT(*) FILTER (WHERE age > (SELECT AVG(age) FROM people)) FROM people",
        "SELECT age > (SELECT AVG(age) FROM people) AS old, COUNT(*) FROM people GROUP BY 1",
        "SELECT COUNT(*) FROM people WHERE sex = (SELECT MODE(sex) FROM people)",
        "SELECT COUNT(*) FROM people WHERE born > (SELECT MIN(born) FROM people)",
        "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people GROUP BY sex)",
        "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age), COUNT(*) FROM people)",
        "SELECT COUNT(*) FROM people AS p WHERE age > (SELECT AVG(age) FROM people AS q WHERE q.sex = p.sex)",
        "SELECT COUNT(*) FROM people WHERE age > (SELECT age FROM people)",
        "SELECT COUNT(*) FROM people WHERE age IN (SELECT AVG(age) FROM people)",
        "SELECT COUNT(*) FROM people WHERE age > (SELECT MAX(weight) FROM regions)",
        "SELECT COUNT(*) FROM people WHERE age > (SELECT 3)",
        "SELECT COUNT(*) FROM people WHERE (SELECT AVG(age) FROM people)",
        "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(agee) FROM people)",
        "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) + random() FROM people)",
    ],
)
def test_other_subqueries_are_refused_before_anything_is_charged(question: str, curator: Curator) -> None:
    with pytest.raises(RequestError):
        curator.ask(question, epsilon=1)
    assert curator.ledger.list_entries() == []


def test_a_question_that_costs_more_than_is_left_measures_none_of_its_parts(curator: Curator) -> None:
    with pytest.raises(RequestError):
        curator.ask(ABOVE, epsilon=1_000)
    assert curator.ledger.list_entries() == []


def test_a_value_that_cannot_be_told_meets_no_row(curator: Curator) -> None:
    question = "SELECT COUNT(*) AS n FROM people WHERE age > (SELECT AVG(age) / 0 FROM people)"
    answer = curator.ask(question, epsilon=9, raw=True)
    low, high = get_interval(answer)
    assert get_constant(answer) is None
    assert low <= 0 <= high
    assert curator.ask(question, epsilon=9, raw=True).rows == answer.rows


def test_a_fault_after_the_constant_was_released_keeps_the_charge(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, calls = curator._engine.count, []

    def fail_second(statement: str) -> object:
        calls.append(statement)
        if len(calls) > 1:
            raise RuntimeError("out of memory")
        return count(statement)

    monkeypatch.setattr(curator._engine, "count", fail_second)
    with pytest.raises(EngineFault):
        curator.ask(ABOVE, epsilon=1)
    (entry,) = curator.ledger.list_entries()
    assert float(curator.budget.spent.epsilon) == 1  # type: ignore[union-attr]
    assert entry.state.value == "faulted"


def test_two_at_once_are_charged_once() -> None:
    with Curator(POLICY, tables=TABLES, ledger=":memory:", random=seeded(8)) as curator:
        proposals = [curator.plan(ABOVE, epsilon=1) for _ in range(2)]
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(curator.ask, proposals))
    assert sorted(each.epsilon for each in answers) == [0, 1]
    assert answers[0].rows == answers[1].rows


def test_an_error_is_bought_for_what_is_shown(curator: Curator) -> None:
    planned = curator.plan(ABOVE, within=20)
    assert planned.expected_errors[1].error95 <= 20  # type: ignore[operator]
    answer = curator.ask(planned)
    low, high = get_interval(answer)
    assert high - low <= 40 + 1e-9


def test_a_statement_keeps_its_constant_when_the_subquery_is_measured_better(curator: Curator) -> None:
    first = curator.ask(ABOVE, epsilon=1)
    curator.ask(AVERAGE, epsilon=5)
    again = curator.ask(ABOVE, epsilon=1)
    assert (again.epsilon, again.rows) == (0, first.rows)
    assert get_constant(again) == get_constant(first)
    assert curator.ask(ABOVE, free=True).rows == first.rows


def test_statements_planned_together_keep_each_its_constant(curator: Curator) -> None:
    hours = "SELECT COUNT(*) AS n FROM people WHERE hours > (SELECT AVG(hours) FROM people)"
    inner = [AVERAGE, "SELECT AVG(hours) FROM people"]
    for each in inner:
        curator.ask(each, epsilon=1)
    curator.ask("SELECT hours, COUNT(*) FROM people GROUP BY hours", epsilon=0.5)
    first = curator.ask(curator.plan([ABOVE, hours], epsilon=[0.9, 0.9]))
    for each in inner:
        curator.ask(each, epsilon=1.5)
    for sql, answer in zip((ABOVE, hours), first, strict=True):
        again = curator.ask(sql, epsilon=0.9)
        assert (again.epsilon, again.rows, get_constant(again)) == (0, answer.rows, get_constant(answer))


def test_the_error_of_what_rows_are_compared_with_is_planned(curator: Curator) -> None:
    question = (
        "SELECT COUNT(*) AS n FROM people WHERE hours > (SELECT COUNT(*) / 99.0 FROM people WHERE age < 30)"
    )
    inner, outer = curator.plan(question, epsilon=1).expected_errors
    assert (inner.name, outer.name) == ("count (compared with)", "count")
    assert inner.error95 is not None
    assert outer.error95 is not None


def test_an_error_is_bought_around_a_value_that_is_stored(curator: Curator) -> None:
    curator.ask(AVERAGE, epsilon=0.2)
    planned = curator.plan(ABOVE, within=20)
    answer = curator.ask(planned)
    assert answer.epsilon == pytest.approx(planned.cost)
    assert answer.epsilon < curator.plan(ABOVE, within=20, fresh=True).cost
    assert curator.ask(ABOVE, within=20).epsilon == 0
    assert curator.ask(ABOVE, free=True).rows == answer.rows


def test_groups_may_be_selected_beyond_a_released_value() -> None:
    columns = {"age": (17, 90), "town": "text"}
    policy = {
        "promise": {"prior": "1%", "posterior": "60%", "tail": 1e-6},
        "tables": {"people": {"columns": columns}},
    }
    rows = pa.table({"age": TABLES["people"]["age"], "town": ["a", "b"] * (ROWS // 2)})
    question = f"SELECT town, COUNT(*) AS n FROM people WHERE age > ({AVERAGE}) GROUP BY town ORDER BY town"
    with Curator(policy, tables={"people": rows}, ledger=":memory:", random=seeded(3)) as curator:
        first, again = (curator.ask(question, epsilon=1.5) for _ in range(2))
    assert [town for town, _ in first.rows] == ["a", "b"]
    assert (again.epsilon, again.rows) == (0, first.rows)


def test_the_fixed_time_has_room_for_what_is_computed_in_between(curator: Curator) -> None:
    limits = WorkLimits(policy=curator.policy)
    plain = curator.plan("SELECT COUNT(*) FROM people WHERE age > 40", epsilon=1).query_plan
    compared = curator.plan(ABOVE, epsilon=1).query_plan
    assert limits.compute_fixed_time(compared) >= limits.compute_fixed_time(plain) + 1
