"""A population by zip, sex and birth date, and by sex and year of birth where nobody's year is rare."""

from __future__ import annotations

from functools import cache

from discreet.attacks.attack import Findings
from discreet.attacks.uniqueness import Uniqueness
from discreet.attacks.worlds.population import Population, Register
from tests.attacks.case import Case


@cache
def people() -> Register:
    return Population(counties=10).register()


def _single_out(place: str, birth: str) -> Findings:
    return Uniqueness(columns=(place, "sex", birth)).run(people().crowds(place, birth))


UNIQUENESS = Case(
    attack=Uniqueness,
    unprotected=lambda _: _single_out("zip", "day"),
    protected=lambda _: _single_out("nation", "year"),
)
