"""The trade-off as SVG: errors over caps on belief, the promised cap as a line, and a movable point.

The x axis has the log odds of the cap, so that equal steps are equal privacy losses; the y axis is
logarithmic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from discreet.belief.odds import logit
from discreet.belief.wording import format_number, format_percent
from discreet.rendering.svg_charts import (
    BLUE,
    FAINT,
    GRID_LINE,
    INK,
    VERMILLION,
    draw_label,
    draw_line,
    wrap_svg,
)
from discreet.services.tradeoff import Tradeoff, TradeoffPoint

WIDTH, HEIGHT = 380.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 12.0, 24.0, 42.0
CAP_TICKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)
TICK_SPACING = 34.0
MAX_TICKS = 6
POINT_ID_PREFIX = "at"
"""Prefix of the movable point's id in the page."""


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
    path = "".join(
        f"{'L' if place else 'M'}{x:.1f},{y:.1f}"
        for place, (x, y) in enumerate(plot.get_position(each) for each in tradeoff.points)
    )
    x, y = plot.get_position(tradeoff.points[index])
    parts = [
        *_draw_cap_axis(plot),
        *_draw_error_axis(plot),
        *_draw_promised_cap(plot),
        f'<path d="{path}" fill="none" stroke="{BLUE}" stroke-width="2.5"/>',
        f'<circle id="{POINT_ID_PREFIX}-point" cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{VERMILLION}"/>',
    ]
    return wrap_svg(WIDTH, HEIGHT, parts, f"± {tradeoff.unit} by what may be believed at most")


def _get_plotted_error(point: TradeoffPoint) -> float:
    return max(point.error, 0.5)


def _draw_cap_axis(plot: TradeoffPlot) -> Iterator[str]:
    points, free = plot.tradeoff.points, -math.inf
    for cap in CAP_TICKS:
        if points[0].posterior <= cap <= points[-1].posterior and plot.get_x(cap) >= free:
            x, free = plot.get_x(cap), plot.get_x(cap) + TICK_SPACING
            yield draw_line(x, TOP, x, HEIGHT - BOTTOM, {"stroke": GRID_LINE})
            yield draw_label(x, HEIGHT - BOTTOM + 13, format_percent(cap), color=FAINT)
    yield draw_label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "may be believed at most")


def _draw_error_axis(plot: TradeoffPlot) -> Iterator[str]:
    for error in _list_round_numbers(*plot.y_range):
        y = plot.get_y(error)
        yield draw_line(LEFT, y, WIDTH - RIGHT, y, {"stroke": GRID_LINE})
        yield draw_label(LEFT - 8, y, f"± {format_number(error)}", anchor="end", color=FAINT)


def _list_round_numbers(low: float, high: float) -> list[float]:
    """Return round numbers between two bounds, few enough to label."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        found = [factor * 10.0**power for power in powers for factor in factors]
        fitting = [each for each in found if low <= each <= high]
        if len(fitting) <= MAX_TICKS:
            return fitting
    return fitting


def _draw_promised_cap(plot: TradeoffPlot) -> Iterator[str]:
    cap = plot.tradeoff.points[plot.tradeoff.promised_index].posterior
    x = plot.get_x(cap)
    yield draw_line(
        x, TOP, x, HEIGHT - BOTTOM, {"stroke": INK, "stroke-width": 1.2, "stroke-dasharray": "5 3"}
    )
    yield draw_label(
        x, TOP - 11, f"promised: {format_percent(cap)}", anchor="start" if x < WIDTH / 2 else "end"
    )
