"""`hospital`: the visits of 20,000 made-up people to a hospital in 2023, one row a visit.

A person has 1 to 60 visits (about three on average; a few people have very many), one age (on 1 January), sex
and zipcode, and mostly returns for the same disease. Diseases depend on age and sex, the flu also on the
place: it is twice as frequent in 130xx. `rows_per_person` and the bound on cost are below the maxima of the
rows, as a custodian would set them: contribution bounding drops the extra visits and clamps the dearest.
"""

from __future__ import annotations

from datetime import date
from math import isqrt

import numpy as np
import pyarrow as pa

from discreet.services.sample.dice import Booleans, Dice, Integers
from discreet.services.sample.table_schema import SampleColumn, TableSchema, take_labels

PEOPLE = 20_000
SEED = 2023
MAX_VISITS = 60
SEXES = ("Male", "Female")
NEW_YEAR = 19_358  # 1 January 2023, in days from 1970

# group: {disease: (weight by age 0–17, 18–39, 40–64, 65 up; usual days; usual cost in dollars)}
GROUPS: dict[str, dict[str, tuple[tuple[int, int, int, int], int, int]]] = {
    "Cancer": {
        "Breast cancer": ((0, 6, 40, 40), 5, 9_000),
        "Lung cancer": ((0, 1, 22, 48), 7, 11_000),
        "Prostate cancer": ((0, 0, 20, 60), 4, 8_000),
        "Stomach cancer": ((0, 2, 12, 22), 7, 10_500),
        "Leukemia": ((8, 6, 9, 16), 10, 16_000),
    },
    "Heart": {
        "Heart attack": ((0, 5, 42, 80), 6, 12_000),
        "Heart failure": ((1, 4, 34, 110), 6, 7_500),
        "Arrhythmia": ((2, 12, 38, 70), 3, 5_000),
        "Hypertension": ((0, 18, 80, 95), 2, 1_800),
    },
    "Infection": {
        "Flu": ((130, 80, 60, 70), 2, 900),
        "Pneumonia": ((60, 30, 45, 95), 5, 4_500),
        "HIV": ((1, 14, 10, 2), 6, 7_000),
        "Hepatitis B": ((2, 14, 16, 8), 4, 3_600),
        "Gastroenteritis": ((110, 60, 40, 40), 2, 1_100),
    },
    "Respiratory": {
        "Asthma": ((120, 50, 34, 22), 2, 1_500),
        "Bronchitis": ((70, 40, 50, 60), 2, 1_300),
        "Emphysema": ((0, 2, 22, 50), 5, 4_200),
    },
    "Digestive": {
        "Gastritis": ((14, 44, 50, 34), 2, 1_400),
        "Gastric ulcer": ((2, 20, 38, 30), 4, 3_800),
        "Appendicitis": ((44, 34, 14, 6), 3, 4_800),
    },
    "Metabolic": {
        "Diabetes": ((16, 30, 90, 85), 3, 2_200),
        "Obesity": ((10, 34, 44, 16), 2, 2_600),
    },
    "Injury": {
        "Fracture": ((110, 80, 56, 90), 3, 3_900),
        "Concussion": ((60, 44, 18, 16), 1, 1_600),
    },
}
DISEASE_GROUPS = {disease: group for group, members in GROUPS.items() for disease in members}
DISEASES = tuple(DISEASE_GROUPS)
CHRONIC = ("Cancer", "Heart", "Metabolic")
PLACES = {"130": 30, "131": 22, "132": 26, "148": 14, "149": 8}
ZIPCODES = tuple(f"{place}{number:02d}" for place in PLACES for number in range(40, 64))

YEAR = (date(2023, 1, 1), date(2023, 12, 31))

SCHEMA = TableSchema(
    name="hospital",
    meaning="made-up visits to a hospital in 2023",
    person="person_id",
    rows_per_person=20,
    columns=(
        SampleColumn(
            name="person_id", kind="integer", low=1, high=PEOPLE, role="identifier", meaning="who came"
        ),
        SampleColumn(name="admitted", kind="date", days=YEAR, meaning="day of admission, in 2023"),
        SampleColumn(
            name="age", kind="integer", low=0, high=100, role="quasi", meaning="years, on 1 January 2023"
        ),
        SampleColumn(
            name="sex", kind="category", values=SEXES, role="quasi", meaning="as the hospital asks it"
        ),
        SampleColumn(
            name="zipcode", kind="category", values=ZIPCODES, role="quasi", meaning="home, five digits"
        ),
        SampleColumn(
            name="disease", kind="category", values=DISEASES, role="sensitive", meaning="main diagnosis"
        ),
        SampleColumn(name="days", kind="integer", low=1, high=60, meaning="length of the stay"),
        SampleColumn(
            name="cost", kind="integer", low=0, high=50_000, meaning="dollars; dearer visits are clamped"
        ),
    ),
)


