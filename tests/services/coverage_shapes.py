"""Shapes of statements whose printed intervals are compared with the truth, over two small made-up tables.

`people` has one row a person, `visits` at most three; every value is within its bounds, so that bounding and
clamping change nothing and the truth is what DuckDB computes from the rows.

Selected    statements have a second text: the same without the selection, whose rows are found by their keys.
Follow-ups  begin with a statement, and what is asked next depends on its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import pyarrow as pa

from discreet.core.policy import Policy
from discreet.services.answers import Answer

CITIES = tuple(f"city {letter}" for letter in "abcdefghijkl")
CLINICS = ("north", "south", "east", "west")
FIRST_DAY, DAYS = date(2024, 1, 1), 91
PEOPLE = 2_000
PEOPLE_COLUMNS = {
    "city": {"type": "category", "values": list(CITIES), "nulls": False},
    "sex": {"type": "category", "values": ["m", "f"], "nulls": False},
    "age": {"type": "integer", "low": 18, "high": 80, "nulls": False},
    "spend": {"type": "integer", "low": 0, "high": 20, "nulls": False},
    "day": {"type": "date", "low": "2024-01-01", "high": "2024-03-31", "nulls": False},
}
VISITS_COLUMNS = {
    "patient": {"type": "integer", "role": "identifier"},
    "clinic": {"type": "category", "values": list(CLINICS), "nulls": False},
    "cost": {"type": "integer", "low": 0, "high": 50, "nulls": False},
}


def make_policy(folder: str) -> Policy:
    """Return the policy of the tables, with room for any number of answers."""
    people = {"source": f"{folder}/people.parquet", "columns": PEOPLE_COLUMNS}
    visits = {"source": f"{folder}/visits.parquet", "columns": VISITS_COLUMNS}
    return Policy.model_validate(
        {
            "promise": {"prior": 1e-9, "posterior": 1 - 1e-9},
            "ledger": ":memory:",
            "tables": {"people": people, "visits": {**visits, "person": "patient", "rows_per_person": 3}},
        }
    )


def make_tables() -> dict[str, pa.Table]:
    """Return the rows; groups are of nearly the same size, so that noise decides which are the largest."""
    random = np.random.default_rng(7)
    rows = np.arange(PEOPLE)
    people = {
        "city": np.array(CITIES)[rows % 12],
        "sex": np.array(["m", "f"])[random.integers(0, 2, PEOPLE)],
        "age": 18 + rows % 63,
        "spend": random.integers(0, 21, PEOPLE),
        "day": [FIRST_DAY + timedelta(days=int(day)) for day in rows % DAYS],
    }
    patients = np.repeat(np.arange(400), 1 + np.arange(400) % 3)
    visits = {
        "patient": patients,
        "clinic": np.array(CLINICS)[random.integers(0, 4, patients.size)],
        "cost": random.integers(0, 51, patients.size),
    }
    return {"people": pa.table(people), "visits": pa.table(visits)}


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A statement, its truth and its keys; `then` makes the next statement from the answer to `sql`.

    `truth` is a statement over the rows that has every group, or makes one from the last statement.
    """

    name: str
    sql: str
    keys: tuple[str, ...] = ()
    truth: str = ""
    then: Callable[[Answer], str] | None = None
    epsilons: tuple[float, float] = (1.0, 1.0)


def _plain(name: str, sql: str, *keys: str) -> Shape:
    return Shape(name=name, sql=sql, keys=keys)


def _selected(name: str, sql: str, truth: str, *keys: str) -> Shape:
    return Shape(name=name, sql=sql, truth=truth, keys=keys)


def _repeated(name: str, sql: str, *keys: str) -> Shape:
    """Return a statement that is asked again for little more, so that a mean is shown."""
    return Shape(name=name, sql=sql, keys=keys, then=lambda _: sql, epsilons=(0.1, 0.12))


