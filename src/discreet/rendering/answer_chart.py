"""Chart of an answer: bars with error bars where the intervals are valid, or true and false as points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap

import altair as alt
import pyarrow as pa

from discreet.belief.wording import format_number
from discreet.core.errors import RequestError
from discreet.rendering.charts import BLUE, FAINT, INK, apply_style
from discreet.services.answers import Answer, build_empty_answer, describe_interval_kind
from discreet.sql.planner import QueryPlan

MAX_BARS = 40
WIDTH = 420
SUBTITLE_LENGTH = 70


def require_drawable(plan: QueryPlan) -> None:
    """Refuse a question whose answer has no measure that can be drawn, before anything is charged."""
    table = build_empty_answer(plan).table
    noisy = {**plan.column_errors.interval_kinds, **plan.column_errors.missing_reasons}
    kinds = [table[name].type for name in noisy if name in table.column_names]
    if not any(_is_numeric(kind) or pa.types.is_boolean(kind) for kind in kinds):
        raise _build_no_measure_error()


def draw_answer_chart(answer: Answer, *, width: int = WIDTH) -> alt.Chart:
    """Return bars of the first measure over the key columns, with error bars where intervals are valid."""
    numbers = [name for name in answer.measures if _is_numeric(answer.table[name].type)]
    measured = [name for name in numbers if name in answer.intervals] or numbers
    keys = [name for name in answer.table.column_names if name not in answer.measures]
    if not measured:
        return _draw_decisions(answer, keys, width)
    name = measured[0]
    values = answer.table[name].to_pylist()
    low, high = answer.intervals.get(name, ([None] * len(values), [None] * len(values)))
    rows = [
        {"key": label, "value": value, "low": start, "high": end}
        for label, value, start, end in zip(_label_rows(answer, keys), values, low, high, strict=True)
        if value is not None
    ][:MAX_BARS]
    frame = _build_frame(rows, keys)
    bars = frame.mark_bar(color=BLUE, opacity=0.75).encode(x=alt.X("value:Q", title=name))
    barred = any(row["low"] is not None for row in rows)
    told = f"epsilon {format_number(answer.epsilon)}"
    reason = answer.no_interval.get(name)
    note = alt.Title(
        f"{name}, ± at {answer.confidence:.0%}{describe_interval_kind(answer, name)}" if barred else name,
        subtitle=told if reason is None else [told, *wrap(f"No error bar: {reason}.", SUBTITLE_LENGTH)],
        subtitleColor=FAINT,
    )
    errors = frame.mark_rule(color=INK, strokeWidth=1.5).encode(x="low:Q", x2="high:Q")
    return apply_style((bars + errors if barred else alt.layer(bars)).properties(width=width, title=note))


def _draw_decisions(answer: Answer, keys: list[str], width: int) -> alt.Chart:
    """Return points of the first measure that is true or false; one that cannot be told is unknown."""
    name = next((each for each in answer.measures if pa.types.is_boolean(answer.table[each].type)), None)
    if name is None:
        raise _build_no_measure_error()
    words = {True: "true", False: "false", None: "unknown"}
    rows = [
        {"key": label, "value": words[value]}
        for label, value in zip(_label_rows(answer, keys), answer.table[name].to_pylist(), strict=True)
    ][:MAX_BARS]
    found = answer.rank_errors.get(name)
    told = [] if found is None else wrap(f"At {answer.confidence:.0%}, {found.description}.", SUBTITLE_LENGTH)
    title = alt.Title(name, subtitle=[f"epsilon {format_number(answer.epsilon)}", *told], subtitleColor=FAINT)
    across = alt.X(
        "value:N", title=None, scale=alt.Scale(domain=list(words.values())), axis=alt.Axis(labelAngle=0)
    )
    points = _build_frame(rows, keys).mark_point(color=BLUE, filled=True, size=120, opacity=1)
    return apply_style(points.encode(x=across).properties(width=width, title=title))


def _label_rows(answer: Answer, keys: list[str]) -> list[str]:
    return [" · ".join(_format_key(row[key]) for key in keys) or "all" for row in answer.table.to_pylist()]


def _build_frame(rows: Sequence[Mapping[str, object]], keys: list[str]) -> alt.Chart:
    return alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("key:N", sort=None, title=" · ".join(keys) or None)
    )


def _build_no_measure_error() -> RequestError:
    return RequestError(
        "There is no measure to draw: a chart shows numbers, or what is true or false.",
        hint="Select an aggregate directly: SELECT key, COUNT(*) ….",
    )


def _is_numeric(arrow_type: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type) or pa.types.is_decimal(arrow_type)
    )


def _format_key(key: object) -> str:
    return "NULL" if key is None else str(key)
