"""The HTML page with every reproduced table and figure."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from discreet.app.charts import as_svg, styled
from discreet.app.colours import BLUE, SUSPECTED
from discreet.app.documents import Document, Grid, Paragraph, Part, Picture, Section
from discreet.app.reproducing import view
from discreet.papers import Reproduction
from discreet.papers import reproduction as papers

NOTICE = "Recomputed by discreet: printed values beside recomputed ones. The data is public."
COLOURS = [BLUE, SUSPECTED, "#009E73", "#CC79A7"]


def document(found: Sequence[Reproduction]) -> Document:
    """Return the document of all reproductions, in the given order."""
    return Document(
        title="Five documents on privacy: printed and recomputed",
        notice=NOTICE,
        sections=(_summary(found), *(_section(each) for each in found)),
    )


def _summary(found: Sequence[Reproduction]) -> Section:
    rows = tuple((_whole(each.name), _whole(each.verdict), each.title, each.document) for each in found)
    return Section(
        title="All of them", parts=(Grid(head=("name", "verdict", "table or figure", "document"), rows=rows),)
    )


def _section(found: Reproduction) -> Section:
    tone = "good" if found.verdict == papers.Verdict.MATCHES else ""
    rows = tuple(
        (line.what, line.printed, view.shown(line), _whole(line.verdict), view.why(line))
        for line in found.lines
    )
    parts: list[Part] = [
        Paragraph(text=f"{found.document}. Verdict: {found.verdict}.", tone=tone),
        Grid(head=("", "printed", "recomputed", "verdict", "why"), rows=rows, numbers=(1, 2)),
    ]
    if found.picture is not None:
        parts.append(Picture(svg=_drawn(found.picture), caption=f"{found.title}, recomputed."))
    parts += [Paragraph(text=note) for note in found.notes]
    if any(line.is_sample for line in found.lines):
        parts.append(Paragraph(text=view.MARKED, tone="bad"))
    return Section(title=f"{found.name}: {found.title}", parts=tuple(parts))


def _whole(text: str) -> str:
    """Return the text with non-breaking spaces and hyphens."""
    return text.replace(" ", "\u00a0").replace("-", "\u2011")


def _drawn(picture: papers.Figure) -> str:
    points = [
        {"x": x, "y": y, "curve": curve.name} for curve in picture.curves for x, y in curve.points if y > 0
    ]
    names = [curve.name for curve in picture.curves]
    axis = alt.Axis(gridColor="#EEF1F4", domain=False, ticks=False, format="~g", tickCount=6)
    scale = alt.Scale(type="log") if picture.is_logarithmic else alt.Scale(zero=False)
    legend = alt.Legend(title=None, orient="right") if len(names) > 1 else None
    chart = (
        alt.Chart(alt.Data(values=points))
        .mark_line(strokeWidth=2, point=len(points) <= 60)
        .encode(
            x=alt.X("x:Q", title=picture.x, axis=axis, scale=alt.Scale(zero=False)),
            y=alt.Y("y:Q", title=picture.y, axis=axis, scale=scale),
            color=alt.Color(
                "curve:N", sort=names, scale=alt.Scale(domain=names, range=COLOURS), legend=legend
            ),
        )
        .properties(width=460, height=260)
    )
    return as_svg(styled(chart))
