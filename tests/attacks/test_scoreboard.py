"""The scoreboard: it scores as the paper says, finds people by little, and believes what it should."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import ceil, log
from typing import Any

import numpy as np
import pytest

from benchmarks.simulation.rental_ratings import RentalService, sample_known_ratings
from benchmarks.simulation.success_curves import compute_recognition_curve
from discreet.attacks import scoreboard
from discreet.attacks.ratings import NOBODY, KnownRatings, Ratings
from discreet.attacks.scoreboard import Scoreboard
from discreet.core.errors import RequestError
from tests.attacks.cases.scoreboard import films

ATTACK = Scoreboard(days=2, stars=1, wrong=0.4)
COLUMNS = ("title", "stars", "day")


@cache
def village() -> tuple[Ratings, KnownRatings]:
    """Sixty people and ten titles, of which one was rated once."""
    draw = np.random.Generator(np.random.PCG64(3))
    pairs = np.append(np.sort(draw.choice(60 * 9, 150, replace=False)) // 9 * 10, 599)
    titles = np.append(draw.integers(0, 9, 150), 9)
    pairs, kept = np.unique(pairs // 10 * 10 + titles, return_index=True)
    ratings = Ratings(
        person=pairs // 10,
        title=titles[kept],
        stars=draw.integers(1, 6, kept.size),
        day=draw.integers(0, 12, kept.size),
        people=60,
        titles=10,
    )
    sizes = draw.integers(1, 7, 40)
    told = int(sizes.sum())
    knowledge = KnownRatings(
        victim=np.repeat(draw.permutation(40), sizes),
        title=draw.integers(0, 10, told),
        stars=draw.integers(1, 6, told),
        day=draw.integers(-3, 15, told),
        truth=draw.integers(NOBODY, 60, 40),
    )
    return ratings, knowledge


def by_hand(attack: Scoreboard, ratings: Ratings, known: list[tuple[int, int, int]]) -> tuple[Any, ...]:
    """Scores, fits and posteriors of one victim, record by record."""
    rows = list(zip(ratings.person, ratings.title, ratings.stars, ratings.day, strict=True))
    support = [sum(title == t for _, t, _, _ in rows) for title in range(ratings.titles)]
    fits = np.zeros((len(known), ratings.people), bool)
    for k, (title, stars, day) in enumerate(known):
        for person, t, s, d in rows:
            near = attack.days is None or abs(d - day) <= attack.days
            fits[k, person] |= bool(t == title and near and abs(s - stars) <= (attack.stars or 0))
    weight = np.array([1 / log(max(support[title], 2)) for title, _, _ in known])
    likely = np.ones(ratings.people)
    for row in fits:
        share = row.mean()
        likely *= np.where(row, (1 - attack.wrong + attack.wrong * share) / max(share, 1e-300), attack.wrong)
    total = likely.sum() + (1 - attack.present) / attack.present * ratings.people
    return weight @ fits, fits.sum(axis=0), likely / total


@pytest.mark.parametrize("days", [2, 0, None])
@pytest.mark.parametrize("block", [1, 40, 1 << 22])
def test_scores_are_those_of_the_definition(
    days: int | None, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoreboard, "BLOCK", block)
    attack, (ratings, knowledge) = replace(ATTACK, days=days), village()
    found = attack.find_best_matches(ratings, knowledge)
    columns = np.column_stack([getattr(knowledge, name) for name in COLUMNS])
    for victim in range(knowledge.victim_count):
        known = [tuple(row) for row in columns[knowledge.victim == victim].tolist()]
        score, fits, posterior = by_hand(attack, ratings, known)
        best = int(found.record[victim])
        if score.max() == 0:
            assert best == NOBODY
            assert found.eccentricity[victim] == 0
            continue
        second, first = np.sort(score)[-2:]
        assert score[best] == pytest.approx(first)
        assert found.matching_ratings[victim] == fits[best]
        assert found.eccentricity[victim] == pytest.approx((first - second) / score.std(), abs=1e-6)
        assert found.posterior[victim] == pytest.approx(posterior[best])


def test_a_claim_needs_enough_fitting_ratings_and_a_record_that_stands_out() -> None:
    ratings, knowledge = village()
    found = ATTACK.find_best_matches(ratings, knowledge)
    claimed = ATTACK.select_claims(knowledge, found)
    assert 0 < claimed.sum() < claimed.size
    for victim, size in enumerate(knowledge.sizes):
        enough = found.matching_ratings[victim] >= max(1, ceil(0.6 * size - 1e-9))
        assert claimed[victim] == (enough and found.eccentricity[victim] > 1.5)


def test_eight_ratings_of_which_two_are_wrong_find_nearly_everybody_and_no_stranger() -> None:
    findings = Scoreboard(days=14, wrong=0.25).run(
        films()[0], sample_known_ratings(*films(), victims=400, known=8, wrong=2, days=14)
    )
    assert findings.success > 0.95
    assert findings.figures["precision"] > 0.95
    assert findings.figures["strangers matched"] < 0.02
    assert findings.baseline == 1 / 5_000
    assert all(finding.posterior > 0.99 for finding in findings.victims)


def test_two_ratings_within_three_days_find_most() -> None:
    findings = Scoreboard(days=3, wrong=0).run(
        films()[0], sample_known_ratings(*films(), victims=400, known=2, days=3)
    )
    assert findings.success > 0.7


def test_coarse_stars_and_days_alone_do_not_stop_it() -> None:
    told = sample_known_ratings(*films(), victims=400, known=8, wrong=2, days=14)
    ratings = films()[0]
    coarse = replace(ratings, stars=ratings.stars // 2 * 2 + 1, day=ratings.day // 60 * 60 + 30)
    assert Scoreboard(days=44, stars=1, wrong=0.25).run(coarse, told).success > 0.5


def test_with_less_known_fewer_are_found() -> None:
    curves = compute_recognition_curve(*films(), days=None, known=(1, 4, 8), victims=300)
    found = [share for _, share in curves["recognized"]]
    assert found == sorted(found)
    assert found[0] < 0.05
    assert found[-1] > found[0] + 0.3


def test_belief_is_as_often_right_as_it_says() -> None:
    """Over 400 victims of two vague ratings, where the best record is right about half of the time."""
    told = sample_known_ratings(*films(), victims=400, known=2, days=30, stars=1)
    findings = Scoreboard(days=30, stars=1, wrong=0.01, present=0.999).run(films()[0], told)
    said, was = findings.figures["posterior of the best record"], findings.figures["best record is right"]
    assert 0.2 < was < 0.8
    assert said == pytest.approx(was, abs=0.1)


def test_thresholds_trade_people_found_for_strangers_matched() -> None:
    findings = Scoreboard(days=14, wrong=0.25).run(
        films()[0], sample_known_ratings(*films(), victims=200, known=4, wrong=1, days=14)
    )
    found, strangers = (
        findings.series["recognized by threshold"],
        findings.series["strangers matched by threshold"],
    )
    assert len(found) == len(strangers) == 40
    assert [share for _, share in found] == sorted((share for _, share in found), reverse=True)
    assert strangers[-1][1] < found[20][1]


def test_victims_are_called_by_their_names() -> None:
    told = replace(sample_known_ratings(films()[0], victims=2, known=8), names=("Joe", "Umeko"))
    findings = Scoreboard(days=0, wrong=0).run(films()[0], told)
    assert told.truth is not None
    assert {finding.victim for finding in findings.victims} == {"Joe", "Umeko"}
    assert {finding.claim for finding in findings.victims} == {
        f"record {each} is theirs" for each in told.truth
    }


def test_made_up_films_have_the_stated_shape_and_repeat() -> None:
    service = RentalService(people=4_000, titles=2_000, strangers=50)
    ratings, again = service.simulate_ratings()[0], service.simulate_ratings()[0]
    assert all((getattr(ratings, name) == getattr(again, name)).all() for name in ("person", *COLUMNS))
    middle, many = np.percentile(np.bincount(ratings.person, minlength=4_000), [50, 95])
    assert 50 < middle < 75
    assert 170 < many < 240
    popular = np.sort(ratings.support)[::-1]
    assert 0.28 < popular[:100].sum() / popular.sum() < 0.38
    assert set(np.unique(ratings.stars)) == {1, 2, 3, 4, 5}
    assert np.unique(ratings.person * 2_000 + ratings.title).size == ratings.person.size
    assert 0 <= ratings.day.min() <= ratings.day.max() < 2_200


def ratings(**columns: Any) -> Ratings:
    given: dict[str, Any] = {"person": [0], "title": [0], "stars": [1], "day": [0]} | columns
    return Ratings(**given, people=1, titles=1)


def told(**columns: Any) -> KnownRatings:
    given: dict[str, Any] = {"victim": [0], "title": [0], "stars": [1], "day": [0], "truth": [0]} | columns
    return KnownRatings(**given)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ratings(person=[], title=[], stars=[], day=[]), "is empty"),
        (lambda: ratings(person=[0, 0]), "as long as the others"),
        (lambda: ratings(person=["joe"]), "one column of integers"),
        (lambda: ratings(person=[1]), "numbers from 0 to 0"),
        (lambda: ratings(day=[-1]), "Ratings.day"),
        (lambda: told(truth=[]), "No rating of a victim is known"),
        (lambda: told(victim=[1]), "KnownRatings.victim"),
        (lambda: told(names=("Joe", "Umeko")), "as many as the victims"),
        (lambda: Scoreboard(wrong=1), "wrong must be a share below 1"),
        (lambda: Scoreboard(days=-1), "days must be"),
        (lambda: Scoreboard(eccentricity=-1), "eccentricity must be"),
        (lambda: ATTACK.run(village()[0], told(title=[10])), "other titles"),
        (lambda: ATTACK.run(village()[0], told(truth=[60])), "or -1 for a stranger"),
        (lambda: ATTACK.run(village()[0], told(truth=[-1])), "nobody to find"),
        (lambda: sample_known_ratings(village()[0], victims=60, known=9), "with 9 ratings"),
        (lambda: sample_known_ratings(village()[0], victims=1, known=2, wrong=3), "between 0 and 2"),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(make: Any, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        make()
