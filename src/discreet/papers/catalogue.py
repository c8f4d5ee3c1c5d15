"""Catalogue of the reproduced tables and figures by name, in the order of the documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from discreet.core.errors import RequestError
from discreet.papers import (
    epsilon_generation,
    lecture_attacks,
    lecture_mechanisms,
    lecture_models,
    limiting_breaches,
    preliminaries,
    randomization,
)
from discreet.papers.reproduction import Bench, Reproduction

REPRODUCTIONS: Mapping[str, Callable[[Bench], Reproduction]] = {
    "lpb-table-1": limiting_breaches.table_1,
    "lpb-table-2": limiting_breaches.table_2,
    "lpb-figure-1": limiting_breaches.figure_1,
    "lpb-figure-2": limiting_breaches.figure_2,
    "lpb-figure-3": limiting_breaches.figure_3,
    "lpb-figure-4": limiting_breaches.figure_4,
    "lpb-figure-5": limiting_breaches.figure_5,
    "lpb-claims": limiting_breaches.claims,
    "slides-breaches": randomization.breaches,
    "slides-information": randomization.information,
    "slides-amplification": randomization.amplified,
    "slides-worst-case": randomization.worst_case,
    "egm-epsilon": epsilon_generation.epsilon,
    "egm-table-1": epsilon_generation.table_1,
    "egm-table-2": epsilon_generation.table_2,
    "egm-figure-4": epsilon_generation.figure_4,
    "chapter-table-2.3": preliminaries.table_2_3,
    "chapter-hiv": preliminaries.hiv,
    "chapter-composition": preliminaries.composition,
    "chapter-gaussian": preliminaries.gaussian,
    "chapter-usefulness": preliminaries.usefulness,
    "lectures-linkage": lecture_attacks.linkage,
    "lectures-homogeneity": lecture_attacks.homogeneity,
    "lectures-background": lecture_attacks.background,
    "lectures-similarity": lecture_attacks.similarity,
    "lectures-probabilistic": lecture_attacks.probabilistic,
    "lectures-birthday": lecture_attacks.birthday,
    "lectures-minimal": lecture_models.minimal_generalizations,
    "lectures-diversity": lecture_models.diversity,
    "lectures-closeness": lecture_models.closeness,
    "lectures-laplace": lecture_mechanisms.laplace,
    "lectures-histogram": lecture_mechanisms.histogram,
    "lectures-neighbours": lecture_mechanisms.neighbours,
    "lectures-exponential": lecture_mechanisms.exponential,
    "lectures-tree": lecture_mechanisms.tree,
    "lectures-family": lecture_mechanisms.family,
}


def find(text: str) -> tuple[str, ...]:
    """Return the reproduction of that name, or all names that begin with it; raise if there is none."""
    found = (text,) if text in REPRODUCTIONS else tuple(n for n in REPRODUCTIONS if n.startswith(f"{text}-"))
    if not found:
        raise RequestError(
            f"reproduce: there is no table or figure {text!r}.",
            hint=f"Name one of {', '.join(REPRODUCTIONS)}; or lpb, slides, egm, chapter or lectures.",
        )
    return found


def reproduce(name: str, bench: Bench) -> Reproduction:
    """Recompute one table or figure."""
    return REPRODUCTIONS[name](bench)
