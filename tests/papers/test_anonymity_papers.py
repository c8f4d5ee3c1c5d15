"""The lectures' published tables: which k, l of each kind and t they have, recomputed.

Where the lectures claim more than holds, that is asserted too. Database Privacy I and II, after Sweeney 2002,
Machanavajjhala et al. 2006 and Li et al. 2007.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import floor, inf, sqrt

import pytest

from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from discreet.anonymity.models import (
    OrderedCloseness,
    ProbabilisticDiversity,
    RecursiveDiversity,
    find_strongest,
)
from discreet.anonymity.models.closeness import measure_ordered_distances
from tests.anonymity.models.tables import Counts, table

F = Fraction


@dataclass(frozen=True, kw_only=True)
class Printed:
    """A table's classes by their sensitive values, and what holds of it."""

    classes: tuple[Counts, ...]
    k: int
    distinct: int
    probabilistic: Fraction
    entropy: float
    recursive: Fraction | float
    t: Fraction


def some(*values: str) -> Counts:
    return Counter(values)


HEART, VIRAL, CANCER = "Heart Disease", "Viral Infection", "Cancer"
ONE_TWO_ONE = (
    some(HEART, VIRAL, CANCER, CANCER),
    some(CANCER, HEART, VIRAL, VIRAL),
    some(HEART, VIRAL, CANCER, CANCER),
)
TABLES = {
    "2-anonymous generalization": Printed(
        classes=(
            some("gastric ulcer", "dyspepsia"),
            some("pneumonia", "bronchitis"),
            some("pneumonia", "pneumonia"),
            some("flu", "gastritis", "pneumonia", "flu"),
        ),
        k=2, distinct=1, probabilistic=F(1), entropy=1, recursive=inf, t=F(4, 5),
    ),
    "3-anonymous patients": Printed(
        classes=(some(HEART, HEART, HEART), some("Flu", HEART, CANCER), some(HEART, CANCER, CANCER)),
        k=3, distinct=1, probabilistic=F(1), entropy=1, recursive=inf, t=F(4, 9),
    ),
    "2-diverse table": Printed(
        classes=(
            some("gastric ulcer", "dyspepsia"),
            some("pneumonia", "bronchitis"),
            some("flu", "pneumonia"),
            some("gastritis", "gastritis", "flu", "flu"),
        ),
        k=2, distinct=2, probabilistic=F(2), entropy=2, recursive=F(1), t=F(4, 5),
    ),
    "t-closeness: Caucasian against Asian and African American": Printed(
        classes=(
            some("Flu", "Shingles", "Acne", "Flu", "Acne", "Flu"),
            some("Flu", "Flu", "Acne", "Shingles", "Acne", "Flu"),
        ),
        k=6, distinct=3, probabilistic=F(2), entropy=2 ** (2 / 3) * 3**0.5, recursive=F(1), t=F(0),
    ),
    "4-anonymous, 3-diverse, perfectly t-close": Printed(
        classes=(some("Acne", "Acne", "Flu", "Shingles"), some("Flu", "Acne", "Shingles", "Acne")),
        k=4, distinct=3, probabilistic=F(2), entropy=sqrt(8), recursive=F(1), t=F(0),
    ),
    "the same by HIV status": Printed(
        classes=(some("-", "-", "-", "+"), some("+", "-", "-", "-")),
        k=4, distinct=2, probabilistic=F(4, 3), entropy=4 / 3**0.75, recursive=F(3), t=F(0),
    ),
    "2-anonymization, zip kept": Printed(
        classes=(some(HEART, CANCER), some(HEART, CANCER)),
        k=2, distinct=2, probabilistic=F(2), entropy=2, recursive=F(1), t=F(0),
    ),
    "2-anonymization, zip and nationality generalized": Printed(
        classes=(some(HEART, HEART, CANCER, CANCER),),
        k=4, distinct=2, probabilistic=F(2), entropy=2, recursive=F(1), t=F(0),
    ),
    "2-anonymization, nationality by continent": Printed(
        classes=(some(HEART, HEART), some(CANCER, CANCER)),
        k=2, distinct=1, probabilistic=F(1), entropy=1, recursive=inf, t=F(1, 2),
    ),
    "4-anonymization": Printed(
        classes=(
            some(HEART, HEART, VIRAL, VIRAL),
            some(CANCER, HEART, VIRAL, VIRAL),
            some(CANCER, CANCER, CANCER, CANCER),
        ),
        k=4, distinct=1, probabilistic=F(1), entropy=1, recursive=inf, t=F(7, 12),
    ),
    "3-diversified": Printed(
        classes=ONE_TWO_ONE,
        k=4, distinct=3, probabilistic=F(2), entropy=sqrt(8), recursive=F(1), t=F(1, 6),
    ),
    "2-diverse generalized table": Printed(
        classes=(
            some("pneumonia", "dyspepsia", "dyspepsia", "pneumonia"),
            some("flu", "gastritis", "flu", "bronchitis"),
        ),
        k=4, distinct=2, probabilistic=F(2), entropy=2, recursive=F(1), t=F(1, 2),
    ),
    "3-diverse patients, by disease": Printed(
        classes=(
            some("Gastric Ulcer", "Gastritis", "Stomach Cancer"),
            some("Gastritis", "Flu", "Bronchitis"),
            some("Bronchitis", "Pneumonia", "Stomach Cancer"),
        ),
        k=3, distinct=3, probabilistic=F(3), entropy=3, recursive=F(1, 2), t=F(4, 9),
    ),
}  # fmt: skip

