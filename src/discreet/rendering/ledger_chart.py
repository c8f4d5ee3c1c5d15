"""Chart of a ledger: belief rises by a step with every answer and stays below the promise."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import altair as alt

from discreet.accounting.entries import NonPrivateRelease
from discreet.accounting.ledger import Ledger
from discreet.belief import Promise, wording
from discreet.rendering.charts import FAINT, GRID_LINE, INK, VERMILLION, apply_style

WIDTH, HEIGHT, SUBTITLE_LENGTH = 560, 300, 88

Step = tuple[int, float]


def draw_ledger_chart(
    ledger: Ledger,
    *,
    analyst: str | None = None,
    show_sentence: bool = True,
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
    layers = [_draw_stairs(steps, last, promise), _draw_ceiling(promise, last)]
    if releases:
        layers.append(_draw_open_releases(releases, promise))
    words = (
        textwrap.wrap(ledger.describe_belief(analyst=analyst), SUBTITLE_LENGTH * width // WIDTH)
        if show_sentence
        else []
    )
    title = alt.Title("The most that can be believed, answer by answer", subtitle=words, offset=14)
    return apply_style(alt.layer(*layers).properties(width=width, height=height, title=title))


def _make_belief_scale(promise: Promise) -> alt.Scale:
    return alt.Scale(domain=[0, 1.12 * promise.posterior], nice=False, clamp=True)


def _draw_stairs(steps: Sequence[Step], last: int, promise: Promise) -> alt.LayerChart:
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
            axis=alt.Axis(format="~%", gridColor=GRID_LINE, tickCount=6),
            scale=_make_belief_scale(promise),
        ),
    )
    line = frame.mark_line(color=VERMILLION, strokeWidth=2.5, interpolate="step-after")
    number, highest = steps[-1]
    now = alt.Chart(alt.Data(values=[{"answers": number, "belief": highest}]))
    place = {"x": alt.X("answers:Q"), "y": alt.Y("belief:Q", scale=_make_belief_scale(promise))}
    point = now.mark_point(color=VERMILLION, filled=True, size=70, opacity=1).encode(**place)
    side = {"align": "right", "dx": -4} if number else {"align": "left", "dx": 8}
    label = now.mark_text(
        text=f"now {wording.format_percent_up(highest)}", color=INK, baseline="bottom", dy=-7, **side
    )
    return line + point + label.encode(**place)


def _draw_ceiling(promise: Promise, last: int) -> alt.LayerChart:
    data = alt.Chart(alt.Data(values=[{"answers": last, "belief": promise.posterior}]))
    rule = data.mark_rule(color=INK, strokeDash=[6, 4]).encode(
        y=alt.Y("belief:Q", scale=_make_belief_scale(promise))
    )
    text = f"promise: {wording.format_percent(promise.posterior)}"
    if promise.tail > 0:
        text += f", but for a chance of {wording.format_chance(promise.tail)}"
    label = data.mark_text(text=text, align="left", baseline="bottom", dy=-4, color=INK)
    return rule + label.encode(x=alt.value(4), y=alt.Y("belief:Q", scale=_make_belief_scale(promise)))


def _draw_open_releases(releases: Sequence[NonPrivateRelease], promise: Promise) -> alt.LayerChart:
    values = [
        {"answers": each.after, "name": f"{each.name}: not in this bound", "belief": 0.06 * promise.posterior}
        for each in releases
    ]
    data = alt.Chart(alt.Data(values=values)).encode(x="answers:Q")
    rule = data.mark_rule(color=FAINT, strokeWidth=1.5)
    label = data.mark_text(align="left", dx=5, color=FAINT)
    return rule + label.encode(y=alt.Y("belief:Q", scale=_make_belief_scale(promise)), text="name:N")
