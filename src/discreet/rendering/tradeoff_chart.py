"""The trade-off as SVG: errors over caps on belief, the promised cap as a line, and a movable point.

The x axis has the log odds of the cap, so that equal steps are equal privacy losses; the y axis is
logarithmic. The margins are fixed, so that the place of every point is known: the page's script moves the
point there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import altair as alt

from discreet.belief.odds import logit
from discreet.belief.wording import format_percent
from discreet.rendering.charts import BLUE, GRID_LINE, INK, VERMILLION, apply_style, chart_to_svg
from discreet.services.tradeoff import Tradeoff, TradeoffPoint

WIDTH, HEIGHT = 380.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 12.0, 24.0, 42.0
CAP_TICKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)
MAX_TICKS = 6
POINT_ID = "at-point"
"""The id of the movable point in the page."""


@dataclass(frozen=True, kw_only=True)
class TradeoffPlot:
    """Maps points of a trade-off to coordinates."""

    tradeoff: Tradeoff

    def get_x(self, cap: float) -> float:
        caps = [each.posterior for each in self.tradeoff.points]
        low, high = logit(caps[0]), logit(caps[-1])
        return LEFT + (WIDTH - LEFT - RIGHT) * (logit(cap) - low) / (high - low)

    def get_y(self, error: float) -> float:
        low, high = self.y_range
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - math.log(error / low) / math.log(high / low))

    @property
    def y_range(self) -> tuple[float, float]:
        """The range of the y axis: the errors with a margin; an error of 0 is drawn as half a unit."""
        errors = [_get_plotted_error(each) for each in self.tradeoff.points]
        return min(errors) / 1.25, max(errors) * 1.25

    def get_position(self, point: TradeoffPoint) -> tuple[float, float]:
        return self.get_x(point.posterior), self.get_y(_get_plotted_error(point))


def draw_tradeoff(tradeoff: Tradeoff, index: int) -> str:
    """Return the curve with the movable point at one of its points."""
    plot = TradeoffPlot(tradeoff=tradeoff)
    chart = apply_style(alt.layer(*_draw_promised_cap(plot), _draw_curve(plot))).properties(
        width=WIDTH - LEFT - RIGHT,
        height=HEIGHT - TOP - BOTTOM,
        padding={"left": LEFT, "right": RIGHT, "top": TOP, "bottom": BOTTOM},
        autosize="none",
    )
    svg = chart_to_svg(chart, f"± {tradeoff.unit} by the highest belief that is allowed")
    x, y = plot.get_position(tradeoff.points[index])
    point = f'<circle id="{POINT_ID}" cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{VERMILLION}"/>'
    return f"{svg.removesuffix('</svg>')}{point}</svg>"


def _get_plotted_error(point: TradeoffPoint) -> float:
    return max(point.error, 0.5)


def _draw_curve(plot: TradeoffPlot) -> alt.Chart:
    points = plot.tradeoff.points
    values = [{"odds": logit(each.posterior), "error": _get_plotted_error(each)} for each in points]
    cap_axis = alt.Axis(
        values=[logit(cap) for cap in CAP_TICKS if points[0].posterior <= cap <= points[-1].posterior],
        labelExpr="format(1 / (1 + exp(-datum.value)), '~%')",
        labelOverlap="greedy",
        gridColor=GRID_LINE,
        domain=False,
        ticks=False,
    )
    error_axis = alt.Axis(
        values=_list_round_numbers(*plot.y_range),
        labelExpr="'± ' + format(datum.value, ',~f')",
        gridColor=GRID_LINE,
        domain=False,
        ticks=False,
    )
    return (
        alt.Chart(alt.Data(values=values))
        .mark_line(color=BLUE, strokeWidth=2.5)
        .encode(
            x=alt.X(
                "odds:Q",
                title="may be believed at most",
                axis=cap_axis,
                scale=alt.Scale(domain=[values[0]["odds"], values[-1]["odds"]], nice=False),
            ),
            y=alt.Y(
                "error:Q",
                title=None,
                axis=error_axis,
                scale=alt.Scale(type="log", domain=plot.y_range, nice=False),
            ),
        )
    )


def _list_round_numbers(low: float, high: float) -> list[float]:
    """Return round numbers between two bounds, few enough to label."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        found = [factor * 10.0**power for power in powers for factor in factors]
        fitting = [each for each in found if low <= each <= high]
        if len(fitting) <= MAX_TICKS:
            return fitting
    return fitting


def _draw_promised_cap(plot: TradeoffPlot) -> tuple[alt.Chart, alt.Chart]:
    cap = plot.tradeoff.points[plot.tradeoff.promised_index].posterior
    frame = alt.Chart(alt.Data(values=[{"odds": logit(cap)}])).encode(x="odds:Q")
    label = frame.mark_text(
        text=f"promised: {format_percent(cap)}",
        color=INK,
        align="left" if plot.get_x(cap) < WIDTH / 2 else "right",
        baseline="bottom",
    )
    return frame.mark_rule(color=INK, strokeDash=[5, 3], strokeWidth=1.2), label.encode(y=alt.value(-6))
