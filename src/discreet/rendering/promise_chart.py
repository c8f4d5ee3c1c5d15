"""Chart of a promise: the attacker's belief before and at most after, as people out of a hundred."""

from __future__ import annotations

import math

import altair as alt
import numpy as np

from discreet.belief import Promise, compute_belief, wording
from discreet.rendering.charts import FAINT, GRAY, GRID_LINE, INK, VERMILLION, apply_style

PERSON_SHAPE = "M0,-1a.34,.34 0 1 1 -.001,0zM-.52,1v-.75a.52,.5 0 0 1 1.04,0v.75z"


def _draw_people(share: float, title: str, subtitle: str) -> alt.LayerChart:
    """Return a hundred people, 100 * share of them colored; a fraction of a person is paler."""
    place = {i: {"x": i % 10, "y": i // 10} for i in range(100)}
    crowd = alt.Data(values=[place[i] for i in range(100)])
    suspects = [{**place[i], "part": min(1.0, 100 * share - i)} for i in range(math.ceil(100 * share - 1e-9))]
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.6, 9.6]))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[9.6, -0.6]))
    figure = {"shape": PERSON_SHAPE, "size": 190, "filled": True}
    others = alt.Chart(crowd).mark_point(color=GRAY, opacity=1, **figure).encode(x=x, y=y)
    part = alt.Opacity("part:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[0.2, 1]))
    marked = alt.Chart(alt.Data(values=suspects)).mark_point(color=VERMILLION, **figure)
    coloured = marked.encode(x=x, y=y, opacity=part)
    return (others + coloured).properties(width=200, height=220, title=alt.Title(title, subtitle=subtitle))


def _draw_belief_curve(promise: Promise) -> alt.LayerChart:
    loss = math.log(promise.gamma)
    priors = np.unique(np.concatenate([np.linspace(0.001, 0.999, 200), [promise.prior]]))
    points = [
        {"before": float(p), "after": compute_belief(float(p), loss).highest, "same": float(p)}
        for p in priors
    ]
    percent = alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1], grid=True, gridColor=GRID_LINE)
    frame = alt.Chart(alt.Data(values=points)).encode(
        x=alt.X("before:Q", title="belief before", axis=percent, scale=alt.Scale(domain=[0, 1]))
    )
    bound = frame.mark_line(color=VERMILLION, strokeWidth=2.5).encode(
        y=alt.Y("after:Q", title="belief after, at most", axis=percent, scale=alt.Scale(domain=[0, 1]))
    )
    unchanged = frame.mark_line(color=FAINT, strokeDash=[4, 4]).encode(y="same:Q")
    promised = alt.Chart(alt.Data(values=[{"before": promise.prior, "after": promise.posterior}]))
    point = promised.mark_point(color=INK, filled=True, size=70, opacity=1).encode(x="before:Q", y="after:Q")
    title = alt.Title("For any belief before", subtitle="orange: the most it can become")
    return (unchanged + bound + point).properties(width=240, height=220, title=title)


def draw_promise(promise: Promise) -> alt.HConcatChart:
    """Return 100 people before and after, and the curve of posterior over prior."""
    before, after = (wording.format_percent(share) for share in (promise.prior, promise.posterior))
    people = [f"as {share.rstrip('%')} of 100 people" for share in (before, after)]
    return apply_style(
        alt.hconcat(
            _draw_people(promise.prior, f"Believed before: {before}", people[0]),
            _draw_people(promise.posterior, f"After, at most: {after}", people[1]),
            _draw_belief_curve(promise),
            spacing=40,
        )
    )
