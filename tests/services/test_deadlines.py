"""When answers leave: by text and policy alone, and late enough for how the engine has to count."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.core.policy import Policy
from discreet.services.serving.query_timeouts import Deadlines
from discreet.sql.planner import plan_query
from tests.sql.example import PROMISE

QUESTION = "SELECT COUNT(*) AS n FROM visits"
FILTERED = "SELECT COUNT(*) AS n FROM visits WHERE cost > 1"


PEOPLE: dict[str, Any] = {"person": "who", "rows_per_person": 2}


def seconds(text: str, people: dict[str, Any] = PEOPLE, **more: Any) -> float:
    columns = {"who": {"role": "identifier"}, "cost": {"type": "integer", "low": 0, "high": 9}}
    table = {"source": "visits.parquet", "columns": columns, **people}
    policy = Policy.model_validate({"tables": {"visits": table}, **more})
    return Deadlines(policy=policy).compute_fixed_time(plan_query(text, policy, PROMISE, epsilon=1))


def test_more_declared_rows_leave_later_by_doubling() -> None:
    times = [seconds(QUESTION, {"rows": rows}) for rows in (1_000, 10_000_000, 40_000_000)]
    assert times == sorted(set(times))
    assert all(time in {0.25 * 2**power for power in range(12)} for time in times)


@pytest.mark.parametrize(
    ("text", "more"),
    [(FILTERED, {}), (QUESTION, {"bounding": "weights"})],
    ids=["by question", "by weight"],
)
def test_people_that_a_question_bounds_itself_take_longer_than_by_rank(
    text: str, more: dict[str, Any]
) -> None:
    assert seconds(text, **more) >= 4 * seconds(QUESTION)


@pytest.mark.parametrize("engine", ["postgresql://reader@host/clinic", "spark:local"])
def test_rows_in_place_take_longer_than_prepared_ones(engine: str) -> None:
    assert seconds(QUESTION, engine=engine) > seconds(QUESTION, engine=engine, store="prepared")
