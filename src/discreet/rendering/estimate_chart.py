"""Charts of estimates: bars with error bars."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from discreet.belief.wording import format_percent, format_percent_up
from discreet.core.errors import RequestError
from discreet.local.estimates import MeanEstimate
from discreet.rendering.charts import BLUE, FAINT, INK, apply_style
from discreet.services.collect.estimate import EstimateResult

MAX_BARS = 40


def draw_estimates(found: Sequence[EstimateResult]) -> alt.VConcatChart:
    """Return a chart with one panel per question, stacked."""
    return apply_style(alt.vconcat(*map(_draw_panel, found), spacing=36))


def _draw_panel(found: EstimateResult) -> alt.LayerChart:
    """Return a panel of shares with intervals; only the largest, if there are many."""
    if isinstance(found.estimate, MeanEstimate):
        raise RequestError("A mean is one number: there is nothing to draw.", hint="Leave `plot=` out.")
    value, share = found.row_names
    rows = found.list_rows()
    if len(rows) > MAX_BARS:
        rows = sorted(rows, key=lambda row: -float(row[share]))[:MAX_BARS]
    frame = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y(f"{value}:N", sort=None, title=found.description.column, axis=alt.Axis(labelLimit=240))
    )
    axis = alt.Axis(format="%")
    bars = frame.mark_bar(color=BLUE, opacity=0.75).encode(x=alt.X(f"{share}:Q", title=share, axis=axis))
    errors = frame.mark_rule(color=INK, strokeWidth=1.5).encode(x="low:Q", x2="high:Q")
    prior, posterior = found.belief_bound
    title = alt.Title(
        f"{found.description.column}, from {found.estimate.clients:,} reports",
        subtitle=f"lines: {format_percent(found.confidence)} intervals; what one person sent takes a "
        "belief of "
        f"{format_percent(prior)} to at most {format_percent_up(posterior)}",
        subtitleColor=FAINT,
    )
    return (bars + errors).properties(width=420, title=title)
