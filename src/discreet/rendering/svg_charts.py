"""Bar charts and step charts as SVG text, for reports.

Written by hand because a report has many of them and Altair takes a second to load. Each has one axis of
shares. Everything shown is also there as text: row names, the value of each bar, the position of each step.

The colors, also of other charts, are the palette of Okabe & Ito, which people with any color vision can
distinguish; whatever a color shows is also given as text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from discreet.belief.wording import format_percent

WIDTH, MARGIN, GAP = 480, 8, 8
LETTER_WIDTH = 6.0  # about as wide as a letter of the text
MAX_LABEL_WIDTH = 330
SHARE_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
MAX_MARKED_POINTS = 16
SIZE_UNITS = ((1_000_000, "M"), (1000, "k"))
Points = Sequence[tuple[float, float]]
VERMILLION, BLUE, GRAY, INK, FAINT, GRID_LINE = (
    "#D55E00",
    "#0072B2",
    "#C9CED6",
    "#1F2933",
    "#7B8794",
    "#EEF1F4",
)


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A share, the label at its end, and the interval it may lie in."""

    share: float
    color: str
    label: str = ""
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class BarRow:
    """A row name and its bars, one below the other."""

    name: str
    bars: tuple[Bar, ...]


def draw_bars(
    rows: Sequence[BarRow],
    *,
    title: str,
    bar_height: float,
    axis_end: float = 1.0,
    cap: float | None = None,
    legend: Mapping[str, str] | None = None,
    width: float = WIDTH,
) -> str:
    """Return rows of bars from 0 to `axis_end`; `cap` is a vertical line, `legend` names colors."""
    left = min(MAX_LABEL_WIDTH, LETTER_WIDTH * max(len(row.name) for row in rows)) + MARGIN + GAP
    top = 24.0 if legend else MARGIN
    heights = [bar_height * len(row.bars) + GAP for row in rows]
    bottom = top + sum(heights)
    axis = _LinearAxis(start=left, length=width, end=axis_end)
    parts, said = [*_draw_legend(legend or {}, left), *_draw_axis(axis, top, bottom, title)], []
    y = top
    for row, height in zip(rows, heights, strict=True):
        said.append(draw_label(left - GAP, y + height / 2, row.name, anchor="end"))
        for place, bar in enumerate(row.bars):
            at = y + GAP / 2 + place * bar_height
            parts += _draw_bar(bar, axis, at, bar_height)
            said += _draw_bar_label(bar, axis, at + bar_height / 2)
        y += height
    if cap is not None:
        across = {"stroke": INK, "stroke-width": 1.5, "stroke-dasharray": "5 3"}
        parts.append(draw_line(axis.get_x(cap), top, axis.get_x(cap), bottom, across))
    room = LETTER_WIDTH * max(len(bar.label) for row in rows for bar in row.bars)
    return wrap_svg(left + width + MARGIN + max(room, 3 * LETTER_WIDTH), bottom + 38, [*parts, *said], title)


def draw_steps(curves: Sequence[tuple[str, Points]], *, x_title: str, title: str, height: float) -> str:
    """Return step curves of shares over sizes on a log axis; a curve is a color and points by rising size."""
    left, top = 52.0, float(MARGIN)
    sizes = sorted({size for _, points in curves for size, _ in points if size > 0}) or [1.0]
    across = _LogAxis(start=left, length=WIDTH, min_size=sizes[0], max_size=max(sizes[-1], sizes[0] + 1))
    parts = []
    for share in SHARE_TICKS:
        y = top + height * (1 - share)
        parts.append(draw_line(left, y, left + WIDTH, y, {"stroke": GRID_LINE}))
        parts.append(draw_label(left - GAP, y, format_percent(share), anchor="end", color=FAINT))
    parts += [draw_label(x, top + height + 14, said, color=FAINT) for x, said in across.list_ticks(sizes)]
    parts.append(draw_label(left + WIDTH / 2, top + height + 32, x_title))
    for colour, points in curves:
        placed = [(across.get_x(size), top + height * (1 - share)) for size, share in points if size > 0]
        parts += _draw_step_line(placed, colour)
    middle = top + height / 2
    turned = f' transform="rotate(-90 12 {middle:.1f})"'
    parts.append(draw_label(12, middle, title, extra_attributes=turned))
    return wrap_svg(left + WIDTH + 3 * LETTER_WIDTH, top + height + 44, parts, f"{title} by {x_title}")


@dataclass(frozen=True, kw_only=True)
class _LinearAxis:
    """Linear axis: maps a share to its x coordinate."""

    start: float
    length: float
    end: float

    def get_x(self, share: float) -> float:
        return self.start + self.length * min(share / self.end, 1.0)

    def list_ticks(self) -> list[float]:
        """Return a few round shares up to the end."""
        rough = self.end / 5
        unit = 10 ** math.floor(math.log10(rough))
        step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough * (1 - 1e-9))
        return [place * step for place in range(int(self.end / step * (1 + 1e-9)) + 1)]


