"""The hierarchies that ARX's authors published load as they are, with the levels that are known of them."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.anonymity.hierarchies import read_hierarchy_csv
from tests.anonymity.data import DATA, needs_data

ADULT = {
    "sex": [2, 1],
    "age": [100, 20, 10, 5, 1],
    "race": [5, 1],
    "marital-status": [7, 2, 1],
    "education": [16, 5, 3, 1],
    "native-country": [41, 5, 1],
    "workclass": [8, 3, 1],
    "occupation": [14, 3, 1],
    "salary-class": [2, 1],
}
LEVELS = {
    "cup/cup": {
        "ZIP": 6,
        "AGE": 5,
        "GENDER": 2,
        "INCOME": 3,
        "STATE": 2,
        "RAMNTALL": 5,
        "NGIFTALL": 5,
        "MINRAMNT": 5,
    },
    "fars/fars_int": {
        "iage": 6,
        "irace": 3,
        "ideathmon": 4,
        "ideathday": 4,
        "isex": 2,
        "ihispanic": 3,
        "istatenum": 4,
        "iinjury": 3,
    },
}
NODES = {"cup/cup": 45_000, "fars/fars_int": 20_736}


@needs_data
@pytest.mark.parametrize("column", ADULT)
def test_adult_has_the_labels_that_are_known_of_it(column: str) -> None:
    listing = read_hierarchy_csv(column, DATA / "adult_arx" / f"adult_hierarchy_{column}.csv")
    hierarchy = listing.build_hierarchy(())
    assert [len(labels) for labels in hierarchy.labels] == ADULT[column]
    assert hierarchy.labels[-1] == ("*",)
    for shares in hierarchy.shares:
        assert shares.sum() == pytest.approx(1, rel=1e-12)


@needs_data
def test_adults_lattice_has_12960_nodes() -> None:
    heights = [
        read_hierarchy_csv(column, DATA / "adult_arx" / f"adult_hierarchy_{column}.csv")
        .build_hierarchy(())
        .height
        + 1
        for column in ADULT
    ]
    assert np.prod(heights) == 12_960


@needs_data
@pytest.mark.parametrize("folder", LEVELS)
def test_cup_and_fars_have_the_levels_that_are_known_of_them(folder: str) -> None:
    found = {}
    for column in LEVELS[folder]:
        hierarchy = read_hierarchy_csv(column, DATA / f"{folder}_hierarchy_{column}.csv").build_hierarchy(())
        found[column] = hierarchy.height + 1
        assert not any("\r" in label for labels in hierarchy.labels for label in labels)
        assert len(hierarchy.labels[-1]) == 1
        for shares in hierarchy.shares:
            assert shares.sum() == pytest.approx(1, rel=1e-12)
    assert found == LEVELS[folder]
    assert np.prod(list(found.values())) == NODES[folder]


@needs_data
def test_mach_has_the_lattice_that_is_known_of_it() -> None:
    files = (DATA / "mach2019").glob("*hierarchy*.csv")
    assert (
        np.prod([read_hierarchy_csv(path.stem, path).build_hierarchy(()).height + 1 for path in files])
        == 85_030_560
    )


@needs_data
@pytest.mark.parametrize(
    ("folder", "column", "place"),
    [("adult_arx/adult", "age", 1), ("fars/fars_int", "iage", 0), ("cup/cup", "ZIP", 0)],
)
def test_every_value_of_the_data_is_covered(folder: str, column: str, place: int) -> None:
    listing = read_hierarchy_csv(column, DATA / f"{folder}_hierarchy_{column}.csv")
    lines = (DATA / f"{folder}.csv").read_text().splitlines()[1:]
    assert listing.find_uncovered({line.split(";")[place] for line in lines}) == ()


@needs_data
def test_a_line_that_stands_twice_counts_twice_as_in_arx() -> None:
    lines = (DATA / "fars" / "fars_int_hierarchy_iage.csv").read_text().split()
    hierarchy = read_hierarchy_csv("iage", DATA / "fars" / "fars_int_hierarchy_iage.csv").build_hierarchy(())
    assert len(lines) == 100
    assert hierarchy.size == 100
    assert len(hierarchy.values) == len(set(lines)) == 99
    (double,) = {line.split(";")[0] for line in lines if lines.count(line) == 2}
    assert hierarchy.shares[0][hierarchy.positions[double]] == pytest.approx(2 / 100)
