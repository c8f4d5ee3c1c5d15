"""Pictures of what attacks found: beliefs before and after with the cap as a line, and curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from discreet.app.charts import BLUE, FAINT, INK, OTHERS, SUSPECTED, as_svg, styled
from discreet.app.documents import Picture
from discreet.app.trials.trial import Tried
from discreet.attacks.attack import Finding, Findings, Points
from discreet.belief.wording import percent

SHOWN, LONGEST = 8, 46
WIDTH = 480
GRID = "#EEF1F4"
COLOURS = (BLUE, SUSPECTED, FAINT)
EXPECTED = "expected "
SHARES = alt.Axis(format="%", gridColor=GRID, domain=False, ticks=False, tickCount=5)
UNIT = alt.Scale(domain=[0, 1])


def pictures(tried: Tried) -> list[Picture]:
    """Charts of one attack: beliefs where there are victims, its curves; else how often it is right."""
    findings = tried.findings
    found = []
    learned = [each for each in findings.victims if each.posterior != each.prior]
    if learned:
        found.append(_beliefs(learned[:SHOWN], tried))
    found += _curves(findings.series)
    return found or [_success(findings)]


def _share_axis(title: str | None, end: float = 1.0) -> alt.X:
    axis = alt.Axis(format="~%", tickCount=5, gridColor=GRID, domain=False, ticks=False)
    return alt.X("share:Q", title=title, axis=axis, scale=alt.Scale(domain=[0, end], nice=False))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _beliefs(victims: Sequence[Finding], tried: Tried) -> Picture:
    claims, cap = {each.claim for each in victims}, tried.cap
    said = [each.victim if len(claims) == 1 else f"{each.victim}: {each.claim}" for each in victims]
    labels = [f"{place + 1}. {_shortened(text)}" for place, text in enumerate(said)]
    bars = [
        {"who": label, "when": when, "share": share, "said": percent(share)}
        for label, each in zip(labels, victims, strict=True)
        for when, share in (("before", each.prior), ("after", each.posterior))
    ]
    highest = max(cap.most if cap is not None else 0.0, *(float(str(bar["share"])) for bar in bars))
    rows = alt.Y(
        "who:N",
        sort=labels,
        title=None,
        axis=alt.Axis(labelLimit=330, labelPadding=8, domain=False, ticks=False),
    )
    frame = alt.Chart(alt.Data(values=bars)).encode(
        y=rows, yOffset=alt.YOffset("when:N", sort=["before", "after"])
    )
    colours = alt.Scale(domain=["before", "after"], range=[OTHERS, SUSPECTED])
    legend = alt.Legend(title=None, orient="top", direction="horizontal", offset=4)
    title = f"belief that {_shortened(*claims)}" if len(claims) == 1 else "belief in the claim"
    shown = frame.mark_bar(cornerRadiusEnd=2).encode(
        x=_share_axis(title, min(1.0, 1.25 * highest)),
        color=alt.Color("when:N", scale=colours, legend=legend),
    )
    text = frame.mark_text(align="left", dx=4, color=INK, fontSize=10).encode(x="share:Q", text="said:N")
    layers, caption = [shown, text], "Belief before the release (grey) and after it (orange)"
    if cap is not None and cap.most < 1:
        layers = [shown, *_cap(cap.most), text]
        caption += f"; the line is the cap of {percent(cap.most)} ({cap.by})"
    chart = alt.layer(*layers).properties(width=WIDTH, height=alt.Step(15))
    return Picture(svg=as_svg(styled(chart)), caption=f"{caption}.")


def _cap(most: float) -> list[alt.Chart]:
    data = alt.Chart(alt.Data(values=[{"share": most}]))
    return [data.mark_rule(color=INK, strokeDash=[5, 3], strokeWidth=1.5).encode(x="share:Q")]


@dataclass(frozen=True, kw_only=True)
class _Over:
    """What a curve runs over: how the axis is called, and how it is drawn."""

    title: str
    steps: bool = False
    share: bool = False

    @property
    def x(self) -> alt.X:
        axis = alt.Axis(format="~%" if self.share else "~s", grid=False, tickCount=6, labelOverlap=True)
        scale = alt.Scale(domain=[0, 1]) if self.share else alt.Scale(type="log", nice=False)
        return alt.X("at:Q", title=self.title, scale=scale, axis=axis)

    def said(self, at: float) -> str:
        return percent(at) if self.share else f"{at:,.3g}" if at < 1000 else f"{at:,.0f}"


OVER = {
    "match set": _Over(title="rows that may be the person's, at most", steps=True),
    "crowd": _Over(title="people with the same values, at most", steps=True),
    "threshold": _Over(title="eccentricity that the best record must pass"),
    "SNPs": _Over(title="SNPs that are published"),
    "nearness": _Over(title="share of people, those with the nearest rows first", share=True),
}


def _curves(series: Mapping[str, Points]) -> list[Picture]:
    """A series is called by what it has over what, as "share of people by match set"; a picture for each."""
    found: dict[str, dict[str, Points]] = {}
    for name, points in series.items():
        what, _, over = name.partition(" by ")
        if len(points) > 1:
            found.setdefault(over, {})[what] = points
    return [_curve(OVER[over], curves) for over, curves in found.items()]


def _curve(over: _Over, curves: Mapping[str, Points]) -> Picture:
    values = [
        {"what": what, "at": at, "share": share} for what, points in curves.items() for at, share in points
    ]
    names = list(curves)
    legend = alt.Legend(title=None, orient="top", columns=2, labelLimit=300) if len(names) > 1 else None
    dashes = [[4, 3] if name.startswith(EXPECTED) else [1, 0] for name in names]
    plain = [name.removeprefix(EXPECTED) for name in names]
    colours = [COLOURS[sorted(set(plain), key=plain.index).index(each)] for each in plain]
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_line(interpolate="step-after" if over.steps else "linear", strokeWidth=2, point=over.steps)
        .encode(
            x=over.x,
            y=alt.Y("share:Q", title=names[0] if len(names) == 1 else "share", axis=SHARES, scale=UNIT),
            color=alt.Color("what:N", scale=alt.Scale(domain=names, range=colours), legend=legend),
            strokeDash=alt.StrokeDash("what:N", scale=alt.Scale(domain=names, range=dashes), legend=legend),
        )
        .properties(width=WIDTH, height=180)
    )
    said = "; ".join(f"{what} {_told(over, points)}" for what, points in curves.items())
    return Picture(svg=as_svg(styled(chart)), caption=f"{said[:1].upper()}{said[1:]}.")


def _told(over: _Over, points: Points) -> str:
    """The ends of a curve, and its middle."""
    chosen = sorted({0, len(points) // 2, len(points) - 1})
    return ", ".join(f"{percent(points[i][1])} at {over.said(points[i][0])}" for i in chosen)


def _success(findings: Findings) -> Picture:
    low, high = findings.interval
    shares = {"guessing": (findings.baseline, findings.baseline), "the attack": (findings.success, high)}
    values = [
        {"what": what, "share": share, "said": percent(share), "end": end}
        for what, (share, end) in shares.items()
    ]
    colours = alt.Scale(domain=["guessing", "the attack"], range=[OTHERS, SUSPECTED])
    rows = alt.Y("what:N", sort=None, title=None, axis=alt.Axis(domain=False, ticks=False))
    frame = alt.Chart(alt.Data(values=values)).encode(y=rows)
    bars = frame.mark_bar(cornerRadiusEnd=2).encode(
        x=_share_axis("right"), color=alt.Color("what:N", scale=colours, legend=None)
    )
    text = frame.mark_text(align="left", dx=4, color=INK, fontSize=10).encode(x="end:Q", text="said:N")
    span = alt.Chart(alt.Data(values=[{"what": "the attack", "share": low, "end": high}]))
    reach = span.mark_rule(color=FAINT, strokeWidth=2).encode(x="share:Q", x2="end:Q", y=rows)
    chart = alt.layer(bars, reach, text).properties(width=WIDTH, height=alt.Step(26))
    caption = f"How often it is right: {percent(findings.success)}, guessing {percent(findings.baseline)}."
    return Picture(svg=as_svg(styled(chart)), caption=caption)
