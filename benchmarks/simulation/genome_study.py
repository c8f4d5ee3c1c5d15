"""Simulated genomes of a study, under Hardy-Weinberg.

SNPs        M of them, independent of one another (real ones come in linked stretches, each of which counts
            about once); the allele's share in the population is uniform between 5% and 95%.
People      each has two alleles of every SNP, drawn by the population's shares: 0, 1 or 2 copies.
Study       n people, some of whom are candidates with known genotypes; only the others' contribution to the
            counts is drawn, which is binomial. Candidates outside the study, and the panel, are not counted.
Reference   the exact shares, or those of a sample of other people.
Release     the shares of the study's 2 n alleles; or the same counts with discrete Laplace noise. A person
            has 0 to 2 copies of each SNP, so replacing one moves all counts together by 2 M at most, in L1,
            and the promise's epsilon requires noise of width 2 M / epsilon in each: more than the 2 n alleles
            that are counted, unless the study is far larger than the number of published SNPs. That is the
            price of hiding a person's presence, and no attack gets around it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.allele_frequencies import Floats, Frequencies, Genotypes, draw_genotypes
from discreet.attacks.genome_membership import MIN_PANEL
from discreet.core.errors import require_parameter
from discreet.core.exact_values import Exact
from discreet.core.number_checks import Real, require_count
from discreet.core.randomness import Randomness
from discreet.mechanisms.discrete_laplace import DiscreteLaplace


@dataclass(frozen=True, kw_only=True, eq=False)
class SequencedStudy:
    """A simulated study; `counts` are its allele counts, which must not be published as they are."""

    counts: Exact[NDArray[np.int64]]
    people: int
    reference: Frequencies
    candidates: Genotypes
    is_member: NDArray[np.bool_]
    panel: Genotypes

    def publish(self) -> Frequencies:
        """Return the exact shares, as studies used to publish them."""
        return Frequencies(share=self.counts.secret / (2 * self.people), people=self.people)

    def publish_privately(self, epsilon: Real, random: Randomness) -> Frequencies:
        """Return shares from noisy counts, with `epsilon` for a person over all SNPs together."""
        sensitivity = 2 * self.reference.share.size
        mechanism = DiscreteLaplace(epsilon=epsilon, sensitivity=sensitivity)  # type: ignore[arg-type]
        noisy = mechanism.release_many(self.counts, random).value
        share = noisy / (2 * self.people)
        return Frequencies(share=share, people=self.people, noise=mechanism.variance, epsilon=epsilon)


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study of `people`, of whom `members` are candidates, with `outsiders` and a `panel` outside it."""

    people: int = 1_000
    snps: int = 10_000
    reference: int | None = None
    members: int = 200
    outsiders: int = 200
    panel: int = 400
    seed: int = 2008

    def __post_init__(self) -> None:
        for name in ("people", "snps", "members"):
            require_count(self, name, getattr(self, name))
        require_count(self, "outsiders", self.outsiders, minimum=0)
        require_count(self, "panel", self.panel, minimum=MIN_PANEL)
        require_parameter(
            self.members <= self.people, self, "members", self.members, "at most the people of the study"
        )
        if self.reference is not None:
            require_count(self, "reference", self.reference)

    def sequence(self) -> SequencedStudy:
        draw = np.random.Generator(np.random.PCG64(self.seed))
        share = draw.uniform(0.05, 0.95, self.snps)
        candidates = draw_genotypes(self.members + self.outsiders, share, draw)
        unseen = draw.binomial(2 * (self.people - self.members), share)
        counts = candidates[: self.members].sum(axis=0, dtype=np.int64) + unseen
        return SequencedStudy(
            counts=Exact(counts),
            people=self.people,
            reference=self._draw_reference(share, draw),
            candidates=candidates,
            is_member=np.arange(len(candidates)) < self.members,
            panel=draw_genotypes(self.panel, share, draw),
        )

    def _draw_reference(self, share: Floats, draw: np.random.Generator) -> Frequencies:
        if self.reference is None:
            return Frequencies(share=share)
        counted = draw.binomial(2 * self.reference, share) / (2 * self.reference)
        return Frequencies(share=counted, people=self.reference)
