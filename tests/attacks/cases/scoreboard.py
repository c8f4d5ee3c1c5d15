"""Records of ratings as they are, and cut apart."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from benchmarks.simulation.rental_ratings import RentalService, sample_known_ratings
from discreet.attacks.findings import Findings
from discreet.attacks.ratings import Ratings
from discreet.attacks.scoreboard import Scoreboard
from tests.attacks.case import Case


@cache
def films() -> tuple[Ratings, Ratings]:
    return RentalService(people=5_000, titles=600, strangers=500).simulate_ratings()


def cut_apart(ratings: Ratings) -> Ratings:
    """The same ratings, each put into a record drawn anew: what one person said is no longer together."""
    draw = np.random.Generator(np.random.PCG64(1))
    return replace(ratings, person=draw.integers(ratings.people, size=ratings.person.size))


def _search(release: Ratings) -> Findings:
    told = sample_known_ratings(*films(), victims=300, known=8, wrong=2, days=14)
    return Scoreboard(days=14, wrong=0.25).run(release, told)


SCOREBOARD = Case(
    attack=Scoreboard,
    unprotected=lambda _: _search(films()[0]),
    protected=lambda _: _search(cut_apart(films()[0])),
)
