"""Uniqueness: counted and expected agree, and the made-up population has the shape it says."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from benchmarks.simulation.success_curves import compute_unique_by_columns
from benchmarks.simulation.us_population import BIRTH, Population
from discreet.attacks.linkage import Uniqueness, compute_expected_unique
from discreet.core.errors import RequestError
from tests.attacks.cases.uniqueness import people


def test_people_are_counted_by_the_crowd_they_are_in() -> None:
    findings = Uniqueness(columns=("zip", "sex")).run([1, 1, 2, 6, 0])
    assert findings.success == findings.figures["unique"] == 0.2
    assert findings.baseline == 0.1
    assert findings.interval == (0.2, 0.2)
    assert findings.figures["in crowds of at most 5"] == 0.4
    assert findings.figures["right guesses within crowds"] == 0.4
    assert findings.figures["median crowd"] == 6
    assert dict(findings.series["share of people by crowd"])[10] == 1
    assert "zip, sex" in findings.knows


@pytest.mark.parametrize(("many", "values"), [(1, 1), (2, 1), (3, 2), (4, 3)])
def test_expected_uniqueness_is_the_mean_over_all_ways_to_fall(many: int, values: int) -> None:
    ways = list(product(range(values), repeat=many))
    alone = sum(way.count(each) == 1 for way in ways for each in way) / len(ways) / many
    assert compute_expected_unique([many], values) == pytest.approx(alone)


@pytest.mark.parametrize("place", ["zip", "county"])
@pytest.mark.parametrize("birth", list(BIRTH))
def test_a_register_is_as_unique_as_its_counts_make_expect(place: str, birth: str) -> None:
    """Over 650,000 people four thousandths are more than six standard deviations."""
    crowds = people().count_crowds(place, birth)
    assert crowds.sum() == people().born.size > 650_000
    found = Uniqueness(columns=(place, birth)).run(crowds).success
    assert found == pytest.approx(Population(counties=10).compute_expected_unique(place, birth), abs=4e-3)


def test_most_americans_of_the_made_up_kind_are_unique_by_zip_sex_and_birth_date() -> None:
    shares = compute_unique_by_columns(Population())
    assert 0.6 < shares["zip, sex, day of birth"] < 0.7
    assert 0.02 < shares["zip, sex, month of birth"] < 0.06
    assert 0.1 < shares["county, sex, day of birth"] < 0.2
    assert shares["zip, sex, year of birth"] < 0.005
    assert shares["county, sex, year of birth"] < shares["county, sex, month of birth"] < 0.01


def test_the_population_has_the_stated_shape_and_repeats() -> None:
    zips = Population().zips
    assert 31_000 < zips.size < 32_000
    assert 3_400 < np.median(zips) <= 3_600
    assert 125_000 < zips.max() < 135_000
    assert 279e6 < zips.sum() < 282e6
    few = Population(counties=3)
    assert (few.draw_register().born == Population(counties=3).draw_register().born).all()
    assert (few.count_people("county").sum(axis=0) == few.count_people("zip").sum(axis=0)).all()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Uniqueness(columns=()), "at least one column"),
        (lambda: Uniqueness(columns=("zip",)).run([]), "register is empty"),
        (lambda: Uniqueness(columns=("zip",)).run([0.5]), "whole numbers"),
        (lambda: Uniqueness(columns=("zip",)).run([-1]), "whole numbers"),
        (lambda: compute_expected_unique([1], 0), "values must be"),
        (lambda: people().count_crowds("street", "day"), "'zip', 'county' or 'nation'"),
        (lambda: people().count_crowds("zip", "hour"), "'day', 'month' or 'year'"),
        (lambda: Population(counties=0), "counties must be"),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(make: Any, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        make()
