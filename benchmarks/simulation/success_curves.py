"""Attack success on simulated data as one parameter varies: curves for reports.

Each point is a run of the attack on its own data; nothing is computed from real tables.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.simulation.genome_study import SequencedStudy, Study
from benchmarks.simulation.rental_ratings import sample_known_ratings
from benchmarks.simulation.us_population import BIRTH, Population
from discreet.attacks.allele_frequencies import (
    Frequencies,
    compute_expected_power,
    compute_expected_shift,
    compute_max_power,
)
from discreet.attacks.findings import Points
from discreet.attacks.genome_membership import GenomeMembership
from discreet.attacks.ratings import Ratings
from discreet.attacks.scoreboard import Scoreboard
from discreet.core.randomness import Randomness


def compute_recognition_curve(
    released: Ratings, strangers: Ratings, *, days: int | None, known: Sequence[int], victims: int = 500
) -> dict[str, Points]:
    """Return the shares of people found, and of strangers mistaken for someone, by number of known ratings.

    Days are remembered within `days`, or not at all if that is None; every fourth rating is wrong.
    """
    found, mistaken = [], []
    for many in known:
        wrong = many // 4
        told = sample_known_ratings(
            released, strangers, victims=victims, known=many, wrong=wrong, days=days or 0
        )
        findings = Scoreboard(days=days, wrong=wrong / many).run(released, told)
        found.append((float(many), findings.success))
        mistaken.append((float(many), findings.figures["strangers matched"]))
    return {"recognized": tuple(found), "strangers matched": tuple(mistaken)}


def compute_power_by_people(
    sizes: Sequence[int], *, snps: int = 10_000, rate: float = 0.05
) -> dict[str, Points]:
    """Return the share of a study's members found as the study grows, and the expected share."""
    found, expected = [], []
    for people in sizes:
        study = Study(people=people, snps=snps, members=min(people, 200)).sequence()
        published = study.publish()
        found.append((float(people), _compute_power(study, published, rate)))
        shift = compute_expected_shift(published, study.reference)
        expected.append((float(people), compute_expected_power(shift, rate)))
    return {"power": tuple(found), "expected power": tuple(expected)}


def compute_power_by_epsilon(
    study: Study, epsilons: Sequence[float], random: Randomness, *, rate: float = 0.05
) -> dict[str, Points]:
    """Return the share of members found by epsilon for one study, and the highest share allowed."""
    sequenced = study.sequence()
    found = [_compute_power(sequenced, sequenced.publish_privately(each, random), rate) for each in epsilons]
    most = [compute_max_power(each, rate) for each in epsilons]
    return {
        "power": tuple(zip(map(float, epsilons), found, strict=True)),
        "most that the promise allows": tuple(zip(map(float, epsilons), most, strict=True)),
    }


def compute_unique_by_columns(population: Population) -> dict[str, float]:
    """Return the expected share of unique people by place, sex and birth, for several precisions."""
    return {
        f"{place}, sex, {birth} of birth": population.compute_expected_unique(place, birth)
        for place in ("zip", "county")
        for birth in BIRTH
    }


def _compute_power(study: SequencedStudy, published: Frequencies, rate: float) -> float:
    attack = GenomeMembership(false_positives=rate)
    findings = attack.run(
        published, study.reference, candidates=study.candidates, is_member=study.is_member, panel=study.panel
    )
    return findings.success
