"""Line charts of attack curves over thresholds, sizes or shares, several in one chart."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt

from discreet.attacks.findings import Points
from discreet.rendering.altair_charts import apply_style, chart_to_svg
from discreet.rendering.colors import BLUE, FAINT, GRID_LINE, VERMILLION

CHART_WIDTH = 480
COLOURS = (BLUE, VERMILLION, FAINT)
EXPECTED_PREFIX = "expected "


def draw_line_chart(curves: Mapping[str, Points], *, axis_title: str, is_share: bool) -> str:
    """Return the chart as SVG: measured curves solid, expected ones dashed in the same color."""
    values = [
        {"what": what, "at": at, "share": each} for what, points in curves.items() for at, each in points
    ]
    names = list(curves)
    legend = alt.Legend(title=None, orient="top", columns=2, labelLimit=300) if len(names) > 1 else None
    dashes = [[4, 3] if name.startswith(EXPECTED_PREFIX) else [1, 0] for name in names]
    plain = [name.removeprefix(EXPECTED_PREFIX) for name in names]
    colours = [COLOURS[sorted(set(plain), key=plain.index).index(each)] for each in plain]
    shares = alt.Axis(format="%", gridColor=GRID_LINE, domain=False, ticks=False, tickCount=5)
    unit = alt.Scale(domain=[0, 1])
    across = alt.Axis(format="~%" if is_share else "~s", grid=False, tickCount=6, labelOverlap=True)
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X(
                "at:Q",
                title=axis_title,
                axis=across,
                scale=unit if is_share else alt.Scale(type="log", nice=False),
            ),
            y=alt.Y("share:Q", title=names[0] if len(names) == 1 else "share", axis=shares, scale=unit),
            color=alt.Color("what:N", scale=alt.Scale(domain=names, range=colours), legend=legend),
            strokeDash=alt.StrokeDash("what:N", scale=alt.Scale(domain=names, range=dashes), legend=legend),
        )
        .properties(width=CHART_WIDTH, height=180)
    )
    return chart_to_svg(apply_style(chart))
