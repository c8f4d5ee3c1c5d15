"""Measurements have one identity however a query is spelled, and different ones for different quantities."""

from __future__ import annotations

import random

import pytest

from discreet.belief import Promise
from discreet.core.policy import Policy
from discreet.sql.planner import plan_query

POLICY = Policy.model_validate(
    {
        "promise": {"prior": "1%", "posterior": "20%"},
        "tables": {
            "people": {
                "source": "people.csv",
                "columns": {
                    "sex": {"type": "category", "values": ["m", "f"]},
                    "ward": {"type": "category", "values": ["a", "b", "c"]},
                    "age": {"type": "integer", "low": 0, "high": 100},
                    "day": {"type": "date", "low": "2024-01-01", "high": "2024-12-31"},
                },
            },
            "visits": {
                "source": "visits.csv",
                "person": "patient",
                "rows_per_person": 5,
                "columns": {
                    "patient": {"type": "integer", "role": "identifier"},
                    "cost": {"type": "integer", "low": 0, "high": 50},
                    "kind": {"type": "category", "values": ["x", "y"]},
                },
            },
        },
    }
)


def identify(sql: str) -> set[str]:
    core = plan_query(sql, POLICY, Promise(0.01, 0.2), epsilon=1).core
    return {each.text for each in core.identities.values()}


COUNT = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
FILTERED = "SELECT COUNT(*) FROM people WHERE age > 20 AND ward = 'a'"
PAIRS = "FROM visits AS v JOIN visits AS w ON v.patient = w.patient"
EACH = "(SELECT patient, COUNT(*) AS n FROM visits WHERE kind = '{kind}' GROUP BY patient)"
BOTH = f"FROM {EACH.format(kind='x')} AS v JOIN {EACH.format(kind='y')} AS w ON v.patient = w.patient"
ONE = "(SELECT patient, 1 AS one FROM visits WHERE kind = '{kind}')"
SIDES = f"FROM {ONE.format(kind='x')} AS v LEFT JOIN {ONE.format(kind='y')} AS w ON v.patient = w.patient"
TOTALS = "SELECT COUNT(*) FROM (SELECT patient, SUM(cost) AS c FROM visits GROUP BY patient) WHERE c > 10"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (COUNT, f"{COUNT} LIMIT 1"),
        (COUNT, f"{COUNT} ORDER BY n DESC, sex"),
        (COUNT, f"{COUNT} HAVING COUNT(*) > 10"),
        (COUNT, "SELECT COUNT(*), p.sex AS s FROM people AS p GROUP BY 2"),
        (COUNT, "SELECT sex, COUNT(1) / 2 AS half FROM people GROUP BY ALL"),
        (COUNT, "SELECT sex, COUNT(*) FROM (SELECT age, sex FROM people) AS q GROUP BY sex"),
        (COUNT, "WITH q AS (SELECT sex AS s FROM people) SELECT s, COUNT(*) FROM q GROUP BY s"),
        (COUNT, f"SELECT SUM(n) FROM ({COUNT})"),
        (FILTERED, "SELECT COUNT(*) FROM people WHERE ward = 'a' AND age > 20"),
        (FILTERED, "SELECT COUNT(*) FROM people WHERE 'a' = ward AND 20 < age"),
        (FILTERED, "SELECT COUNT(*) FROM people WHERE ward IN ('a') AND NOT age <= 20"),
        (FILTERED, "SELECT COUNT(*) FROM (SELECT * FROM people WHERE age > 20) WHERE ward = 'a'"),
        (
            "SELECT COUNT(*) FROM people WHERE age BETWEEN 20 AND 30",
            "SELECT COUNT(*) FROM people WHERE age >= 20 AND age <= 30",
        ),
        (
            "SELECT COUNT(*) FROM people WHERE ward = 'a' OR ward = 'b'",
            "SELECT COUNT(*) FROM people WHERE ward IN ('b', 'a', 'b')",
        ),
        (
            "SELECT sex, ward, COUNT(*) FROM people GROUP BY sex, ward",
            "SELECT ward, sex, COUNT(*) FROM people GROUP BY ward, sex",
        ),
        (
            f"SELECT COUNT(*) {PAIRS} WHERE v.cost > w.cost",
            "SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient = b.patient WHERE b.cost < a.cost",
        ),
        (TOTALS, TOTALS.replace("AS c", "AS total").replace("c >", "total >")),
        (TOTALS, TOTALS.replace("SUM(cost) AS c", "MAX(cost) AS m, SUM(cost) AS c")),
    ],
)
def test_spellings_of_one_quantity_have_one_identity(one: str, other: str) -> None:
    assert identify(one) == identify(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (COUNT, "SELECT ward, COUNT(*) FROM people GROUP BY ward"),
        (COUNT, "SELECT COUNT(*) FROM people"),
        (COUNT, "SELECT kind, COUNT(*) FROM visits GROUP BY kind"),
        (COUNT, "SELECT sex, COUNT(*) FROM people WHERE age > 3 GROUP BY sex"),
        (FILTERED, "SELECT COUNT(*) FROM people WHERE age > 20 OR ward = 'a'"),
        (FILTERED, "SELECT COUNT(*) FROM people WHERE age >= 20 AND ward = 'a'"),
        (FILTERED, "SELECT COUNT(*) FROM people WHERE age < 20 AND ward = 'a'"),
        (FILTERED, "SELECT COUNT(*) FROM people WHERE age > 20 AND ward = 'b'"),
        (FILTERED, "SELECT COUNT(*) FROM people WHERE age > 20 AND ward <> 'a'"),
        ("SELECT SUM(age) FROM people", "SELECT SUM(age * age) FROM people"),
        ("SELECT SUM(age) FROM people", "SELECT SUM(LEAST(age, 50)) FROM people"),
        ("SELECT SUM(age) FROM people", "SELECT SUM(age) FILTER (WHERE sex = 'm') FROM people"),
        ("SELECT SUM(age - 1) FROM people", "SELECT SUM(1 - age) FROM people"),
        ("SELECT MEDIAN(age) FROM people", "SELECT MIN(age) FROM people"),
        (
            "SELECT COUNT(DISTINCT patient) FROM visits",
            "SELECT COUNT(DISTINCT cost) FROM visits",
        ),
        (
            f"SELECT COUNT(*) {PAIRS} WHERE v.cost > 3",
            f"SELECT COUNT(*) {PAIRS} WHERE w.cost > 3",
        ),
        (f"SELECT COUNT(*) {BOTH} WHERE v.n > 2", f"SELECT COUNT(*) {BOTH} WHERE w.n > 2"),
        (f"SELECT COUNT(v.one) {SIDES}", f"SELECT COUNT(w.one) {SIDES}"),
        (TOTALS, TOTALS.replace("SUM(cost)", "MAX(cost)")),
        (TOTALS, TOTALS.replace("c > 10", "c > 11")),
        (
            "SELECT COUNT(*) FROM people WHERE ward = 'a' AND (age > 20 OR sex = 'f')",
            "SELECT COUNT(*) FROM people WHERE (ward = 'a' AND age > 20) OR sex = 'f'",
        ),
        (
            "SELECT COUNT(*) FROM people WHERE age * 0.1 = 3.3",
            "SELECT COUNT(*) FROM people WHERE age * 1e-1 = 3.3",
        ),
        (
            "SELECT COUNT(*) FROM people WHERE age * 0.1 = 3.3",
            "SELECT COUNT(*) FROM people WHERE age * 0.1 = 33e-1",
        ),
        (
            "SELECT age * 0.1 AS k, COUNT(*) FROM people GROUP BY k",
            "SELECT age * 1e-1 AS k, COUNT(*) FROM people GROUP BY k",
        ),
        ("SELECT COUNT(*) FROM people WHERE age / 1 = 3", "SELECT COUNT(*) FROM people WHERE age / 1e0 = 3"),
        (
            "SELECT COUNT(DISTINCT CAST(age * 1 AS VARCHAR)) FROM people",
            "SELECT COUNT(DISTINCT CAST(age * 1e0 AS VARCHAR)) FROM people",
        ),
        (
            "SELECT COUNT(*) FROM people WHERE age * 0.1 IN (3.3, 5e-1)",
            "SELECT COUNT(*) FROM people WHERE age * 0.1 = 3.3 OR age * 0.1 = 5e-1",
        ),
        (
            "SELECT COUNT(*) FROM people WHERE age * 0.1 BETWEEN 3.3 AND 5e-1",
            "SELECT COUNT(*) FROM people WHERE age * 0.1 >= 3.3 AND age * 0.1 <= 5e-1",
        ),
        (
            "SELECT COUNT(*) FROM people WHERE day < DATE '2024-03-01'",
            "SELECT COUNT(*) FROM people WHERE day < DATE '2024-03-02'",
        ),
    ],
)
def test_different_quantities_have_different_identities(one: str, other: str) -> None:
    assert identify(one).isdisjoint(identify(other))


