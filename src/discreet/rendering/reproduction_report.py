"""The HTML page with every reproduced table and figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import altair as alt

from discreet.core.errors import RequestError
from discreet.papers import Reproduction
from discreet.papers import reproduction as papers
from discreet.rendering import reproduction_view
from discreet.rendering.charts import BLUE, VERMILLION, apply_style, chart_to_svg
from discreet.rendering.report_document import Document, DocumentPart, Grid, Paragraph, Picture, Section

NOTICE = "Recomputed by discreet: printed values beside recomputed ones. The data is public."
COLOURS = [BLUE, VERMILLION, "#009E73", "#CC79A7"]


def build_reproduction_report(reproductions: Sequence[Reproduction]) -> Document:
    """Return the document of all reproductions, in the given order."""
    return Document(
        title="Five documents on privacy: printed and recomputed",
        notice=NOTICE,
        sections=(_build_summary(reproductions), *(_build_section(each) for each in reproductions)),
    )


def _build_summary(reproductions: Sequence[Reproduction]) -> Section:
    rows = tuple(
        (_make_unbreakable(each.name), _make_unbreakable(each.verdict), each.title, each.document)
        for each in reproductions
    )
    return Section(
        title="All of them", parts=(Grid(head=("name", "verdict", "table or figure", "document"), rows=rows),)
    )


def _build_section(reproduction: Reproduction) -> Section:
    tone = "good" if reproduction.verdict == papers.Verdict.MATCHES else ""
    rows = tuple(
        (
            line.description,
            line.printed,
            reproduction_view.format_recomputed(line),
            _make_unbreakable(line.verdict),
            reproduction_view.explain_difference(line),
        )
        for line in reproduction.lines
    )
    parts: list[DocumentPart] = [
        Paragraph(text=f"{reproduction.document}. Verdict: {reproduction.verdict}.", tone=tone),
        Grid(head=("", "printed", "recomputed", "verdict", "why"), rows=rows, numbers=(1, 2)),
    ]
    if reproduction.figure is not None:
        parts.append(
            Picture(svg=_draw_figure(reproduction.figure), caption=f"{reproduction.title}, recomputed.")
        )
    parts += [Paragraph(text=note) for note in reproduction.notes]
    if any(line.is_sample for line in reproduction.lines):
        parts.append(Paragraph(text=reproduction_view.SAMPLE_NOTICE, tone="bad"))
    return Section(title=f"{reproduction.name}: {reproduction.title}", parts=tuple(parts))


def _make_unbreakable(text: str) -> str:
    """Return the text with non-breaking spaces and hyphens."""
    return text.replace(" ", "\u00a0").replace("-", "\u2011")


def _draw_figure(figure: papers.Figure) -> str:
    points = [
        {"x": x, "y": y, "curve": curve.name} for curve in figure.curves for x, y in curve.points if y > 0
    ]
    names = [curve.name for curve in figure.curves]
    axis = alt.Axis(gridColor="#EEF1F4", domain=False, ticks=False, format="~g", tickCount=6)
    scale = alt.Scale(type="log") if figure.is_logarithmic else alt.Scale(zero=False)
    legend = alt.Legend(title=None, orient="right") if len(names) > 1 else None
    chart = (
        alt.Chart(alt.Data(values=points))
        .mark_line(strokeWidth=2, point=len(points) <= 60)
        .encode(
            x=alt.X("x:Q", title=figure.x, axis=axis, scale=alt.Scale(zero=False)),
            y=alt.Y("y:Q", title=figure.y, axis=axis, scale=scale),
            color=alt.Color(
                "curve:N", sort=names, scale=alt.Scale(domain=names, range=COLOURS), legend=legend
            ),
        )
        .properties(width=460, height=260)
    )
    return chart_to_svg(apply_style(chart))


def write_reproduction_report(reproductions: Sequence[Reproduction], folder: Path) -> None:
    """Write the report as one HTML page into a folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "reproduction.html").write_text(
            build_reproduction_report(reproductions).to_html(), encoding="utf-8"
        )
    except OSError as error:
        reason = error.strerror or "the system refuses"
        raise RequestError(
            f"reproduce: {folder} cannot be written: {reason}.", hint="Name another folder."
        ) from None
