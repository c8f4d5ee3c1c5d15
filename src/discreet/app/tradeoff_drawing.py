"""The trade-off as SVG: errors over caps on belief, the promised cap as a line, and a movable point.

The x axis has the log odds of the cap, so that equal steps are equal privacy losses; the y axis is
logarithmic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from discreet.app.colours import BLUE, FAINT, INK, RULED, SUSPECTED
from discreet.app.drawings import framed, label, line
from discreet.app.tradeoff import Point, Tradeoff
from discreet.belief.odds import logit
from discreet.belief.wording import format_number, format_percent

WIDTH, HEIGHT = 380.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 12.0, 24.0, 42.0
SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)
ROOM = 34.0
MOST_TICKS = 6
AT = "at"
"""Prefix of the movable point's id in the page."""


@dataclass(frozen=True, kw_only=True)
class Plot:
    """Maps points of a trade-off to coordinates."""

    found: Tradeoff

    def x(self, cap: float) -> float:
        caps = [each.posterior for each in self.found.points]
        low, high = logit(caps[0]), logit(caps[-1])
        return LEFT + (WIDTH - LEFT - RIGHT) * (logit(cap) - low) / (high - low)

    def y(self, error: float) -> float:
        low, high = self.ends
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - math.log(error / low) / math.log(high / low))

    @property
    def ends(self) -> tuple[float, float]:
        """The range of the y axis: the errors with a margin; an error of 0 is drawn as half a unit."""
        errors = [_drawn(each) for each in self.found.points]
        return min(errors) / 1.25, max(errors) * 1.25

    def place(self, point: Point) -> tuple[float, float]:
        return self.x(point.posterior), self.y(_drawn(point))


def tradeoff_picture(found: Tradeoff, at: int) -> str:
    """Return the curve with the movable point at one of its points."""
    plot = Plot(found=found)
    path = "".join(
        f"{'L' if place else 'M'}{x:.1f},{y:.1f}"
        for place, (x, y) in enumerate(plot.place(each) for each in found.points)
    )
    x, y = plot.place(found.points[at])
    parts = [
        *_caps(plot),
        *_errors(plot),
        *_promised(plot),
        f'<path d="{path}" fill="none" stroke="{BLUE}" stroke-width="2.5"/>',
        f'<circle id="{AT}-point" cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{SUSPECTED}"/>',
    ]
    return framed(WIDTH, HEIGHT, parts, f"± {found.unit} by what may be believed at most")


def _drawn(point: Point) -> float:
    return max(point.error, 0.5)


def _caps(plot: Plot) -> Iterator[str]:
    points, free = plot.found.points, -math.inf
    for cap in SHARES:
        if points[0].posterior <= cap <= points[-1].posterior and plot.x(cap) >= free:
            x, free = plot.x(cap), plot.x(cap) + ROOM
            yield line(x, TOP, x, HEIGHT - BOTTOM, {"stroke": RULED})
            yield label(x, HEIGHT - BOTTOM + 13, format_percent(cap), colour=FAINT)
    yield label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "may be believed at most")


def _errors(plot: Plot) -> Iterator[str]:
    for error in _round(*plot.ends):
        y = plot.y(error)
        yield line(LEFT, y, WIDTH - RIGHT, y, {"stroke": RULED})
        yield label(LEFT - 8, y, f"± {format_number(error)}", anchor="end", colour=FAINT)


def _round(low: float, high: float) -> list[float]:
    """Return round numbers between two bounds, few enough to label."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        found = [factor * 10.0**power for power in powers for factor in factors]
        fitting = [each for each in found if low <= each <= high]
        if len(fitting) <= MOST_TICKS:
            return fitting
    return fitting


def _promised(plot: Plot) -> Iterator[str]:
    cap = plot.found.points[plot.found.own].posterior
    x = plot.x(cap)
    yield line(x, TOP, x, HEIGHT - BOTTOM, {"stroke": INK, "stroke-width": 1.2, "stroke-dasharray": "5 3"})
    yield label(x, TOP - 11, f"promised: {format_percent(cap)}", anchor="start" if x < WIDTH / 2 else "end")
