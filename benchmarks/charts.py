"""The charts of RESULTS.md, drawn from its own tables, so that picture and table cannot differ.

`make bench` draws them after every section that it has measured.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import altair as alt

from discreet.rendering.charts import BLUE, FAINT, GRAY, INK, save_chart

FOLDER = Path(__file__).with_name("charts")
NUMBER = re.compile(r"-?[\d,]*\.?\d+(?:e[+-]?\d+)?")
WIDTH, THICK = 480, 16
COLOURS = (BLUE, FAINT, GRAY)
OURS = "discreet"
KEYS = ("oracle", "values", "faster by", "bar")
Rows = list[dict[str, str]]
Points = list[dict[str, Any]]
Drawing = tuple[Points, alt.Chart | alt.LayerChart]


def drawn(title: str, text: str) -> str:
    """Draw a section's chart, if it has one and something to show; the line that puts it into the report."""
    if title not in CHARTS:
        return ""
    name, draw = CHARTS[title]
    points, chart = draw(table(text))
    if not points:
        return ""
    FOLDER.mkdir(exist_ok=True)
    save_chart(chart, FOLDER / f"{name}.svg")
    return f"![{title}]({FOLDER.name}/{name}.svg)"


def table(text: str) -> Rows:
    """The rows of a section's table, by heading."""
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line] for line in lines]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]


def number(cell: str) -> float | None:
    """The first number of a cell, if it has one above 0.

    >>> number("1,925×"), number("0.45× ± 0.02: met"), number("–")
    (1925.0, 0.45, None)
    """
    found = NUMBER.search(cell)
    value = float(found[0].replace(",", "")) if found else 0.0
    return value if value > 0 else None


def _speed(rows: Rows) -> Drawing:
    points: Points = [
        {"who": row["system"], "value": number(row["× raw DuckDB"]), "of": _whose(row["system"])}
        for row in rows
        if number(row["× raw DuckDB"])
    ]
    return points, _bars(points, "× the raw query in DuckDB")


def _collecting(rows: Rows) -> Drawing:
    names = [name for name in (rows[0] if rows else {}) if name not in KEYS]
    points: Points = [
        {"who": f"{row['oracle']}, {row['values']} values", "value": number(row[name]), "of": name}
        for row in rows
        for name in names
        if number(row[name])
    ]
    return points, _bars(points, "processor seconds of a million reports")


def _generalizing(rows: Rows) -> Drawing:
    beside = [row for row in rows if row["bar"].startswith("ours:") and " s:" in row["measured"]]
    points: Points = [
        {"who": row["figure"], "value": number(cell), "of": whose}
        for row in beside
        for cell, whose in ((row["bar"], OURS), (row["measured"], "the other"))
        if number(cell)
    ]
    return points, _bars(points, "seconds")


def _errors(rows: Rows) -> Drawing:
    ratio = "ours / best not caught"
    points: Points = [
        {"who": f"{row['question']}, {row['secret']}", "value": number(row[ratio]), "of": OURS}
        for row in rows
        if number(row[ratio])
    ]
    return points, _bars(points, "our error, as a multiple of the best other's")


def _models(rows: Rows) -> Drawing:
    levels = [name for name in (rows[0] if rows else {}) if name.startswith("ε")]
    points: Points = [
        {
            "who": f"{row['model']}, {row['guarantee']}",
            "epsilon": number(level),
            "accuracy": number(row[level]),
        }
        for row in rows
        if row["guarantee"]
        for level in levels
    ]
    chart = alt.Chart(alt.Data(values=points)).mark_line(point=True)
    return points, chart.encode(
        x=alt.X("epsilon:Q", title="ε", scale=alt.Scale(type="log")),
        y=alt.Y("accuracy:Q", title="accuracy", scale=alt.Scale(zero=False)),
        color=alt.Color("who:N", title=None, sort=None, legend=alt.Legend(labelLimit=0)),
        strokeDash=alt.StrokeDash("who:N", title=None, sort=None),
    ).properties(width=WIDTH, height=260)


def _bars(points: Points, over: str) -> alt.LayerChart:
    """Rows of bars on an axis of powers, each with what it comes to; ours stand out."""
    owners = sorted({point["of"] for point in points}, key=lambda name: name != OURS)
    rows = {point["who"] for point in points}
    least = 10 ** math.floor(math.log10(min((point["value"] for point in points), default=1)))
    frame = alt.Chart(alt.Data(values=points)).encode(
        x=alt.X("value:Q", title=over, scale=alt.Scale(type="log", domainMin=least)),
        y=alt.Y("who:N", title=None, sort=None, axis=alt.Axis(labelLimit=0)),
        **({"yOffset": alt.YOffset("of:N", sort=owners)} if len(points) > len(rows) else {}),
    )
    colours = alt.Scale(domain=owners, range=COLOURS[: len(owners)])
    bars = frame.mark_bar().encode(
        x2=alt.datum(least), color=alt.Color("of:N", title=None, scale=colours, sort=owners)
    )
    said = frame.mark_text(align="left", dx=4, color=INK).encode(text=alt.Text("value:Q", format=",.3~r"))
    return (bars + said).properties(width=WIDTH, height=alt.Step(THICK))


def _whose(system: str) -> str:
    return OURS if system.startswith(OURS) else "the other"


CHARTS: dict[str, tuple[str, Callable[[Rows], Drawing]]] = {
    "Speed beside other systems": ("speed", _speed),
    "Error beside other systems": ("error", _errors),
    "Generalization": ("generalization", _generalizing),
    "Collecting": ("collecting", _collecting),
    "Models beside other libraries": ("models", _models),
}
