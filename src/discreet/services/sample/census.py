"""`census`: 48,842 made-up people shaped like Adult, one row each.

The size and mean hours of each workclass follow the EGM paper's Table 1. The other columns depend on each
other as in such a survey: education and marital status on age, occupation on education and sex, income on all
of them. "?" is a value of its own, as in Adult, so that people who did not answer are counted and declared
like everybody else; `occupation` is "?" exactly if workclass is "?" or Never-worked. Exactly 11,687 people
earn more than 50K, as in Adult.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from discreet.services.sample import census_margins as margins
from discreet.services.sample.census_margins import EDUCATIONS, MARITAL, RACES
from discreet.services.sample.dice import Booleans, Dice, Integers, apportion
from discreet.services.sample.table_schema import SampleColumn, TableSchema, take_labels

PEOPLE = 48_842
SEED = 1994
CLASSES = tuple(margins.WORKCLASSES)
COUNTRIES = tuple(sorted({country for of in margins.COUNTRIES_BY_RACE.values() for country in of}))
OCCUPATIONS = (*margins.OCCUPATIONS, "?")
UNKNOWN_WORK = ("?", "Never-worked")
SEXES = ("Male", "Female")
INCOMES = ("<=50K", ">50K")
Steps = Sequence[tuple[int, Sequence[int], Sequence[int]]]

SCHEMA = TableSchema(
    name="census",
    meaning="made-up people shaped like the Adult survey",
    person="row",
    rows_per_person=1,
    columns=(
        SampleColumn(name="age", kind="integer", low=17, high=90, role="quasi", meaning="years, at most 90"),
        SampleColumn(
            name="workclass", kind="category", values=CLASSES, role="quasi", meaning="kind of employer"
        ),
        SampleColumn(name="education", kind="category", values=EDUCATIONS, role="quasi", meaning="schooling"),
        SampleColumn(name="education_num", kind="integer", low=1, high=16, role="quasi", meaning="its rank"),
        SampleColumn(
            name="marital_status", kind="category", values=MARITAL, role="quasi", meaning="marriage"
        ),
        SampleColumn(
            name="occupation", kind="category", values=OCCUPATIONS, role="sensitive", meaning="work done"
        ),
        SampleColumn(
            name="race", kind="category", values=RACES, role="quasi", meaning="as the survey asks it"
        ),
        SampleColumn(
            name="sex", kind="category", values=SEXES, role="quasi", meaning="as the survey asks it"
        ),
        SampleColumn(name="hours_per_week", kind="integer", low=1, high=99, meaning="usual hours of work"),
        SampleColumn(
            name="native_country", kind="category", values=COUNTRIES, role="quasi", meaning="birth place"
        ),
        SampleColumn(
            name="income", kind="category", values=INCOMES, role="sensitive", meaning="dollars a year"
        ),
    ),
)


def make_census() -> pa.Table:
    """Return the table, identical on every call and every machine."""
    dice = Dice(SEED)
    counts = apportion([people for people, _ in margins.WORKCLASSES.values()], PEOPLE)
    workclass = dice.shuffle(np.repeat(np.arange(len(CLASSES)), counts))
    female = dice.draw_booleans(
        np.array([margins.FEMALE_PER_MILLE[name] for name in CLASSES])[workclass], PEOPLE
    )
    age = _draw_ages(workclass, dice)
    race, country = _draw_origins(workclass, dice)
    education = _draw_educations(age, workclass, country, dice)
    marital = dice.draw_index_per_row(_get_weights_by_sex(margins.MARITAL_BY_AGE, age, female))
    occupation = _draw_occupations(education, workclass, female, dice)
    hours = _draw_hours(age, workclass, occupation, female, dice)
    score = _compute_scores(
        age=age, workclass=workclass, education=education, marital=marital, occupation=occupation, hours=hours
    )
    richer = _earns_more(score - 15 * female, dice)
    return pa.table(
        {
            "age": pa.array(age, pa.int16()),
            "workclass": take_labels(CLASSES, workclass),
            "education": take_labels(EDUCATIONS, education - 1),
            "education_num": pa.array(education, pa.int16()),
            "marital_status": take_labels(MARITAL, marital),
            "occupation": take_labels(OCCUPATIONS, occupation),
            "race": take_labels(RACES, race),
            "sex": take_labels(SEXES, female.astype(np.int64)),
            "hours_per_week": pa.array(hours, pa.int16()),
            "native_country": take_labels(COUNTRIES, country),
            "income": take_labels(INCOMES, richer.astype(np.int64)),
        }
    )


def _find_step(firsts: Sequence[int], values: Integers) -> Integers:
    """Return the index of the step that each value falls into; `firsts` are the steps' first values."""
    return np.searchsorted(np.array(firsts), values, side="right") - 1


def _get_weights_by_sex(table: Steps, values: Integers, female: Booleans) -> Integers:
    """Return each row's weights, by the step of its value and its sex."""
    steps = _find_step([first for first, _, _ in table], values)
    weights = np.array([(men, women) for _, men, women in table], np.int64)
    return np.asarray(weights[steps, female.astype(np.int64)])


def _draw_ages(workclass: Integers, dice: Dice) -> Integers:
    band = dice.draw_index_per_row(np.array([margins.AGES[name] for name in CLASSES], np.int64)[workclass])
    first = np.array(margins.AGE_BANDS)
    return first[band] + dice.draw_below(np.diff(first)[band], PEOPLE)


