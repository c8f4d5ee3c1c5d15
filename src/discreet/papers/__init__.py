"""Tables and figures of the five source documents, recomputed.

Each is one function from `ReproductionInputs` (an engine to count with, and the Adult survey) to a
`Reproduction`: the printed numbers, the recomputed ones, and one line on why they differ. Formulas are those
that discreet uses; a document's errors are shown here and used nowhere.
`REPRODUCTIONS` lists them by name, in the order of the documents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from discreet.core.errors import RequestError
from discreet.papers import (
    epsilon_generation,
    lecture_attacks,
    lecture_mechanisms,
    lecture_models,
    limiting_breaches,
    preliminaries_chapter,
    randomization_slides,
)
from discreet.papers.reproduction import ComparedValue, Curve, Reproduction, ReproductionInputs, Verdict

REPRODUCTIONS: Mapping[str, Callable[[ReproductionInputs], Reproduction]] = {
    "lpb-table-1": limiting_breaches.reproduce_table_1,
    "lpb-table-2": limiting_breaches.reproduce_table_2,
    "lpb-figure-1": limiting_breaches.reproduce_figure_1,
    "lpb-figure-2": limiting_breaches.reproduce_figure_2,
    "lpb-figure-3": limiting_breaches.reproduce_figure_3,
    "lpb-figure-4": limiting_breaches.reproduce_figure_4,
    "lpb-figure-5": limiting_breaches.reproduce_figure_5,
    "lpb-claims": limiting_breaches.reproduce_claims,
    "slides-breaches": randomization_slides.reproduce_breaches,
    "slides-information": randomization_slides.reproduce_information,
    "slides-amplification": randomization_slides.reproduce_amplification,
    "slides-worst-case": randomization_slides.reproduce_worst_case,
    "egm-epsilon": epsilon_generation.reproduce_epsilon,
    "egm-table-1": epsilon_generation.reproduce_table_1,
    "egm-table-2": epsilon_generation.reproduce_table_2,
    "egm-figure-4": epsilon_generation.reproduce_figure_4,
    "chapter-table-2.3": preliminaries_chapter.reproduce_table_2_3,
    "chapter-hiv": preliminaries_chapter.reproduce_hiv_count,
    "chapter-composition": preliminaries_chapter.reproduce_composition,
    "chapter-gaussian": preliminaries_chapter.reproduce_gaussian,
    "chapter-usefulness": preliminaries_chapter.reproduce_usefulness,
    "lectures-linkage": lecture_attacks.reproduce_linkage,
    "lectures-homogeneity": lecture_attacks.reproduce_homogeneity,
    "lectures-background": lecture_attacks.reproduce_background,
    "lectures-similarity": lecture_attacks.reproduce_similarity,
    "lectures-probabilistic": lecture_attacks.reproduce_probabilistic,
    "lectures-birthday": lecture_attacks.reproduce_birthday,
    "lectures-minimal": lecture_models.reproduce_minimal_generalizations,
    "lectures-diversity": lecture_models.reproduce_diversity,
    "lectures-closeness": lecture_models.reproduce_closeness,
    "lectures-laplace": lecture_mechanisms.reproduce_laplace,
    "lectures-histogram": lecture_mechanisms.reproduce_histogram,
    "lectures-neighbours": lecture_mechanisms.reproduce_neighbours,
    "lectures-exponential": lecture_mechanisms.reproduce_exponential,
    "lectures-tree": lecture_mechanisms.reproduce_tree,
    "lectures-family": lecture_mechanisms.reproduce_family,
}


def find_reproductions(name_or_prefix: str) -> tuple[str, ...]:
    """Return the reproduction of that name, or all names that begin with it; raise if there is none."""
    found = (
        (name_or_prefix,)
        if name_or_prefix in REPRODUCTIONS
        else tuple(n for n in REPRODUCTIONS if n.startswith(f"{name_or_prefix}-"))
    )
    if not found:
        raise RequestError(
            f"reproduce: there is no table or figure {name_or_prefix!r}.",
            hint=f"Name one of {', '.join(REPRODUCTIONS)}; or lpb, slides, egm, chapter or lectures.",
        )
    return found


def run_reproduction(name: str, inputs: ReproductionInputs) -> Reproduction:
    """Recompute one table or figure."""
    return REPRODUCTIONS[name](inputs)


__all__ = [
    "REPRODUCTIONS",
    "ComparedValue",
    "Curve",
    "Reproduction",
    "ReproductionInputs",
    "Verdict",
    "find_reproductions",
    "run_reproduction",
]
