"""A population by zip, sex and birth date, and by sex and year of birth where nobody's year is rare."""

from __future__ import annotations

from functools import cache

from benchmarks.simulation.us_population import Population, PopulationRegister
from discreet.attacks.findings import Findings
from discreet.attacks.linkage import Uniqueness
from tests.attacks.case import Case


@cache
def people() -> PopulationRegister:
    return Population(counties=10).draw_register()


def _single_out(place: str, birth: str) -> Findings:
    return Uniqueness(columns=(place, "sex", birth)).run(people().count_crowds(place, birth))


UNIQUENESS = Case(
    attack=Uniqueness,
    unprotected=lambda _: _single_out("zip", "day"),
    protected=lambda _: _single_out("nation", "year"),
)
