"""A synthetic table that is the data with a little noise, and one of other people of the same law."""

from __future__ import annotations

from functools import cache
from typing import Any

from benchmarks.simulation.census_records import COLUMN_TYPES, Census, make_leaky_copy
from discreet.attacks.synthetic_attacks import AttributeInference, Linkability, SinglingOut
from discreet.attacks.synthetic_release import SyntheticRelease, build_synthetic_release
from tests.attacks.case import Case

PEOPLE = 4_000


@cache
def released(honest: bool) -> SyntheticRelease:
    data, panel, others = (Census(people=PEOPLE, seed=seed).sample() for seed in (1, 2, 3))
    return build_synthetic_release(
        others if honest else make_leaky_copy(data), data, panel, COLUMN_TYPES, victims=1_000
    )


def _case(attack: Any) -> Case:
    return Case(
        attack=type(attack),
        unprotected=lambda _: attack.run(released(honest=False)),
        protected=lambda _: attack.run(released(honest=True)),
    )


SYNTHETIC = (
    _case(SinglingOut(columns=("age", "zip", "hours", "income"))),
    _case(Linkability(first=("age", "zip", "hours"))),
    _case(AttributeInference(secret="income")),
)
