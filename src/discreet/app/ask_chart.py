"""An answer as a picture: bars with error bars."""

from __future__ import annotations

import altair as alt

from discreet.app.answers import Answer
from discreet.app.charts import styled
from discreet.app.colours import BLUE, FAINT, INK
from discreet.belief.wording import number
from discreet.core.errors import RequestError

MOST_BARS = 40
WIDTH = 420


def answer_picture(answer: Answer, *, width: int = WIDTH) -> alt.Chart:
    """Bars with error bars: the first measure over the columns that are none."""
    measured = [name for name in answer.table.column_names if name in answer.intervals]
    keys = [name for name in answer.table.column_names if name not in answer.intervals]
    if not measured:
        raise RequestError(
            "There is no measure to draw.", hint="Select one as it is: SELECT key, COUNT(*) …."
        )
    name = measured[0]
    low, high = answer.intervals[name]
    values = answer.table[name].to_pylist()
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
    errors = frame.mark_rule(color=INK, strokeWidth=1.5).encode(x="low:Q", x2="high:Q")
    note = alt.Title(
        f"{name}, ± at {answer.confidence:.0%}",
        subtitle=f"epsilon {number(answer.epsilon)}",
        subtitleColor=FAINT,
    )
    return styled((bars + errors).properties(width=width, title=note))


def _label(key: object) -> str:
    return "NULL" if key is None else str(key)
