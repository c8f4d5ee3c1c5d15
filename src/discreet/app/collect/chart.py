"""Charts of estimates: bars with error bars."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from discreet.app.charts import styled
from discreet.app.collect.estimating import Estimated, rows_of
from discreet.app.colours import BLUE, FAINT, INK
from discreet.belief.wording import format_percent, format_percent_up
from discreet.core.errors import RequestError
from discreet.local.baskets import Supports
from discreet.local.estimates import MeanEstimate

MOST_BARS = 40


def estimate_picture(found: Sequence[Estimated]) -> alt.VConcatChart:
    """Return a chart with one panel per question, stacked."""
    return styled(alt.vconcat(*map(_panel, found), spacing=36))


def _panel(found: Estimated) -> alt.LayerChart:
    """Return a panel of shares with intervals; only the largest, if there are many."""
    if isinstance(found.estimate, MeanEstimate):
        raise RequestError("A mean is one number: there is nothing to draw.", hint="Leave --plot out.")
    told, of = ("support", "item") if isinstance(found.estimate, Supports) else ("share", "value")
    rows = rows_of(found)
    if len(rows) > MOST_BARS:
        rows = sorted(rows, key=lambda row: -float(str(row[told])))[:MOST_BARS]
    frame = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y(f"{of}:N", sort=None, title=found.description.column, axis=alt.Axis(labelLimit=240))
    )
    axis = alt.Axis(format="%")
    bars = frame.mark_bar(color=BLUE, opacity=0.75).encode(x=alt.X(f"{told}:Q", title=told, axis=axis))
    errors = frame.mark_rule(color=INK, strokeWidth=1.5).encode(x="low:Q", x2="high:Q")
    prior, posterior = found.reached
    title = alt.Title(
        f"{found.description.column}, from {found.estimate.clients:,} reports",
        subtitle=f"lines: {format_percent(found.confidence)} intervals; what one person sent takes a "
        "belief of "
        f"{format_percent(prior)} to at most {format_percent_up(posterior)}",
        subtitleColor=FAINT,
    )
    return (bars + errors).properties(width=420, title=title)