@dataclass(frozen=True, kw_only=True)
class _LogAxis:
    """Logarithmic axis: maps a size to its x coordinate."""

    start: float
    length: float
    min_size: float
    max_size: float

    def get_x(self, size: float) -> float:
        return self.start + self.length * math.log(size / self.min_size) / math.log(
            self.max_size / self.min_size
        )

    def list_ticks(self, sizes: Sequence[float]) -> Iterator[tuple[float, str]]:
        """Yield the sizes that occur if few, else round ones; skip those whose labels would overlap."""
        free = -math.inf
        for size in sizes if len(sizes) <= MAX_MARKED_POINTS else self._list_round_sizes():
            said = _format_size(size)
            half = LETTER_WIDTH * len(said) / 2
            if self.get_x(size) - half >= free:
                yield self.get_x(size), said
                free = self.get_x(size) + half + GAP

    def _list_round_sizes(self) -> list[float]:
        powers = range(math.floor(math.log10(self.min_size)), math.ceil(math.log10(self.max_size)) + 1)
        rounded = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
        return [size for size in rounded if self.min_size <= size <= self.max_size]


def _format_size(size: float) -> str:
    """Return a size in a few characters.

    >>> _format_size(20), _format_size(1500), _format_size(100_000)
    ('20', '1.5k', '100k')
    """
    unit, letter = next(((unit, letter) for unit, letter in SIZE_UNITS if size >= unit), (1, ""))
    return f"{size / unit:.3g}{letter}"


def _draw_axis(axis: _LinearAxis, top: float, bottom: float, title: str) -> Iterator[str]:
    for share in axis.list_ticks():
        yield draw_line(axis.get_x(share), top, axis.get_x(share), bottom, {"stroke": GRID_LINE})
        yield draw_label(axis.get_x(share), bottom + 12, format_percent(share), color=FAINT)
    yield draw_label(axis.start + axis.length / 2, bottom + 28, title)


def _draw_bar(bar: Bar, axis: _LinearAxis, y: float, bar_height: float) -> Iterator[str]:
    size = f'width="{axis.get_x(bar.share) - axis.start:.1f}" height="{bar_height - 1:.1f}"'
    yield f'<rect x="{axis.start:.1f}" y="{y:.1f}" {size} rx="1.5" fill="{bar.color}"/>'
    if bar.interval is not None:
        low, high = (axis.get_x(share) for share in bar.interval)
        yield draw_line(
            low, y + bar_height / 2, high, y + bar_height / 2, {"stroke": FAINT, "stroke-width": 2}
        )


def _draw_bar_label(bar: Bar, axis: _LinearAxis, middle: float) -> Iterator[str]:
    """Yield the label at the end of a bar or of its interval."""
    end = bar.share if bar.interval is None else bar.interval[1]
    if bar.label:
        yield draw_label(axis.get_x(end) + 4, middle, bar.label, anchor="start")


def _draw_step_line(points: Sequence[tuple[float, float]], color: str) -> Iterator[str]:
    """Yield a step line that is constant up to the next point, and the points if they are few."""
    path = "".join(
        f"{'M' if place == 0 else 'H'}{x:.1f}{f',{y:.1f}' if place == 0 else f'V{y:.1f}'}"
        for place, (x, y) in enumerate(points)
    )
    yield f'<path d="{path}" fill="none" stroke="{color}" stroke-width="2"/>'
    for x, y in points if len(points) <= MAX_MARKED_POINTS else ():
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{color}"/>'


def _draw_legend(colors: Mapping[str, str], left: float) -> Iterator[str]:
    for name, colour in colors.items():
        yield f'<rect x="{left:.1f}" y="4" width="10" height="10" fill="{colour}"/>'
        yield draw_label(left + 14, 9, name, anchor="start")
        left += 14 + LETTER_WIDTH * len(name) + 2 * GAP


def draw_line(x1: float, y1: float, x2: float, y2: float, style: Mapping[str, object]) -> str:
    look = "".join(f' {name}="{value}"' for name, value in style.items())
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"{look}/>'


def draw_label(
    x: float, y: float, text: str, *, anchor: str = "middle", color: str = INK, extra_attributes: str = ""
) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" dy=".35em" text-anchor="{anchor}" fill="{color}"'
    return f"<text {place}{extra_attributes}>{escape(text)}</text>"


def wrap_svg(width: float, height: float, parts: Sequence[str], title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" font-family="DejaVu Sans, Helvetica, Arial, '
        f'sans-serif" font-size="10"><title>{escape(title)}</title>{"".join(parts)}</svg>'
    )
