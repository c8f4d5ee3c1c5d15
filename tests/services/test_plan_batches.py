"""Several questions planned together: one price, equal measurements once, nothing if one is refused."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from discreet.core.errors import BudgetError, EngineFault, RequestError
from discreet.services.curator import Curator
from tests.conftest import seeded

POLICY = {
    "promise": ("1%", "50%"),
    "tables": {"people": {"columns": {"age": (17, 90), "sex": ["f", "m"], "town": ["a", "b", "c"]}}},
}
ROWS = 3_000
TABLES = {
    "people": pa.table(
        {
            "age": [17 + place % 74 for place in range(ROWS)],
            "sex": ["f", "m"] * (ROWS // 2),
            "town": ["a", "b", "c"] * (ROWS // 3),
        }
    )
}
BY_SEX = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
BY_TOWN = "SELECT town, COUNT(*) AS n FROM people GROUP BY town"
AVERAGE = "SELECT AVG(age) AS a FROM people"
ABOVE = "SELECT COUNT(*) AS n FROM people WHERE age > (SELECT AVG(age) FROM people)"


@pytest.fixture
def curator() -> Iterator[Curator]:
    with Curator(POLICY, tables=TABLES, ledger=":memory:", random=seeded(7)) as opened:
        yield opened


def get_spent(curator: Curator) -> float:
    return float(curator.budget.spent.epsilon)  # type: ignore[union-attr]


def test_equal_measurements_are_counted_once(curator: Curator) -> None:
    batch = curator.plan([BY_SEX, f"{BY_SEX} ORDER BY n DESC", BY_TOWN], epsilon=[0.1, 0.2, 0.1])
    assert [float(each) for each in batch.charges] == [0, 0.2, 0.1]
    assert batch.cost == pytest.approx(0.3)
    assert batch.cost_alone == pytest.approx(0.4)
    answers = curator.ask(batch)
    assert get_spent(curator) == answers.epsilon == pytest.approx(0.3)
    assert sorted(answers[0].rows) == sorted(answers[1].rows)
    assert len(curator.ledger.list_entries()) == 1


def test_epsilon_is_the_most_to_spend_for_all_and_is_used(curator: Curator) -> None:
    batch = curator.plan([BY_SEX, f"{BY_SEX} LIMIT 1", BY_TOWN], epsilon=0.3)
    assert 0.299 < batch.cost <= 0.3
    assert {float(each.query_plan.epsilon) for each in batch.plans} == {0.15}


def test_answers_come_in_order_and_are_free_when_asked_again(curator: Curator) -> None:
    batch = curator.plan([BY_TOWN, BY_SEX, AVERAGE], epsilon=0.9)
    first, again = curator.ask(batch), curator.ask(curator.plan([AVERAGE, BY_SEX, BY_TOWN], epsilon=0.9))
    assert [each.table.column_names[0] for each in first] == ["town", "sex", "a"]
    assert (again.epsilon, again.entries) == (0, (1,))
    assert [each.rows for each in again] == [each.rows for each in first[::-1]]
    assert get_spent(curator) == pytest.approx(first.epsilon)


def test_a_batch_and_its_statements_alone_show_the_same_intervals(curator: Curator) -> None:
    batch = curator.plan(
        [BY_SEX, "SELECT SUM(n) AS t FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex)"], epsilon=0.2
    )
    answers = curator.ask(batch)
    alone = curator.ask(BY_SEX, epsilon=0.1)
    assert alone.epsilon == 0
    assert alone.interval_kind == answers[0].interval_kind == {"n": "per_row"}
    assert alone.intervals == answers[0].intervals
    other = curator.ask(f"{BY_SEX} HAVING sex = 'f'", epsilon=0.1)
    assert other.interval_kind == {"n": "all_rows"}  # it is asked after the cells were seen


def test_the_belief_is_that_after_all_of_them(curator: Curator) -> None:
    batch = curator.plan([BY_SEX, BY_TOWN], epsilon=0.4)
    whole = curator.plan(BY_SEX, epsilon=0.4)
    assert batch.belief_after.highest == pytest.approx(whole.belief_after.highest)
    assert curator.ask(batch).belief.highest == pytest.approx(batch.belief_after.highest)


@pytest.mark.parametrize("wrong", ["SELECT * FROM people", "SELECT COUNT(*) FROM nobody", "SELECT"])
def test_nothing_is_charged_if_one_is_refused(wrong: str, curator: Curator) -> None:
    with pytest.raises(RequestError, match="statement 2: "):
        curator.plan([BY_SEX, wrong, BY_TOWN], epsilon=0.3)
    assert curator.ledger.list_entries() == []


def test_nothing_is_charged_if_the_whole_does_not_fit(curator: Curator) -> None:
    batch = curator.plan([BY_SEX, BY_TOWN, ABOVE], epsilon=[2, 2, 2])
    assert not batch.fits
    with pytest.raises(BudgetError):
        curator.ask(batch)
    assert curator.ledger.list_entries() == []


def test_what_was_stored_meanwhile_is_not_charged_again(curator: Curator) -> None:
    batch = curator.plan([BY_SEX, BY_TOWN], epsilon=0.4)
    curator.ask(BY_SEX, epsilon=0.3)
    answers = curator.ask(batch)
    assert answers.epsilon == pytest.approx(0.2)
    assert answers.entries == (1, 2)


def test_a_question_that_compares_with_an_answer_shares_that_answer(curator: Curator) -> None:
    batch = curator.plan([ABOVE, AVERAGE, ABOVE], epsilon=[0.3, 0.3, 0.3])
    answers = curator.ask(batch)
    assert batch.cost < 0.6
    assert answers.epsilon == pytest.approx(batch.cost) == pytest.approx(get_spent(curator))
    assert [*answers[0].constants.values()] == pytest.approx([answers[1].rows[0][0]])
    assert answers[2].rows == answers[0].rows


def test_each_gets_the_error_that_it_was_planned_with(curator: Curator) -> None:
    batch = curator.plan([BY_SEX, BY_TOWN], within=[30, 60])
    answers = curator.ask(batch)
    for answer, error in zip(answers, (30, 60), strict=True):
        low, high = answer.intervals["n"]
        assert all(
            b - a <= 2 * error for a, b in zip(low, high, strict=True) if a is not None and b is not None
        )


def test_an_error_that_is_bought_combines_with_what_is_stored(curator: Curator) -> None:
    curator.ask(BY_SEX, epsilon=0.1)
    batch = curator.plan([BY_SEX, BY_TOWN], within=40)
    answers = curator.ask(batch)
    assert answers.epsilon <= batch.cost + 1e-12
    assert curator.ask(curator.plan([BY_SEX, BY_TOWN], within=40)).epsilon == 0


def test_free_questions_make_no_entry(curator: Curator) -> None:
    batch = curator.plan(["SELECT DISTINCT sex FROM people", "SELECT 1 AS one"])
    assert batch.cost == 0
    answers = curator.ask(batch)
    assert (answers.epsilon, answers.entries) == (0, ())
    assert curator.ledger.list_entries() == []


def test_a_fault_keeps_the_charge_of_what_was_reserved(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(statement: str) -> object:
        raise RuntimeError("out of memory")

    batch = curator.plan([BY_SEX, BY_TOWN], epsilon=0.4)
    monkeypatch.setattr(curator._engine, "count", fail)
    with pytest.raises(EngineFault):
        curator.ask(batch)
    assert get_spent(curator) == pytest.approx(0.4)


def test_two_at_once_are_charged_once(curator: Curator) -> None:
    batches = [curator.plan([BY_SEX, BY_TOWN], epsilon=0.4) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        work = [pool.submit(curator.ask, each) for each in batches]
        found = [each.result() for each in work]
    assert sorted(each.epsilon for each in found) == [0, pytest.approx(0.4)]
    assert [each.rows for each in found[0]] == [each.rows for each in found[1]]


@pytest.mark.parametrize(
    "options",
    [
        {"share": "5%"},
        {"fresh": True},
        {"values": (1,)},
        {"split": {"n": 2}},
        {"epsilon": [0.1]},
        {"within": [1, 2, 3]},
        {"epsilon": 0.1, "within": 3},
        {"epsilon": 0},
        {"epsilon": "much"},
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], curator: Curator) -> None:
    with pytest.raises(RequestError):
        curator.plan([BY_SEX, BY_TOWN], **options)  # type: ignore[call-overload]
    with pytest.raises(RequestError):
        curator.plan([], epsilon=0.1)


def test_the_plan_and_the_answers_are_json(curator: Curator) -> None:
    batch = curator.plan([BY_SEX, BY_TOWN], epsilon=0.4)
    told = batch.to_json()
    assert told["epsilon"] == pytest.approx(0.4)
    assert [each["sql"] for each in told["statements"]] == [BY_SEX, BY_TOWN]  # type: ignore[attr-defined]
    answers = curator.ask(batch).to_json()
    assert len(answers["answers"]) == 2  # type: ignore[arg-type]
    assert answers["entries"] == [1]
