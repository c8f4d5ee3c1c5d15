"""The curator: the one order that keeps the promise, as an analyst meets it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import Curator
from discreet.accounting.entries import EntryState
from discreet.core.engine import Engine
from discreet.core.errors import BudgetError, EngineFault, InvalidParameterError, RequestError
from discreet.core.exact_values import Exact
from tests.conftest import seeded

PEOPLE = 3_000
CANARY = "canary-4711"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    table = pa.table(
        {
            "age": [20 + i % 50 for i in range(PEOPLE)],
            "sex": ["Male" if i % 3 else "Female" for i in range(PEOPLE)],
            "town": [CANARY] * PEOPLE,
        }
    )
    pq.write_table(table, tmp_path / "people.parquet")
    path = tmp_path / "privacy.yaml"
    path.write_text(
        """
promise: {prior: 1%, posterior: 5%}
tables:
  people:
    source: people.parquet
    person: row
    columns:
      age: {type: integer, low: 18, high: 90}
      sex: {type: category, values: [Male, Female, Other]}
      town: {type: text}
"""
    )
    return path


@pytest.fixture
def curator(policy: Path) -> Iterator[Curator]:
    with Curator.open(policy) as opened:
        yield opened


BY_SEX = "SELECT sex, COUNT(*) AS n, AVG(age) AS age FROM people GROUP BY sex ORDER BY n DESC"


def test_an_answer_has_values_intervals_cost_and_belief(curator: Curator) -> None:
    answer = curator.ask(BY_SEX, epsilon=1, confidence=1 - 1e-9)
    assert answer.table["sex"].to_pylist()[:2] == ["Male", "Female"]
    assert answer.table["n"].to_pylist()[0] == pytest.approx(2000, abs=80)
    low, high = answer.intervals["age"]
    assert low[0] is not None
    assert high[0] is not None
    assert low[0] <= 44.5 <= high[0]
    assert answer.epsilon == 1
    assert answer.belief.highest == pytest.approx(0.0267, abs=1e-4)
    assert answer.to_pandas().shape == (3, 3)
    assert answer.to_polars().shape == (3, 3)
    assert answer.to_arrow() is answer.table


def test_a_count_is_an_integer_and_not_negative_unless_asked_raw(curator: Curator) -> None:
    nobody = "SELECT COUNT(*) AS n FROM people WHERE age > 80"
    drawn = {"epsilon": 0.01, "fresh": True}
    counts = [curator.ask(nobody, **drawn).table["n"][0].as_py() for _ in range(30)]  # type: ignore[call-overload]
    raw = [curator.ask(nobody, **drawn, raw=True).table["n"][0].as_py() for _ in range(30)]  # type: ignore[call-overload]
    assert all(isinstance(n, int) and n >= 0 for n in counts)
    assert min(raw) < 0


def test_a_plan_costs_nothing_and_foretells_cost_error_and_belief(curator: Curator) -> None:
    plan = curator.plan(BY_SEX, epsilon=0.5)
    assert plan.cost == 0.5
    assert {each.name: each.error95 for each in plan.expected_errors}["n"] == pytest.approx(36, abs=1)
    assert plan.belief_before.highest == pytest.approx(0.01)
    assert plan.belief_after.highest == pytest.approx(0.01638, abs=1e-4)
    assert curator.ledger.list_entries() == []
    assert curator.ask(plan).belief.highest == pytest.approx(plan.belief_after.highest)


def test_a_plan_whose_measures_share_a_count_says_why_their_shares_exceed_the_whole(curator: Curator) -> None:
    shared = curator.plan("SELECT COUNT(age) AS n, AVG(age) AS age FROM people", epsilon=0.5)
    alone = curator.plan("SELECT COUNT(*) AS n FROM people", epsilon=0.5)
    assert sum(each.share for each in shared.expected_errors) > 1.01
    assert "more than 100%" in dict(shared.list_facts())["shares"]
    assert "shares" not in dict(alone.list_facts())


@pytest.mark.parametrize(
    "again",
    [
        "SELECT sex, COUNT(*) AS n, AVG(age) AS age FROM people GROUP BY sex ORDER BY n DESC",
        "select sex , count(*) n, avg(people.age) as age from people group by 1 order by 2 desc -- the same",
        "WITH p AS (SELECT 1) SELECT sex, COUNT(*) n, AVG(age) age FROM people GROUP BY ALL ORDER BY n DESC",
    ],
)
def test_the_same_question_gets_the_same_answer_for_nothing(curator: Curator, again: str) -> None:
    first = curator.ask(BY_SEX, epsilon=0.5)
    repeated = curator.ask(again, epsilon=0.5)
    assert repeated.repeated
    assert repeated.rows == first.rows
    assert repeated.intervals == first.intervals
    assert len(curator.ledger.list_entries()) == 1


@pytest.mark.parametrize(
    ("changed", "expected"),
    [({"epsilon": 0.6}, False), ({"epsilon": 0.4}, True), ({"epsilon": 0.5, "confidence": 0.9}, True)],
)
def test_a_larger_budget_is_charged_and_a_smaller_one_or_another_confidence_is_not(
    curator: Curator, changed: dict[str, float], expected: bool
) -> None:
    curator.ask(BY_SEX, epsilon=0.5)
    assert curator.ask(BY_SEX, **changed).repeated is expected  # type: ignore[call-overload]


def test_the_ledger_outlives_the_curator_and_a_new_data_version_resets_nothing(policy: Path) -> None:
    with Curator.open(policy) as curator:
        first = curator.ask(BY_SEX, epsilon=1)
    with Curator.open(policy) as curator:
        assert curator.ask(BY_SEX, epsilon=1).rows == first.rows
    policy.write_text(policy.read_text() + "data_version: second\n")
    with Curator.open(policy) as curator, pytest.raises(BudgetError):
        curator.ask(BY_SEX, epsilon=1)


@pytest.mark.parametrize(
    ("was", "is_now"),
    [
        ("high: 90", "high: 9000"),
        ("posterior: 5%", "posterior: 50%"),
        ("tables:", "data_version: 2\ntables:"),
    ],
    ids=["bounds", "promise", "data_version"],
)
def test_a_plan_of_another_policy_is_refused_and_costs_nothing(policy: Path, was: str, is_now: str) -> None:
    """Its noise is scaled to the bounds that it was planned under, not to those that clamp the data now."""
    with Curator.open(policy) as curator:
        plan = curator.plan("SELECT SUM(age) AS s FROM people", epsilon=0.1)
    policy.write_text(policy.read_text().replace(was, is_now, 1))
    (policy.parent / "ledger.db").unlink(missing_ok=True)
    with Curator.open(policy) as curator:
        with pytest.raises(RequestError, match="made under another policy"):
            curator.ask(plan)
        assert curator.ledger.list_entries() == []


def test_a_refusal_for_budget_says_what_is_left_and_what_would_fit(curator: Curator) -> None:
    curator.ask(BY_SEX, epsilon=1)
    with pytest.raises(BudgetError) as refusal:
        curator.ask("SELECT COUNT(*) FROM people", epsilon=1)
    assert "0.65" in refusal.value.message
    assert "`epsilon=0.65" in refusal.value.hint
    assert "±" in refusal.value.hint
    assert len(curator.ledger.list_entries()) == 1
    curator.ask("SELECT COUNT(*) FROM people", epsilon=0.65)


def test_within_takes_the_least_epsilon_that_keeps_the_error(curator: Curator) -> None:
    plan = curator.plan("SELECT COUNT(*) AS n FROM people", within=10)
    assert plan.expected_errors[0].error95 == 10
    assert (
        curator.plan("SELECT COUNT(*) AS n FROM people", epsilon=plan.cost * 0.97).expected_errors[0].error95
        == 11
    )
    with pytest.raises(RequestError, match="depends on how many rows"):
        curator.plan("SELECT AVG(age) FROM people", within=1)


def test_within_serves_means_and_ranks_of_so_many_rows(curator: Curator) -> None:
    plan = curator.plan("SELECT AVG(age) AS a FROM people", within=2, least_rows=PEOPLE)
    assert plan.expected_errors[0].error95 == pytest.approx(2, rel=0.02)
    ranks = curator.plan("SELECT MEDIAN(age) AS m FROM people", within="2%", least_rows=PEOPLE)
    assert ranks.expected_errors[0].rows95 == pytest.approx(PEOPLE / 50, abs=1)
    with pytest.raises(RequestError, match="depends on how many rows") as refusal:
        curator.plan("SELECT MEDIAN(age) FROM people", within="2%")
    assert "least_rows=100" in refusal.value.hint


def test_a_median_says_by_how_many_rows_it_may_be_off(curator: Curator) -> None:
    sql = "SELECT middle FROM (SELECT MEDIAN(age) AS middle, COUNT(*) AS n FROM people)"
    first, again = curator.ask(sql, epsilon=1), curator.ask(sql, epsilon=1)
    for answer in (first, again):
        assert answer.intervals["middle"] == ([None], [None])
        assert answer.rank_errors["middle"].rows == curator.plan(sql, epsilon=1).expected_errors[0].rows95
        told = answer.to_json()["ranks"]
        assert isinstance(told, dict)
        assert told["middle"]["probability"] == 0.5
        assert told["middle"]["why"].startswith("its rank is within ")


def test_a_mean_of_a_group_that_may_be_empty_cannot_be_told(policy: Path) -> None:
    with Curator.open(policy, random=seeded(7)) as curator:
        answer = curator.ask(BY_SEX, epsilon=1)
    (other,) = (row for row in answer.table.to_pylist() if row["sex"] == "Other")
    place = answer.table["sex"].to_pylist().index("Other")
    low, high = answer.intervals["age"]
    assert (other["age"], low[place], high[place]) == (None, 18, 90)


def test_a_split_moves_noise_from_one_measure_to_another(curator: Curator) -> None:
    even, uneven = (
        {each.name: each for each in curator.plan(BY_SEX, epsilon=1, split=split).expected_errors}
        for split in (None, {"n": 4, "age": 1})
    )
    assert (uneven["n"].share, uneven["age"].share) == pytest.approx((0.8, 0.2))
    assert (uneven["n"].error95 or 0) < (even["n"].error95 or 0)
    assert not curator.ask(BY_SEX, epsilon=0.5, split={"n": 4}).repeated
    assert not curator.ask(BY_SEX, epsilon=0.5).repeated
    assert curator.ask(BY_SEX, epsilon=0.5, split={"N": 4}).repeated
    with pytest.raises(RequestError, match="no measure"):
        curator.ask(BY_SEX, epsilon=0.1, split={"sex": 1})


def test_a_refusal_for_budget_foretells_errors_by_the_same_split(curator: Curator) -> None:
    sql, split = "SELECT COUNT(*) AS n, SUM(age) AS s FROM people", {"n": 9, "s": 1}
    fitting = curator.plan(sql, epsilon=1.65, split=split).expected_errors
    with pytest.raises(BudgetError) as refusal:
        curator.ask(sql, epsilon=5, split=split)
    assert f"±{fitting[0].error95:g}" in refusal.value.hint


def test_a_public_number_of_rows_serves_plain_columns_only(policy: Path) -> None:
    """A CASE leaves rows out, so the mean of it is not the sum over all rows."""
    policy.write_text(policy.read_text().replace("person: row", f"person: row\n    rows: {PEOPLE}"))
    with Curator.open(policy) as curator:
        assert (
            curator.plan("SELECT AVG(age) FROM people", epsilon=1).query_plan.outputs[0].public_rows == PEOPLE
        )
        some = "SELECT AVG(CASE WHEN sex = 'Male' THEN age END) FROM people"
        assert curator.plan(some, epsilon=1).query_plan.outputs[0].public_rows is None


def test_share_is_a_part_of_the_promise(curator: Curator) -> None:
    assert curator.plan(BY_SEX, share=0.1).cost == pytest.approx(curator.promise.epsilon / 10)


@pytest.mark.parametrize(
    "options", [{}, {"epsilon": 0}, {"epsilon": float("nan")}, {"share": 2}, {"epsilon": 1, "share": 0.1}]
)
def test_what_is_no_cost_is_refused_and_charges_nothing(curator: Curator, options: dict[str, float]) -> None:
    with pytest.raises((RequestError, InvalidParameterError)):
        curator.ask(BY_SEX, **options)  # type: ignore[call-overload]
    assert curator.ledger.list_entries() == []


def test_a_refused_question_never_reaches_the_engine(policy: Path) -> None:
    with Curator.open(policy) as curator:
        _replace_engine(curator, _Untouchable())
        for question in (
            "SELECT * FROM people",
            "SELECT town, COUNT(*) FROM people GROUP BY town",
            "DROP TABLE people",
        ):
            with pytest.raises(RequestError):
                curator.ask(question, epsilon=0.1)
        assert curator.ledger.list_entries() == []


def test_a_fault_keeps_the_charge_shows_a_constant_text_and_suspends(policy: Path) -> None:
    with Curator.open(policy) as curator:
        _replace_engine(curator, _Failing())
        with pytest.raises(EngineFault) as fault:
            curator.ask(BY_SEX, epsilon=0.5)
        assert CANARY not in str(fault.value)
        log = policy.parent / "ledger.faults.log"
        assert f"incident {fault.value.incident}: ValueError: {CANARY}" in log.read_text()
        assert log.stat().st_mode & 0o077 == 0
        assert fault.value.__cause__ is None
        assert [entry.state for entry in curator.ledger.list_entries()] == [EntryState.FAULTED]
        with pytest.raises(RequestError, match="suspended"):
            curator.ask("SELECT COUNT(*) FROM people", epsilon=0.1)
        curator.ledger.clear_suspension(curator.analyst)
        with pytest.raises(BudgetError):
            curator.ask(BY_SEX, epsilon=1.5)


def test_nothing_of_the_data_stands_in_the_ledger_file(policy: Path) -> None:
    with Curator.open(policy) as curator:
        curator.ask("SELECT COUNT(*) FROM people WHERE town = 'x'", epsilon=0.1)
    for file in policy.parent.glob("ledger.db*"):
        assert CANARY.encode() not in file.read_bytes()


def test_analysts_ask_within_their_shares(policy: Path) -> None:
    policy.write_text(policy.read_text() + "analysts: {alice: {share: 50%}, bob: {share: 50%}}\n")
    with pytest.raises(RequestError, match="alice, bob"):
        Curator.open(policy)
    with Curator.open(policy, analyst="alice") as curator:
        curator.ask(BY_SEX, epsilon=0.8)
        with pytest.raises(BudgetError):
            curator.ask("SELECT COUNT(*) FROM people", epsilon=0.1)
    with Curator.open(policy, analyst="bob") as curator:
        assert not curator.ask(BY_SEX, epsilon=0.8).repeated


def test_an_analyst_is_told_nothing_of_what_others_spent(policy: Path) -> None:
    policy.write_text(policy.read_text() + "analysts: {alice: {share: 50%}, bob: {share: 50%}}\n")

    def told(first: bool) -> list[object]:
        with Curator.open(policy, analyst="bob") as curator:
            plan = curator.plan(BY_SEX, epsilon=0.3)
            answer = curator.ask(BY_SEX, epsilon=0.3)
            assert answer.repeated is not first
            return [plan.belief_after, answer.belief, answer.sentence]

    before = told(first=True)
    with Curator.open(policy, analyst="alice") as curator:
        curator.ask(BY_SEX, epsilon=0.8)
        assert (
            curator.ledger.compute_belief().highest > curator.ledger.compute_belief(analyst="alice").highest
        )
    assert told(first=False) == before
    assert str(before[2]).startswith("From the answers to bob alone, an attacker who was")


def test_a_plan_beyond_the_analysts_share_changes_no_belief(policy: Path) -> None:
    policy.write_text(policy.read_text() + "analysts: {alice: {share: 50%}, bob: {share: 50%}}\n")
    with Curator.open(policy, analyst="alice") as curator:
        plan = curator.plan(BY_SEX, epsilon=1)
        assert plan.belief_after == plan.belief_before


def _replace_engine(curator: Curator, engine: Engine) -> None:
    curator._engine.close()
    curator._engine = engine


class _Untouchable:
    def count(self, sql: str) -> Exact[pa.Table]:
        raise AssertionError("data was read")

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


class _Failing(_Untouchable):
    def count(self, sql: str) -> Exact[pa.Table]:
        raise ValueError(CANARY)


def test_what_a_file_holds_beyond_what_can_be_read_is_told_to_the_custodian_alone(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(b"age,town\n20,a\n21\n\xff" + CANARY.encode() + b",b\n22,c\n")
    path = tmp_path / "privacy.yaml"
    path.write_text(
        """
