"""Rows that weigh: all of them count, and one person's for no more than the policy allows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from discreet.core.engine import Engine
from discreet.core.policy import ContributionBounding, Policy
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.engines.released_queries import query_released_tables
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.services.plans import compute_expected_errors
from discreet.sql.accuracy import find_error_bound, find_least_epsilon
from discreet.sql.interval_estimates import ReleasedPrimitive
from discreet.sql.plan_execution import execute_plan
from discreet.sql.planner import QueryPlan, plan_query
from discreet.sql.row_weighting import PARTS, weight_rows_by_join, weight_rows_by_window
from discreet.sql.true_values import compute_true_values
from tests.conftest import seeded
from tests.sql.claims import TAIL, Claims, World, halved
from tests.sql.example import PROMISE, TAILED
from tests.sql.questions import question
from tests.sql.tables import extremes
from tests.sql.tampered_plans import replace_statement
from tests.sql.test_sensitivity import drawn_worlds

WEIGHTS = {"bounding": ContributionBounding.WEIGHTS}
WARDS = ["a", "b", "c", None]
LINEAR = [
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT SUM(cost) AS s, AVG(cost) AS a FROM visits WHERE cost > -2",
    "SELECT kind, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY kind",
    "SELECT kind, VARIANCE(cost) AS v, COUNT(cost) FILTER (WHERE cost > 0) AS n FROM visits GROUP BY kind",
    "SELECT topic, COUNT(*) AS n, SUM(pages) AS s FROM notes GROUP BY topic",
    "SELECT style, COUNT(*) AS n FROM lines GROUP BY style",
]
Visits = list[tuple[int, str | None, int | None]]


# -- What a row weighs --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def empty() -> Iterator[Engine]:
    with DuckDB({}) as engine:
        yield engine


@settings(max_examples=60)
@given(
    people=st.dictionaries(st.integers(0, 2**127 - 1), st.integers(1, 40), max_size=6),
    most=st.one_of(st.integers(1, 50), st.sampled_from([10**6, 2**40])),
)
def test_a_persons_rows_weigh_what_the_bound_allows_rounded_down(
    empty: Engine, people: dict[int, int], most: int
) -> None:
    rows = ", ".join(f"({person}::HUGEINT, 1)" for person, count in people.items() for _ in range(count))
    named = 'AS v("_discreet_person", one)'
    source = f"SELECT * FROM (VALUES {rows or '(0::HUGEINT, 1)'}) {named} WHERE {bool(people)}"
    for statement in (weight_rows_by_join(source, most), weight_rows_by_window(source, most)):
        weights = weights_of(empty, statement)
        assert {person: len(each) for person, each in weights.items()} == people
        for person, each in weights.items():
            assert set(each) == {min(PARTS, most * PARTS // people[person])}
            assert sum(each) <= most * PARTS
            if people[person] <= 12:
                assert sum(each) == min(most, people[person]) * PARTS


def weights_of(engine: Engine, statement: str) -> dict[int, list[int]]:
    texts = f'SELECT "_discreet_person"::VARCHAR AS p, "_discreet_weight" AS w FROM ({statement})'
    found: dict[int, list[int]] = defaultdict(list)
    for row in engine.count(texts).secret.to_pylist():
        found[int(row["p"])].append(row["w"])
    return found


# -- Totals and answers -------------------------------------------------------------------------------------


def visits_policy(folder: Path, **more: object) -> Policy:
    table = {
        "source": str(folder / "visits.parquet"),
        "person": "who",
        "rows_per_person": 2,
        "columns": {
            "who": {"type": "integer", "role": "identifier"},
            "ward": {"type": "category", "values": ["a", "b", "c"], "nulls": True},
            "cost": {"type": "integer", "low": -5, "high": 9, "nulls": True},
        },
    }
    return Policy.model_validate({"tables": {"visits": table}, "bounding": "weights", **more})


def opened(rows: Visits, folder: Path) -> DuckDB:
    who, ward, cost = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    table = pa.table(
        {
            "who": pa.array(who, pa.int64()),
            "ward": pa.array(ward, pa.string()),
            "cost": pa.array(cost, pa.int64()),
        }
    )
    pq.write_table(table, folder / "visits.parquet")
    return DuckDB(prepare_store(visits_policy(folder), None, random=seeded(7)))


def made(text: str, folder: Path, *, epsilon: int = 1, **more: object) -> QueryPlan:
    return plan_query(text, visits_policy(folder, **more), PROMISE, epsilon=epsilon)


GROUPED = "SELECT ward, COUNT(*) AS n, SUM(cost) AS s, COUNT(cost) AS known FROM visits {} GROUP BY ward"


@settings(max_examples=40)
@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 3),
            st.sampled_from(WARDS),
            st.one_of(st.none(), st.integers(-9, 12)),
        ),
        max_size=40,
    ),
    filtered=st.booleans(),
)
def test_totals_are_those_of_rows_that_weigh(
    tmp_path_factory: pytest.TempPathFactory, rows: Visits, filtered: bool
) -> None:
    folder = tmp_path_factory.mktemp("weighed")
    found = made(GROUPED.format("WHERE cost >= 0" if filtered else ""), folder)
    with opened(rows, folder) as engine:
        table = engine.count(found.statement).secret.to_pylist()
    asked = [row for row in rows if not filtered or (row[2] is not None and row[2] >= 0)]
    persons = Counter(who for who, _, _ in asked)
    sums: dict[str | None, list[int]] = defaultdict(lambda: [0, 0, 0])
    for who, ward, cost in asked:
        weight = min(PARTS, 2 * PARTS // persons[who])
        known = 0 if cost is None else weight
        for place, moved in enumerate((weight, known * max(-5, min(9, cost or 0)), known)):
            sums[ward][place] += moved
    parts = [output.primitive_names for output in found.outputs]
    assert {row["k0"]: [row[name] for (name,) in parts] for row in table} == {w: sums[w] for w in WARDS}


def test_an_answer_counts_every_row_for_its_weight(tmp_path: Path) -> None:
    """Ann's five visits count for two: four for 1.6 in ward a, one for 0.4 in ward b."""
    rows: Visits = [(1, "a", 4)] * 4 + [(1, "b", 8), (2, "b", 2), (2, "c", None)]
    measures = "COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS a"
    text = f"SELECT ward, {measures} FROM visits GROUP BY ward ORDER BY ward"
    found = made(text, tmp_path, epsilon=10_000)
    with opened(rows, tmp_path) as engine:
        released = execute_plan(found, engine, seeded(1), query_released_tables)
        true = compute_true_values(found, engine).columns
    assert released.table["n"].to_pylist() == [2, 1, 1, 0]
    assert released.table["s"].to_pylist()[:2] == pytest.approx([6.4, 5.2], abs=0.2)
    assert released.table["a"].to_pylist()[:2] == pytest.approx([4, 5.2 / 1.4], abs=0.1)
    low, high = released.intervals["n"]
    for wanted, least, most in zip((1.6, 1.4, 1, 0), low, high, strict=True):
        assert least is not None
        assert most is not None
        assert max(0, wanted - 0.1) <= least < most <= wanted + 0.1
    assert true["n"] == {("a",): 2, ("b",): 1, ("c",): 1, (None,): 0}
    assert true["s"][("b",)] == pytest.approx(5.2)
    assert true["a"][("a",)] == 4