each_table = pytest.mark.parametrize("printed", TABLES.values(), ids=TABLES.keys())


@each_table
def test_levels_of_a_table_are_recomputed(printed: Printed) -> None:
    classes = table(printed.classes)
    assert find_strongest(classes, "k") == printed.k
    assert find_strongest(classes, "distinct", "disease") == printed.distinct
    assert find_strongest(classes, "probabilistic", "disease") == printed.probabilistic
    assert find_strongest(classes, "recursive", "disease", l=2) == printed.recursive
    assert find_strongest(classes, "equal", "disease") == printed.t


@each_table
def test_entropy_of_a_table_is_recomputed(printed: Printed) -> None:
    found = find_strongest(table(printed.classes), "entropy", "disease")
    assert found == pytest.approx(printed.entropy, rel=1e-12)
    if printed.entropy == int(printed.entropy):
        assert floor(found) == printed.entropy


def test_three_diversified_table_allows_a_belief_of_one_half() -> None:
    """ "Confidence at most 1/l" fails: the table is distinct 3-diverse, a value has half of each class."""
    classes = table(ONE_TWO_ONE)
    assert find_strongest(classes, "distinct", "disease") == 3
    assert not ProbabilisticDiversity(column="disease", l=F(3)).judge(classes).any()
    assert find_strongest(classes, "entropy", "disease") == pytest.approx(2.828, abs=5e-4)


SALARIES = tuple(f"{thousands}K" for thousands in range(20, 110, 10))
SIMILAR = (some("20K", "30K", "40K"), some("50K", "100K", "70K"), some("60K", "80K", "90K"))


def test_salaries_are_at_the_recomputed_distances() -> None:
    """.375, .1667 and .2361, in the order of the salaries."""
    found = measure_ordered_distances(table(SIMILAR, names=SALARIES).sensitive["disease"])
    distances = [F(int(a), int(b)) for a, b in zip(found.numerators, found.denominators, strict=True)]
    assert distances == [F(3, 8), F(1, 6), F(17, 72)]


def test_similar_salaries_pass_diversity_and_fail_closeness() -> None:
    classes = table(SIMILAR, names=SALARIES)
    assert find_strongest(classes, "entropy", "disease") == 3
    assert not OrderedCloseness(column="disease", t=F(37, 100)).judge(classes).all()
    assert OrderedCloseness(column="disease", t=F(3, 8)).judge(classes).all()


def test_similar_diseases_are_far_in_a_hierarchy_of_organs() -> None:
    """All diseases of the first class are of the stomach; of the table five ninths are."""
    organs = {"stomach": ("Gastric Ulcer", "Gastritis", "Stomach Cancer")}
    organs["lungs"] = ("Flu", "Bronchitis", "Pneumonia")
    tree = hierarchy_from_rows(
        "disease", [(each, organ, "*") for organ, group in organs.items() for each in group]
    )
    classes = table(TABLES["3-diverse patients, by disease"].classes)
    found = find_strongest(classes, "hierarchical", "disease", hierarchy=tree)
    assert found == (F(4, 9) + F(4, 9)) / 2


def test_a_group_of_98_hiv_patients_is_3_diverse_and_gives_them_away() -> None:
    group = table([{"HIV": 98, "pneumonia": 1, "bronchitis": 1}])
    assert find_strongest(group, "distinct", "disease") == 3
    assert find_strongest(group, "alpha", "disease") == F(98, 100)


def test_ruling_out_pneumonia_leaves_50_in_51() -> None:
    """50 HIV, 49 pneumonia and 1 bronchitis: half before, .9804 after; (c, 3)-diversity needs c above 50."""
    group = table([{"HIV": 50, "pneumonia": 49, "bronchitis": 1}])
    assert find_strongest(group, "alpha", "disease") == F(1, 2)
    c = find_strongest(group, "recursive", "disease", l=3)
    assert c == 50
    assert RecursiveDiversity(column="disease", c=F(c), l=3).belief_bound == F(50, 51)
    assert float(F(50, 51)) == pytest.approx(0.9804, abs=5e-5)


def test_diversity_can_be_overkill_and_underkill() -> None:
    """99% have cancer: a class like the table is not diverse; one of half and half is, and tells much."""
    totals = {"Cancer": 990, "Flu": 10}
    like, half = {"Cancer": 99, "Flu": 1}, {"Cancer": 5, "Flu": 5}
    classes = table([like, half], totals=totals)
    assert ProbabilisticDiversity(column="disease", l=F(2)).judge(classes).tolist() == [False, True]
    assert OrderedCloseness(column="disease", t=F(1, 100)).judge(classes).tolist() == [True, False]
    assert find_strongest(classes, "equal", "disease") == F(49, 100)