def make_hospital() -> pa.Table:
    """Return the table, ordered by day of admission; identical on every call and every machine."""
    dice = Dice(SEED)
    female = dice.draw_booleans(520, PEOPLE)
    age = _draw_ages(dice)
    zipcode = _draw_zipcodes(dice)
    weights = _compute_weights(age, female, zipcode)
    usual = dice.draw_index_per_row(weights)
    person = np.repeat(np.arange(PEOPLE), _draw_visits(usual, dice))
    disease = np.where(
        dice.draw_booleans(700, person.size), usual[person], dice.draw_index_per_row(weights[person])
    )
    admitted = NEW_YEAR + dice.draw_below(365, person.size)
    days, cost = _draw_stays(disease, age[person], dice)
    order = np.lexsort((person, admitted))
    person, disease = person[order], disease[order]
    return pa.table(
        {
            "person_id": pa.array(person + 1, pa.int32()),
            "admitted": pa.array(admitted[order].astype(np.int32), pa.int32()).cast(pa.date32()),
            "age": pa.array(age[person], pa.int16()),
            "sex": take_labels(SEXES, female[person].astype(np.int64)),
            "zipcode": take_labels(ZIPCODES, zipcode[person]),
            "disease": take_labels(DISEASES, disease),
            "days": pa.array(days[order], pa.int16()),
            "cost": pa.array(cost[order], pa.int32()),
        }
    )


def _draw_ages(dice: Dice) -> Integers:
    """Draw a decade, then a year; older people are over-represented, as in a hospital."""
    return 10 * dice.draw_indices([7, 6, 9, 11, 12, 14, 16, 14, 9, 2], PEOPLE) + dice.draw_below(10, PEOPLE)


def _draw_zipcodes(dice: Dice) -> Integers:
    """Draw a place, then a zipcode; the r-th zipcode of a place has 1/r of the people of the first."""
    each = len(ZIPCODES) // len(PLACES)
    place = dice.draw_indices(list(PLACES.values()), PEOPLE)
    return place * each + dice.draw_indices([1000 // (rank + 1) for rank in range(each)], PEOPLE)


def _compute_weights(age: Integers, female: Booleans, zipcode: Integers) -> Integers:
    diseases = [facts for members in GROUPS.values() for facts in members.values()]
    by_age = np.array([weights for weights, _, _ in diseases], np.int64)
    weights = by_age.T[np.searchsorted([18, 40, 65], age, side="right")]
    weights[female, DISEASES.index("Prostate cancer")] = 0
    weights[~female, DISEASES.index("Breast cancer")] //= 40
    flu = np.char.startswith(np.array(ZIPCODES), "130")[zipcode]
    weights[flu, DISEASES.index("Flu")] *= 2
    return weights


def _draw_visits(usual: Integers, dice: Dice) -> Integers:
    """Draw v visits with weight 1/v²; the larger of two draws for half of the chronic patients."""
    weights = [1_000_000 // (v * v) for v in range(1, MAX_VISITS + 1)]
    one, other = dice.draw_indices(weights, PEOPLE), dice.draw_indices(weights, PEOPLE)
    chronic = np.array([group in CHRONIC for group in DISEASE_GROUPS.values()])[usual]
    return 1 + np.where(chronic & dice.draw_booleans(500, PEOPLE), np.maximum(one, other), one)


def _draw_stays(disease: Integers, age: Integers, dice: Dice) -> tuple[Integers, Integers]:
    """Draw days and cost: typical of the disease, more for the old, with a long tail of cost."""
    usual = [(days, cost) for members in GROUPS.values() for _, days, cost in members.values()]
    days, cost = np.array(usual, np.int64)[disease].T
    stay = 1 + dice.draw_below(2 * days - 1, disease.size)
    stay += np.where(age > 70, dice.draw_below(4, disease.size), 0) * dice.draw_below(3, disease.size)
    stay = np.where(dice.draw_booleans(15, disease.size), stay * (2 + dice.draw_below(4, disease.size)), stay)
    # 1 / sqrt(u), u uniform: a tail with finite mean and infinite variance; capped at 30 times the usual cost
    tail = np.array([isqrt(100 * 100 * 1024 // (u + 1)) for u in range(1024)], np.int64)
    factor = np.minimum(tail[dice.draw_below(1024, disease.size)] - 60, 3_000)
    return np.minimum(stay, 60), cost * factor // 100 + stay * (150 + dice.draw_below(200, disease.size))