@pytest.mark.parametrize(("runs", "missing"), [(120, 0.35), pytest.param(300, 0.2, marks=pytest.mark.night)])
@pytest.mark.parametrize("text", ["COUNT(*)", "SUM(cost)", "AVG(cost)"])
def test_intervals_hold_what_rows_weigh(tmp_path: Path, text: str, runs: int, missing: float) -> None:
    """A false alarm in a thousand million; intervals that miss more often, as is said, would be found."""
    rows: Visits = [(who, "a", who % 9) for who in range(40) for _ in range(1 + who % 7)]
    found = made(f"SELECT {text} AS x FROM visits", tmp_path, epsilon=5)
    random = seeded(3)
    with opened(rows, tmp_path) as engine:
        wanted = weighed(text, rows)
        misses = 0
        for _ in range(runs):
            low, high = execute_plan(found, engine, random, query_released_tables).intervals["x"]
            misses += not (low[0] is not None and high[0] is not None and low[0] <= wanted <= high[0])
    assert binom.sf(misses - 1, runs, 0.05) > 1e-9
    assert binom.sf(binom.isf(1e-9, runs, 0.05), runs, missing) > 0.99


def weighed(text: str, rows: Visits) -> Fraction:
    persons = Counter(who for who, _, _ in rows)
    count = [Fraction(min(PARTS, 2 * PARTS // persons[who]), PARTS) for who, _, _ in rows]
    total = sum((w * (cost or 0) for w, (_, _, cost) in zip(count, rows, strict=True)), Fraction(0))
    return {"COUNT(*)": sum(count), "SUM(cost)": total, "AVG(cost)": total / sum(count)}[text]  # type: ignore[return-value]


def test_the_error_of_a_mean_is_told_in_rows(tmp_path: Path) -> None:
    text = "SELECT AVG(cost) AS a FROM visits"
    told = [
        compute_expected_errors(made(text, tmp_path, bounding=bounding))[0].note.replace(",", "").split()[1]
        for bounding in ("rows", "weights")
    ]
    assert float(told[1]) == pytest.approx(float(told[0]), rel=0.1)


def test_an_error_that_is_asked_for_holds_of_what_is_shown(tmp_path: Path) -> None:
    """What is shown is whole, so it may be half a row further from the end of its interval."""

    def priced(epsilon: Fraction) -> QueryPlan:
        return plan_query(
            "SELECT COUNT(*) AS n FROM visits", visits_policy(tmp_path), PROMISE, epsilon=epsilon
        )

    found = priced(find_least_epsilon(5, priced))
    assert find_error_bound(found, found.outputs[0]) <= 5  # type: ignore[operator]
    with opened([(who, "a", 1) for who in range(9) for _ in range(5)], tmp_path) as engine:
        for _ in range(50):
            release = execute_plan(found, engine, seeded(5), query_released_tables)
            shown, (low, high) = release.table["n"][0].as_py(), release.intervals["n"]
            assert low[0] is not None
            assert high[0] is not None
            assert shown - 5 <= low[0] <= shown + 0.5
            assert shown - 0.5 <= high[0] <= shown + 5


# -- Which questions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", "by weight"),
        ("SELECT STDDEV(cost) AS s FROM visits WHERE ward = 'a'", "by weight"),
        ("SELECT AVG(c) AS a FROM (SELECT cost + 1 AS c FROM visits)", "by weight"),
        ("SELECT COUNT(DISTINCT who) AS n FROM visits", "by rank"),
        ("SELECT MEDIAN(cost) AS m, COUNT(*) AS n FROM visits WHERE cost > 0", "by question"),
        ("SELECT AVG(t) AS a FROM (SELECT who, SUM(cost) AS t FROM visits GROUP BY who)", "by rank"),
        ("SELECT COUNT(*) AS n FROM visits AS v JOIN visits AS w ON v.who = w.who", "by rank"),
    ],
)
def test_what_is_linear_in_rows_weighs_and_rows_are_kept_for_the_rest(
    tmp_path: Path, text: str, rule: str
) -> None:
    assert made(text, tmp_path).bounding.rule == rule


@pytest.mark.parametrize(
    ("text", "high", "most", "rule"),
    [
        ("SUM(cost)", 2**16, 2, "by weight"),
        ("SUM(cost)", 2**16 + 1, 2, "by rank"),
        ("AVG(cost)", 2**16, 2**19, "by rank"),
        ("AVG(cost / 3)", 9, 2, "by rank"),
        ("VARIANCE(cost)", 2**8, 2, "by weight"),
        ("STDDEV(cost), COUNT(*)", 2**8 + 1, 2, "by rank"),
        ("COUNT(cost)", 2**40, 2**34, "by weight"),
        ("COUNT(cost)", 2**40, 2**35, "by rank"),
    ],
)
def test_rows_are_kept_where_parts_of_large_numbers_might_not_fit(
    tmp_path: Path, text: str, high: int, most: int, rule: str
) -> None:
    policy = visits_policy(tmp_path).model_dump(mode="json", exclude_unset=True)
    policy["tables"]["visits"]["rows_per_person"] = most
    policy["tables"]["visits"]["columns"]["cost"] |= {"low": 0, "high": high}
    found = plan_query(f"SELECT {text} FROM visits", Policy.model_validate(policy), PROMISE, epsilon=1)
    assert found.bounding.rule == rule


@pytest.mark.parametrize("high", [2**8, 2**25])
def test_no_variance_is_cut_off_whatever_the_range(tmp_path: Path, high: int) -> None:
    """The squares of 2,000 wide rows, in parts of one, pass 64 bits."""
    terms = visits_policy(tmp_path).model_dump(mode="json", exclude_unset=True)
    terms["tables"]["visits"]["columns"]["cost"] |= {"low": 0, "high": high}
    policy = Policy.model_validate(terms)
    costs = [who % 2 * high // 4 for who in range(2000)]
    opened(list(zip(range(2000), ["a"] * 2000, costs, strict=True)), tmp_path).close()
    found = plan_query("SELECT VAR_POP(cost) AS v FROM visits", policy, PROMISE, epsilon=1)
    with DuckDB(prepare_store(policy, None, random=seeded(7))) as engine:
        assert compute_true_values(found, engine).columns["v"][()] == pytest.approx((high / 8) ** 2)


def test_numbers_at_the_ends_of_64_bits_are_rounded_to_what_is_next_to_them() -> None:
    """Noise may be as wide as that."""
    ends = np.array([2**63 - 1, -(2**63), PARTS // 2, PARTS // 2 - 1, -PARTS // 2, -PARTS // 2 - 1])
    found = ReleasedPrimitive(
        numbers=ends, noise=DiscreteLaplace(epsilon=Fraction(1), sensitivity=1), weight_denominator=PARTS
    )
    assert found.rounded_values.tolist() == [
        round(Fraction(2**63, PARTS)),
        -round(Fraction(2**63, PARTS)),
        0,  # a half goes to the even number
        0,
        0,
        -1,
    ]


def test_undeclared_groups_are_found_among_rows_that_are_kept(tmp_path: Path) -> None:
    text = "SELECT LOWER(ward) AS w, COUNT(*) AS n FROM visits WHERE cost > 0 GROUP BY LOWER(ward)"
    open_ended = visits_policy(tmp_path).model_dump(mode="json", exclude_unset=True)
    del open_ended["tables"]["visits"]["columns"]["ward"]["values"]
    found = plan_query(text, Policy.model_validate(open_ended), TAILED, epsilon=1, leak=1e-6)
    assert found.bounding.rule == "by question"


@pytest.mark.parametrize(
    ("engine", "store", "bounding", "rule"),
    [
        ("duckdb", None, None, "by rank"),
        ("duckdb", None, "weights", "by weight"),
        ("postgresql://reader@host/clinic", None, None, "by weight"),
        ("spark:local", None, None, "by weight"),
        ("spark:local", None, "rows", "by rank"),
        ("postgresql://reader@host/clinic", "prepared", None, "by rank"),
        ("postgresql://reader@host/clinic", "prepared", "weights", "by weight"),
    ],
)
def test_rows_weigh_where_the_policy_says_so_or_nothing_is_prepared(
    tmp_path: Path, engine: str, store: str | None, bounding: str | None, rule: str
) -> None:
    found = made("SELECT COUNT(*) AS n FROM visits", tmp_path, engine=engine, store=store, bounding=bounding)
    assert found.bounding.rule == rule


@pytest.mark.parametrize("engine", ["postgresql://reader@host/clinic", "spark:local"])
def test_tables_that_others_may_write_to_are_read_once(tmp_path: Path, engine: str) -> None:
    """Rows that came between two readings would count with the weight of fewer."""
    found = made(
        "SELECT ward, COUNT(*) AS n FROM visits WHERE cost > 0 GROUP BY ward", tmp_path, engine=engine
    )
    assert found.bounding.rule == "by weight"
    assert found.statement.count('unordered visits"') == 1


# -- Neighbours ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[World]]:
    folder = tmp_path_factory.mktemp("worlds")
    found = [World.of(states, relation, folder) for relation, states in extremes()]
    found += drawn_worlds(range(200, 206), folder)
    found = [replace(each, policy=each.policy.model_copy(update=WEIGHTS)) for each in found]
    yield found
    for each in found:
        each.close()


@pytest.mark.parametrize("tail", [0, TAIL])
@pytest.mark.parametrize("text", LINEAR)
def test_nobody_moves_weighted_totals_by_more_than_is_claimed(
    text: str, tail: float, worlds: list[World]
) -> None:
    for world in worlds:
        found = world.plan(text, tail=tail)
        assert found is not None
        assert found.bounding.rule == "by weight"
        assert not list(Claims(found, world).broken())


def assert_claims_hold(world: World, seed: int, count: int) -> int:
    """How many of some random questions weighed rows."""
    random, weighed = Random(seed), 0
    for _ in range(count):
        found = world.plan(question(random.choice), tail=random.choice((0, TAIL)))
        if found is not None:
            weighed += found.bounding.rule == "by weight"
            assert not list(Claims(found, world).broken())
    return weighed


def test_random_questions_keep_their_claims(worlds: list[World]) -> None:
    assert sum(assert_claims_hold(world, seed, 9) for seed, world in enumerate(worlds)) > 10


@pytest.mark.night
@pytest.mark.parametrize("seed", range(100))
def test_many_random_questions_keep_their_claims(seed: int, tmp_path: Path) -> None:
    (world,) = drawn_worlds(range(3000 + seed, 3001 + seed), tmp_path)
    try:
        assert_claims_hold(replace(world, policy=world.policy.model_copy(update=WEIGHTS)), seed, 30)
    finally:
        world.close()


def test_claims_of_half_the_size_are_found_wrong(worlds: list[World]) -> None:
    for text in LINEAR:
        plans = [(world.plan(text, tail=0), world) for world in worlds]
        assert any(list(Claims(halved(each), world).broken()) for each, world in plans if each), text


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (f"{2 * PARTS} // greatest(1, count(*))", f"{3 * PARTS} // greatest(1, count(*))"),
        (f"{2 * PARTS} // greatest(1, count(*))", f"{PARTS}"),
    ],
    ids=["for three rows", "for all rows"],
)
def test_rows_that_weigh_more_are_found(worlds: list[World], right: str, wrong: str) -> None:
    text = "SELECT kind, COUNT(*) AS n FROM visits GROUP BY kind"
    broken = []
    for world in worlds:
        found = world.plan(text, tail=0)
        assert found is not None
        assert right in found.statement
        twin = replace_statement(found, found.statement.replace(right, wrong))
        broken += list(Claims(found, world, twin=twin).broken())
    assert broken


def test_weights_that_are_rounded_up_are_found(tmp_path: Path) -> None:
    """By thirteen rows, of which two do not make a whole number of parts."""
    text = "SELECT COUNT(*) AS n FROM visits"
    found = plan_query(text, visits_policy(tmp_path), PROMISE, epsilon=1)
    rows: Visits = [(1, "a", 1)] * 13
    right, up = f"{2 * PARTS} // greatest(1, count(*))", f"{ceil(Fraction(2 * PARTS, 13))} // 1"
    with opened(rows, tmp_path) as engine:
        moved = [
            engine.count(statement).secret["p0"][0].as_py()
            for statement in (found.statement, found.statement.replace(right, up))
        ]
    claimed = found.noisy_primitives["p0"].primitive.sensitivity.l1
    assert moved[0] <= claimed < moved[1]
