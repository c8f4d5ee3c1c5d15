"""The width of an error and its kind are the same wherever an answer or its plan is printed."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from discreet.belief.wording import format_number_up
from discreet.http.responses import ResponseFormat, build_answer_response
from discreet.pgwire.curator_backend import format_explain, format_notices
from discreet.rendering.answer_chart import draw_answer_chart
from discreet.services.answers import Answer, format_cell
from discreet.services.curator import Curator
from discreet.services.plans import Plan
from tests.services import patients

BY_AGE = "SELECT age, COUNT(*) AS n FROM patients GROUP BY age"
BY_BOTH = "SELECT age, sex, COUNT(*) AS n FROM patients GROUP BY age, sex"
BY_SEX = "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex"
PER_ROW, ALL_ROWS = "per_row", "all_rows"
MOST_ABOVE = 1.4
SHAPES = {
    BY_SEX: ("n", PER_ROW),
    f"{BY_AGE} ORDER BY n DESC LIMIT 3": ("n", ALL_ROWS),
    f"{BY_AGE} HAVING COUNT(*) > 3": ("n", ALL_ROWS),
    f"{BY_BOTH} QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC) <= 3": ("n", ALL_ROWS),
    f"SELECT SUM(n) AS total FROM ({BY_AGE}) AS t": ("total", PER_ROW),
    f"SELECT sex, 3 * n + 1 AS x FROM ({BY_SEX}) AS t": ("x", PER_ROW),
    f"SELECT sex, n - SUM(n) OVER () AS x FROM ({BY_SEX}) AS t": ("x", PER_ROW),
    f"SELECT sex, 100.0 * n / SUM(n) OVER () AS share FROM ({BY_SEX}) AS t": ("share", PER_ROW),
    f"SELECT MAX(n) AS most FROM ({BY_AGE}) AS t": ("most", ALL_ROWS),
    f"{BY_SEX} UNION ALL SELECT 'all' AS sex, COUNT(*) AS n FROM patients": ("n", PER_ROW),
}


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    with Curator.open(str(patients.write(tmp_path))) as opened:
        yield opened


def find_half_widths(answer: Answer, column: str) -> list[float]:
    """Return the half-width around each value, of the intervals of the answer itself."""
    low, high = answer.intervals[column]
    values = answer.table[column].to_pylist()
    return [
        max(last - value, value - first)
        for value, first, last in zip(values, low, high, strict=True)
        if value is not None and first is not None and last is not None
    ]


@pytest.mark.parametrize("sql", SHAPES)
@pytest.mark.parametrize("is_repeated", [False, True])
def test_every_place_prints_the_width_of_the_answer_and_its_kind(
    curator: Curator, sql: str, is_repeated: bool
) -> None:
    column, kind = SHAPES[sql]
    if is_repeated:
        curator.ask(sql, epsilon=0.5)
    planned, answer = curator.plan(sql, epsilon=0.5), curator.ask(sql, epsilon=0.5)
    assert answer.interval_kind == {column: kind}
    halves = find_half_widths(answer, column)
    assert halves
    require_same_in_plan(planned, column, kind, halves)
    require_same_in_files(answer, column, kind)
    require_same_in_notices(answer, column, kind, halves)
    require_same_in_chart(answer, column, kind)
    for place, value in enumerate(answer.table[column].to_pylist()):
        low, high = (ends[place] for ends in answer.intervals[column])
        if low is not None and high is not None:
            shown = [
                float(each.replace(",", ""))
                for each in format_cell(answer, column, place, value).split(" ± ")
            ]
            assert shown[0] - shown[1] <= low + 1e-9 * abs(low)
            assert shown[0] + shown[1] >= high - 1e-9 * abs(high)
    assert any(("hold together" in note) == (kind == ALL_ROWS) for note in answer.list_notes())


def require_same_in_plan(planned: Plan, column: str, kind: str, halves: list[float]) -> None:
    (expected,) = [each for each in planned.expected_errors if each.name in (column, "count")][-1:]
    assert expected.interval_kind == kind
    assert ("all rows together" in expected.description) == (
        kind == ALL_ROWS and expected.error95 is not None
    )
    assert any(expected.description in line for line in format_explain(planned))
    if expected.error95 is not None:
        # of what the plan cannot tell before the answer, such as numbers of cells, it takes the worst
        assert max(halves) <= expected.error95 * (1 + 1e-9)
        assert expected.error95 <= MOST_ABOVE * max(halves)
    offered = planned.to_json()["offers"][-1]["errors"]  # type: ignore[index]
    assert offered[expected.name] == expected.error95


def require_same_in_files(answer: Answer, column: str, kind: str) -> None:
    said = answer.to_json()
    ends = list(zip(*answer.intervals[column], strict=True))
    assert said["interval_kind"] == {column: kind}
    assert [tuple(each) for each in said["intervals"][column]] == ends  # type: ignore[index]
    for format_, read in (
        (ResponseFormat.ARROW, lambda body: pa.ipc.open_stream(body).read_all()),
        (ResponseFormat.PARQUET, lambda body: pq.read_table(io.BytesIO(body))),
        (ResponseFormat.CSV, lambda body: pacsv.read_csv(io.BytesIO(body))),
    ):
        response = build_answer_response(answer, format_)
        table = read(response.body)  # type: ignore[no-untyped-call]
        found = zip(*(table[f"{column}.{end}"].to_pylist() for end in ("low", "high")), strict=True)
        assert [pytest.approx(pair) for pair in ends] == list(found)
        facts = [json.loads(response.headers["Discreet-Facts"])]
        if format_ is not ResponseFormat.CSV:
            facts.append(json.loads(table.schema.metadata[b"discreet"]))
        assert [each["interval_kind"] for each in facts] == [{column: kind}] * len(facts)


def require_same_in_notices(answer: Answer, column: str, kind: str, halves: list[float]) -> None:
    (told,) = [each for each in format_notices(answer) if each.startswith("error at")]
    widths = re.findall(rf"{column} (± [\d.,e]+(?: to ± [\d.,e]+)?)", told)
    ends = dict.fromkeys((format_number_up(min(halves)), format_number_up(max(halves))))
    assert [each.rstrip(",") for each in widths] == [f"± {' to ± '.join(ends)}"]
    assert ("all rows together" in told) == (kind == ALL_ROWS)


def require_same_in_chart(answer: Answer, column: str, kind: str) -> None:
    drawn: dict[str, Any] = draw_answer_chart(answer).to_dict()
    rows = drawn["layer"][0]["data"]["values"] if "data" in drawn["layer"][0] else drawn["data"]["values"]
    values, low, high = (answer.table[column].to_pylist(), *answer.intervals[column])
    ends = [pair for value, *pair in zip(values, low, high, strict=True) if value is not None]
    assert [[row["low"], row["high"]] for row in rows] == ends[: len(rows)]
    assert ("all rows together" in drawn["title"]["text"]) == (kind == ALL_ROWS)


@pytest.mark.parametrize("sql", [each for each in SHAPES if "share" not in each and "MAX" not in each])
def test_within_is_kept_by_the_answer(curator: Curator, sql: str) -> None:
    column, kind = SHAPES[sql]
    answer = curator.ask(sql, within=40)
    assert answer.interval_kind == {column: kind}
    assert max(find_half_widths(answer, column)) <= 40
