"""Tiny streams whose law can be written down: every transcript and its exact probability."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from math import exp, log

import numpy as np

from discreet.core.exact_values import Exact
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.noise_laws import IntegerNoise
from discreet.mechanisms.sampling import Booleans, Floats, Integers
from discreet.mining.stream import OnlineAnswerer, StreamPlan, median_mechanism
from discreet.mining.stream.online_answerer import Knowledge
from discreet.mining.stream.stream_plan import plan_method
from discreet.mining.stream.universe import Universe
from discreet.mining.tabulation.noise_budget import NoiseBudget

Transcript = tuple[tuple[str, int], ...]

FURTHEST = 25
HIGH = 6
"""Noisy counts are written down from 0, which stands for all below it, up to here; there is no end."""


def declared(cells: int, rows: int | None = None) -> Policy:
    """Numbers from 1 on, one a cell."""
    column = {"type": "integer", "low": 1, "high": cells, "nulls": False}
    table = {"source": "x.csv", "rows": rows, "columns": {"x": column}}
    return Policy.model_validate({"tables": {"t": table}})


def tiny(method: str, *, updates: int, questions: int = 3, cells: int = 2, size: int = 3) -> StreamPlan:
    """A stream over four rows whose number is public, for an epsilon of 1, replaced values."""
    universe = Universe.from_table(declared(cells, 4).tables["t"], ["x"], bins={})
    budget = NoiseBudget(amount=Fraction(1), is_pure=True, relation=Relation.VALUE)
    found = plan_method(method, "t", universe, budget, questions=questions, updates=updates, rows=4)
    return replace(found, size=size if method == "median" else 0)


def asked(*cells: Sequence[int]) -> list[Booleans]:
    """Questions, each by 0 and 1 for its cells."""
    return [np.array(each, np.bool_) for each in cells]


def told(
    plan: StreamPlan, counts: Sequence[int], questions: list[Booleans], random: Randomness
) -> Transcript:
    """One run, until the stream ends."""
    answerer = OnlineAnswerer(plan, Exact(np.array(counts, np.int64)), random)
    found = []
    for each in questions:
        if answerer.end_reason:
            break
        answer = answerer.answer_cells(each)
        found.append(("hard" if answer.is_fresh else "easy", answer.count))
    return tuple(found)


def law(
    plan: StreamPlan, counts: Sequence[int], questions: list[Booleans], *, passes: int, noisy: bool = True
) -> dict[Transcript, float]:
    """Pr[transcript], from the definition: a sum over the threshold's noise of products over questions.

    Not `noisy`, it is that of a broken twin whose scores are compared as they are.
    """
    assert plan.sparse_vector is not None
    truth = np.array(counts, np.int64)
    known = OnlineAnswerer(plan, Exact(truth), Randomness())._known
    assert known is not None
    noise = plan.sparse_vector.threshold_noise
    reach = round(FURTHEST / float(noise.rate))
    w = np.arange(-reach, reach + 1)
    limit = (median_mechanism.HARDNESS_THRESHOLD if plan.method == "median" else plan.width) + w
    chance = np.tanh(float(noise.rate) / 2) * np.exp(-float(noise.rate) * np.abs(w))
    found: dict[Transcript, float] = defaultdict(float)

    def walk(known: Knowledge, left: list[Booleans], passes: int, chance: Floats, before: Transcript) -> None:
        if not left or passes == 0:
            found[before] += float(chance.sum())
            return
        assert plan.sparse_vector is not None
        first, *rest = left
        count = int(truth[first].sum())
        far = limit - known.compute_hardness(first, count)
        hard = at_least(plan.sparse_vector.score_noise, far) if noisy else (far <= 0).astype(np.float64)
        walk(known, rest, passes, chance * (1 - hard), (*before, ("easy", known.estimate_count(first))))
        for answer in range(HIGH):
            learned = deepcopy(known)
            learned.update(first, answer)
            mass = plan.answer_noise.mass(answer - count) if answer else below(plan.answer_noise, -count)
            walk(learned, rest, passes - 1, chance * hard * mass, (*before, ("hard", answer)))

    walk(known, questions, passes, chance, ())
    return found


def at_least(noise: DiscreteLaplace, values: Integers) -> Floats:
    """Pr[Z >= value]."""
    rate = float(noise.rate)
    beyond = np.exp(-rate * np.maximum(np.where(values > 0, values, 1 - values), 0)) / (1 + np.exp(-rate))
    return np.asarray(np.where(values > 0, beyond, 1 - beyond))


def below(noise: IntegerNoise, value: int) -> float:
    """Pr[Z <= value], for a value that is not above 0."""
    assert isinstance(noise, DiscreteLaplace)
    return exp(float(noise.rate) * value) / (1 + exp(-float(noise.rate)))


def largest_loss(
    plan: StreamPlan, sides: tuple[Sequence[int], Sequence[int]], questions: list[Booleans], *, passes: int
) -> float:
    """The largest ln of a ratio of two probabilities of one transcript, either way."""
    here, there = (law(plan, counts, questions, passes=passes) for counts in sides)
    assert set(here) == set(there)
    return max(abs(log(here[each] / there[each])) for each in here)
