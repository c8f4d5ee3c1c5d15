"""The common parts of all charts: colors, style, files, and the bar and step charts of reports and screens.

All are drawn by Altair and rendered offline; trees alone are not (`tree_drawing`), as Vega-Lite has no layout
for them. The colors are the palette of Okabe & Ito, which people with any color vision can distinguish;
whatever a color shows is also given as text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

import altair as alt
import vl_convert

from discreet.belief.wording import format_percent
from discreet.core.errors import RequestError
from discreet.core.output_files import require_output, write_output

VERMILLION, BLUE, GRAY, INK, FAINT, GRID_LINE = (
    "#D55E00",
    "#0072B2",
    "#C9CED6",
    "#1F2933",
    "#7B8794",
    "#EEF1F4",
)
WIDTH = 480
MAX_LABEL_WIDTH = 330
ROW_GAP = 8
MAX_MARKED_POINTS = 16
Points = Sequence[tuple[float, float]]


def require_chart_path(path: Path) -> None:
    """Refuse a path that no chart can be written to."""
    if path.suffix.lower() not in (".svg", ".png"):
        raise RequestError(f"A chart is a .svg or .png file; got {path.name}.", hint="Name such a file.")
    require_output(path)


def save_chart(chart: alt.Chart | alt.HConcatChart | alt.VConcatChart, path: Path) -> None:
    """Write a chart as SVG or PNG, by the file's suffix."""
    require_chart_path(path)
    specification = chart.to_json()
    if path.suffix.lower() == ".svg":
        content = vl_convert.vegalite_to_svg(specification).encode()
    else:
        content = vl_convert.vegalite_to_png(specification, scale=2)
    write_output(path, content)


def chart_to_svg(chart: alt.Chart | alt.LayerChart, title: str = "") -> str:
    """Return a chart as SVG text for inclusion in a page, with a title for readers who do not see it."""
    # a page has the numbers as a table: a screen reader need not hear every mark
    svg: str = vl_convert.vegalite_to_svg(chart.to_json(), config={"aria": False})
    head, closing, body = svg.partition(">")
    return f'{head} role="img"{closing}<title>{escape(title)}</title>{body}' if title else svg


def apply_style(chart: alt.Chart) -> alt.Chart:
    """Apply fonts, colors and background that all charts share."""
    title = alt.TitleConfig(anchor="start", color=INK, subtitleColor=FAINT, fontSize=14, subtitleFontSize=11)
    return chart.configure(
        font="DejaVu Sans, Helvetica, Arial, sans-serif",
        title=title,
        axis=alt.AxisConfig(labelColor=FAINT, titleColor=INK, domainColor=FAINT, tickColor=FAINT),
        legend=alt.LegendConfig(labelColor=INK),
        view=alt.ViewConfig(stroke=None),
        background="white",
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


def draw_changes(
    changes: Sequence[tuple[str, float, float]],
    *,
    title: str,
    bar_height: float,
    axis_end: float = 1.0,
    cap: float | None = None,
    width: float = WIDTH,
) -> str:
    """Return a row for each name with its share before, and below it its share after, as SVG."""
    rows = [
        BarRow(name=name, bars=(make_percent_bar(before, GRAY), make_percent_bar(after, VERMILLION)))
        for name, before, after in changes
    ]
    legend = {"before": GRAY, "after": VERMILLION}
    return draw_bars(
        rows, title=title, bar_height=bar_height, axis_end=axis_end, cap=cap, legend=legend, width=width
    )


def make_percent_bar(share: float, color: str) -> Bar:
    """Return a bar that is labelled with its share in percent."""
    return Bar(share=share, color=color, label=format_percent(share))


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
    """Return rows of bars from 0 to `axis_end` as SVG; `cap` is a vertical line, `legend` names colors."""
    names = {color: name for name, color in (legend or {}).items()}
    values = [
        {
            "row": row.name,
            "place": place,
            "share": bar.share,
            "color": names.get(bar.color, bar.color),
            "label": bar.label,
            "low": bar.share if bar.interval is None else bar.interval[0],
            "high": bar.share if bar.interval is None else bar.interval[1],
        }
        for row in rows
        for place, bar in enumerate(row.bars)
    ]
    scale = alt.Scale(domain=[0, axis_end], nice=False, clamp=True)
    row_axis = alt.Axis(
        title=None, domain=False, ticks=False, labelColor=INK, labelPadding=6, labelLimit=MAX_LABEL_WIDTH
    )
    frame = alt.Chart(alt.Data(values=values)).encode(
        y=alt.Y("row:N", sort=None, axis=row_axis), yOffset=alt.YOffset("place:O")
    )
    color = alt.Color(
        "color:N",
        scale=alt.Scale(domain=[*names.values()], range=[*names]) if names else None,
        legend=alt.Legend(title=None, orient="top", symbolType="square") if names else None,
    )
    bars = frame.mark_bar().encode(
        x=alt.X("share:Q", title=title, scale=scale, axis=_make_share_axis()), color=color
    )
    cap_line = alt.Chart(alt.Data(values=[] if cap is None else [{"cap": cap}])).mark_rule(
        color=INK, strokeDash=[5, 3], strokeWidth=1.5
    )
    intervals = frame.mark_rule(color=FAINT, strokeWidth=2).encode(x=alt.X("low:Q", scale=scale), x2="high:Q")
    labels = frame.mark_text(align="left", dx=4, color=INK).encode(
        x=alt.X("high:Q", scale=scale), text="label:N"
    )
    layers = alt.layer(bars, cap_line.encode(x=alt.X("cap:Q", scale=scale)), intervals, labels)
    step = alt.Step(bar_height * max(len(row.bars) for row in rows) + ROW_GAP, **{"for": "position"})
    return chart_to_svg(apply_style(layers.properties(width=width, height=step)), title)


def draw_steps(curves: Sequence[tuple[str, Points]], *, x_title: str, title: str, height: float) -> str:
    """Return step curves of shares over sizes on a log axis, as SVG; a curve is a color and its points.

    A curve is constant from one size to the next; points at 0 have no place on the axis.
    """
    values = [
        {"color": color, "size": size, "share": share}
        for color, points in curves
        for size, share in points
        if size > 0
    ]
    sizes = sorted({size for _, points in curves for size, _ in points if size > 0}) or [1.0]
    is_marked = len(sizes) <= MAX_MARKED_POINTS
    axis = alt.Axis(
        format="~s", grid=False, labelOverlap=True, tickCount=6, values=sizes if is_marked else alt.Undefined
    )
    scale = alt.Scale(type="log", nice=False, domain=[sizes[0], max(sizes[-1], sizes[0] + 1)])
    lines = (
        alt.Chart(alt.Data(values=values))
        .mark_line(strokeWidth=2, interpolate="step-after", point={"size": 25} if is_marked else False)
        .encode(
            x=alt.X("size:Q", title=x_title, axis=axis, scale=scale),
            y=alt.Y("share:Q", title=title, axis=_make_share_axis(), scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("color:N", scale=None, legend=None),
        )
    )
    return chart_to_svg(apply_style(lines.properties(width=WIDTH, height=height)), f"{title} by {x_title}")


def _make_share_axis() -> alt.Axis:
    return alt.Axis(
        format="~%", gridColor=GRID_LINE, domain=False, ticks=False, tickCount=5, labelFlush=False
    )
