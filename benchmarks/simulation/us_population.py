"""A simulated population in the shape of a census of the United States.

Counties    3,141 of them, lognormal around 24,600 people: from under a hundred to eight million, 280 million
            in all. A smaller number takes quantiles of the same distribution, so that shares stay similar.
Zips        a county of S people has zips of 4,200 (S / 25,000) ** 0.36 on average, many small and few large
            ones: about 31,000 in all, half of them below 3,600, the largest of 130,000.
Ages        the age pyramid of 2000, in five-year groups; 51 in 100 are female. It is the same in every place:
            towns of students or of the old, where real people are less unique, are not modelled.
Birthdays   any day of 365, equally probable.

The real counts by place, sex and age are public and larger than this package; these are generated, and their
uniqueness describes this shape, not the United States.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from discreet.attacks.linkage import compute_expected_unique
from discreet.core.errors import require_parameter
from discreet.core.number_checks import require_count

Integers = NDArray[np.int64]
COUNTIES = 3_141
GROUPS = (68, 73, 73, 72, 67, 69, 73, 81, 80, 71, 62, 48, 38, 34, 31, 26, 18)  # of 999, five years each
ELDEST = tuple(range(15, 0, -1))  # those from 85 on, of 120, one year each: 15 of 999 together
FEMALE = 0.51
PLACES = ("zip", "county", "nation")
BIRTH = {"day": 365, "month": 12, "year": 1}


@dataclass(frozen=True, kw_only=True, eq=False)
class PopulationRegister:
    """One row for each person; `born` counts days, 365 to a year."""

    zip_code: Integers
    county: Integers
    sex: Integers
    born: Integers

    def count_crowds(self, place: str, birth: str) -> Integers:
        """Return how many people share each place, sex and birth date, month or year that occurs."""
        _require_known(place, birth)
        where = {"zip": self.zip_code, "county": self.county, "nation": self.county * 0}[place]
        year, day = np.divmod(self.born, 365)
        dates = BIRTH[birth]
        when = year * dates + day * dates // 365
        keys = np.sort((where * 2 + self.sex) * 365 * 128 + when)
        ends = np.flatnonzero(np.diff(keys, append=-1))
        return np.diff(ends, prepend=-1)


@dataclass(frozen=True, kw_only=True)
class Population:
    """Everybody in a number of counties."""

    counties: int = COUNTIES
    seed: int = 2000

    def __post_init__(self) -> None:
        require_count(self, "counties", self.counties)
        require_count(self, "seed", self.seed, minimum=0)

    @cached_property
    def _places(self) -> tuple[Integers, Integers]:
        """The county and the number of people of each zip."""
        middles = (np.arange(self.counties) + 0.5) / self.counties
        people = 24_600 * np.exp(1.61 * ndtri(middles))
        zips = np.maximum(np.rint(people / (4_200 * (people / 25_000) ** 0.36)), 1).astype(np.int64)
        county = np.repeat(np.arange(self.counties), zips)
        rank = np.arange(county.size) - np.repeat(np.cumsum(zips) - zips, zips)
        weight = ((rank + 0.5) / zips[county]) ** 3
        share = weight / np.bincount(county, weight)[county]
        return county, np.rint(people[county] * share).astype(np.int64)

    @cached_property
    def _counts(self) -> Integers:
        """The number of people by zip, and by sex and year of age."""
        draw = np.random.Generator(np.random.PCG64(self.seed))
        return draw.multinomial(self._places[1], _compute_age_pyramid())

    @property
    def zips(self) -> Integers:
        """The number of people of each zip."""
        return self._places[1]

    def count_people(self, place: str) -> Integers:
        """Return how many people share each place, sex and year of birth."""
        _require_known(place, "year")
        if place == "zip":
            return self._counts
        if place == "nation":
            return np.asarray(self._counts.sum(axis=0, keepdims=True), np.int64)
        county = self._places[0]
        return np.add.reduceat(self._counts, np.flatnonzero(np.diff(county, prepend=-1)))

    def compute_expected_unique(self, place: str, birth: str) -> float:
        """Return the expected share of unique people by place, sex and birth, from counts alone."""
        _require_known(place, birth)
        return compute_expected_unique(self.count_people(place), BIRTH[birth])

    def draw_register(self) -> PopulationRegister:
        """Return everybody with a birthday; sixty counties are about five million people."""
        draw = np.random.Generator(np.random.PCG64([self.seed, 1]))
        county, counts = self._places[0], self._counts
        cell = np.repeat(np.arange(counts.size), counts.ravel())
        place, kind = np.divmod(cell, counts.shape[1])
        sex, age = np.divmod(kind, counts.shape[1] // 2)
        born = age * 365 + draw.integers(365, size=cell.size)
        return PopulationRegister(zip_code=place, county=county[place], sex=sex, born=born)


def _compute_age_pyramid() -> NDArray[np.float64]:
    """Return the share of each sex and year of age."""
    young = np.repeat(np.array(GROUPS) / 5, 5)
    old = 15 * np.array(ELDEST) / sum(ELDEST)
    ages = np.concatenate([young, old]) / (sum(GROUPS) + 15)
    return np.concatenate([ages * (1 - FEMALE), ages * FEMALE])


def _require_known(place: str, birth: str) -> None:
    """Raise InvalidParameterError for an unknown place or birth precision."""
    require_parameter(place in PLACES, "Population", "place", place, "'zip', 'county' or 'nation'")
    require_parameter(birth in BIRTH, "Population", "birth", birth, "'day', 'month' or 'year'")
