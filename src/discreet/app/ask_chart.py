"""Bar chart of an answer, with error bars where the intervals are valid."""

from __future__ import annotations

from textwrap import wrap

import altair as alt
import pyarrow as pa

from discreet.app.answers import Answer
from discreet.app.charts import styled
from discreet.app.colours import BLUE, FAINT, INK
from discreet.belief.wording import format_number
from discreet.core.errors import RequestError
from discreet.engines.duckdb import query_released_tables
from discreet.sql.plan_execution import build_empty_release
from discreet.sql.planner import Plan

MOST_BARS = 40
WIDTH = 420
LINE = 70


def require_drawable(plan: Plan) -> None:
    """Refuse a question whose answer has no numeric measure to draw, before anything is charged."""
    table, noisy = (
        build_empty_release(plan, query_released_tables).table,
        {**plan.column_errors.measures, **plan.column_errors.missing_reasons},
    )
    if not any(_is_number(table[name].type) for name in noisy):
        raise _refuse_picture()


def answer_picture(answer: Answer, *, width: int = WIDTH) -> alt.Chart:
    """Return bars of the first measure over the key columns, with error bars where intervals are valid."""
    numbers = [name for name in answer.measures if _is_number(answer.table[name].type)]
    measured = [name for name in numbers if name in answer.intervals] or numbers
    keys = [name for name in answer.table.column_names if name not in answer.measures]
    if not measured:
        raise _refuse_picture()
    name = measured[0]
    values = answer.table[name].to_pylist()
    low, high = answer.intervals.get(name, ([None] * len(values), [None] * len(values)))
    labels = [" · ".join(_label(row[key]) for key in keys) or "all" for row in answer.table.to_pylist()]
    rows = [
        {"key": label, "value": value, "low": start, "high": end}
        for label, value, start, end in zip(labels, values, low, high, strict=True)
        if value is not None
    ][:MOST_BARS]
    frame = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("key:N", sort=None, title=" · ".join(keys) or None)
    )
    bars = frame.mark_bar(color=BLUE, opacity=0.75).encode(x=alt.X("value:Q", title=name))
    barred = any(row["low"] is not None for row in rows)
    told = f"epsilon {format_number(answer.epsilon)}"
    reason = answer.no_interval.get(name)
    note = alt.Title(
        f"{name}, ± at {answer.confidence:.0%}" if barred else name,
        subtitle=told if reason is None else [told, *wrap(f"No error bar: {reason}.", LINE)],
        subtitleColor=FAINT,
    )
    errors = frame.mark_rule(color=INK, strokeWidth=1.5).encode(x="low:Q", x2="high:Q")
    return styled((bars + errors if barred else alt.layer(bars)).properties(width=width, title=note))


def _refuse_picture() -> RequestError:
    return RequestError(
        "There is no measure to draw.", hint="Select an aggregate directly: SELECT key, COUNT(*) …."
    )


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _label(key: object) -> str:
    return "NULL" if key is None else str(key)