BY_CITY = "SELECT city, COUNT(*) AS n FROM people GROUP BY city"
BY_AGE = "SELECT age, COUNT(*) AS n FROM people GROUP BY age"
BY_DAY = "SELECT day, COUNT(*) AS n FROM people GROUP BY day"
BY_MONTH = "SELECT date_trunc('month', day) AS month, COUNT(*) AS n FROM people GROUP BY 1"
BY_CITY_SEX = "SELECT city, sex, COUNT(*) AS n FROM people GROUP BY city, sex"
MEANS = "SELECT city, AVG(spend) AS a FROM people GROUP BY city"
WOMEN = "SELECT city, COUNT(*) AS n FROM people WHERE sex = 'f' GROUP BY city"
MEN = "SELECT city, COUNT(*) AS n FROM people WHERE sex = 'm' GROUP BY city"
RICH = "COUNT(*) FILTER (WHERE spend > 10)"
OLDER = "SUM(CASE WHEN age > 40 THEN 1 ELSE 0 END)"
DIFFERENCE = f"SELECT a.city, a.n - b.n AS d FROM ({WOMEN}) AS a JOIN ({MEN}) AS b ON a.city = b.city"
PERCENT = f"SELECT city, 100.0 * n / SUM(n) OVER () AS p FROM ({BY_CITY}) AS t"
BY_KEY = "CASE WHEN sex = 'f' THEN COUNT(*) ELSE 2 * COUNT(*) END"
THREE = "COUNT(*) AS n, SUM(spend) AS s, AVG(spend) AS a"

PLAIN = (
    _plain("count", "SELECT COUNT(*) AS n FROM people"),
    _plain("count by city", BY_CITY, "city"),
    _plain("count by city and sex", BY_CITY_SEX, "city", "sex"),
    _plain("count by day", BY_DAY, "day"),
    _plain("count where", "SELECT COUNT(*) AS n FROM people WHERE age > 40 AND sex = 'f'"),
    _plain("count filter", f"SELECT city, {RICH} AS n FROM people GROUP BY city", "city"),
    _plain("sum", "SELECT SUM(spend) AS s FROM people"),
    _plain("sum by city", "SELECT city, SUM(spend) AS s FROM people GROUP BY city", "city"),
    _plain("sum of case", f"SELECT sex, {OLDER} AS n FROM people GROUP BY sex", "sex"),
    _plain("mean", "SELECT AVG(spend) AS a FROM people"),
    _plain("mean by sex", "SELECT sex, AVG(age) AS a FROM people GROUP BY sex", "sex"),
    _plain("mean by city", MEANS, "city"),
    _plain("three measures", f"SELECT sex, {THREE} FROM people GROUP BY sex", "sex"),
    _plain("sum beside mean", "SELECT SUM(spend) AS s, AVG(spend) AS a FROM people"),
    _plain("variance", "SELECT VARIANCE(spend) AS v FROM people"),
    _plain("standard deviation", "SELECT sex, STDDEV(spend) AS d FROM people GROUP BY sex", "sex"),
    _plain("visits by clinic", "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic", "clinic"),
    _plain("cost of visits", "SELECT SUM(cost) AS s FROM visits"),
    _plain("mean cost by clinic", "SELECT clinic, AVG(cost) AS a FROM visits GROUP BY clinic", "clinic"),
    _plain("patients", "SELECT COUNT(DISTINCT patient) AS n FROM visits"),
    _plain("first cities by name", f"{BY_CITY} ORDER BY city LIMIT 3", "city"),
    _plain("relabelled", f"SELECT v.city AS place, v.n AS people FROM ({BY_CITY}) AS v", "place"),
)  # fmt: skip

