"""The demonstration: sample data, one private answer, what it lets an attacker believe, and one attack.

Question    mean hours_per_week by workclass in `census`. The engine counts, per declared class, the people
            and the integer sum of 2x - (low + high); nothing else is taken from the data.
Sensitivity replacing one person moves two counts by 1 (L1: 2) and two centred sums by at most high - low
            (L1: 2 (high - low)).
Split       half of the promise's epsilon for the question; of that, half for the sums and half for the
            counts: with n people, each noise then moves a mean by at most (high - low) / (epsilon n) times
            the same unit noise when the mean lies at an end of the range, so neither is favoured.
Interval    each noise stays within its half width with probability 1 - (1 - confidence) / 2, so both do with
            at least `confidence`. The interval holds every mean that some count and sum within them have.
            It is stated per class, not for all classes at once. Where the class may be empty, or the
            interval is the whole range, no mean is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Self

import pyarrow as pa

from discreet.app.sample import write
from discreet.app.sample.census import SCHEMA
from discreet.attacks.averaging import expected_posterior
from discreet.belief.odds import highest
from discreet.belief.promise import Promise
from discreet.core.engine import Engine
from discreet.core.randomness import Randomness
from discreet.core.relations import Relation
from discreet.core.values import Exact
from discreet.engines.duckdb import DuckDB
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.sampling import Integers

CONFIDENCE = 0.95
PROMISE = Promise(0.01, 0.05)
REPEATS = 1_000
CLASSES = SCHEMA.column("workclass").values
HOURS = SCHEMA.column("hours_per_week")
LOW, HIGH = HOURS.low or 0, HOURS.high or 0


@dataclass(frozen=True, kw_only=True)
class Group:
    """What is released of one workclass; `mean` is None where the answer says nothing about it."""

    workclass: str
    people: int
    people_error: int
    mean: float | None
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Question:
    """The question's two mechanisms, and what they cost together."""

    counts: DiscreteLaplace
    sums: DiscreteLaplace

    @classmethod
    def under(cls, promise: Promise) -> Self:
        """For half of the promise, in equal shares."""
        share = Fraction(promise.epsilon_for(Relation.VALUE)) / 4
        return cls(
            counts=DiscreteLaplace(epsilon=share, sensitivity=2),
            sums=DiscreteLaplace(epsilon=share, sensitivity=2 * (HIGH - LOW)),
        )

    @property
    def cost(self) -> Fraction:
        return self.counts.epsilon + self.sums.epsilon

    def ask(self, engine: Engine, random: Randomness) -> tuple[Group, ...]:
        table = engine.count(_question())
        people = self.counts.release_many(_column(table, "people"), random).value
        centred = self.sums.release_many(_column(table, "centred"), random).value
        return tuple(
            self._group(*one) for one in zip(CLASSES, people.tolist(), centred.tolist(), strict=True)
        )

    @cached_property
    def _half_widths(self) -> tuple[int, int, int]:
        """Of a count alone at the confidence, and of count and sum such that both hold at it."""
        each = 1 - (1 - CONFIDENCE) / 2
        return self.counts.half_width(CONFIDENCE), self.counts.half_width(each), self.sums.half_width(each)

    def _group(self, name: str, n: int, s: int) -> Group:
        error, width, reach = self._half_widths
        low, high = mean_interval((n - width, n + width), (s - reach, s + reach))
        if n - width < 1 or (low <= LOW and high >= HIGH):
            return Group(workclass=name, people=max(n, 0), people_error=error, mean=None, low=LOW, high=HIGH)
        mean = _clamped(Fraction(s, 2 * n))
        return Group(workclass=name, people=n, people_error=error, mean=mean, low=low, high=high)


@dataclass(frozen=True, kw_only=True)
class Averaging:
    """The attack: what a claim about one person's class comes to, by how repeated questions are answered.

    `stored` and `fresh` are the expected beliefs in a true claim after one stored answer, read `repeats`
    times, and after that many with fresh noise; the promise pays for `allowed` of those.
    """

    repeats: int
    stored: float
    fresh: float
    epsilon_of_fresh: float
    allowed: int


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Everything that the demonstration shows."""

    promise: Promise
    epsilon: float
    belief: float
    groups: tuple[Group, ...]
    attack: Averaging


def run(
    folder: Path, *, random: Randomness | None = None, progress: Callable[[str], None] | None = None
) -> Demo:
    """Make the sample in `folder` if it is not there, ask, and attack."""
    files = write(folder, progress)
    question = Question.under(PROMISE)
    with DuckDB({"census": files["census"]}) as engine:
        groups = question.ask(engine, random or Randomness())
    return Demo(
        promise=PROMISE,
        epsilon=float(question.cost),
        belief=highest(PROMISE.prior, question.cost),
        groups=groups,
        attack=_attack(question, PROMISE),
    )


def _question() -> str:
    """One row per declared class, in the schema's order, whether or not anyone is in it."""
    classes = ", ".join(f"({place}, '{name}')" for place, name in enumerate(CLASSES))
    hours = f"greatest({LOW}, least({HIGH}, hours_per_week::BIGINT))"
    return f"""
        SELECT count(hours_per_week) AS people,
               coalesce(sum(2 * {hours} - {LOW + HIGH}), 0)::BIGINT AS centred
        FROM (VALUES {classes}) AS declared(place, workclass) LEFT JOIN census USING (workclass)
        GROUP BY place ORDER BY place
    """


def _column(table: Exact[pa.Table], name: str) -> Exact[Integers]:
    return Exact(table.secret[name].to_numpy())


def mean_interval(people: tuple[int, int], centred: tuple[int, int]) -> tuple[float, float]:
    """All means that counts and centred sums in these ranges have, within the declared bounds."""
    fewest, most = max(people[0], 1), max(people[1], 1)
    least = min(Fraction(centred[0], 2 * n) for n in (fewest, most))
    largest = max(Fraction(centred[1], 2 * n) for n in (fewest, most))
    return _clamped(least), _clamped(largest)


def _clamped(above_middle: Fraction) -> float:
    return min(max(float(Fraction(LOW + HIGH, 2) + above_middle), float(LOW)), float(HIGH))


def _attack(question: Question, promise: Promise) -> Averaging:
    return Averaging(
        repeats=REPEATS,
        stored=expected_posterior(question.counts, prior=promise.prior, answers=1),
        fresh=expected_posterior(question.counts, prior=promise.prior, answers=REPEATS),
        epsilon_of_fresh=float(REPEATS * question.cost),
        allowed=int(Fraction(promise.epsilon) // question.cost),
    )
