"""The custodian's report on a release: generalization, utility and protection.

It is computed from the real table, so it must not be published; the certificate may be.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from discreet.anonymity.models.model import MEANINGS
from discreet.anonymity.ordering import ordered
from discreet.anonymity.utility.classification import classification_accuracy
from discreet.anonymity.utility.measures import MEASURES, column_losses, height
from discreet.anonymity.utility.workload import random_workload, workload_error
from discreet.app.colours import BLUE
from discreet.app.documents import Document, Grid, Paragraph, Part, Picture, Section, keep
from discreet.app.drawings import Bar, BarRow, bars
from discreet.app.publishing.release import Release
from discreet.app.publishing.risk_report import identifying_section, risk_section
from discreet.app.publishing.view import examples
from discreet.app.trials import report as attack_report
from discreet.app.trials.trial import Trial
from discreet.belief.wording import how_many, number, percent
from discreet.core.randomness import Randomness
from discreet.engines.publishing import Target

NOTICE = (
    "For the custodian only. This report is computed from the real table; publish the release and its "
    "certificate, not this."
)
QUERIES, FEWEST, WORK = 500, 40, 200_000_000
"""The number of counts compared, the fewest if each takes long, and the tuples read by all together."""

ROUNDED = 12
SAYS = {
    "loss": "the share of its domain that a value leaves open: 0 nothing, 1 everything",
    "granularity": "how much detail is kept: 1 all, 0 none",
    "certainty": "the mean share of a domain that a cell stands for, 0 where it shows one value",
    "precision": "the mean level of labels in their hierarchies: 0 at the bottom, 1 at the top",
    "class-size": "rows per class",
    "discernibility": "the number of rows with which each row can be confused, summed",
    "entropy": "the bits that a reader lacks to infer values from labels",
    "ambiguity": "the number of combinations of values that rows may stand for, summed",
    "height": "the sum of levels",
}


def write_report(document: Document, published: Target) -> Path:
    """Write the report beside the published file, readable by its owner only."""
    path = published.beside("report.html")
    keep(document.as_html(), path)
    return path


def report(release: Release, trial: Trial) -> Document:
    """Return the report on a release, including the results of the attacks."""
    made = (_summary, _columns, risk_section, identifying_section, _belief, _utility)
    own = [section(release) for section in made]
    return Document(
        title=f"{release.name}: what is published, and how well",
        notice=NOTICE,
        sections=(*own, *attack_report.sections(trial, risks=False), attack_report.assumptions(trial)),
    )


def _summary(release: Release) -> Section:
    rows, out = release.tuples.rows, release.suppressed
    unit = "rows" if release.subject.person is None else "people"
    text = (
        f"{rows - out:,} of {rows:,} {unit} are published in "
        f"{how_many(len(release.classes), 'class', 'classes')}; {out:,} "
        f"({percent(out / rows)}) are left out, where {percent(float(release.goal.suppress))} were allowed."
    )
    parts = [Paragraph(text=f"{text} Method: {release.goal.method.meaning}.")]
    if release.missing:
        parts.append(
            Paragraph(text=f"{release.missing:,} more lack a value where the policy leaves such {unit} out.")
        )
    parts += [Paragraph(text=each, tone="bad") for each in release.warnings]
    parts += [Paragraph(text=each.declaration["meaning"]) for each in release.goal.pseudonyms]
    if release.found is not None:
        judged = f"{release.found.checked:,} of {release.found.nodes:,} generalizations were judged"
        parts.append(Paragraph(text=f"By {release.goal.objective.name} it is {release.searched}; {judged}."))
    return Section(title="What is published", parts=tuple(parts))


def _columns(release: Release) -> Section:
    lost = column_losses(release.tuples, release.hierarchies, release.recoding)
    # rounding of sums may put a share slightly outside of [0, 1]
    kept = np.clip(np.round(1 - lost, ROUNDED), 0, 1)
    rows = tuple(
        (name, release.how(place), percent(float(kept[place])), examples(release, place))
        for place, name in enumerate(release.subject.quasi)
    )
    drawn = [
        BarRow(name=name, bars=(Bar(share=float(kept[place]), colour=BLUE),))
        for place, name in enumerate(release.subject.quasi)
    ]
    picture = bars(drawn, title="detail that is kept", thick=16)
    table = Grid(head=("column", "level", "detail kept", "for example"), rows=rows, numbers=(2,))
    return Section(
        title="How far each column was made coarser",
        parts=(table, Picture(svg=picture, caption="Detail kept per column: 100% is as it was.")),
    )


def _belief(release: Release) -> Section:
    rows = tuple(
        (model.name, release.describe_belief(model), ", ".join(model.not_stopped) or "–")
        for model in release.goal.models
    )
    warning = (
        "Against an attacker who knows more about a person, or who has seen another release about the same "
        "people, none of these bounds holds: this is not differential privacy."
    )
    return Section(
        title="What an attacker may come to believe",
        parts=(
            Grid(
                head=("model", "belief of an attacker who knows quasi-identifiers only", "not stopped"),
                rows=rows,
            ),
            Grid(head=("attack", "how it works"), rows=tuple(MEANINGS.items())),
            Paragraph(text=warning, tone="bad"),
        ),
    )


def _utility(release: Release) -> Section:
    measured = (release.tuples, release.hierarchies, release.recoding)
    measures = MEASURES if release.recoding.levels is None else {**MEASURES, "height": height}
    rows = tuple((name, number(float(measure(*measured))), SAYS[name]) for name, measure in measures.items())
    random, rising = Randomness(), ordered(release.hierarchies, release.numeric)
    number_of = max(FEWEST, min(QUERIES, WORK // len(release.tuples)))
    queries = random_workload(*measured[:2], random, queries=number_of, ordered=rising)
    workload = workload_error(*measured, queries)
    parts: list[Part] = [
        Grid(head=("measure", "value", "meaning"), rows=rows, numbers=(1,)),
        Paragraph(
            text=f"{workload.queries:,} random counts of {_counted_by(release)} are wrong by "
            f"{percent(workload.median)} in the median, {percent(workload.mean)} on average."
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


def _counted_by(release: Release) -> str:
    columns = "two quasi-identifiers" if len(release.subject.quasi) > 1 else "a quasi-identifier"
    return f"{columns} and a sensitive value" if release.subject.sensitive else columns