SELECTED = (
    _selected("top 3", f"{BY_DAY} ORDER BY n DESC LIMIT 3", BY_DAY, "day"),
    _selected("bottom 3", f"{BY_DAY} ORDER BY n LIMIT 3", BY_DAY, "day"),
    _selected("second page", f"{BY_DAY} ORDER BY n DESC LIMIT 3 OFFSET 3", BY_DAY, "day"),
    _selected("having", f"{BY_AGE} HAVING COUNT(*) > 36", BY_AGE, "age"),
    _selected("having a mean", f"{MEANS} HAVING AVG(spend) > 11", MEANS, "city"),
    _selected("where over an answer", f"SELECT age, n FROM ({BY_AGE}) AS t WHERE n > 36", BY_AGE, "age"),
    _selected("qualify", f"{BY_DAY} QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) <= 3", BY_DAY, "day"),
    _selected("qualify a rank", f"{BY_AGE} QUALIFY RANK() OVER (ORDER BY COUNT(*)) <= 2", BY_AGE, "age"),
    _selected("top means", f"{MEANS} ORDER BY a DESC LIMIT 2", MEANS, "city"),
    _selected(
        "selected by another measure",
        "SELECT city, COUNT(*) AS n, SUM(spend) AS s FROM people GROUP BY city ORDER BY s DESC LIMIT 2",
        "SELECT city, COUNT(*) AS n, SUM(spend) AS s FROM people GROUP BY city",
        "city",
    ),
    _selected("top percentages", f"{PERCENT} ORDER BY p DESC LIMIT 3", PERCENT, "city"),
    _selected("joined and selected", f"{DIFFERENCE} WHERE a.n > b.n", DIFFERENCE, "city"),
    _plain("largest group", f"SELECT MAX(n) AS most FROM ({BY_DAY}) AS t"),
    _plain("smallest group", f"SELECT MIN(n) AS least FROM ({BY_DAY}) AS t"),
    _plain(
        "largest of each group", f"SELECT sex, MAX(n) AS most FROM ({BY_CITY_SEX}) AS t GROUP BY sex", "sex"
    ),
)

WINDOWED = (
    _plain("running total", f"SELECT day, SUM(n) OVER (ORDER BY day) AS total FROM ({BY_DAY}) AS t", "day"),
    _plain("change", f"SELECT day, n - LAG(n) OVER (ORDER BY day) AS change FROM ({BY_DAY}) AS t", "day"),
    _plain(
        "moving average",
        "SELECT day, AVG(n) OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS a "
        f"FROM ({BY_DAY}) AS t",
        "day",
    ),
    _plain(
        "change over two",
        f"SELECT month, n - LAG(n, 2) OVER (ORDER BY month) AS d FROM ({BY_MONTH}) AS t",
        "month",
    ),
    _plain("deviation from the mean", f"SELECT city, n - AVG(n) OVER () AS d FROM ({BY_CITY}) AS t", "city"),
    _plain("percent of total", PERCENT, "city"),
    _plain("rounded percentage", f"SELECT city, ROUND(p, 1) AS p FROM ({PERCENT}) AS u", "city"),
    _plain(
        "running share",
        f"SELECT city, 1.0 * SUM(n) OVER (ORDER BY city) / SUM(n) OVER () AS r FROM ({BY_CITY}) AS t",
        "city",
    ),
    _plain(
        "percent within",
        f"SELECT city, sex, 100.0 * n / SUM(n) OVER (PARTITION BY sex) AS p FROM ({BY_CITY_SEX}) AS t",
        "city",
        "sex",
    ),
    _plain(
        "percent in one SELECT",
        "SELECT city, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS p FROM people GROUP BY city",
        "city",
    ),
)

