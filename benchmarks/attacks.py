"""Attacks on made-up people: what they find, and in what time.

Films: 50,000 people, 2,000 titles, 4 million ratings; times are for each victim, with the table sorted.
Genomes: 400 people judged by 100,000 SNPs, with a panel of 400 more. Population: 280 million in 31,000 zips.
Synthetic: 40,000 rows of 10 columns; 1,000 people of the data and a panel of 1,000, every column inferred
from all others, and every person linked in line-ups of 20.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks import audits
from benchmarks.simulation.census_records import COLUMN_TYPES, Census, make_leaky_copy
from benchmarks.simulation.genome_study import Study
from benchmarks.simulation.rental_ratings import RentalService, sample_known_ratings
from benchmarks.simulation.us_population import Population
from discreet.attacks.allele_frequencies import sum_statistics
from discreet.attacks.findings import Findings
from discreet.attacks.genome_membership import GenomeMembership
from discreet.attacks.ratings import Ratings
from discreet.attacks.scoreboard import Scoreboard
from discreet.attacks.synthetic_attacks import AttributeInference, Linkability, vote_by_nearest_rows
from discreet.attacks.synthetic_release import SyntheticRelease, build_synthetic_release
from discreet.attacks.synthetic_sweep import sweep_attacks

VICTIMS = 1_000
SYNTHETIC_ROWS = 40_000


def rows() -> list[tuple[str, str, str]]:
    """The figures of the attacks."""
    released, strangers = RentalService().simulate_ratings()
    released.title_index  # noqa: B018  (sorted once, for all victims)
    return [
        _films(released, strangers, known=8, wrong=2, days=14),
        _films(released, strangers, known=2, wrong=0, days=3),
        _films(released, strangers, known=8, wrong=2, days=None),
        *_genomes(),
        _population(),
        *_synthetic(),
        *audits.rows(),
    ]


def _films(
    released: Ratings, strangers: Ratings, *, known: int, wrong: int, days: int | None
) -> tuple[str, str, str]:
    told = sample_known_ratings(
        released, strangers, victims=VICTIMS, known=known, wrong=wrong, days=days or 0
    )
    attack = Scoreboard(days=days, wrong=wrong / known)
    start = time.perf_counter()
    findings = attack.run(released, told)
    spent = (time.perf_counter() - start) / told.victim_count * 1e3
    when = "days unknown" if days is None else f"±{days} days"
    low, high = findings.interval
    found = f"{findings.success:.1%} ({low:.1%} to {high:.1%}) found"
    strange = f"{findings.figures['strangers matched']:.1%} of strangers matched"
    return (
        f"scoreboard, {known} ratings, {wrong} wrong, {when}",
        f"{spent:.2f} ms a victim; {found}, {strange}",
        "none: all ratings of a title fit" if days is None else "1.5 to 3.3 ms a victim",
    )


def _genomes() -> list[tuple[str, str, str]]:
    study = Study(people=10_000, snps=100_000).sequence()
    attack, published = GenomeMembership(), study.publish()
    weights = attack.compute_weights(published.clipped_shares, study.reference.clipped_shares)
    start = time.perf_counter()
    sum_statistics(study.candidates, weights, [100_000])
    spent = time.perf_counter() - start
    findings = attack.run(
        published, study.reference, candidates=study.candidates, is_member=study.is_member, panel=study.panel
    )
    expected = findings.figures["expected power of the likelihood ratio"]
    return [
        ("likelihood ratios, 400 people by 100,000 SNPs", f"{spent:.2f} s", "0.3 s"),
        ("power at 5%, study of 10,000", f"{findings.success:.1%}", f"{expected:.1%}, by the normal law"),
    ]


def _population() -> tuple[str, str, str]:
    start = time.perf_counter()
    share = Population().compute_expected_unique("zip", "day")
    spent = time.perf_counter() - start
    return (
        "unique by zip, sex, birth date",
        f"{share:.1%} in {spent:.1f} s",
        "63% in the real census of 2000",
    )


def _synthetic() -> list[tuple[str, str, str]]:
    data, panel, others = (Census(people=SYNTHETIC_ROWS, seed=seed).sample() for seed in (1, 2, 3))
    release = build_synthetic_release(make_leaky_copy(data), data, panel, COLUMN_TYPES, victims=2 * VICTIMS)
    judged = release.take_every(1)
    _nearest(judged.limit_people(40))  # compiled once, and kept on disk
    start = time.perf_counter()
    found = _nearest(judged)
    spent = time.perf_counter() - start
    start = time.perf_counter()
    honest = sweep_attacks(build_synthetic_release(others, data, panel, COLUMN_TYPES, victims=2 * VICTIMS))
    swept = time.perf_counter() - start
    return [
        (
            "linkability and inference, 40,000 synthetic rows",
            f"{spent:.1f} s; of a copy {_told(found)}",
            "2 s (Anonymeter: 9 to 38 s)",
        ),
        (
            "sweep of columns, three attacks, honest table",
            f"{swept:.1f} s; {'; '.join(f'{each.attack} {_told(each)}' for each in honest)}",
            "no more than of people who are not in it",
        ),
    ]


def _nearest(release: SyntheticRelease) -> Findings:
    """Every column inferred, and everybody linked, for the people of the data and for the panel."""
    for people in (release.victims, release.panel_victims):
        vote_by_nearest_rows(release, people, release.columns, np.arange(len(release.columns)))
    Linkability(first=("age", "zip", "hours", "savings")).run(release)
    return AttributeInference(secret="income").run(release)


def _told(found: Findings) -> str:
    low, high = found.interval
    return f"{found.success:.1%} ({low:.1%} to {high:.1%}), baseline {found.baseline:.1%}"
