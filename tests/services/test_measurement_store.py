"""What was measured is never charged again: other spellings, measures beside it, and restarts are free."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from discreet.core.errors import BudgetError, RequestError
from discreet.core.policy import Policy
from discreet.services.answers import Answer
from discreet.services.curator import Curator
from discreet.services.measurement_versions import select_read_entries
from discreet.services.policy_version import compute_policy_version
from tests.services.people_table import draw_people, read, write_policy

BY_SEX = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
SPELLINGS = (
    BY_SEX,
    f"{BY_SEX} LIMIT 1",
    f"{BY_SEX} ORDER BY n DESC",
    f"{BY_SEX} ORDER BY sex LIMIT 2",
    "SELECT sex AS s, COUNT(*) AS how_many FROM people GROUP BY sex",
    "SELECT COUNT(*) AS n, sex FROM people GROUP BY sex",
    "SELECT p.sex, COUNT(*) AS n FROM people AS p GROUP BY p.sex",
    "select sex, count(*) as n from people group by 1",
    f"SELECT SUM(n) AS n FROM ({BY_SEX})",
)


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return draw_people(4_000)


@pytest.fixture
def curator(rows: pa.Table) -> Iterator[Curator]:
    with Curator(write_policy(), {"people": rows}, ledger=":memory:") as curator:
        yield curator


def test_every_spelling_after_the_first_is_free_and_shows_the_same_numbers(curator: Curator) -> None:
    answers = [curator.ask(sql, epsilon=0.5) for sql in SPELLINGS]
    assert [each.epsilon for each in answers] == [0.5] + [0.0] * (len(SPELLINGS) - 1)
    assert len(curator.ledger.list_entries()) == 1
    first = {row["sex"]: row["n"] for row in read(answers[0])}
    for answer in answers[2:4]:
        assert {row["sex"]: row["n"] for row in read(answer)} == first
    assert read(answers[-1]) == [{"n": sum(first.values())}]


def test_only_what_is_missing_is_charged(curator: Curator) -> None:
    count = curator.ask(BY_SEX, epsilon=0.4)
    sql = "SELECT sex, COUNT(*) AS n, SUM(age) AS s FROM people GROUP BY sex"
    plan = curator.plan(sql, epsilon=0.4)
    assert (plan.cost, plan.entries, plan.repeated) == (0.2, (1,), False)
    both = curator.ask(plan)
    assert (both.epsilon, both.entries) == (0.2, (1, 2))
    assert [row["n"] for row in read(both)] == [row["n"] for row in read(count)]
    assert curator.ask(sql, epsilon=0.4).epsilon == 0
    assert curator.ask("SELECT sex, SUM(age) FROM people GROUP BY sex", epsilon=0.2).epsilon == 0


def test_a_stored_measurement_serves_only_as_well_as_its_noise_is_narrow(curator: Curator) -> None:
    assert curator.ask(BY_SEX, epsilon=0.5).epsilon == 0.5
    assert curator.ask(BY_SEX, epsilon=0.1).epsilon == 0
    assert curator.ask(BY_SEX, epsilon=0.5).epsilon == 0
    finer = curator.ask(BY_SEX, epsilon=2)
    assert (finer.epsilon, finer.entries) == (2, (2,))
    assert curator.ask(f"{BY_SEX} LIMIT 1", epsilon=1).entries == (2,)


def test_a_free_answer_orders_its_groups_as_a_charged_one(rows: pa.Table) -> None:
    other = "SELECT sex, ward, COUNT(*) AS n, MEDIAN(age) AS m FROM people GROUP BY sex, ward"
    sql = "SELECT ward, sex, COUNT(*) AS n, MEDIAN(age) AS m FROM people GROUP BY ward, sex"
    with Curator(write_policy(), {"people": rows}, ledger=":memory:") as curator:
        fresh, free = curator.ask(sql, epsilon=1), curator.ask(other, epsilon=1)
    with Curator(write_policy(), {"people": rows}, ledger=":memory:") as curator:
        charged = curator.ask(other, epsilon=1)
    assert free.epsilon == 0
    keys = [(row["sex"], row["ward"]) for row in read(free)]
    assert keys == [(row["sex"], row["ward"]) for row in read(charged)]
    assert sorted(map(str, read(free))) == sorted(
        str({name: row[name] for name in ("sex", "ward", "n", "m")}) for row in read(fresh)
    )


def test_groups_of_stored_and_new_measures_are_matched_by_their_keys(rows: pa.Table) -> None:
    with Curator(write_policy(), {"people": rows}, ledger=":memory:") as curator:
        curator.ask("SELECT ward, sex, COUNT(*) FROM people GROUP BY ward, sex", epsilon=4)
        sql = "SELECT sex, ward, COUNT(*) AS n, SUM(age) AS s FROM people GROUP BY sex, ward"
        found = {(row["sex"], row["ward"]): row for row in read(curator.ask(sql, epsilon=4))}
    truth = duckdb.from_arrow(rows).query("people", sql)
    assert truth is not None
    for sex, ward, count, total in truth.fetchall():
        assert abs(found[sex, ward]["n"] - count) < 40
        assert abs(found[sex, ward]["s"] - total) < 3_000


def test_another_analyst_pays_and_is_told_nothing(rows: pa.Table) -> None:
    policy = write_policy(analysts={"alice": {"share": "50%"}, "bob": {"share": "50%"}})
    with Curator(policy, {"people": rows}, ledger=":memory:", analyst="alice") as alice:
        alice.ask(BY_SEX, epsilon=0.5)
        bob = Curator.from_parts(alice.policy, ledger=alice.ledger, engine=alice._engine, analyst="bob")
        assert not bob.plan(BY_SEX, epsilon=0.5).repeated
        answer = bob.ask(BY_SEX, epsilon=0.5)
        assert (answer.epsilon, answer.entries) == (0.5, (1,))


def test_a_refused_question_leaves_nothing_to_be_found(rows: pa.Table) -> None:
    policy = write_policy(promise={"prior": "1%", "posterior": "2%"})
    with Curator(policy, {"people": rows}, ledger=":memory:") as curator:
        for _ in range(2):
            with pytest.raises(BudgetError):
                curator.ask(BY_SEX, epsilon=5)
        assert curator.ledger.list_entries() == []


def open_file(folder: Path, rows: pa.Table, **changes: Any) -> Curator:
    from pyarrow import csv

    csv.write_csv(rows, folder / "people.csv")
    policy = write_policy(ledger=str(folder / "ledger.db"), data_version="1") | changes
    policy["tables"]["people"]["source"] = str(folder / "people.csv")
    return Curator(policy)


def test_a_restart_and_unrelated_changes_of_the_policy_charge_nothing(tmp_path: Path, rows: pa.Table) -> None:
    with open_file(tmp_path, rows) as curator:
        curator.ask(BY_SEX, epsilon=0.5)
    other = write_policy(columns={"height": {"type": "integer", "low": 40, "high": 260}})["tables"]
    with open_file(tmp_path, rows, tables=other) as curator:
        assert curator.ask(f"{BY_SEX} LIMIT 1", epsilon=0.5).epsilon == 0
        assert curator.ask("SELECT SUM(height) FROM people", epsilon=0.5).epsilon == 0.5
    wider = write_policy(columns={"sex": {"type": "category", "values": ["m", "f", "x"]}})["tables"]
    with open_file(tmp_path, rows, tables=wider) as curator:
        assert curator.ask(BY_SEX, epsilon=0.5).epsilon == 0.5


def test_other_data_is_charged_anew(tmp_path: Path, rows: pa.Table) -> None:
    with open_file(tmp_path, rows) as curator:
        curator.ask(BY_SEX, epsilon=0.5)
    with open_file(tmp_path, rows.slice(0, 3_000), data_version="2") as curator:
        assert curator.ask(BY_SEX, epsilon=0.5).epsilon == 0.5


def test_statements_at_once_that_share_a_measurement_charge_it_once(tmp_path: Path, rows: pa.Table) -> None:
    with open_file(tmp_path, rows) as curator:
        answers: list[Answer] = []
        start = threading.Barrier(4)

        def ask(sql: str) -> None:
            start.wait()
            answers.append(curator.ask(sql, epsilon=0.5))

        threads = [threading.Thread(target=ask, args=(sql,)) for sql in SPELLINGS[:4]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(each.epsilon for each in answers) == [0, 0, 0, 0.5]
        assert len(curator.ledger.list_entries()) == 1


def test_groups_that_are_selected_privately_come_from_one_entry(rows: pa.Table) -> None:
    policy = write_policy(
        promise={"prior": "1%", "posterior": "99%", "tail": 1e-4},
        columns={"ward": {"type": "text", "nulls": False}},
    )
    sql = "SELECT ward, COUNT(*) AS n FROM people GROUP BY ward"
    with Curator(policy, {"people": rows}, ledger=":memory:") as curator:
        first = curator.ask(sql, epsilon=1)
        assert curator.ask(f"{sql} ORDER BY n DESC LIMIT 2", epsilon=1).epsilon == 0
        wider = curator.ask(sql.replace("COUNT(*) AS n", "COUNT(*) AS n, SUM(age) AS s"), epsilon=1)
        assert wider.epsilon == 1
        assert curator.ask(sql, epsilon=1).table.equals(first.table)


def test_the_store_never_raises_a_charge(curator: Curator) -> None:
    random = np.random.default_rng(11)
    measures = ["COUNT(*)", "SUM(age)", "AVG(age)", "AVG(height)", "VARIANCE(age)", "MEDIAN(age)"]
    keys = ["sex", "ward", "sex, ward"]
    for _ in range(30):
        shown = ", ".join(random.choice(measures, random.integers(1, 4), replace=False))
        key, epsilon = random.choice(keys), float(random.choice([0.01, 0.02, 0.05]))
        sql = f"SELECT {key}, {shown} FROM people GROUP BY {key}"
        before = curator.budget.spent.epsilon  # type: ignore[union-attr]
        answer = curator.ask(sql, epsilon=epsilon)
        charged = float(curator.budget.spent.epsilon - before)  # type: ignore[union-attr]
        assert charged == pytest.approx(answer.epsilon)
        assert answer.epsilon <= epsilon * (1 + 1e-12)
        assert curator.ask(sql, epsilon=epsilon).epsilon == 0


def test_free_refuses_what_would_cost_and_fresh_pays_again(curator: Curator) -> None:
    with pytest.raises(RequestError, match="not free"):
        curator.ask(BY_SEX, epsilon=0.5, free=True)
    curator.ask(BY_SEX, epsilon=0.5)
    assert curator.ask(f"{BY_SEX} LIMIT 1", epsilon=0.5, free=True).epsilon == 0
    again = curator.ask(BY_SEX, epsilon=0.5, fresh=True)
    assert (again.epsilon, again.entries) == (0.5, (2,))
    assert curator.ask(BY_SEX, free=True).epsilon == 0
    with pytest.raises(RequestError, match="exclude each other"):
        curator.plan(BY_SEX, epsilon=0.5, free=True, fresh=True)
    assert len(curator.ledger.list_entries()) == 2


def test_a_plan_offers_what_is_stored_beside_what_was_asked(curator: Curator) -> None:
    sql = "SELECT sex, COUNT(*) AS n, MIN(age) AS youngest FROM people GROUP BY sex"
    (only,) = curator.plan(sql, epsilon=0.2).offers
    assert (only.epsilon, only.entries) == (0.2, ())
    curator.ask(sql, epsilon=0.2)
    free, paid = curator.plan(sql, epsilon=2).offers
    assert (free.epsilon, free.entries, paid.epsilon, paid.entries) == (0, (1,), 2, ())
    assert free.errors["n"] == only.errors["n"] > paid.errors["n"]  # type: ignore[operator]


def test_a_free_answer_states_the_error_of_the_noise_that_it_has(curator: Curator) -> None:
    sql = "SELECT sex, COUNT(*) AS n, MEDIAN(age) AS m FROM people GROUP BY sex"
    coarse = curator.ask(sql, epsilon=0.02)
    free = curator.ask(sql, epsilon=2, free=True)
    assert free.intervals == coarse.intervals
    assert free.rank_errors["m"].rows == coarse.rank_errors["m"].rows
    finer = curator.ask(sql, epsilon=2)
    narrow = curator.ask(sql, epsilon=0.02)
    assert (narrow.epsilon, narrow.intervals) == (0, finer.intervals)


def test_one_measurement_in_two_words_of_a_statement_is_answered(curator: Curator) -> None:
    one = "SELECT COUNT(*) AS n FROM people WHERE sex = 'm' AND age > 20"
    other = "SELECT COUNT(*) AS n FROM people WHERE 20 < age AND sex = 'm'"
    assert len(read(curator.ask(f"{one} UNION ALL {other}", epsilon=0.5))) == 2
    assert curator.ask(f"{one} UNION ALL {other}", epsilon=0.5).epsilon == 0
    assert curator.ask(one, epsilon=0.25).epsilon == 0


def test_measures_that_mean_the_same_are_one_measurement(curator: Curator) -> None:
    sql = "SELECT COUNT(*) AS n, SUM(1) AS m, COUNT(*) - SUM(1) AS d FROM people"
    first, again = curator.ask(sql, epsilon=1), curator.ask(sql, epsilon=1)
    (row,) = read(first)
    assert (row["n"], row["d"]) == (row["m"], 0)
    assert read(again) == read(first)
    assert first.intervals["n"] == curator.ask("SELECT COUNT(*) AS n FROM people", epsilon=1).intervals["n"]


ADULTS = "(SELECT COUNT(*) AS n FROM people WHERE age > 20 AND sex = 'm')"
MEN = "(SELECT COUNT(*) AS n FROM people WHERE sex = 'm' AND age > 20)"
BY_WARD = "(SELECT ward, COUNT(*) AS n FROM people WHERE sex = '{sex}' GROUP BY ward)"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT a.n AS x, b.n AS y, a.n + b.n AS z FROM {ADULTS} AS a CROSS JOIN {MEN} AS b",
        f"SELECT a.ward, a.n AS x, b.n AS y FROM {BY_WARD.format(sex='f')} AS a "
        f"JOIN {BY_WARD.format(sex='m')} AS b ON a.ward = b.ward",
    ],
)
def test_a_repeated_statement_shows_the_same_numbers(curator: Curator, sql: str) -> None:
    first, again = curator.ask(sql, epsilon=0.1), curator.ask(sql, epsilon=0.1)
    assert again.epsilon == 0
    assert read(again) == read(first)
    assert again.intervals == first.intervals


def test_measurements_that_share_noise_are_not_taken_to_be_independent(curator: Curator) -> None:
    sql = f"SELECT a.n + b.n AS z FROM {ADULTS} AS a CROSS JOIN {MEN} AS b"
    curator.ask(sql, epsilon=1)
    again = curator.ask(sql, epsilon=1.05)  # both are the mean of both
    assert again.epsilon == 0
    assert again.interval_kind == {"z": "all_rows"}


FAILS = f"SELECT sex, factorial(CAST(n AS INTEGER)) AS f FROM ({BY_SEX}) AS t"


def test_what_was_charged_before_post_processing_failed_is_said_and_is_free(curator: Curator) -> None:
    with pytest.raises(RequestError) as refused:
        curator.ask(FAILS, epsilon=0.5)
    assert "Epsilon 0.5 was charged" in str(refused.value)
    with pytest.raises(RequestError) as again:
        curator.ask(FAILS, epsilon=0.5)
    assert "charged" not in str(again.value)
    assert curator.ask(BY_SEX, epsilon=0.5).epsilon == 0
    assert [each.state.value for each in curator.ledger.list_entries()] == ["settled"]


def test_a_measurement_depends_on_the_table_that_names_its_people() -> None:
    def make_policy(**columns: Any) -> Policy:
        key = {"type": "text", "role": "identifier"}
        visits = {"source": "v.csv", "person": "who", "rows_per_person": 2}
        notes = {"source": "n.csv", "person": {"through": "visit"}, "rows_per_person": 2}
        return Policy.model_validate(
            {
                "tables": {
                    "visits": {
                        **visits,
                        "columns": {"who": key, "id": key, "cost": {"type": "integer"}} | columns,
                    },
                    "notes": {**notes, "columns": {"visit": key}, "links": {"visit": "visits.id"}},
                }
            }
        )

    def compute_version(policy: Policy) -> str:
        return compute_policy_version(select_read_entries(policy, {"notes": frozenset()}))

    known = compute_version(make_policy())
    assert compute_version(make_policy(cost={"type": "decimal"})) == known
    for name in ("who", "id"):
        assert compute_version(make_policy(**{name: {"type": "integer", "role": "identifier"}})) != known
