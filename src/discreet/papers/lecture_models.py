"""The lectures' tables: their k, l and t, and which generalizations are 2-minimal."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from discreet.anonymity.equivalence_classes import EquivalenceClasses
from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from discreet.anonymity.models import KAnonymity, find_strongest
from discreet.anonymity.models.closeness import measure_ordered_distances
from discreet.anonymity.search import find_minimal_generalizations, recode_at_levels
from discreet.anonymity.tuple_counts import ReleaseSource, count_combinations, count_tuples
from discreet.attacks.published_table import read_release
from discreet.papers import lecture_tables as tables
from discreet.papers.lecture_tables import DOCUMENT
from discreet.papers.reproduction import ComparedValue, Reproduction, ReproductionInputs

YOUNG, OLDER = ("< 30", "< 40", "*"), ("3*", "< 40", "*")
HIERARCHIES = (
    hierarchy_from_rows("zip", [("13053", "130**", "*"), ("13067", "130**", "*")]),
    hierarchy_from_rows("age", [("28", *YOUNG), ("29", *YOUNG), ("36", *OLDER), ("35", *OLDER)]),
    hierarchy_from_rows(
        "nationality",
        [
            ("US", "American", "*"),
            ("Canadian", "American", "*"),
            ("Japanese", "Asian", "*"),
            ("Indian", "Asian", "*"),
        ],
    ),
)
SHOWN = {  # by levels of zip, age and nationality: as the lectures print them
    (0, 2, 2): "13053, < 40, * and 13067, < 40, *",
    (1, 1, 1): "130**, 3*, Asian and 130**, < 30, American",
}
FAMILIES = {
    "distinct": "distinct l",
    "probabilistic": "probabilistic l",
    "entropy": "entropy l",
    "recursive": "recursive (c, 2): every c above",
    "equal": "t, equal distance",
}


def reproduce_minimal_generalizations(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce the minimal generalizations that are 2-anonymous."""
    columns = tuple(each.name for each in HIERARCHIES)
    with inputs.open_engine({"patients": tables.PATIENTS}) as engine:
        tuples = count_tuples(
            engine, count_combinations(engine, ReleaseSource(table="patients", quasi=columns)), HIERARCHIES
        )
    two = [KAnonymity(k=2)]
    found = {one.levels for one in find_minimal_generalizations(tuples, HIERARCHIES, two).solutions}

    def format_rows(levels: Sequence[int]) -> str:
        recoding = recode_at_levels(tuples, HIERARCHIES, tuple(levels), two)
        rows = {
            ", ".join(recoding.labels[j][code] for j, code in enumerate(row))
            for row in recoding.codes.tolist()
        }
        return " and ".join(sorted(rows))

    lines = [
        ComparedValue(f"2-minimal: levels {levels}", printed, format_rows(levels))
        for levels, printed in SHOWN.items()
        if levels in found
    ]
    lines += [
        ComparedValue("2-minimal generalizations", "2", float(len(found))),
        ComparedValue("130**, < 40, *: 2-minimal", "no", "yes" if (1, 2, 2) in found else "no"),
    ]
    return Reproduction(
        name="lectures-minimal",
        document=DOCUMENT,
        title="2-minimal generalizations of four patients",
        lines=tuple(lines),
    )


def reproduce_diversity(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce k and l of the l-diversity tables."""
    return Reproduction(
        name="lectures-diversity",
        document=DOCUMENT,
        title="k-anonymity and l-diversity of the printed tables",
        lines=(
            *_make_level_lines(inputs, "2-anonymous table", tables.TWO_ANONYMOUS, k="2"),
            *_make_level_lines(inputs, "3-anonymous patients", tables.THREE_ANONYMOUS, k="3"),
            *_make_level_lines(inputs, "4-anonymization", tables.FOUR_ANONYMOUS, k="4"),
            *_make_level_lines(inputs, "2-diverse table", tables.TWO_DIVERSE, distinct="2"),
            *_make_level_lines(
                inputs, "3-diversified", tables.THREE_DIVERSE, distinct="3", probabilistic="3"
            ),
            *_make_level_lines(
                inputs, "2-diverse generalized table", tables.SECOND_TWO_DIVERSE, probabilistic="2"
            ),
            *_make_level_lines(inputs, "3-diverse patients", tables.SIMILAR, distinct="3"),
            *_make_level_lines(
                inputs, "98 HIV of 100", tables.make_single_class(HIV=98, pneumonia=1, bronchitis=1)
            ),
        ),
        notes=(
            "'Confidence at most 1/l' holds for probabilistic diversity alone: "
            "the 3-diversified table, of entropy l 2.83, allows a belief of 1/2.",
            "The first 2-diverse table does not generalize the microdata: Joe and Sam are women in it.",
            "The ages <= 40 and >= 40 of the 3-diversified table overlap.",
        ),
    )


def reproduce_closeness(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce t of the t-closeness tables, and the distances of the salaries."""
    similar = _build_classes(inputs, tables.SIMILAR, ("salary", "disease"))
    salaries = measure_ordered_distances(similar.sensitive["salary"])
    distances = (salaries.numerators / salaries.denominators).tolist()
    organs = hierarchy_from_rows(
        "disease", [(each, o, "*") for o, group in tables.ORGANS.items() for each in group]
    )
    return Reproduction(
        name="lectures-closeness",
        document=DOCUMENT,
        title="t-closeness of the printed tables",
        lines=(
            *_make_level_lines(inputs, "Caucasian, Asian and African American", tables.CLOSE, equal="0"),
            *_make_level_lines(
                inputs,
                "perfectly t-close",
                tables.PERFECTLY_CLOSE,
                ("hiv", "disease"),
                k="4",
                distinct="3",
                equal="0",
            ),
            *(
                ComparedValue(f"salaries of class {i}: ordered distance", "", distance)
                for i, distance in enumerate(distances, start=1)
            ),
            ComparedValue(
                "diseases by organ: hierarchical distance",
                "",
                float(find_strongest(similar, "hierarchical", "disease", hierarchy=organs)),
            ),
        ),
        notes=("A class of three stomach diseases is diverse, and far from the table by their hierarchy.",),
    )


def _make_level_lines(
    inputs: ReproductionInputs,
    name: str,
    table: pa.Table,
    sensitive: Sequence[str] = ("disease",),
    **printed: str,
) -> list[ComparedValue]:
    """Return lines for k and every l and t of a printed table; `printed` has the lectures' claims."""
    both = (*sensitive, *(each for each in ("salary",) if each in table.column_names))
    classes = _build_classes(inputs, table, both)
    why = "half of a class has cancer" if name == "3-diversified" else ""
    lines = [ComparedValue(f"{name}: k", printed.get("k", ""), float(find_strongest(classes, "k")))]
    for family, meaning in FAMILIES.items():
        value = float(find_strongest(classes, family, "disease"))
        lines.append(ComparedValue(f"{name}: {meaning}", printed.get(family, ""), value, reason=why))
    return lines


def _build_classes(
    inputs: ReproductionInputs, table: pa.Table, sensitive: Sequence[str]
) -> EquivalenceClasses:
    quasi = [name for name in table.column_names if name not in sensitive]
    with inputs.open_engine({"release": table}) as engine:
        return read_release(engine, "release", quasi=quasi, sensitive=sensitive).equivalence_classes
