"""Chart of a ledger: belief rises by a step with every answer and stays below the promise."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import altair as alt

from discreet.accounting.entries import NonPrivateRelease
from discreet.accounting.ledger import Ledger
from discreet.app.colours import FAINT, INK, SUSPECTED
from discreet.belief import Promise, wording

WIDTH, HEIGHT, LETTERS = 560, 300, 88

Step = tuple[int, float]


def ledger_picture(
    ledger: Ledger,
    *,
    analyst: str | None = None,
    told: bool = True,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> alt.LayerChart:
    """Return the staircase of belief, the promise as its ceiling, open releases as vertical rules.

    The chart of one analyst has no rules: their positions count the answers to all analysts.
    `show_sentence` puts the ledger's sentence above the chart.
    """
    promise, releases = ledger.promise, ledger.list_releases() if analyst is None else []
    steps = [(number, belief.highest) for number, belief in ledger.compute_belief_history(analyst=analyst)]
    last = max(steps[-1][0], 5)
    layers = [_stairs(steps, last, promise), _ceiling(promise, last)]
    if releases:
        layers.append(_open_releases(releases, promise))
    words = textwrap.wrap(ledger.describe_belief(analyst=analyst), LETTERS * width // WIDTH) if told else []
    title = alt.Title("The most that can be believed, answer by answer", subtitle=words, offset=14)
    return (
        alt.layer(*layers)
        .properties(width=width, height=height, title=title)
        .configure(
            font="DejaVu Sans, Helvetica, Arial, sans-serif",
            title=alt.TitleConfig(
                anchor="start", color=INK, subtitleColor=FAINT, fontSize=14, subtitleFontSize=11
            ),
            axis=alt.AxisConfig(labelColor=FAINT, titleColor=INK, domainColor=FAINT, tickColor=FAINT),
            view=alt.ViewConfig(stroke=None),
            background="white",
        )
    )


def _height(promise: Promise) -> alt.Scale:
    return alt.Scale(domain=[0, 1.12 * promise.posterior], nice=False, clamp=True)


def _stairs(steps: Sequence[Step], last: int, promise: Promise) -> alt.LayerChart:
    points = [{"answers": number, "belief": highest} for number, highest in steps]
    title = f"belief, at most, in a claim that had {wording.format_percent(promise.prior)}"
    frame = alt.Chart(alt.Data(values=points)).encode(
        x=alt.X(
            "answers:Q",
            title="answers charged",
            axis=alt.Axis(format=",d", grid=False, tickCount=min(last, 10)),
            scale=alt.Scale(domain=[0, last], nice=False),
        ),
        y=alt.Y(
            "belief:Q",
            title=title,
            axis=alt.Axis(format="~%", gridColor="#EEF1F4", tickCount=6),
            scale=_height(promise),
        ),
    )
    line = frame.mark_line(color=SUSPECTED, strokeWidth=2.5, interpolate="step-after")
    number, highest = steps[-1]
    now = alt.Chart(alt.Data(values=[{"answers": number, "belief": highest}]))
    place = {"x": alt.X("answers:Q"), "y": alt.Y("belief:Q", scale=_height(promise))}
    point = now.mark_point(color=SUSPECTED, filled=True, size=70, opacity=1).encode(**place)
    side = {"align": "right", "dx": -4} if number else {"align": "left", "dx": 8}
    label = now.mark_text(
        text=f"now {wording.format_percent_up(highest)}", color=INK, baseline="bottom", dy=-7, **side
    )
    return line + point + label.encode(**place)


def _ceiling(promise: Promise, last: int) -> alt.LayerChart:
    data = alt.Chart(alt.Data(values=[{"answers": last, "belief": promise.posterior}]))
    rule = data.mark_rule(color=INK, strokeDash=[6, 4]).encode(y=alt.Y("belief:Q", scale=_height(promise)))
    text = f"promise: {wording.format_percent(promise.posterior)}"
    if promise.tail > 0:
        text += f", but for a chance of {wording.format_chance(promise.tail)}"
    label = data.mark_text(text=text, align="left", baseline="bottom", dy=-4, color=INK)
    return rule + label.encode(x=alt.value(4), y=alt.Y("belief:Q", scale=_height(promise)))


def _open_releases(releases: Sequence[NonPrivateRelease], promise: Promise) -> alt.LayerChart:
    values = [
        {"answers": each.after, "name": f"{each.name}: not in this bound", "belief": 0.06 * promise.posterior}
        for each in releases
    ]
    data = alt.Chart(alt.Data(values=values)).encode(x="answers:Q")
    rule = data.mark_rule(color=FAINT, strokeWidth=1.5)
    label = data.mark_text(align="left", dx=5, color=FAINT)
    return rule + label.encode(y=alt.Y("belief:Q", scale=_height(promise)), text="name:N")
