"""Simulated film ratings of a rental service's subscribers, in the shape of the Netflix Prize data.

Titles      the r-th most rated is drawn in proportion to 1 / (r + 20): a long tail in which the top twentieth
            has a third of all ratings. A third of them is older than the service; the others come out on days
            spread over its time.
People      rate a lognormal number of titles: the median about 60, one in twenty 200.
Days        a person joins on some day, more often late than early, gives a quarter of all ratings then, and
            the others in sittings of about six over the remaining time. A title is rated in the soonest of
            three such sittings after it came out: people rate new titles at about the same time, and together
            with others, which makes a day less informative.
Stars       1 to 5: a person's mood and a title's merit, and chance.

No row belongs to a real person. The real table had ten times the people and a hundred times the ratings:
figures found here describe the attack, not what it would find there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.attacks.ratings import NOBODY, Integers, KnownRatings, Ratings
from discreet.core.errors import require_parameter
from discreet.core.number_checks import require_count

SITTING = 6
PROMPTED_SHARE = 0.3


@dataclass(frozen=True, kw_only=True)
class RentalService:
    """A rental service that releases the records of `people`; `strangers` also rate, unreleased."""

    people: int = 50_000
    titles: int = 2_000
    strangers: int = 1_000
    days: int = 2_200
    seed: int = 2006

    def __post_init__(self) -> None:
        for name in ("people", "titles", "days", "strangers"):
            require_count(self, name, getattr(self, name), minimum=10)
        require_count(self, "seed", self.seed, minimum=0)

    def simulate_ratings(self) -> tuple[Ratings, Ratings]:
        """Return the ratings of the released people, and those of the strangers."""
        draw = np.random.Generator(np.random.PCG64(self.seed))
        everybody = self.people + self.strangers
        person, title = self._draw_pairs(everybody, draw)
        day = self._draw_days(person, title, everybody, draw)
        merit, mood = draw.normal(0, 0.5, self.titles), draw.normal(3.6, 0.4, everybody)
        liked = mood[person] + merit[title] + draw.normal(0, 0.9, person.size)
        stars = np.clip(np.rint(liked), 1, 5).astype(np.int64)
        cut = int(np.searchsorted(person, self.people))

        def slice_ratings(rows: slice, first: int, people: int) -> Ratings:
            return Ratings(
                person=person[rows] - first,
                title=title[rows],
                stars=stars[rows],
                day=day[rows],
                people=people,
                titles=self.titles,
            )

        return slice_ratings(slice(cut), 0, self.people), slice_ratings(
            slice(cut, None), self.people, self.strangers
        )

    def _draw_pairs(self, everybody: int, draw: np.random.Generator) -> tuple[Integers, Integers]:
        """Return the person and title of each rating, sorted by person; repeated titles are dropped."""
        often = 5 + np.minimum(draw.lognormal(np.log(62), 0.85, everybody), self.titles / 2).astype(np.int64)
        person = np.repeat(np.arange(everybody), often)
        weight = np.cumsum(1 / (np.arange(self.titles) + 20))
        title = np.searchsorted(weight[:-1], draw.random(person.size) * weight[-1], side="right")
        pairs = np.sort(person * self.titles + title)
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        return pairs // self.titles, pairs % self.titles

    def _draw_days(
        self, person: Integers, title: Integers, everybody: int, draw: np.random.Generator
    ) -> Integers:
        joined = (np.sqrt(draw.random(everybody)) * (self.days - 1)).astype(np.int64)
        sittings = np.maximum(np.bincount(person, minlength=everybody) // SITTING, 1)
        starts = np.cumsum(sittings) - sittings
        left = np.repeat(self.days - joined, sittings)
        later = (draw.random(left.size) * left).astype(np.int64)
        later[starts] = 0
        sitting = np.repeat(joined, sittings) + later
        out = np.maximum(draw.integers(-self.days // 2, self.days, self.titles), 0)
        tried = np.array([self._draw_sittings(person, starts, sittings, sitting, draw) for _ in range(3)])
        wait = np.where(tried >= out[title], tried, tried + 2 * self.days)  # before it came out: last resort
        return np.asarray(wait.min(axis=0) % (2 * self.days), np.int64)

    @staticmethod
    def _draw_sittings(
        person: Integers, starts: Integers, sittings: Integers, sitting: Integers, draw: np.random.Generator
    ) -> Integers:
        """Return a sitting for each row's person; often the first, when new subscribers rate many titles."""
        later = np.maximum(draw.random(person.size) * (1 + PROMPTED_SHARE) - PROMPTED_SHARE, 0)
        return sitting[starts[person] + (later * sittings[person]).astype(np.int64)]


def sample_known_ratings(
    released: Ratings,
    strangers: Ratings | None = None,
    *,
    victims: int,
    known: int,
    wrong: int = 0,
    days: int = 0,
    stars: int = 0,
    seed: int = 1,
) -> KnownRatings:
    """Return `known` ratings each of `victims` people of either table, as someone might remember them.

    `wrong` of them have any title on any day, in proportion to how often titles and days occur; the days of
    the others are off by up to `days`, their stars by up to `stars`.
    """
    require_count("draw_known_ratings", "victims", victims)
    require_count("draw_known_ratings", "known", known)
    require_parameter(0 <= wrong <= known, "overhear", "wrong", wrong, f"between 0 and {known}")
    draw = np.random.Generator(np.random.PCG64(seed))
    parts = [_sample_ratings(released, victims, known, draw)]
    truth = [parts[0][0]]
    if strangers is not None:
        parts.append(_sample_ratings(strangers, victims, known, draw))
        truth.append(np.full(victims, NOBODY))
    title, star, day = (np.concatenate([part[k] for part in parts]) for k in (1, 2, 3))
    day = day + draw.integers(-days, days + 1, day.shape)
    star = star + draw.integers(-stars, stars + 1, star.shape)
    rumour = draw.integers(released.person.size, size=(len(title), wrong))
    elsewhere = draw.integers(released.person.size, size=(len(title), wrong))
    title[:, :wrong], star[:, :wrong] = released.title[rumour], released.stars[elsewhere]
    day[:, :wrong] = released.day[elsewhere]
    return KnownRatings(
        victim=np.repeat(np.arange(len(title)), known),
        title=title.ravel(),
        stars=star.ravel(),
        day=day.ravel(),
        truth=np.concatenate(truth),
    )


def _sample_ratings(
    ratings: Ratings, victims: int, known: int, draw: np.random.Generator
) -> tuple[Integers, Integers, Integers, Integers]:
    """Return some people with enough ratings, and `known` ratings of each as tables of victims by ratings."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(ratings.person, minlength=ratings.people))])
    places = np.argsort(ratings.person, kind="stable")  # one person's ratings after another's
    enough = np.flatnonzero(np.diff(starts) >= known)
    wanted = f"at most the number of people with {known} ratings"
    require_parameter(enough.size >= victims, "overhear", "victims", victims, wanted)
    chosen = draw.choice(enough, victims, replace=False)
    held = np.diff(starts)[chosen]
    inside = np.array([draw.permutation(many)[:known] for many in held])
    at = places[starts[chosen][:, None] + inside]
    return chosen, ratings.title[at], ratings.stars[at], ratings.day[at]
