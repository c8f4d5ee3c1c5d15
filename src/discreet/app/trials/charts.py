"""Pictures of what attacks found: beliefs before and after with the cap as a line, and curves."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from discreet.app.charts import BLUE, FAINT, INK, OTHERS, SUSPECTED, as_svg, styled
from discreet.app.documents import Picture
from discreet.app.trials.trial import Tried
from discreet.attacks.attack import Finding, Findings, Points
from discreet.belief.wording import percent

SHOWN, LONGEST = 8, 46
WIDTH = 480
GRID = "#EEF1F4"


def pictures(tried: Tried) -> list[Picture]:
    """Charts of one attack: beliefs where there are victims, its curves; else how often it is right."""
    findings = tried.findings
    found = []
    learned = [each for each in findings.victims if each.posterior != each.prior]
    if learned:
        found.append(_beliefs(learned[:SHOWN], tried))
    found += [_curve(name, points) for name, points in findings.series.items() if len(points) > 1]
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


def _curve(name: str, points: Points) -> Picture:
    """A series is called by what it has over what: share of people by match set."""
    over, _, size_of = name.partition(" by ")
    values = [{"size": size, "share": share} for size, share in points]
    axis = alt.Axis(format="%", gridColor=GRID, domain=False, ticks=False, tickCount=5)
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_line(color=BLUE, interpolate="step-after", strokeWidth=2, point=alt.OverlayMarkDef(color=BLUE))
        .encode(
            x=alt.X(
                "size:Q",
                title=f"{size_of or 'number'} of at most",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(format="~s", grid=False, values=[size for size, _ in points]),
            ),
            y=alt.Y("share:Q", title=over, axis=axis, scale=alt.Scale(domain=[0, 1])),
        )
        .properties(width=WIDTH, height=180)
    )
    said = ", ".join(f"{percent(share)} up to {size:g}" for size, share in points[:3])
    return Picture(svg=as_svg(styled(chart)), caption=f"{name[:1].upper()}{name[1:]}: {said} …")


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
