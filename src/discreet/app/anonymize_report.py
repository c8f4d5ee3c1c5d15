"""The custodian's report on a release: what was made coarser, what that cost, what it protects from.

Computed from the real table, so it is not for publication; the certificate beside it is.
"""

from __future__ import annotations

from pathlib import Path

import altair as alt
import numpy as np

from discreet.anonymity.risk.attackers import risks
from discreet.anonymity.risk.uniqueness import uniqueness
from discreet.anonymity.utility.classification import classification_accuracy
from discreet.anonymity.utility.measures import MEASURES, column_losses
from discreet.anonymity.utility.workload import random_workload, workload_error
from discreet.app import attack_report
from discreet.app.anonymizer import Release
from discreet.app.charts import BLUE, FAINT, SUSPECTED, as_svg, styled
from discreet.app.documents import Document, Grid, Paragraph, Part, Picture, Section
from discreet.app.trial import Trial
from discreet.belief.wording import number, percent
from discreet.core.randomness import Randomness

NOTICE = (
    "For the custodian only. This report is computed from the real table; publish the release and its "
    "certificate, not this."
)
QUERIES = 500
LARGEST_CLASS = 100_000


def write_report(document: Document, published: Path) -> Path:
    """Beside the published file."""
    path = published.with_name(f"{published.stem}.report.html")
    path.write_text(document.as_html(), encoding="utf-8")
    return path


def report(release: Release, trial: Trial) -> Document:
    """Everything that is known of a release, and what attackers find in it."""
    own = (_summary(release), _columns(release), _risk(release), _belief(release), _utility(release))
    return Document(
        title=f"{release.name}: what is published, and how well",
        notice=NOTICE,
        sections=(*own, *attack_report.sections(trial, risks=False), attack_report.assumptions(trial)),
    )


def _summary(release: Release) -> Section:
    rows, out = release.tuples.rows, release.suppressed
    unit = "rows" if release.subject.person is None else "people"
    text = (
        f"{rows - out:,} of {rows:,} {unit} are published in {len(release.classes):,} classes; {out:,} "
        f"({percent(out / rows)}) are left out, where {percent(float(release.goal.suppress))} were allowed."
    )
    parts = [Paragraph(text=text)]
    if release.found is not None:
        found = release.found
        proof = "is the best of all" if found.proven else "is not proven to be the best: time ran out"
        parts.append(
            Paragraph(text=f"By {release.goal.objective.name} it {proof} {found.nodes:,} generalizations.")
        )
    return Section(title="What is published", parts=tuple(parts))


def _columns(release: Release) -> Section:
    kept = 1 - column_losses(release.tuples, release.hierarchies, release.recoding)
    levels = release.recoding.levels
    rows = tuple(
        (
            name,
            "by tuple" if levels is None else f"{levels[place]} of {release.hierarchies[place].height}",
            percent(float(kept[place])),
            ", ".join(release.recoding.labels[place][:4]),
        )
        for place, name in enumerate(release.subject.quasi)
    )
    data = alt.Data(values=[{"column": row[0], "kept": float(kept[place])} for place, row in enumerate(rows)])
    bars = (
        alt.Chart(data)
        .mark_bar(color=BLUE)
        .encode(
            x=alt.X(
                "kept:Q",
                title="detail that is kept",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            y=alt.Y("column:N", title=None, sort=None),
        )
        .properties(width=420, height=alt.Step(24))
    )
    table = Grid(head=("column", "level", "detail kept", "for example"), rows=rows, numbers=(2,))
    return Section(
        title="How far each column was made coarser",
        parts=(
            table,
            Picture(svg=as_svg(styled(bars)), caption="Detail kept per column: 100% is as it was."),
        ),
    )


def _risk(release: Release) -> Section:
    before, after = risks(release.before), risks(release.classes)
    rows = (
        ("prosecutor, highest", percent(before.prosecutor.highest), percent(after.prosecutor.highest)),
        (
            "prosecutor, share above 20%",
            percent(before.prosecutor.at_risk),
            percent(after.prosecutor.at_risk),
        ),
        ("journalist, highest", percent(before.journalist.highest), percent(after.journalist.highest)),
        ("marketer, average", percent(before.marketer), percent(after.marketer)),
        (
            "alone with their quasi-identifiers",
            f"{uniqueness(release.before, 1.0).sample:,}",
            f"{uniqueness(release.classes, 1.0).sample:,}",
        ),
    )
    table = Grid(head=("risk of being matched", "before", "after"), rows=rows, numbers=(1, 2))
    caption = (
        "How many people share their quasi-identifiers with so many others, before (grey) and after (orange)."
    )
    return Section(
        title="Risk of being matched to a row",
        parts=(table, Picture(svg=as_svg(styled(_sizes(release))), caption=caption)),
    )


def _sizes(release: Release) -> alt.LayerChart:
    """The share of people in classes of at most each size."""
    layers = []
    for classes, colour in ((release.before, FAINT), (release.classes, SUSPECTED)):
        sizes = np.sort(classes.sizes)
        share = np.cumsum(sizes) / max(int(sizes.sum()), 1)
        places = np.searchsorted(sizes, np.unique(np.minimum(sizes, LARGEST_CLASS)), side="right") - 1
        points = [{"size": int(min(sizes[p], LARGEST_CLASS)), "share": float(share[p])} for p in places]
        layers.append(
            alt.Chart(alt.Data(values=points))
            .mark_line(interpolate="step-after", color=colour, point=alt.OverlayMarkDef(color=colour))
            .encode(
                x=alt.X("size:Q", title="size of the class", scale=alt.Scale(type="log")),
                y=alt.Y("share:Q", title="people in classes up to it", axis=alt.Axis(format="%")),
            )
        )
    return alt.layer(*layers).properties(width=460, height=220)


def _belief(release: Release) -> Section:
    rows = tuple(
        (model.name, model.belief, ", ".join(model.not_stopped) or "–") for model in release.goal.models
    )
    warning = (
        "Against an attacker who knows more about a person, or who has seen another release about the same "
        "people, none of these bounds holds: this is not differential privacy."
    )
    return Section(
        title="What an attacker may come to believe",
        parts=(
            Grid(
                head=("model", "who knows everybody's quasi-identifiers and nothing else", "not stopped"),
                rows=rows,
            ),
            Paragraph(text=warning, tone="bad"),
        ),
    )


def _utility(release: Release) -> Section:
    measured = (release.tuples, release.hierarchies, release.recoding)
    rows = tuple((name, number(float(measure(*measured)))) for name, measure in MEASURES.items())
    random = Randomness()
    workload = workload_error(*measured, random_workload(*measured[:2], random, queries=QUERIES))
    parts: list[Part] = [
        Grid(head=("measure", "value"), rows=rows, numbers=(1,)),
        Paragraph(
            text=f"{workload.queries:,} random counts of two quasi-identifiers and a sensitive value are "
            f"wrong by {percent(workload.median)} in the median, {percent(workload.mean)} on average."
        ),
    ]
    for name in release.subject.sensitive:
        accuracy = classification_accuracy(release.tuples, release.recoding, name, random)
        parts.append(
            Paragraph(
                text=f"A tree that predicts {name} is right for {percent(accuracy.release)} when trained on "
                f"the release, for {percent(accuracy.original)} on the original; the commonest value is "
                f"right for {percent(accuracy.baseline)}."
            )
        )
    return Section(title="What it is still good for", parts=tuple(parts))