promise: {prior: 1%, posterior: 5%}
tables:
  people: {source: people.csv, columns: {age: {type: integer, low: 18, high: 90}, town: {type: text}}}
"""
    )
    told: list[str] = []
    with Curator.open(path, progress=told.append):
        pass
    log = (tmp_path / "ledger.faults.log").read_text()
    assert "1 rows are not read: they have too few or too many fields (lines 3)" in log
    assert "1 rows are in another encoding than declared (lines 4)" in log
    assert "check: people: 3 rows; not as the policy says" in log
    assert CANARY not in log
    assert told == ["preparing table people", "opening the tables", "checking people"]
    with Curator.open(path):
        pass
    assert (tmp_path / "ledger.faults.log").read_text() == log, "the store is built once"


@pytest.mark.parametrize(
    "equal",
    [
        (Decimal("0.5"), Decimal("0.50")),
        (1, True),
        (0.0, -0.0),
        (datetime(2020, 1, 1, 12, tzinfo=UTC), datetime(2020, 1, 1, 13, tzinfo=timezone(timedelta(hours=1)))),
    ],
)
def test_parameters_that_are_equal_but_different_constants_have_plans_of_their_own(
    policy: Path, equal: tuple[Any, Any]
) -> None:
    text = "SELECT COUNT(*) AS n FROM people WHERE CAST($1 AS VARCHAR) = '0.50'"
    with Curator.open(policy) as curator:
        plans = [curator.plan(text, epsilon=1, values=[value]) for value in equal]
    with Curator.open(policy) as curator:
        fresh = curator.plan(text, epsilon=1, values=[equal[1]])
    assert plans[1].key == fresh.key
    assert plans[1].text == fresh.text
    assert plans[1].query_plan.statement == fresh.query_plan.statement
