"""SmartNoise-SQL over its own data-frame reader: add/remove neighbours.

Its GROUP BY takes the keys from the data. Handed exact numbers, though, it draws noise for each row that it
is given: so declared classes are all there, and the same rows many times over are as many answers at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
from snsql import Privacy, from_connection

from benchmarks.peers import task

OPTIONS = {"clamp_counts": False, "clamp_columns": True}


def speed(visits: str) -> None:
    frame = pq.read_table(visits).to_pandas()
    frame["spend"] = frame["spend"].astype(float)
    spend = {"type": "float", "lower": task.SPEND[0], "upper": task.SPEND[1]}
    columns = {"user_id": {"type": "int", "private_id": True}, "city": {"type": "string"}, "spend": spend}
    person = {"row_privacy": False, "max_ids": task.MOST_ROWS, "sample_max_ids": True, "censor_dims": True}
    described = _described("visits", {**person, **OPTIONS, **columns})
    privacy = Privacy(epsilon=0.25, delta=task.LEAK)
    reader = from_connection(frame, privacy=privacy, metadata=described)
    question = "SELECT city, COUNT(*) AS n, SUM(spend) AS s, AVG(spend) AS a FROM main.visits GROUP BY city"
    task.timed(lambda: reader.execute(question))


def utility(census: str) -> None:
    frame = pq.read_table(census, columns=["workclass", "age", "hours_per_week"]).to_pandas()
    frame["workclass"] = frame["workclass"].astype(str)
    task.repeated(_questions(frame))


def _questions(frame: pd.DataFrame) -> Iterator[tuple[str, task.Answer]]:
    measures = {
        "count": "COUNT(*) AS x",
        "sum": "SUM(hours_per_week) AS x",
        "avg": "AVG(hours_per_week) AS x",
    }
    three = "COUNT(hours_per_week) AS n, SUM(hours_per_week) AS s, AVG(hours_per_week) AS a"
    for name, measure in measures.items():
        yield name, _answers(frame, f"SELECT {measure} FROM main.census", task.EPSILON, places=1)
        yield f"{name} by class", _answers(frame, _by_class(measure), task.EPSILON, len(task.CLASSES))
    yield "three by class", _answers(frame, _by_class(three), task.EPSILON, len(task.CLASSES))


def _by_class(measures: str) -> str:
    return f"SELECT workclass, {measures} FROM main.census GROUP BY workclass"


def _answers(frame: pd.DataFrame, question: str, epsilon: float, places: int) -> task.Answer:
    """One answer at a time, from a store of them that one call fills."""
    drawn = iter(_drawn(frame, question, epsilon, places))
    return lambda: next(drawn)


def _drawn(frame: pd.DataFrame, question: str, epsilon: float, places: int) -> list[list[float]]:
    """All answers; what the measures of the question cost together is epsilon."""
    wide = _reader(frame, 1.0).get_privacy_cost(question)[0]
    reader = _reader(frame, epsilon / float(wide))
    header, *rows = reader.reader._execute_ast(reader._rewrite(question)[0])
    if places > 1:
        known = {row[list(header).index("workclass")]: row for row in rows}
        rows = [
            known.get(name, [name if each == "workclass" else 0 for each in header]) for name in task.CLASSES
        ]
    released = reader.execute(question, pre_aggregated=[header, *(rows * task.REPEATS)])[1:]
    numbers = [
        [math.nan if x is None else float(x) for x in row if not isinstance(x, str)] for row in released
    ]
    each = [numbers[i : i + places] for i in range(0, len(numbers), places)]
    return [[row[column] for column in range(len(one[0])) for row in one] for one in each]


def audit() -> None:
    """COUNT with and without one person, and AVG with and without the only one."""
    five = pd.DataFrame({"workclass": ["Private"] * 5, "age": 40, "hours_per_week": 99})
    count, mean = (f"SELECT {each} AS x FROM main.census" for each in ("COUNT(*)", "AVG(hours_per_week)"))
    asked, fewer = (_answers(five.head(n), count, task.AUDITED, places=1) for n in (5, 4))
    title = "COUNT(*) is 5 or more, with 5 rows and with 4"
    task.audited(title, "count", lambda: asked()[0] >= 5, lambda: fewer()[0] >= 5)
    one, none = (_answers(five.head(n), mean, task.AUDITED, places=1) for n in (1, 0))
    title = "AVG is above 50, with 1 row of 99 and with none"
    task.audited(title, "avg", lambda: one()[0] > 50, lambda: none()[0] > 50)


def _reader(frame: pd.DataFrame, epsilon: float) -> Any:
    columns = {
        "workclass": {"type": "string"},
        "age": {"type": "int", "lower": task.AGES[0], "upper": task.AGES[1]},
        "hours_per_week": {"type": "int", "lower": task.HOURS[0], "upper": task.HOURS[1]},
    }
    described = _described("census", {"row_privacy": True, "censor_dims": False, **OPTIONS, **columns})
    return from_connection(frame, privacy=Privacy(epsilon=epsilon, delta=0.0), metadata=described)


def _described(table: str, columns: dict[str, Any]) -> dict[str, Any]:
    return {"": {"main": {table: columns}}}


if __name__ == "__main__":
    task.main(speed=speed, utility=utility, audit=audit)
