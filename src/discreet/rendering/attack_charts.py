"""Charts of attack findings: beliefs before and after with the bound as a line, and curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from discreet.attacks.findings import Finding, Findings, Points
from discreet.belief.wording import format_percent
from discreet.rendering.charts import (
    BLUE,
    FAINT,
    GRAY,
    GRID_LINE,
    VERMILLION,
    Bar,
    BarRow,
    apply_style,
    chart_to_svg,
    draw_bars,
    draw_changes,
    draw_steps,
    make_percent_bar,
)
from discreet.rendering.report_document import Picture
from discreet.services.attack.evaluation import JudgedRun

MAX_VICTIMS, MAX_LABEL_LENGTH = 8, 46
CHART_WIDTH = 480
COLOURS = (BLUE, VERMILLION, FAINT)
EXPECTED_PREFIX = "expected "


def draw_attack_charts(judged_run: JudgedRun) -> list[Picture]:
    """Return the charts of one attack: beliefs of victims and its curves, or else its success rate."""
    findings = judged_run.findings
    found = []
    learned = [each for each in findings.victims if each.posterior != each.prior]
    if learned:
        found.append(_draw_beliefs(learned[:MAX_VICTIMS], judged_run))
    found += _draw_curves(findings.series)
    return found or [_draw_success(findings)]


def _shorten_text(text: str) -> str:
    return text if len(text) <= MAX_LABEL_LENGTH else text[: MAX_LABEL_LENGTH - 1] + "…"


def _draw_beliefs(victims: Sequence[Finding], judged_run: JudgedRun) -> Picture:
    claims, cap = {each.claim for each in victims}, judged_run.tightest_bound
    said = [each.victim if len(claims) == 1 else f"{each.victim}: {each.claim}" for each in victims]
    labels = [f"{place + 1}. {_shorten_text(text)}" for place, text in enumerate(said)]
    changes = [(label, each.prior, each.posterior) for label, each in zip(labels, victims, strict=True)]
    line = cap if cap is not None and cap.limit < 1 else None
    highest = max(each for victim in victims for each in (victim.prior, victim.posterior))
    drawn = draw_changes(
        changes,
        title=f"belief that {_shorten_text(*claims)}" if len(claims) == 1 else "belief in the claim",
        bar_height=11,
        axis_end=min(1.0, 1.25 * max(highest, 0.0 if cap is None else cap.limit)),
        cap=None if line is None else line.limit,
    )
    caption = "Belief before the release (grey) and after it (orange)"
    if line is not None:
        caption += f"; the line is the cap of {format_percent(line.limit)} ({line.source})"
    return Picture(svg=drawn, caption=f"{caption}.")


@dataclass(frozen=True, kw_only=True)
class CurveAxis:
    """The axis of a curve: its title, and how it is drawn."""

    title: str
    is_stepped: bool = False
    is_share: bool = False

    def format_position(self, position: float) -> str:
        """Return a position on the axis as text."""
        return (
            format_percent(position)
            if self.is_share
            else f"{position:,.3g}"
            if position < 1000
            else f"{position:,.0f}"
        )


AXES = {
    "match set": CurveAxis(title="rows that may be the person's, at most", is_stepped=True),
    "crowd": CurveAxis(title="people with the same values, at most", is_stepped=True),
    "threshold": CurveAxis(title="eccentricity that the best record must pass"),
    "SNPs": CurveAxis(title="SNPs that are published"),
    "nearness": CurveAxis(title="share of people, those with the nearest rows first", is_share=True),
}


def _draw_curves(series: Mapping[str, Points]) -> list[Picture]:
    """Return a chart for each quantity x in series named "y by x", as "share of people by match set"."""
    found: dict[str, dict[str, Points]] = {}
    for name, points in series.items():
        what, _, over = name.partition(" by ")
        if len(points) > 1:
            found.setdefault(over, {})[what] = points
    return [_draw_curve(AXES[over], curves) for over, curves in found.items()]


def _draw_curve(axis: CurveAxis, curves: Mapping[str, Points]) -> Picture:
    said = "; ".join(f"{what} {_describe_curve(axis, points)}" for what, points in curves.items())
    return Picture(svg=_render_curve(axis, curves), caption=f"{said[:1].upper()}{said[1:]}.")


def _render_curve(axis: CurveAxis, curves: Mapping[str, Points]) -> str:
    if axis.is_stepped and len(curves) == 1:
        ((what, points),) = curves.items()
        return draw_steps([(BLUE, points)], x_title=axis.title, title=what, height=180)

    return draw_line_chart(curves, axis_title=axis.title, is_share=axis.is_share)


def _describe_curve(axis: CurveAxis, points: Points) -> str:
    """Return the ends and the middle of a curve as text."""
    chosen = sorted({0, len(points) // 2, len(points) - 1})
    return ", ".join(
        f"{format_percent(points[i][1])} at {axis.format_position(points[i][0])}" for i in chosen
    )


def _draw_success(findings: Findings) -> Picture:
    guessing, success = format_percent(findings.baseline), format_percent(findings.success)
    attack = Bar(share=findings.success, color=VERMILLION, label=success, interval=findings.interval)
    rows = [
        BarRow(name="guessing", bars=(make_percent_bar(findings.baseline, GRAY),)),
        BarRow(name="the attack", bars=(attack,)),
    ]
    caption = f"How often it is right: {success}, guessing {guessing}."
    return Picture(svg=draw_bars(rows, title="right", bar_height=18), caption=caption)


def draw_line_chart(curves: Mapping[str, Points], *, axis_title: str, is_share: bool) -> str:
    """Return the chart as SVG: measured curves solid, expected ones dashed in the same color."""
    values = [
        {"what": what, "at": at, "share": each} for what, points in curves.items() for at, each in points
    ]
    names = list(curves)
    legend = alt.Legend(title=None, orient="top", columns=2, labelLimit=300) if len(names) > 1 else None
    dashes = [[4, 3] if name.startswith(EXPECTED_PREFIX) else [1, 0] for name in names]
    plain = [name.removeprefix(EXPECTED_PREFIX) for name in names]
    colours = [COLOURS[sorted(set(plain), key=plain.index).index(each)] for each in plain]
    shares = alt.Axis(format="%", gridColor=GRID_LINE, domain=False, ticks=False, tickCount=5)
    unit = alt.Scale(domain=[0, 1])
    across = alt.Axis(format="~%" if is_share else "~s", grid=False, tickCount=6, labelOverlap=True)
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X(
                "at:Q",
                title=axis_title,
                axis=across,
                scale=unit if is_share else alt.Scale(type="log", nice=False),
            ),
            y=alt.Y("share:Q", title=names[0] if len(names) == 1 else "share", axis=shares, scale=unit),
            color=alt.Color("what:N", scale=alt.Scale(domain=names, range=colours), legend=legend),
            strokeDash=alt.StrokeDash("what:N", scale=alt.Scale(domain=names, range=dashes), legend=legend),
        )
        .properties(width=CHART_WIDTH, height=180)
    )
    return chart_to_svg(apply_style(chart))
