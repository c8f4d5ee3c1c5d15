"""Sections of the custodian's report on re-identification: risks, and identifying columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.anonymity.risk.quasi_identifier_discovery import (
    Identifiability,
    discover_quasi_identifiers,
    make_tuple_counter,
)
from discreet.anonymity.risk.uniqueness import find_special_uniques
from discreet.belief.wording import format_percent
from discreet.rendering.charts import FAINT, VERMILLION, draw_steps
from discreet.rendering.report_document import DocumentPart, Grid, Paragraph, Picture, Section
from discreet.services.anonymize import release_risk as anonymize_risk
from discreet.services.anonymize.release import Release

LARGEST_CLASS = 100_000  # the right end of the drawing
MOST_TUPLES = 200_000  # above this, sets of WIDEST columns take too long
WIDEST = 3
SETS = 12  # column sets listed, the strongest


def build_risk_section(release: Release) -> Section:
    """Return the section on the three attackers and on unique people, before and after."""
    rows = tuple(anonymize_risk.list_risk_rows(release))
    table = Grid(head=("risk of being matched", "before", "after"), rows=rows, numbers=(1, 2))
    caption = (
        "How many people share their quasi-identifiers with so many others, before (grey) and after (orange)."
    )
    parts: list[DocumentPart] = [table, Picture(svg=_draw_class_sizes(release), caption=caption)]
    if release.fraction is None:
        parts.append(
            Paragraph(
                text="To estimate how many people are unique in the population, state the sampling fraction "
                "(the share of the population that the table contains) or a table of the population."
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
