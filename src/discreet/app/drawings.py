"""Bar charts and step charts as SVG text, for reports.

Written by hand because a report has many of them and Altair takes a second to load. Each has one axis of
shares. Everything shown is also there as text: row names, the value of each bar, the position of each step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from discreet.app.colours import FAINT, INK, RULED
from discreet.belief.wording import format_percent

WIDTH, MARGIN, GAP = 480, 8, 8
LETTER = 6.0  # about as wide as a letter of the text
WIDEST_LABEL = 330
FRACTIONS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
FEW = 16
THOUSANDS = ((1_000_000, "M"), (1000, "k"))


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A share, the label at its end, and the interval it may lie in."""

    share: float
    colour: str
    said: str = ""
    reach: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class BarRow:
    """A row name and its bars, one below the other."""

    name: str
    bars: tuple[Bar, ...]


def bars(
    rows: Sequence[BarRow],
    *,
    title: str,
    thick: float,
    end: float = 1.0,
    cap: float | None = None,
    legend: Mapping[str, str] | None = None,
    width: float = WIDTH,
) -> str:
    """Return rows of bars over an axis from 0 to `end`; `cap` is a vertical line, `legend` names colors."""
    left = min(WIDEST_LABEL, LETTER * max(len(row.name) for row in rows)) + MARGIN + GAP
    top = 24.0 if legend else MARGIN
    heights = [thick * len(row.bars) + GAP for row in rows]
    bottom = top + sum(heights)
    axis = _Axis(start=left, length=width, end=end)
    parts, said = [*_legend(legend or {}, left), *_ruled(axis, top, bottom, title)], []
    y = top
    for row, height in zip(rows, heights, strict=True):
        said.append(label(left - GAP, y + height / 2, row.name, anchor="end"))
        for place, bar in enumerate(row.bars):
            at = y + GAP / 2 + place * thick
            parts += _bar(bar, axis, at, thick)
            said += _said(bar, axis, at + thick / 2)
        y += height
    if cap is not None:
        across = {"stroke": INK, "stroke-width": 1.5, "stroke-dasharray": "5 3"}
        parts.append(line(axis.at(cap), top, axis.at(cap), bottom, across))
    room = LETTER * max(len(bar.said) for row in rows for bar in row.bars)
    return framed(left + width + MARGIN + max(room, 3 * LETTER), bottom + 38, [*parts, *said], title)


Points = Sequence[tuple[float, float]]


def steps(curves: Sequence[tuple[str, Points]], *, over: str, title: str, height: float) -> str:
    """Return step curves of shares over sizes on a log axis; a curve is a color and points by rising size."""
    left, top = 52.0, float(MARGIN)
    sizes = sorted({size for _, points in curves for size, _ in points if size > 0}) or [1.0]
    across = _Sizes(start=left, length=WIDTH, least=sizes[0], most=max(sizes[-1], sizes[0] + 1))
    parts = []
    for share in FRACTIONS:
        y = top + height * (1 - share)
        parts.append(line(left, y, left + WIDTH, y, {"stroke": RULED}))
        parts.append(label(left - GAP, y, format_percent(share), anchor="end", colour=FAINT))
    parts += [label(x, top + height + 14, said, colour=FAINT) for x, said in across.ticks(sizes)]
    parts.append(label(left + WIDTH / 2, top + height + 32, over))
    for colour, points in curves:
        placed = [(across.at(size), top + height * (1 - share)) for size, share in points if size > 0]
        parts += _steps(placed, colour)
    middle = top + height / 2
    turned = f' transform="rotate(-90 12 {middle:.1f})"'
    parts.append(label(12, middle, title, more=turned))
    return framed(left + WIDTH + 3 * LETTER, top + height + 44, parts, f"{title} by {over}")


@dataclass(frozen=True, kw_only=True)
class _Axis:
    """Linear axis: maps a share to its x coordinate."""

    start: float
    length: float
    end: float

    def at(self, share: float) -> float:
        return self.start + self.length * min(share / self.end, 1.0)

    def ticks(self) -> list[float]:
        """Return a few round shares up to the end."""
        rough = self.end / 5
        unit = 10 ** math.floor(math.log10(rough))
        step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough * (1 - 1e-9))
        return [place * step for place in range(int(self.end / step * (1 + 1e-9)) + 1)]


