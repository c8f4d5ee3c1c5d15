"""A study's allele frequencies as they are, and under a promise of 1% to 5%."""

from __future__ import annotations

from functools import cache

from benchmarks.simulation.genome_study import SequencedStudy, Study
from discreet.attacks.allele_frequencies import Frequencies
from discreet.attacks.findings import Findings
from discreet.attacks.genome_membership import GenomeMembership
from discreet.belief.odds import log_gamma
from tests.attacks.case import Case
from tests.conftest import seeded

EPSILON = log_gamma(0.01, 0.05)


@cache
def sequenced() -> SequencedStudy:
    return Study(people=500, snps=4_000).sequence()


def judge(published: Frequencies, study: SequencedStudy, attack: GenomeMembership | None = None) -> Findings:
    return (attack or GenomeMembership()).run(
        published, study.reference, candidates=study.candidates, is_member=study.is_member, panel=study.panel
    )


GENOME_MEMBERSHIP = Case(
    attack=GenomeMembership,
    unprotected=lambda _: judge(sequenced().publish(), sequenced()),
    protected=lambda _: judge(sequenced().publish_privately(EPSILON, seeded(1)), sequenced()),
)
