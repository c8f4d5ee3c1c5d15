"""The custodian's report on a release: generalization, utility and protection.

It is computed from the real table, so it must not be published; the certificate may be.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.anonymity.models.privacy_model import MEANINGS
from discreet.anonymity.recodings.microaggregation import find_ordered_columns
from discreet.anonymity.risk.quasi_identifier_discovery import (
    Identifiability,
    discover_quasi_identifiers,
    make_tuple_counter,
)
from discreet.anonymity.risk.reidentification_risk import find_special_uniques
from discreet.anonymity.utility.classification_utility import measure_classification_accuracy
from discreet.anonymity.utility.utility_measures import MEASURES, compute_column_losses, measure_height
from discreet.anonymity.utility.workload_error import draw_workload, measure_workload_error
from discreet.belief.wording import format_count, format_number, format_percent
from discreet.core.randomness import Randomness
from discreet.rendering import attack_report
from discreet.rendering.anonymize_view import format_examples, list_risk_rows
from discreet.rendering.charts import BLUE, FAINT, VERMILLION, Bar, BarRow, draw_bars, draw_steps
from discreet.rendering.report_document import (
    Document,
    DocumentPart,
    Grid,
    Paragraph,
    Picture,
    Section,
)
from discreet.services.anonymize.release import Release
from discreet.services.attack.evaluation import AttackEvaluation

NOTICE = (
    "For the custodian only. This report is computed from the real table; publish the release and its "
    "certificate, not this."
)
QUERIES, FEWEST, WORK = 500, 40, 200_000_000
"""The number of counts compared, the fewest if each takes long, and the tuples read by all together."""

LARGEST_CLASS = 100_000  # the right end of the drawing
MOST_TUPLES = 200_000  # above this, sets of WIDEST columns take too long
WIDEST = 3
SETS = 12  # column sets listed, the strongest
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


def render_release_report(release: Release, evaluation: AttackEvaluation) -> str:
    """Return the report on a release as HTML; frontends pass this to the service."""
    return build_release_report(release, evaluation).to_html()


def build_release_report(release: Release, evaluation: AttackEvaluation) -> Document:
    """Return the report on a release, including the results of the attacks."""
    made = (
        _build_summary,
        _build_column_section,
        build_risk_section,
        build_identifying_section,
        _build_belief_section,
        _build_utility_section,
    )
    own = [section(release) for section in made]
    return Document(
        title=f"{release.name}: what is published, and how well",
        notice=NOTICE,
        sections=(
            *own,
            *attack_report.build_sections(evaluation, risks=False),
            attack_report.build_assumptions_section(evaluation),
        ),
    )


def _build_summary(release: Release) -> Section:
    rows, out = release.tuples.rows, release.suppressed_count
    unit = "rows" if release.source.person is None else "people"
    text = (
        f"{rows - out:,} of {rows:,} {unit} are published in "
        f"{format_count(len(release.classes), 'class', 'classes')}; {out:,} "
        f"({format_percent(out / rows)}) are left out, where "
        f"{format_percent(float(release.goal.suppress))} were allowed."
    )
    parts = [Paragraph(text=f"{text} Method: {release.goal.method.meaning}.")]
    if release.missing:
        parts.append(
            Paragraph(text=f"{release.missing:,} more lack a value where the policy leaves such {unit} out.")
        )
    parts += [Paragraph(text=each, tone="bad") for each in release.warnings]
    parts += [Paragraph(text=each.declaration["meaning"]) for each in release.goal.pseudonyms]
    if release.search_result is not None:
        judged = (
            f"{release.search_result.checked:,} of {release.search_result.nodes:,} "
            "generalizations were judged"
        )
        parts.append(
            Paragraph(text=f"By {release.goal.objective.name} it is {release.search_outcome}; {judged}.")
        )
    return Section(title="What is published", parts=tuple(parts))


def _build_column_section(release: Release) -> Section:
    lost = compute_column_losses(release.tuples, release.hierarchies, release.recoding)
    # rounding of sums may put a share slightly outside of [0, 1]
    kept = np.clip(np.round(1 - lost, ROUNDED), 0, 1)
    rows = tuple(
        (
            name,
            release.describe_level(place),
            format_percent(float(kept[place])),
            format_examples(release, place),
        )
        for place, name in enumerate(release.source.quasi)
    )
    drawn = [
        BarRow(name=name, bars=(Bar(share=float(kept[place]), color=BLUE),))
        for place, name in enumerate(release.source.quasi)
    ]
    picture = draw_bars(drawn, title="detail that is kept", bar_height=16)
    table = Grid(head=("column", "level", "detail kept", "for example"), rows=rows, numbers=(2,))
    return Section(
        title="How far each column was made coarser",
        parts=(table, Picture(svg=picture, caption="Detail kept per column: 100% is as it was.")),
    )


def _build_belief_section(release: Release) -> Section:
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


def _build_utility_section(release: Release) -> Section:
    measured = (release.tuples, release.hierarchies, release.recoding)
    measures = MEASURES if release.recoding.levels is None else {**MEASURES, "height": measure_height}
    rows = tuple(
        (name, format_number(float(measure(*measured))), SAYS[name]) for name, measure in measures.items()
    )
    random, rising = Randomness(), find_ordered_columns(release.hierarchies, release.numeric_columns)
    number_of = max(FEWEST, min(QUERIES, WORK // len(release.tuples)))
    queries = draw_workload(*measured[:2], random, queries=number_of, ordered=rising)
    workload = measure_workload_error(*measured, queries)
    parts: list[DocumentPart] = [
        Grid(head=("measure", "value", "meaning"), rows=rows, numbers=(1,)),
        Paragraph(
            text=f"{workload.queries:,} random counts of {_describe_counted_columns(release)} are wrong by "
            f"{format_percent(workload.median)} in the median, {format_percent(workload.mean)} on average."
        ),
    ]
    for name in release.source.sensitive:
        accuracy = measure_classification_accuracy(release.tuples, release.recoding, name, random)
        parts.append(
            Paragraph(
                text=f"A tree that predicts {name} is right for {format_percent(accuracy.release)} "
                "when trained on "
                f"the release, for {format_percent(accuracy.original)} on the original; the "
                "commonest value is "
                f"right for {format_percent(accuracy.baseline)}."
            )
        )
    return Section(title="What it is still good for", parts=tuple(parts))


def _describe_counted_columns(release: Release) -> str:
    columns = "two quasi-identifiers" if len(release.source.quasi) > 1 else "a quasi-identifier"
    return f"{columns} and a sensitive value" if release.source.sensitive else columns


def build_risk_section(release: Release) -> Section:
    """Return the section on the three attackers and on unique people, before and after."""
    rows = tuple(list_risk_rows(release))
    table = Grid(head=("risk of being matched", "before", "after"), rows=rows, numbers=(1, 2))
    caption = (
        "How many people share their quasi-identifiers with so many others, before (grey) and after (orange)."
    )
    parts: list[DocumentPart] = [table, Picture(svg=_draw_class_sizes(release), caption=caption)]
    if release.fraction is None:
        parts.append(
            Paragraph(
                text="With the share of the population that the table contains, or a table of the "
                "population, the report estimates how many people are unique in the population."
            )
        )
    return Section(title="Risk of being matched to a row", parts=tuple(parts))


def build_identifying_section(release: Release) -> Section:
    """Return the section on small sets of columns that single people out in the original table."""
    few = WIDEST if len(release.tuples) <= MOST_TUPLES else WIDEST - 1
    quasi = release.source.quasi
    found = discover_quasi_identifiers(quasi, make_tuple_counter(release.tuples, quasi), most=few)
    single = find_special_uniques(release.tuples, most=few)
    columns = tuple((name, f"{count:,}") for name, count in zip(quasi, single.columns, strict=True))
    sizes = "; ".join(f"of {size}: {count:,}" for size, count in enumerate(single.sizes.tolist(), 1))
    parts: list[DocumentPart] = [
        Paragraph(
            text="In the original table. Distinction is the number of different combinations per row, "
            "separation the share of pairs of rows that differ."
        ),
        _render_column_sets("quasi-identifiers", found[:SETS]),
    ]
    if plain := release.measure_unchanged_columns():
        parts.append(_render_column_sets("published as it is", plain))
    parts += [
        Paragraph(
            text="Special uniques are minimal sets of columns that single out a row. By the number of "
            f"columns, {sizes}."
        ),
        Grid(head=("column", "special uniques that contain it"), rows=columns, numbers=(1,)),
    ]
    return Section(title="What tells people apart", parts=tuple(parts))


def _render_column_sets(heading: str, found: Sequence[Identifiability]) -> Grid:
    rows = tuple(
        (", ".join(each.columns), format_percent(each.distinction), format_percent(each.separation))
        for each in found
    )
    return Grid(head=(heading, "distinction", "separation"), rows=rows, numbers=(1, 2))


def _draw_class_sizes(release: Release) -> str:
    """Draw the share of people in classes of at most each size."""
    curves = []
    for classes, colour in ((release.classes_before, FAINT), (release.classes, VERMILLION)):
        sizes = np.sort(classes.sizes)
        share = np.cumsum(sizes) / max(int(sizes.sum()), 1)
        places = np.searchsorted(sizes, np.unique(np.minimum(sizes, LARGEST_CLASS)), side="right") - 1
        curves.append((colour, [(int(min(sizes[p], LARGEST_CLASS)), float(share[p])) for p in places]))
    return draw_steps(curves, x_title="size of the class", title="people in classes up to it", height=220)
