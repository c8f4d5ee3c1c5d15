"""The shape of an answer follows from its plan: columns, types and intervals are those of every answer."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from discreet.core.engine import Engine
from discreet.core.randomness import Randomness
from discreet.engines.released_queries import query_released_tables
from discreet.sql.plan_execution import build_empty_release, execute_plan
from discreet.sql.planner import plan_query
from tests.sql.example import LEAK, POLICY, TAILED

ANSWERED = (Path(__file__).parent / "answered.sql").read_text().strip().split("\n\n")


@pytest.mark.parametrize("sql", ANSWERED)
def test_an_answer_has_the_shape_that_its_plan_foretells(example_engine: Engine, sql: str) -> None:
    made = plan_query(sql, POLICY, TAILED, epsilon=1, leak=LEAK)
    told, given = (
        build_empty_release(made, query_released_tables),
        execute_plan(made, example_engine, Randomness(), query_released_tables),
    )
    assert told.table.num_rows == 0
    assert told.table.column_names == given.table.column_names
    assert [_kind(each.type) for each in told.table.schema] == [_kind(e.type) for e in given.table.schema]
    assert set(told.intervals) == set(given.intervals)


def _kind(kind: pa.DataType) -> str:
    """Whole numbers are one kind, however many bits an engine gives them."""
    return "integer" if pa.types.is_integer(kind) else str(kind)
