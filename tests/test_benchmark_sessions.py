"""The sessions of the benchmark are as its report states them, and the cache that it compares with works."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
import sqlglot

from benchmarks import exploration
from benchmarks.new_measurements import count_new
from benchmarks.pmw_cache import BETA, Cells, CountQuery, PMWCache, _find_sum_quantile, find_count_queries

SESSIONS = list(exploration.TABLES)
DOMAIN = {"color": ["red", "green", "blue"]}
BY_COLOR = CountQuery(keys=("color",), predicate="TRUE")


@pytest.mark.parametrize("session", SESSIONS)
def test_a_session_has_60_to_200_statements_that_parse(session: str) -> None:
    statements = exploration.read_statements(session)
    assert 60 <= len(statements) <= 200
    for each in statements:
        parsed = sqlglot.parse(each, read="duckdb")
        assert len(parsed) == 1
        assert parsed[0] is not None


@pytest.mark.parametrize("session", SESSIONS)
def test_the_charges_are_those_of_the_sessions_as_they_stand(session: str) -> None:
    charges = json.loads(exploration.CHARGES.read_text())[session]
    assert [each["statement"] for each in charges] == exploration.read_statements(session)
    assert all(("epsilon" in each) != ("refused" in each) for each in charges)


def test_only_the_same_text_is_an_exact_match_and_a_probe_is_free() -> None:
    asked = [
        "SELECT COUNT(*) FROM t",
        "SELECT COUNT(*) AS n FROM t",
        "SELECT COUNT(*) FROM t",
        "SELECT * FROM t LIMIT 0",
    ]
    assert exploration.charge_exact_matches(asked) == [exploration.EPSILON, exploration.EPSILON, 0, 0]


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("SELECT color, COUNT(*) AS n FROM t GROUP BY 1", [BY_COLOR]),
        ("SELECT x.color AS y, SUM(1) FROM t AS x GROUP BY 1", [BY_COLOR]),
        ("SELECT COUNT(1) FROM t WHERE size > 1", [CountQuery(keys=(), predicate="size > 1")]),
        ("SELECT SUM(n) FROM (SELECT color, COUNT(*) AS n FROM t GROUP BY color) AS v", [BY_COLOR]),
        ("SELECT AVG(size) FROM t", None),
        ("SELECT COUNT(DISTINCT color) FROM t", None),
        ("SELECT color, COUNT(*) FROM t GROUP BY ROLLUP (color)", None),
        ("SELECT COUNT(*) FROM t WHERE size > (SELECT AVG(size) FROM t)", None),
    ],
)  # fmt: skip
def test_plain_counts_are_what_the_histogram_can_answer(
    statement: str, found: list[CountQuery] | None
) -> None:
    assert find_count_queries(statement, "t") == found


def test_spelling_makes_no_new_measurement_and_finer_cells_add_up() -> None:
    spellings = [
        "SELECT color, size, COUNT(*) AS n FROM t WHERE age > 3 AND size < 5 GROUP BY color, size",
        'SELECT "x"."size" AS s, "x"."color", SUM(1) FROM t "x" WHERE (size < 5) AND (age > 3) GROUP BY 1, 2',
    ]
    coarser = [
        "SELECT color, COUNT(*) FROM t WHERE age > 3 AND size < 5 GROUP BY color",
        "SELECT COUNT(*) FROM t WHERE age > 3 AND size < 5 AND color = 'red'",
    ]
    apart = ["SELECT COUNT(*) FROM t WHERE size < 5", "SELECT AVG(age) FROM t WHERE age > 3 AND size < 5"]
    asked = [*spellings, *coarser, *apart]
    assert count_new(asked, "t", derives=False) == 5
    assert count_new(asked, "t", derives=True) == 3


def make_cache(counts: list[int]) -> PMWCache:
    """Return a cache over rows of so many of each color, which takes its first histogram to be ready."""
    colors = [color for color, count in zip(DOMAIN["color"], counts, strict=True) for _ in range(count)]
    return PMWCache(
        cells=Cells(pa.table({"color": colors}), "t", DOMAIN),
        epsilon=0.1,
        sensitivity=2,
        threshold=0,
        random=np.random.default_rng(1),
    )


def answer_all(cache: PMWCache, statements: list[str]) -> list[float]:
    return [cache.answer(each, find_count_queries(each, "t")) for each in statements]


def test_the_cache_charges_one_check_where_its_histogram_is_right() -> None:
    spellings = [f"SELECT color, COUNT(*) AS n{place} FROM t GROUP BY color" for place in range(5)]
    first, *others = answer_all(make_cache([1000, 1000, 1000]), spellings)
    assert 0.3 < first < 0.4
    assert others == [0, 0, 0, 0]


def test_the_cache_pays_for_what_its_histogram_does_not_know_and_not_again_for_the_same_text() -> None:
    asked = ["SELECT color, COUNT(*) FROM t GROUP BY color", "SELECT AVG(size) FROM t"]
    failed, mean, *again = answer_all(make_cache([3000, 0, 1000]), [*asked, *asked])
    assert failed > 0.4  # a check that fails, and the counts
    assert mean == pytest.approx(0.1)
    assert again == [0, 0]


def test_the_check_fails_by_its_noise_as_often_as_is_said() -> None:
    drawn = np.random.default_rng(2).laplace(size=(2, 200_000)).sum(axis=0)
    assert np.mean(drawn > _find_sum_quantile(BETA)) == pytest.approx(BETA, abs=0.003)
