"""Answers from sums of stored cells: their cost, their numbers and their error bars."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from discreet.core.errors import RequestError
from discreet.services.answers import Answer
from discreet.services.curator import Curator
from tests.services.people_table import WARDS, write_policy

BY_WARD = "SELECT ward, COUNT(*) AS n FROM people GROUP BY ward"
BY_BOTH = "SELECT sex, ward, COUNT(*) AS n FROM people GROUP BY sex, ward"
BY_AGE = "SELECT age, COUNT(*) AS n FROM people GROUP BY age"
BY_DAY = "SELECT day, COUNT(*) AS n FROM people GROUP BY day"


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    random = np.random.default_rng(3)
    days = np.datetime64("2024-01-01") + random.integers(0, 366, 4_000)
    return pa.table(
        {
            "sex": random.choice(["m", "f"], 4_000),
            "ward": random.choice(WARDS, 4_000),
            "age": random.integers(0, 101, 4_000),
            "height": random.integers(50, 251, 4_000),
            "day": days.astype("datetime64[D]"),
        }
    )


def write_dated_policy(**changes: Any) -> dict[str, Any]:
    day = {"type": "date", "low": "2024-01-01", "high": "2024-12-31", "nulls": False}
    return write_policy(columns={"day": day, **changes.pop("columns", {})}, **changes)


@pytest.fixture
def curator(rows: pa.Table) -> Iterator[Curator]:
    with Curator(write_dated_policy(), {"people": rows}, ledger=":memory:") as curator:
        yield curator


COVERING = {
    "sex": {"type": "category", "values": ["m", "f"], "nulls": True},
    "ward": {"type": "category", "values": WARDS, "nulls": True},
    "age": {"type": "integer", "low": 0, "high": 100, "nulls": True},
}


@pytest.fixture
def covered(rows: pa.Table) -> Iterator[Curator]:
    """A table in whose counts every row is in a cell: of a value, or of NULL."""
    with Curator(write_dated_policy(columns=COVERING), {"people": rows}, ledger=":memory:") as curator:
        yield curator


def read(answer: Answer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = answer.table.to_pylist()
    return found


def read_counts(answer: Answer, key: str) -> dict[object, int]:
    return {row[key]: row["n"] for row in read(answer)}


def get_half_width(answer: Answer, name: str = "n") -> float:
    ends = zip(*answer.intervals[name], strict=True)
    return max((high - low) / 2 for low, high in ends if low is not None and high is not None)


@pytest.mark.parametrize(
    "condition",
    ["ward <> 'a'", "NOT ward IN ('a')", "ward IN ('b', 'c', 'd')", "ward > 'a'", "ward LIKE '_'"],
)
def test_a_condition_on_the_key_is_free(curator: Curator, condition: str) -> None:
    counts = read_counts(curator.ask(BY_WARD, epsilon=0.5), "ward")
    answer = curator.ask(BY_WARD.replace("GROUP", f"WHERE {condition} GROUP"), epsilon=0.5)
    assert (answer.epsilon, answer.entries) == (0, (1,))
    found = read_counts(answer, "ward")
    expected = counts if "LIKE" in condition else {**counts, "a": 0}
    assert found == expected
    assert len(curator.ledger.list_entries()) == 1


def test_means_under_a_condition_on_the_key_are_free(curator: Curator) -> None:
    whole = curator.ask("SELECT ward, AVG(height) AS h FROM people GROUP BY ward", epsilon=0.5)
    some = curator.ask(
        "SELECT ward, AVG(height) AS h FROM people WHERE ward <> 'b' GROUP BY ward ORDER BY ward", epsilon=0.5
    )
    assert some.epsilon == 0
    means = {row["ward"]: row["h"] for row in read(whole)}
    assert {row["ward"]: row["h"] for row in read(some)} == {**means, "b": None}


SPELLINGS = (
    "SELECT sex, COUNT(*) AS n FROM people WHERE age > 40 GROUP BY sex",
    "SELECT sex, COUNT(*) FILTER (WHERE age > 40) AS n FROM people GROUP BY sex",
    "SELECT sex, SUM(CASE WHEN age > 40 THEN 1 ELSE 0 END) AS n FROM people GROUP BY sex",
    "SELECT sex, SUM(CASE WHEN age > 40 THEN 1 END) AS n FROM people GROUP BY sex",
    "SELECT sex, COUNT(CASE WHEN age > 40 THEN 1 END) AS n FROM people GROUP BY sex",
    "SELECT sex, COUNT(CASE WHEN 40 < age THEN age END) AS n FROM people GROUP BY sex",
    "SELECT sex, COUNT_IF(age > 40) AS n FROM people GROUP BY sex",
    "SELECT sex, SUM(IF(age > 40, 1, 0)) AS n FROM people GROUP BY sex",
    "SELECT sex, SUM(CAST(age > 40 AS INTEGER)) AS n FROM people GROUP BY sex",
)


@pytest.mark.parametrize("first", SPELLINGS)
def test_every_spelling_of_a_filtered_count_is_one_measurement(curator: Curator, first: str) -> None:
    counts = read_counts(curator.ask(first, epsilon=0.5), "sex")
    for each in SPELLINGS:
        answer = curator.ask(each, epsilon=0.5)
        assert (answer.epsilon, read_counts(answer, "sex")) == (0, counts), each
    assert len(curator.ledger.list_entries()) == 1


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("SUM(CASE WHEN age > 40 THEN height ELSE 0 END)", "SUM(height) FILTER (WHERE age > 40)"),
        ("AVG(CASE WHEN age > 40 THEN height END)", "AVG(height) FILTER (WHERE age > 40)"),
        ("SUM(1)", "COUNT(*)"),
    ],
)
def test_a_case_that_leaves_rows_out_is_a_filter(curator: Curator, first: str, again: str) -> None:
    one = curator.ask(f"SELECT ward, {first} AS x FROM people GROUP BY ward", epsilon=0.5)
    other = curator.ask(f"SELECT ward, {again} AS x FROM people GROUP BY ward", epsilon=0.5)
    assert (one.epsilon, other.epsilon) == (0.5, 0)
    assert read(one) == read(other)
    both = f"SELECT ward, {first} AS x, {again} AS y FROM people GROUP BY ward"
    assert curator.plan(both, epsilon=0.5).cost == 0


def test_what_a_condition_leaves_out_is_free(curator: Curator) -> None:
    first = curator.ask("SELECT ward, COUNT(*) AS n FROM people WHERE age >= 65 GROUP BY ward", epsilon=0.5)
    rest = curator.ask("SELECT ward, COUNT(*) AS n FROM people WHERE age < 65 GROUP BY ward", epsilon=0.5)
    assert (first.epsilon, rest.epsilon) == (0.5, 0)
    assert rest.interval_kind == {"n": "per_row"}
    assert get_half_width(rest) == get_half_width(first)


def test_one_count_is_not_bought_by_group(curator: Curator) -> None:
    old = curator.ask("SELECT COUNT(*) AS n FROM people WHERE age >= 65", epsilon=0.5)
    assert get_half_width(old) == 6
    assert curator.ask("SELECT COUNT(*) AS n FROM people WHERE age < 65", epsilon=0.5).epsilon == 0.5


@pytest.mark.parametrize(
    ("first", "then", "key"),
    [
        (BY_BOTH, "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex", "sex"),
        (BY_BOTH, BY_WARD, "ward"),
        (
            BY_WARD,
            "SELECT CASE WHEN ward IN ('a', 'b') THEN 'x' ELSE 'y' END AS k, COUNT(*) AS n FROM people "
            "GROUP BY 1",
            "k",
        ),
        (
            "SELECT date_trunc('month', day) AS m, COUNT(*) AS n FROM people GROUP BY 1",
            "SELECT date_trunc('quarter', day) AS q, COUNT(*) AS n FROM people GROUP BY 1",
            "q",
        ),
        (
            "SELECT date_trunc('month', day) AS m, COUNT(*) AS n FROM people GROUP BY 1",
            "SELECT date_trunc('year', day) AS y, COUNT(*) AS n FROM people WHERE day < DATE '2024-03-01' "
            "GROUP BY 1",
            "y",
        ),
        (
            "SELECT FLOOR(age / 10) AS d, COUNT(*) AS n FROM people GROUP BY 1",
            "SELECT age >= 80 AS old, COUNT(*) AS n FROM people GROUP BY 1",
            "old",
        ),
    ],
)
def test_a_roll_up_is_free_where_it_is_as_precise(covered: Curator, first: str, then: str, key: str) -> None:
    covered.ask(first, epsilon=1)
    plan = covered.plan(then, epsilon=0.05)
    answer = covered.ask(plan)
    assert (answer.epsilon, answer.entries) == (0, (1,))
    fresh = covered.ask(then, epsilon=8, fresh=True)
    (stated,) = [each.error95 for each in plan.expected_errors]
    assert stated is not None
    assert get_half_width(answer) <= stated <= 120  # that of a count at 0.05 alone
    for value, count in read_counts(answer, key).items():
        assert abs(count - read_counts(fresh, key)[value]) <= 3 * stated


def test_a_roll_up_that_is_less_precise_is_bought_or_free_on_demand(covered: Curator) -> None:
    cells = covered.ask(BY_BOTH, epsilon=0.5)
    by_sex = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
    assert covered.plan(by_sex, epsilon=0.5).cost == 0.5
    free = covered.ask(by_sex, free=True)
    assert (free.epsilon, free.entries, free.interval_kind) == (0, (1,), {"n": "all_rows"})
    sums = {sex: sum(row["n"] for row in read(cells) if row["sex"] == sex) for sex in ("m", "f")}
    assert {sex: read_counts(free, "sex")[sex] for sex in sums} == sums
    offers = covered.plan(by_sex, epsilon=0.5).offers
    assert [each.epsilon for each in offers] == [0, 0.5]
    assert offers[0].errors["n"] == get_half_width(free)
    assert get_half_width(free) > get_half_width(covered.ask(by_sex, epsilon=0.5))


def test_what_is_bought_is_combined_with_a_sum_of_cells(covered: Curator) -> None:
    covered.ask(BY_BOTH, epsilon=0.49)
    top = f"{BY_WARD} ORDER BY n DESC LIMIT 2"
    plan = covered.plan(top, epsilon=0.28)
    assert (plan.cost, plan.combined_entries) == (0.28, (1,))
    answer = covered.ask(plan)
    alone = covered.ask(top, epsilon=0.28, fresh=True)
    assert answer.entries == (1, 2)
    assert get_half_width(answer) < get_half_width(alone)


def test_within_buys_less_where_cells_add_up(covered: Curator) -> None:
    top = f"{BY_WARD} ORDER BY n DESC LIMIT 2"
    alone = covered.plan(top, within=35).cost
    covered.ask(BY_BOTH, epsilon=0.515)
    plan = covered.plan(top, within=35)
    assert plan.cost < 0.95 * alone
    assert get_half_width(covered.ask(plan)) <= 35


def test_different_measures_never_use_one_cell(curator: Curator) -> None:
    """The noise of a part is in its whole: they are no independent numbers."""
    curator.ask(BY_BOTH, epsilon=1)
    sql = (
        "SELECT ward, COUNT(*) AS n, COUNT(*) FILTER (WHERE sex = 'f') AS f FROM people GROUP BY ward "
        "ORDER BY ward"
    )
    plan = curator.plan(sql, epsilon=0.2)
    assert plan.cost == pytest.approx(0.1)
    assert len(plan.missing) == 1
    pair = (
        "SELECT (SELECT COUNT(*) FROM people WHERE sex = 'm' AND ward = 'a') "
        "- (SELECT COUNT(*) FROM people WHERE ward = 'a') AS d"
    )
    assert curator.plan(pair, epsilon=0.1).cost > 0
    disjoint = (
        "SELECT ward, COUNT(*) FILTER (WHERE sex = 'm') AS m, COUNT(*) FILTER (WHERE sex = 'f') AS f "
        "FROM people GROUP BY ward"
    )
    assert curator.plan(disjoint, epsilon=0.2).cost == 0


def test_another_domain_of_a_key_makes_other_cells(tmp_path: Path, rows: pa.Table) -> None:
    ledger = tmp_path / "study.db"
    by_sex = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
    with Curator(
        write_dated_policy(data_version="1", columns=COVERING), {"people": rows}, ledger=ledger
    ) as curator:
        curator.ask(BY_BOTH, epsilon=1)
        assert curator.plan(by_sex, epsilon=0.1).cost == 0
    with Curator(
        write_dated_policy(data_version="1", columns=COVERING), {"people": rows}, ledger=ledger
    ) as curator:
        assert curator.plan(by_sex, epsilon=0.1).entries == (1,)
    wards = {"ward": {"type": "category", "values": ["a", "b", "c"], "nulls": True}}
    changed = write_dated_policy(data_version="1", columns={**COVERING, **wards})
    with Curator(changed, {"people": rows}, ledger=ledger) as curator:
        assert curator.plan(by_sex, epsilon=0.1).cost == 0.1


def test_rows_without_a_value_are_in_a_cell_or_nothing_is_added_up(rows: pa.Table) -> None:
    for nulls, cost in ((True, 0.0), (False, 0.1), (None, 0.1)):
        wards = {"type": "category", "values": WARDS, **({} if nulls is None else {"nulls": nulls})}
        policy = write_dated_policy(columns={"ward": wards})
        with Curator(policy, {"people": rows}, ledger=":memory:") as curator:
            curator.ask(BY_BOTH, epsilon=1)
            assert (
                curator.plan("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex", epsilon=0.1).cost == cost
            )
            some = "SELECT sex, COUNT(*) AS n FROM people WHERE ward IN ('a', 'b') GROUP BY sex"
            assert curator.plan(some, epsilon=0.1).cost == 0


def test_a_total_counts_the_rows_whose_values_are_not_declared(rows: pa.Table) -> None:
    """They are in no cell, whatever the policy says of values that are missing."""
    wards = pa.array(["another", *rows["ward"].to_pylist()[:-1]])
    upper = pc.if_else(pc.equal(wards, "a"), wards, pc.utf8_upper(wards))
    messy = rows.set_column(rows.column_names.index("ward"), "ward", upper)
    sexes = messy["sex"].to_pylist()
    finer = [
        BY_BOTH,
        "SELECT sex, CASE WHEN ward = 'a' THEN 'x' WHEN ward <> 'a' THEN 'y' END AS k, COUNT(*) AS n "
        "FROM people GROUP BY 1, 2",
    ]
    coarser = [
        "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex",
        "SELECT sex, COUNT(*) AS n FROM people WHERE ward <> 'a' OR age >= 0 GROUP BY sex",
        "SELECT sex, SUM(CASE WHEN ward = 'a' THEN 1 ELSE 1 END) AS n FROM people GROUP BY sex",
    ]
    with Curator(write_dated_policy(), {"people": messy}, ledger=":memory:") as curator:
        for each in finer:
            curator.ask(each, epsilon=1)
        for each in coarser:
            found = read_counts(curator.ask(each, epsilon=0.1), "sex")
            for sex in ("m", "f"):
                assert abs(found[sex] - sexes.count(sex)) <= 500, each  # missed with probability 1e-10


def test_a_total_never_has_the_noise_of_a_bought_cell_in_one_answer() -> None:
    """Planned together, neither was shown before: their sum has the interval of independent noises."""
    table = pa.table({"sex": ["f", "m"] * 500, "ward": [*WARDS] * 250, "income": [*range(100)] * 10})
    columns = {**COVERING, "income": {"type": "integer", "low": 0, "high": 100_000, "nulls": True}}
    del columns["age"]
    policy = {"promise": ("1%", "99.9%"), "tables": {"people": {"columns": columns}}}
    rich = "SELECT ward, COUNT(*) AS n FROM people WHERE sex = '{}' AND income > 40 GROUP BY ward"
    women = "SELECT ward, COUNT(*) AS n FROM people WHERE sex = 'f' GROUP BY ward"
    both = (
        f"SELECT a.ward, a.n + b.n AS n FROM ({women}) AS a JOIN ({rich.format('f')}) AS b ON a.ward = b.ward"
    )
    with Curator(policy, {"people": table}, ledger=":memory:") as curator:
        batch = curator.plan([rich.format("m"), both], epsilon=[1, 0.02])
        assert curator.ask(batch).epsilon == pytest.approx(batch.cost)
        assert curator.ask(women, epsilon=0.1).epsilon == 0
        assert curator.ask(rich.format("f"), epsilon=0.1).epsilon == 0
        answer = curator.ask(both, epsilon=0.2)
    assert answer.epsilon == pytest.approx(0.1)
    assert answer.entries == (1, 2)


def test_distinct_values_are_not_added_up(curator: Curator) -> None:
    curator.ask("SELECT sex, ward, COUNT(DISTINCT age) AS n FROM people GROUP BY sex, ward", epsilon=1)
    one = "SELECT ward, COUNT(DISTINCT age) AS n FROM people WHERE sex = 'f' GROUP BY ward"
    assert curator.plan(one, epsilon=0.5).cost == 0
    assert (
        curator.plan("SELECT ward, COUNT(DISTINCT age) AS n FROM people GROUP BY ward", epsilon=0.1).cost
        == 0.1
    )
    with pytest.raises(RequestError, match="never released"):
        curator.ask("SELECT COUNT(DISTINCT age) AS n FROM people", free=True)


def test_one_quantity_in_two_spellings_is_measured_once_in_a_group_by(curator: Curator) -> None:
    sql = (
        "SELECT ward, COUNT(*) FILTER (WHERE sex = 'f' AND age > 3) AS a, "
        "SUM(CASE WHEN age > 3 AND sex = 'f' THEN 1 ELSE 0 END) AS b FROM people GROUP BY ward"
    )
    answer = curator.ask(sql, epsilon=0.5)
    assert [row["a"] for row in read(answer)] == [row["b"] for row in read(answer)]
    assert get_half_width(answer, "a") == get_half_width(answer, "b") == 12  # all of the epsilon
    assert read(curator.ask(sql, epsilon=0.5)) == read(answer)


def test_one_quantity_in_two_subqueries_has_two_independent_noises(curator: Curator) -> None:
    """Their sum is ±42 at 0.1 each, where two of the same noise would be ±60."""
    women = "SELECT COUNT(*) FILTER (WHERE sex = 'f') FROM people"
    sql = f"SELECT ({women}) + (SELECT COUNT(*) FROM people WHERE sex = 'f') AS n"
    first, again = (curator.ask(sql, epsilon=0.2) for _ in range(2))
    assert first.epsilon == pytest.approx(0.2)
    assert again.epsilon == 0
    assert (read(first), first.intervals) == (read(again), again.intervals)
    assert 40 <= get_half_width(first) <= 44
