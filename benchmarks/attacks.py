"""Attacks on made-up people: what they find, and in what time.

Films: 50,000 people, 2,000 titles, 4 million ratings; times are for each victim, with the table sorted.
Genomes: 400 people judged by 100,000 SNPs, with a panel of 400 more. Population: 280 million in 31,000 zips.
"""

from __future__ import annotations

import time

from discreet.attacks.genome_membership import GenomeMembership
from discreet.attacks.genomes import totals
from discreet.attacks.ratings import Ratings
from discreet.attacks.scoreboard import Scoreboard
from discreet.attacks.worlds.genomes import Study
from discreet.attacks.worlds.population import Population
from discreet.attacks.worlds.ratings import Service, overhear

VICTIMS = 1_000


def rows() -> list[tuple[str, str, str]]:
    """The figures of the attacks."""
    released, strangers = Service().rate()
    released.by_title  # noqa: B018  (sorted once, for all victims)
    return [
        _films(released, strangers, known=8, wrong=2, days=14),
        _films(released, strangers, known=2, wrong=0, days=3),
        _films(released, strangers, known=8, wrong=2, days=None),
        *_genomes(),
        _population(),
    ]


def _films(
    released: Ratings, strangers: Ratings, *, known: int, wrong: int, days: int | None
) -> tuple[str, str, str]:
    told = overhear(released, strangers, victims=VICTIMS, known=known, wrong=wrong, days=days or 0)
    attack = Scoreboard(days=days, wrong=wrong / known)
    start = time.perf_counter()
    findings = attack.run(released, told)
    spent = (time.perf_counter() - start) / told.victims * 1e3
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
    weights = attack.weights(published.inside, study.reference.inside)
    start = time.perf_counter()
    totals(study.candidates, weights, [100_000])
    spent = time.perf_counter() - start
    findings = attack.run(
        published, study.reference, candidates=study.candidates, member=study.member, panel=study.panel
    )
    expected = findings.figures["expected power of the likelihood ratio"]
    return [
        ("likelihood ratios, 400 people by 100,000 SNPs", f"{spent:.2f} s", "0.3 s"),
        ("power at 5%, study of 10,000", f"{findings.success:.1%}", f"{expected:.1%}, by the normal law"),
    ]


def _population() -> tuple[str, str, str]:
    start = time.perf_counter()
    share = Population().expected_unique("zip", "day")
    spent = time.perf_counter() - start
    return (
        "unique by zip, sex, birth date",
        f"{share:.1%} in {spent:.1f} s",
        "63% in the real census of 2000",
    )