RATIOS = (
    _plain("sum by count", "SELECT city, 1.0 * SUM(spend) / COUNT(*) AS a FROM people GROUP BY city", "city"),
    _plain("share", f"SELECT sex, 1.0 * {RICH} / COUNT(*) AS r FROM people GROUP BY sex", "sex"),
    _plain(
        "share of a scalar subquery",
        "SELECT city, 100.0 * COUNT(*) / (SELECT COUNT(*) FROM people) AS p FROM people GROUP BY city",
        "city",
    ),
    _plain(
        "month over month",
        f"SELECT month, 1.0 * n / LAG(n) OVER (ORDER BY month) AS r FROM ({BY_MONTH}) AS t",
        "month",
    ),
    _plain(
        "relative change",
        "SELECT month, 100.0 * (n - LAG(n) OVER (ORDER BY month)) / LAG(n) OVER (ORDER BY month) AS p "
        f"FROM ({BY_MONTH}) AS t",
        "month",
    ),
)

ROLLED_UP = (
    _plain(
        "pivot by case",
        "SELECT city, SUM(CASE WHEN sex = 'f' THEN n ELSE 0 END) AS f "
        f"FROM ({BY_CITY_SEX}) AS t GROUP BY city",
        "city",
    ),
    _plain(
        "pivot by filter",
        f"SELECT city, SUM(n) FILTER (WHERE sex = 'f') AS f FROM ({BY_CITY_SEX}) AS t GROUP BY city",
        "city",
    ),
    _plain("total of an answer", f"SELECT SUM(n) AS n FROM ({BY_CITY_SEX}) AS t"),
    _plain("coarser by sex", f"SELECT sex, SUM(n) AS n FROM ({BY_CITY_SEX}) AS t GROUP BY sex", "sex"),
    _plain("mean of groups", f"SELECT AVG(n) AS a FROM ({BY_CITY}) AS t"),
    _plain(
        "rollup", "SELECT sex, city, COUNT(*) AS n FROM people GROUP BY ROLLUP (sex, city)", "sex", "city"
    ),
    _plain("cube", "SELECT sex, city, COUNT(*) AS n FROM people GROUP BY CUBE (sex, city)", "sex", "city"),
    _plain(
        "grouping sets",
        "SELECT sex, city, COUNT(*) AS n FROM people GROUP BY GROUPING SETS ((sex), (city), ())",
        "sex",
        "city",
    ),
)

COMBINED = (
    _plain(
        "union",
        "SELECT 'f' AS who, COUNT(*) AS n FROM people WHERE sex = 'f' "
        "UNION ALL SELECT 'm' AS who, COUNT(*) AS n FROM people WHERE sex = 'm'",
        "who",
    ),
    _plain(
        "union of groups",
        f"SELECT 'f' AS who, city, n FROM ({WOMEN}) AS a "
        f"UNION ALL SELECT 'm' AS who, city, n FROM ({MEN}) AS b",
        "who",
        "city",
    ),
    _plain("difference of joined answers", DIFFERENCE, "city"),
    _plain(
        "ratio of joined answers",
        f"SELECT a.city, 1.0 * a.n / b.n AS r FROM ({WOMEN}) AS a JOIN ({MEN}) AS b ON a.city = b.city",
        "city",
    ),
    _plain(
        "difference of scalar subqueries",
        "SELECT (SELECT COUNT(*) FROM people WHERE sex = 'f') "
        "- (SELECT COUNT(*) FROM people WHERE sex = 'm') AS d",
    ),
)

FUNCTIONS = (
    _plain("square root", f"SELECT city, SQRT(n) AS r FROM ({BY_CITY}) AS t", "city"),
    _plain("logarithm", f"SELECT city, LN(n) AS l FROM ({BY_CITY}) AS t", "city"),
    _plain("logarithm of a ratio", f"SELECT LN(1.0 * {RICH} / COUNT(*)) AS l FROM people"),
    _plain("case over an aggregate", f"SELECT sex, {BY_KEY} AS x FROM people GROUP BY sex", "sex"),
    _plain("linear", f"SELECT city, 2 * n + 1 AS x FROM ({BY_CITY}) AS t", "city"),
    _plain("two measures", f"SELECT city, COUNT(*) - 2 * {RICH} AS x FROM people GROUP BY city", "city"),
)