@dataclass(frozen=True, kw_only=True)
class _Sizes:
    """Logarithmic axis: maps a size to its x coordinate."""

    start: float
    length: float
    least: float
    most: float

    def at(self, size: float) -> float:
        return self.start + self.length * math.log(size / self.least) / math.log(self.most / self.least)

    def ticks(self, sizes: Sequence[float]) -> Iterator[tuple[float, str]]:
        """Yield the sizes that occur if few, else round ones; skip those whose labels would overlap."""
        free = -math.inf
        for size in sizes if len(sizes) <= FEW else self._round():
            said = _short(size)
            half = LETTER * len(said) / 2
            if self.at(size) - half >= free:
                yield self.at(size), said
                free = self.at(size) + half + GAP

    def _round(self) -> list[float]:
        powers = range(math.floor(math.log10(self.least)), math.ceil(math.log10(self.most)) + 1)
        rounded = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
        return [size for size in rounded if self.least <= size <= self.most]


def _short(size: float) -> str:
    """Return a size in a few characters.

    >>> _short(20), _short(1500), _short(100_000)
    ('20', '1.5k', '100k')
    """
    unit, letter = next(((unit, letter) for unit, letter in THOUSANDS if size >= unit), (1, ""))
    return f"{size / unit:.3g}{letter}"


def _ruled(axis: _Axis, top: float, bottom: float, title: str) -> Iterator[str]:
    for share in axis.ticks():
        yield line(axis.at(share), top, axis.at(share), bottom, {"stroke": RULED})
        yield label(axis.at(share), bottom + 12, format_percent(share), colour=FAINT)
    yield label(axis.start + axis.length / 2, bottom + 28, title)


def _bar(bar: Bar, axis: _Axis, y: float, thick: float) -> Iterator[str]:
    size = f'width="{axis.at(bar.share) - axis.start:.1f}" height="{thick - 1:.1f}"'
    yield f'<rect x="{axis.start:.1f}" y="{y:.1f}" {size} rx="1.5" fill="{bar.colour}"/>'
    if bar.reach is not None:
        low, high = (axis.at(share) for share in bar.reach)
        yield line(low, y + thick / 2, high, y + thick / 2, {"stroke": FAINT, "stroke-width": 2})


def _said(bar: Bar, axis: _Axis, middle: float) -> Iterator[str]:
    """Yield the label at the end of a bar or of its interval."""
    end = bar.share if bar.reach is None else bar.reach[1]
    if bar.said:
        yield label(axis.at(end) + 4, middle, bar.said, anchor="start")


def _steps(placed: Sequence[tuple[float, float]], colour: str) -> Iterator[str]:
    """Yield a step line that is constant up to the next point, and the points if they are few."""
    path = "".join(
        f"{'M' if place == 0 else 'H'}{x:.1f}{f',{y:.1f}' if place == 0 else f'V{y:.1f}'}"
        for place, (x, y) in enumerate(placed)
    )
    yield f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for x, y in placed if len(placed) <= FEW else ():
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>'


def _legend(colours: Mapping[str, str], left: float) -> Iterator[str]:
    for name, colour in colours.items():
        yield f'<rect x="{left:.1f}" y="4" width="10" height="10" fill="{colour}"/>'
        yield label(left + 14, 9, name, anchor="start")
        left += 14 + LETTER * len(name) + 2 * GAP


def line(x1: float, y1: float, x2: float, y2: float, style: Mapping[str, object]) -> str:
    look = "".join(f' {name}="{value}"' for name, value in style.items())
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"{look}/>'


def label(x: float, y: float, said: str, *, anchor: str = "middle", colour: str = INK, more: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" dy=".35em" text-anchor="{anchor}" fill="{colour}"'
    return f"<text {place}{more}>{escape(said)}</text>"


def framed(width: float, height: float, parts: Sequence[str], title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" font-family="DejaVu Sans, Helvetica, Arial, '
        f'sans-serif" font-size="10"><title>{escape(title)}</title>{"".join(parts)}</svg>'
    )