def _draw_origins(workclass: Integers, dice: Dice) -> tuple[Integers, Integers]:
    public = np.array([name.endswith("-gov") for name in CLASSES])[workclass]
    weights = np.array([margins.RACE_WEIGHTS["other"], margins.RACE_WEIGHTS["public"]], np.int64)
    race = dice.draw_index_per_row(weights[public.astype(np.int64)])
    by_race = [margins.COUNTRIES_BY_RACE[name] for name in RACES]
    countries = np.array([[born.get(country, 0) for country in COUNTRIES] for born in by_race], np.int64)
    return race, dice.draw_index_per_row(countries[race])


def _draw_educations(age: Integers, workclass: Integers, country: Integers, dice: Dice) -> Integers:
    """Draw by age: the higher of two draws for some classes, the lower for most people born in Mexico."""
    weights = np.array([row for _, row in margins.EDUCATION_BY_AGE], np.int64)
    weights = weights[_find_step([first for first, _ in margins.EDUCATION_BY_AGE], age)]
    one, other = dice.draw_index_per_row(weights), dice.draw_index_per_row(weights)
    favoured = np.array([name.endswith("-gov") or name == "Self-emp-inc" for name in CLASSES])[workclass]
    better = favoured & dice.draw_booleans(500, PEOPLE)
    worse = (country == COUNTRIES.index("Mexico")) & dice.draw_booleans(800, PEOPLE)
    least, most = np.minimum(one, other), np.maximum(one, other)
    return 1 + np.where(worse, least, np.where(better, most, one))


def _draw_occupations(education: Integers, workclass: Integers, female: Booleans, dice: Dice) -> Integers:
    nothing = [0] * len(margins.OCCUPATIONS)
    factors = np.array([margins.OCCUPATION_FACTORS.get(name, nothing) for name in CLASSES], np.int64)
    weights = _get_weights_by_sex(margins.OCCUPATION_BY_EDUCATION, education, female) * factors[workclass]
    unknown = np.array([name in UNKNOWN_WORK for name in CLASSES])[workclass]
    return dice.draw_index_per_row(np.column_stack([weights, unknown.astype(np.int64)]))


def _draw_hours(
    age: Integers, workclass: Integers, occupation: Integers, female: Booleans, dice: Dice
) -> Integers:
    """Draw 40 for most, less or more by age, sex and occupation; then adjust to each class's mean."""
    base = np.array([margins.HOURS_BY_CLASS[name] for name in CLASSES], np.int64)[workclass]
    leading = np.array([name in ("Exec-managerial", "Farming-fishing") for name in OCCUPATIONS])[occupation]
    short = base[:, 0] + 140 * female + 380 * (age < 22) + 330 * (age > 64) - 60 * leading
    long = base[:, 1] - 150 * female - 180 * (age < 22) - 150 * (age > 64) + 130 * leading
    kind = dice.draw_below(1000, PEOPLE)
    fewer, more = (
        _draw_weighted_values(margins.SHORT_HOURS, dice),
        _draw_weighted_values(margins.LONG_HOURS, dice),
    )
    hours = np.where(kind < short, fewer, np.where(kind >= 1000 - long, more, 40))
    for index, name in enumerate(CLASSES):
        members = np.flatnonzero(workclass == index)
        target = (margins.WORKCLASSES[name][1] * members.size + 50) // 100
        hours[members] = _adjust_to_sum(hours[members], target, fewer[members], more[members], dice)
    return hours


def _draw_weighted_values(weights: dict[int, int], dice: Dice) -> Integers:
    return np.array(list(weights))[dice.draw_indices(list(weights.values()), PEOPLE)]


def _adjust_to_sum(hours: Integers, target: int, fewer: Integers, more: Integers, dice: Dice) -> Integers:
    """Change the hours of as few people as needed for the sum to be `target`."""
    missing = target - int(hours.sum())
    changes = (more if missing > 0 else fewer) - hours
    order = dice.shuffle(np.arange(hours.size))
    order = order[changes[order] * np.sign(missing) > 0]
    kept = order[np.abs(np.cumsum(changes[order])) <= abs(missing)]
    hours = hours.copy()
    hours[kept] += changes[kept]
    while missing := target - int(hours.sum()):
        step = 1 if missing > 0 else -1
        free = dice.shuffle(np.flatnonzero((hours != 40) & (hours + step >= 1) & (hours + step <= 99)))
        hours[free[: abs(missing)]] += step
    return hours


def _compute_scores(
    *,
    age: Integers,
    workclass: Integers,
    education: Integers,
    marital: Integers,
    occupation: Integers,
    hours: Integers,
) -> Integers:
    """Return each person's score for a high income, in hundredths of log-odds."""
    score = 34 * (education - 9) + 3 * (hours - 40)
    score += 230 * (marital == MARITAL.index("Married-civ-spouse"))
    score -= (np.minimum(np.abs(age - 50), 35) ** 2 * 13) // 100 + 200 * (age < 22)
    score += np.array(margins.INCOME_OCCUPATION)[occupation]
    score += np.array([margins.INCOME_CLASS[name] for name in CLASSES])[workclass]
    return np.asarray(score)


def _earns_more(score: Integers, dice: Dice) -> Booleans:
    """Return True for the people with the highest scores, after adding a random error to each."""
    ranked = np.argsort(-(score + dice.draw_bell_shaped(250, PEOPLE)), kind="stable")
    richer = np.zeros(PEOPLE, np.bool_)
    richer[ranked[: margins.EARNING_MORE]] = True
    return richer
