"""The lectures' 2-minimal generalizations: four patients, three hierarchies."""

from __future__ import annotations

from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from discreet.anonymity.models import KAnonymity
from discreet.anonymity.search import find_minimal_generalizations, recode_at_levels
from tests.anonymity.search.worlds import without_illness

ZIP = hierarchy_from_rows("zip", [("13053", "130**", "*"), ("13067", "130**", "*")])
YOUNG, OLDER = ("< 30", "< 40", "*"), ("3*", "< 40", "*")
AGE = hierarchy_from_rows("age", [("28", *YOUNG), ("29", *YOUNG), ("36", *OLDER), ("35", *OLDER)])
NATIONALITY = hierarchy_from_rows(
    "nationality",
    [
        ("US", "American", "*"),
        ("Canadian", "American", "*"),
        ("Japanese", "Asian", "*"),
        ("Indian", "Asian", "*"),
    ],
)
HIERARCHIES = [ZIP, AGE, NATIONALITY]
PATIENTS = [
    ("13053", "28", "US"),
    ("13067", "29", "Canadian"),
    ("13053", "36", "Japanese"),
    ("13067", "35", "Indian"),
]
"""Any values under the labels that the lectures print; the slide with the original rows is a picture."""


def test_two_generalizations_are_2_minimal_and_their_join_is_not() -> None:
    found = find_minimal_generalizations(
        without_illness(HIERARCHIES, PATIENTS), HIERARCHIES, [KAnonymity(k=2)]
    )
    assert {one.levels for one in found.solutions} == {(0, 2, 2), (1, 1, 1)}
    assert found.proven


def test_the_first_minimal_one_is_the_table_that_the_lectures_print() -> None:
    tuples = without_illness(HIERARCHIES, PATIENTS)
    recoding = recode_at_levels(tuples, HIERARCHIES, (0, 2, 2), [KAnonymity(k=2)])
    shown = [tuple(recoding.labels[j][code] for j, code in enumerate(row)) for row in recoding.codes]
    assert sorted(shown) == sorted(2 * [("13053", "< 40", "*"), ("13067", "< 40", "*")])
    assert recoding.published.all()


def test_the_second_minimal_one_is_the_table_that_the_lectures_print() -> None:
    tuples = without_illness(HIERARCHIES, PATIENTS)
    recoding = recode_at_levels(tuples, HIERARCHIES, (1, 1, 1), [KAnonymity(k=2)])
    shown = [tuple(recoding.labels[j][code] for j, code in enumerate(row)) for row in recoding.codes]
    assert sorted(shown) == sorted(2 * [("130**", "< 30", "American"), ("130**", "3*", "Asian")])
    assert recoding.published.all()