def test_keys_that_are_one_quantity_in_other_words_are_told_apart() -> None:
    twice = "SELECT age > 20 AS x, 20 < age AS y, COUNT(*) FROM people GROUP BY x, y"
    found = plan_query(twice, POLICY, Promise(0.01, 0.2), epsilon=1).core.identity.key_identities
    assert len({*found.values()}) == 2


def test_measures_of_one_statement_share_what_they_have_in_common() -> None:
    count, both = identify(COUNT), identify("SELECT sex, COUNT(*), AVG(age) FROM people GROUP BY sex")
    nulls = {"SELECT sex, COUNT(*), AVG(age) FROM people WHERE age IS NOT NULL GROUP BY sex"}
    assert count < both
    assert all(count.isdisjoint(identify(each)) for each in nulls)


def test_a_condition_in_any_order_has_one_identity() -> None:
    draws = random.Random(5)
    atoms = ["age > 3", "ward = 'a'", "sex <> 'f'", "day >= DATE '2024-02-01'", "age < 90"]

    def write(depth: int, seed: random.Random) -> tuple[str, list[object]]:
        if depth == 0:
            atom = seed.choice(atoms)
            return atom, [atom]
        word = seed.choice([" AND ", " OR "])
        return word, [write(depth - 1, seed)[1] for _ in range(3)] + [word]

    def render(node: list[object], order: random.Random) -> str:
        if len(node) == 1:
            return str(node[0])
        *parts, word = node
        texts = [render(part, order) for part in parts if isinstance(part, list)]
        order.shuffle(texts)
        return f"({str(word).join(texts)})"

    for _ in range(40):
        _, tree = write(2, draws)
        one, other = (f"SELECT COUNT(*) FROM people WHERE {render(tree, draws)}" for _ in range(2))
        assert identify(one) == identify(other), (one, other)