def _get_top(answer: Answer, key: str, column: str = "n", *, least: bool = False) -> object:
    rows: Sequence[dict[str, float]] = answer.to_arrow().to_pylist()
    return (min if least else max)(rows, key=lambda row: row[column])[key]


def _count_top_city(answer: Answer) -> str:
    return f"SELECT COUNT(*) AS n FROM people WHERE city = '{_get_top(answer, 'city')}'"


def _count_top_days(answer: Answer) -> str:
    rows = sorted(answer.to_arrow().to_pylist(), key=lambda row: -row["n"])[:3]
    days = ", ".join(f"DATE '{row['day']}'" for row in rows)
    return f"SELECT day, COUNT(*) AS n FROM people WHERE day IN ({days}) GROUP BY day"


FOLLOW_UPS = (
    Shape(
        name="the same at more epsilon",
        sql=BY_CITY,
        keys=("city",),
        then=lambda _: BY_CITY,
        epsilons=(0.5, 1.0),
    ),
    _repeated("the mean of two measurements", BY_CITY, "city"),
    _repeated("a total of means", f"SELECT SUM(n) AS n FROM ({BY_CITY_SEX}) AS t"),
    _repeated("an average of means", "SELECT sex, AVG(spend) AS a FROM people GROUP BY sex", "sex"),
    Shape(
        name="the top of means",
        sql=f"{BY_DAY} ORDER BY n DESC LIMIT 3",
        truth=BY_DAY,
        keys=("day",),
        then=lambda _: f"{BY_DAY} ORDER BY n DESC LIMIT 3",
        epsilons=(0.1, 0.12),
    ),
    Shape(name="the top city", sql=BY_CITY, then=_count_top_city),
    Shape(
        name="the top day",
        sql=BY_DAY,
        then=lambda answer: f"SELECT COUNT(*) AS n FROM people WHERE day = DATE '{_get_top(answer, 'day')}'",
    ),
    Shape(
        name="the top row of its group by",
        sql=BY_DAY,
        keys=("day",),
        then=lambda answer: (
            f"SELECT day, n FROM ({BY_DAY}) AS t WHERE day = DATE '{_get_top(answer, 'day')}'"
        ),
    ),
    Shape(name="the top three days", sql=BY_DAY, keys=("day",), then=_count_top_days),
    Shape(
        name="having a day",
        sql=BY_DAY,
        keys=("day",),
        then=lambda answer: f"{BY_DAY} HAVING day = DATE '{_get_top(answer, 'day')}'",
    ),
    Shape(
        name="the least age",
        sql=BY_AGE,
        then=lambda answer: (
            f"SELECT SUM(spend) AS s FROM people WHERE age = {_get_top(answer, 'age', least=True)}"
        ),
    ),
    Shape(
        name="the top city by sex",
        sql=BY_CITY,
        keys=("sex",),
        then=lambda answer: (
            f"SELECT sex, COUNT(*) AS n FROM people WHERE city = '{_get_top(answer, 'city')}' GROUP BY sex"
        ),
    ),
    Shape(
        name="more epsilon where it looks large",
        sql=BY_CITY,
        keys=("city",),
        then=lambda answer: (
            BY_CITY if max(answer.to_arrow()["n"].to_pylist()) > 172 else f"{BY_CITY} ORDER BY city"
        ),
        epsilons=(0.5, 0.5),
    ),
    Shape(
        name="rolled up where it looks large",
        sql=BY_CITY_SEX,
        then=lambda answer: (
            f"SELECT SUM(n) AS n FROM ({BY_CITY_SEX}) AS t WHERE city = '{_get_top(answer, 'city')}'"
        ),
    ),
)  # fmt: skip

SHAPES = (*PLAIN, *SELECTED, *WINDOWED, *RATIOS, *ROLLED_UP, *COMBINED, *FUNCTIONS, *FOLLOW_UPS)
