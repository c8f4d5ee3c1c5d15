"""Reproductions of the papers, in the terminal (all in short or one in full), as JSON and as an HTML page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

import altair as alt
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from discreet.belief.wording import format_number
from discreet.core.errors import RequestError
from discreet.papers import ComparedValue, Reproduction, Verdict
from discreet.papers import reproduction as papers
from discreet.rendering.charts import BLUE, VERMILLION, apply_style, chart_to_svg
from discreet.rendering.report_document import Document, DocumentPart, Grid, Paragraph, Picture, Section

STYLES = {Verdict.MATCHES: "green", Verdict.DIFFERS: "yellow", Verdict.ADDED: "dim", Verdict.SAMPLE: "dim"}
MAX_REASON_LINES = 4
SAMPLE_NOTICE = "Computed from the made-up census, not from Adult: not comparable with the printed values."
NOTICE = "Recomputed by discreet: printed values beside recomputed ones. The data is public."
COLOURS = [BLUE, VERMILLION, "#009E73", "#CC79A7"]


def reproductions_to_json(reproductions: Sequence[Reproduction]) -> dict[str, object]:
    """Return the JSON object."""
    return {"tables": [_reproduction_to_json(each) for each in reproductions]}


def _reproduction_to_json(reproduction: Reproduction) -> dict[str, object]:
    return {
        "name": reproduction.name,
        "document": reproduction.document,
        "title": reproduction.title,
        "printed": {line.description: line.printed for line in reproduction.lines if line.printed},
        "recomputed": {line.description: _value_to_json(line.recomputed) for line in reproduction.lines},
        "verdict": reproduction.verdict,
        "lines": [
            {
                "what": line.description,
                "printed": line.printed or None,
                "recomputed": _value_to_json(line.recomputed),
                "verdict": line.verdict.value,
                "why": explain_difference(line) or None,
            }
            for line in reproduction.lines
        ],
        "notes": list(reproduction.notes),
    }


def print_summary(console: Console, reproductions: Sequence[Reproduction]) -> None:
    """Print every table with its verdict, and the lines that differ."""
    for document, group in groupby(reproductions, key=lambda each: each.document):
        console.print(Text(f"\n{document}", style="bold"))
        for each in group:
            head = Text.assemble(f"{each.name}  ", (each.verdict, _get_style(each)), f"  {each.title}")
            console.print(Padding(head, (0, 0, 0, 2)))
            differing = [line for line in each.lines if line.verdict is Verdict.DIFFERS]
            _print_reasons(
                console,
                differing,
                lambda line: f"{line.description}: printed {line.printed}, is {format_recomputed(line)}",
            )
    if any(line.is_sample for each in reproductions for line in each.lines):
        console.print(Text(f"\n{SAMPLE_NOTICE}", style="yellow"))
    console.print(Text("\ndiscreet reproduce NAME shows one of them in full.", style="dim"))


def print_reproduction(console: Console, reproduction: Reproduction) -> None:
    """Print one table, line by line."""
    console.print(
        Text.assemble(
            "\n", (reproduction.title, "bold"), "  ", (reproduction.verdict, _get_style(reproduction))
        )
    )
    console.print(Text(reproduction.document, style="dim"))
    grid = Table(box=None, pad_edge=False, header_style="dim")
    grid.add_column("")
    grid.add_column("printed", justify="right")
    grid.add_column("recomputed", justify="right")
    grid.add_column("verdict")
    for line in reproduction.lines:
        verdict = Text(line.verdict.value, style=STYLES[line.verdict])
        grid.add_row(Text(line.description), Text(line.printed), Text(format_recomputed(line)), verdict)
    console.print(grid)
    _print_reasons(
        console,
        [line for line in reproduction.lines if explain_difference(line)],
        lambda line: line.description,
    )
    for note in reproduction.notes:
        console.print(Text(note))
    if any(line.is_sample for line in reproduction.lines):
        console.print(Text(SAMPLE_NOTICE, style="yellow"))


def _print_reasons(
    console: Console, lines: Sequence[ComparedValue], describe: Callable[[ComparedValue], str]
) -> None:
    """Print lines grouped by their reason, each reason once."""
    for reason, group in groupby(lines, key=explain_difference):
        told = Text(_join_texts([describe(line) for line in group]))
        if reason:
            told.append(f": {reason}", style="dim")
        console.print(Padding(told, (0, 0, 0, 4)))


def _join_texts(texts: Sequence[str]) -> str:
    several = len(texts) > MAX_REASON_LINES
    return "; ".join(texts[:1] if several else texts) + (f"; and {len(texts) - 1} more" if several else "")


def format_recomputed(line: ComparedValue) -> str:
    """Return the recomputed value with enough digits to compare it with the printed one."""
    value = line.recomputed
    if isinstance(value, str):
        return value
    if math.isinf(value):
        return "infinity"
    if line.printed.endswith("%"):
        return f"{format_number(100 * value, 4)}%"
    return f"{value:.3e}" if 0 < abs(value) < 1e-4 else format_number(value, 6 if abs(value) >= 1_000 else 4)


def explain_difference(line: ComparedValue) -> str:
    """Return the reason of a difference, or an empty text for a match."""
    return "" if line.verdict is Verdict.MATCHES else line.reason


def _get_style(reproduction: Reproduction) -> str:
    differs = any(line.verdict is Verdict.DIFFERS for line in reproduction.lines)
    return STYLES[Verdict.DIFFERS] if differs else STYLES.get(Verdict(reproduction.verdict), "")


def _value_to_json(value: float | str) -> float | str:
    """Return the value as JSON can hold it: infinity becomes text."""
    return "infinity" if isinstance(value, float) and math.isinf(value) else value


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
            format_recomputed(line),
            _make_unbreakable(line.verdict),
            explain_difference(line),
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
        parts.append(Paragraph(text=SAMPLE_NOTICE, tone="bad"))
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
