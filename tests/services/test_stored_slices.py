"""Answers from some cells of a finer measurement: their cost, their numbers and their error bars."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from discreet.core.errors import RequestError
from discreet.services.answers import Answer
from discreet.services.curator import Curator
from tests.services.people_table import WARDS, draw_people, read, write_policy

FEMALE = "SELECT ward, COUNT(*) AS n FROM people WHERE sex = 'f' GROUP BY ward"
MALE = "SELECT ward, COUNT(*) AS n FROM people WHERE sex = 'm' GROUP BY ward"
FALSE_ALARM = 1e-9


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return draw_people(4_000)


@pytest.fixture
def curator(rows: pa.Table) -> Iterator[Curator]:
    with Curator(write_policy(), {"people": rows}, ledger=":memory:") as curator:
        yield curator


def find_widths(answer: Answer, name: str = "n") -> set[float]:
    return {round(high - low, 6) for low, high in zip(*answer.intervals[name], strict=True)}  # type: ignore[operator]


def test_another_value_of_a_condition_is_free_and_as_precise(curator: Curator) -> None:
    first, plan = curator.ask(FEMALE, epsilon=0.5), curator.plan(MALE, epsilon=0.5)
    other = curator.ask(MALE, epsilon=0.5)
    assert (first.epsilon, plan.cost, other.epsilon, other.entries) == (0.5, 0, 0, (1,))
    assert find_widths(other) == find_widths(first)
    assert other.interval_kind == {"n": "per_row"}
    whole = read(curator.ask("SELECT sex, ward, COUNT(*) AS n FROM people GROUP BY sex, ward", epsilon=0.5))
    for sex, answer in (("f", first), ("m", other)):
        assert read(answer) == [{"ward": r["ward"], "n": r["n"]} for r in whole if r["sex"] == sex]
    assert len(curator.ledger.list_entries()) == 1


def test_measures_of_a_condition_are_cells_of_the_groups_by_it(curator: Curator) -> None:
    whole = curator.ask("SELECT ward, sex, COUNT(*) AS n FROM people GROUP BY ward, sex", epsilon=0.5)
    counts = {(row["ward"], row["sex"]): row["n"] for row in read(whole)}
    sql = (
        "SELECT ward, COUNT(*) FILTER (WHERE sex = 'f') AS f, COUNT(*) FILTER (WHERE sex = 'm') AS m "
        "FROM people GROUP BY ward"
    )
    answer = curator.ask(sql, epsilon=0.5)
    assert answer.epsilon == 0
    assert [(row["f"], row["m"]) for row in read(answer)] == [(counts[w, "f"], counts[w, "m"]) for w in WARDS]


def test_a_single_count_pays_for_its_smaller_error(curator: Curator) -> None:
    one = "SELECT COUNT(*) AS n FROM people WHERE sex = 'm'"
    curator.ask("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex", epsilon=0.5)
    assert curator.ask(one, epsilon=0.25).epsilon == 0  # by groups a person moves two counts, here one
    assert curator.ask(one, epsilon=0.5).epsilon == 0.5
    assert curator.ask("SELECT COUNT(*) AS n FROM people WHERE sex = 'f'", epsilon=0.5).epsilon == 0.5


def test_cells_that_were_seen_are_wider_and_others_are_not(curator: Curator) -> None:
    """An analyst who saw cells may ask about one because of its noise, but not about cells not seen."""
    first = curator.ask(FEMALE, epsilon=0.5)
    (width,) = find_widths(first)
    top = curator.ask(f"{FEMALE} ORDER BY n DESC LIMIT 1", epsilon=0.5)
    assert (top.epsilon, top.interval_kind) == (0, {"n": "all_rows"})
    assert max(find_widths(top)) > width
    assert find_widths(curator.ask(MALE, epsilon=0.5)) == {width}
    assert find_widths(curator.ask(MALE, epsilon=0.5)) == {width}, "the same question says the same again"
    named = curator.ask("SELECT COUNT(*) AS n FROM people WHERE ward = 'a' AND sex = 'm'", epsilon=0.2)
    assert (named.epsilon, named.interval_kind) == (0, {"n": "all_rows"})
    assert max(find_widths(named)) > width
    renamed = curator.ask(MALE.replace("AS n", "AS count"), epsilon=0.5)
    assert min(find_widths(renamed, "count")) >= width


def test_what_was_shown_is_known_after_a_restart(tmp_path: Any, rows: pa.Table) -> None:
    def open_file() -> Curator:
        return Curator(write_policy(data_version="1"), {"people": rows}, ledger=tmp_path / "ledger.db")

    top = f"{MALE} ORDER BY n DESC LIMIT 1"
    with open_file() as curator:
        (width,) = find_widths(curator.ask(FEMALE, epsilon=0.5))
        curator.ask(MALE, epsilon=0.5)
    with open_file() as curator:
        shown = curator.ask(top, epsilon=0.5)
        assert shown.epsilon == 0
        assert max(find_widths(shown)) > width
        curator.ledger.verify()


def test_a_filter_that_bounds_other_rows_is_charged(rows: pa.Table) -> None:
    visits = pa.table({"patient": np.arange(4_000) // 4, "sex": rows["sex"], "ward": rows["ward"]})
    people = {"person": "patient", "rows_per_person": 2}
    policy = write_policy(people=people, columns={"patient": {"type": "integer", "role": "identifier"}})
    for unused in ("age", "height"):
        del policy["tables"]["people"]["columns"][unused]
    with Curator(policy, {"people": visits}, ledger=":memory:") as curator:
        curator.ask("SELECT sex, ward, COUNT(*) AS n FROM people GROUP BY sex, ward", epsilon=0.5)
        assert curator.ask(FEMALE, epsilon=0.5).epsilon == 0.5
        assert curator.ask(MALE, epsilon=0.5).epsilon == 0.5


def test_intervals_of_cells_that_were_chosen_by_their_noise_hold(rows: pa.Table) -> None:
    """Ask for the group with the largest count by name: its interval must hold, a single cell's would not.

    Of 100 groups of 40 rows the one with the largest count is far above 40 at epsilon 0.2.
    """
    wards = [f"w{place}" for place in range(100)]
    data = pa.table(
        {"ward": wards * 40, "sex": ["m", "f"] * 2_000, "age": [1] * 4_000, "height": [60] * 4_000}
    )
    columns = {"ward": {"type": "category", "values": wards, "nulls": False}}
    runs, covered, single = 40, 0, 0
    for _ in range(runs):
        with Curator(write_policy(columns=columns), {"people": data}, ledger=":memory:") as curator:
            listed = curator.ask("SELECT ward, COUNT(*) AS n FROM people GROUP BY ward", epsilon=0.2)
            width = min(find_widths(listed))  # that of a count below 0, shown as 0, is wider
            top = max(read(listed), key=lambda row: row["n"])
            answer = curator.ask(
                f"SELECT COUNT(*) AS n FROM people WHERE ward = '{top['ward']}'", epsilon=0.1
            )
            assert answer.epsilon == 0
            ((low,), (high,)) = answer.intervals["n"]
            covered += low <= 40 <= high  # type: ignore[operator]
            single += abs(top["n"] - 40) <= width / 2
    assert stats.binom.cdf(covered, runs, 0.95) > FALSE_ALARM
    assert stats.binom.cdf(single, runs, 0.95) < FALSE_ALARM, "the twin would be noticed"


NAMED_TWICE = "(SELECT sex AS a, sex AS b, ward FROM people) AS p"


def test_a_column_with_two_names_has_one_value(curator: Curator) -> None:
    sql = f"SELECT ward, COUNT(*) AS n FROM {NAMED_TWICE} WHERE a = 'm' AND b = '{{}}' GROUP BY ward"
    for sex, expected in (("f", 0), ("m", 500)):
        for _ in range(2):
            found = {row["ward"]: row["n"] for row in read(curator.ask(sql.format(sex), epsilon=4))}
            assert found.keys() == {*WARDS}
            assert all(abs(each - expected) < 100 for each in found.values())


def test_a_condition_on_a_key_with_two_names_leaves_its_groups(curator: Curator) -> None:
    sql = f"SELECT b, COUNT(*) AS n FROM {NAMED_TWICE} WHERE a = 'm' GROUP BY b"
    for _ in range(2):
        found = {row["b"]: row["n"] for row in read(curator.ask(sql, epsilon=8))}
        assert abs(found["m"] - 2_000) < 200
        assert found["f"] < 20


def test_cells_that_an_answer_failed_over_were_shown(curator: Curator) -> None:
    curator.ask(FEMALE, epsilon=0.5)
    with pytest.raises(RequestError):
        curator.ask(f"SELECT factorial(CAST(n AS INTEGER)) AS f FROM ({MALE}) AS t", epsilon=0.5)
    top = f"SELECT ward, n FROM ({MALE}) AS t WHERE ward = 'a'"
    assert curator.ask(top, epsilon=0.5).interval_kind == {"n": "all_rows"}
