"""Allele frequencies of a study, and the expected power of membership inference from them.

A study of n people publishes, for each of M SNPs, the share of an allele among its 2 n chromosomes. Each
member's genome moved every share a little towards itself; a reference of m people estimates the shares
without them. A share deviates from the reference's with a variance of p (1 - p) (1 / 2n + 1 / 2m) from
sampling, plus that of the noise, if any; a member adds p (1 - p) / n to the mean of its product with their
own deviation. Over independent SNPs the best sum of such products puts members
sqrt(sum p (1 - p) / V / 2) / n standard deviations above the others, V the whole variance; without noise that
is sqrt(M / (n (1 + n / m))).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from discreet.core.errors import require_parameter
from discreet.core.number_checks import Real, require_count, require_nonnegative, require_probability

Floats = NDArray[np.float64]
Genotypes = NDArray[np.int8]
BLOCK = 4_096  # SNPs that are multiplied together in single precision


@dataclass(frozen=True, kw_only=True, eq=False)
class Frequencies:
    """The share of each SNP's allele among `people`, or the exact shares if `people` is None.

    `noise` is the variance that was added to each allele count; `epsilon` is the resulting privacy loss of a
    person, over all SNPs.
    """

    share: Floats
    people: int | None = None
    noise: float = 0.0
    epsilon: Real | None = None

    def __post_init__(self) -> None:
        share = np.asarray(self.share, np.float64)
        object.__setattr__(self, "share", share)
        if self.people is not None:
            require_count(self, "people", self.people)
        require_nonnegative(self, "noise", self.noise)
        holds = share.ndim == 1 and share.size > 0 and bool(np.isfinite(share).all())
        require_parameter(
            holds, self, "share", f"an array of {share.shape}", "one column of numbers, one for each SNP"
        )
        if not self.noise:
            require_parameter(
                share.min() >= 0 and share.max() <= 1, self, "share", "others", "shares between 0 and 1"
            )

    @property
    def clipped_shares(self) -> Floats:
        """Shares clipped to half an allele from 0 and 1, so that logarithms exist."""
        edge = 1 / (4 * self.people) if self.people else 1e-9
        return np.clip(self.share, edge, 1 - edge)


class StatisticWeights(NamedTuple):
    """A statistic as a sum over SNPs: `per_copy` for each copy of the allele, plus `both_copies` for two."""

    per_copy: Floats
    both_copies: Floats | None


def estimate_shares(published: Frequencies, reference: Frequencies) -> Floats:
    """Return the posterior mean of the study's shares, given the noise in the published ones."""
    middle = reference.clipped_shares
    if not published.noise:
        return published.clipped_shares
    sampled, added = _share_variances(published, reference)
    drawn_back = middle + (published.share - middle) * sampled / (sampled + added)
    edge = 1 / (4 * (published.people or 1))
    return np.asarray(np.clip(drawn_back, edge, 1 - edge))


def compute_expected_shift(published: Frequencies, reference: Frequencies, snps: int | None = None) -> float:
    """Return by how many standard deviations members exceed the others, for independent SNPs.

    >>> study, exact = (Frequencies(share=np.full(8_100, 0.5), people=n) for n in (100, None))
    >>> compute_expected_shift(study, exact)
    9.0
    """
    sampled, added = _share_variances(published, reference)
    middle = reference.clipped_shares
    told = (middle * (1 - middle) / (sampled + added))[:snps].sum()
    return math.sqrt(told / 2) / (published.people or 1)


def compute_expected_power(shift: float, false_positives: float) -> float:
    """Return the share of members above the quantile that `false_positives` of the others exceed."""
    return float(scipy.special.ndtr(shift - compute_upper_normal_quantile(false_positives)))


def compute_max_power(epsilon: Real, false_positives: float) -> float:
    """Return the highest power of any attack on a release with this epsilon, whatever else is known.

    >>> compute_max_power(0, 0.05), round(compute_max_power(1, 0.05), 4)
    (0.05, 0.1359)
    """
    require_nonnegative("maximum_power", "epsilon", epsilon)
    require_probability("maximum_power", "false_positives", false_positives)
    kept = math.exp(-epsilon)
    return min(1.0 if kept == 0 else false_positives / kept, 1 - (1 - false_positives) * kept)


def sum_statistics(genotypes: Genotypes, weights: StatisticWeights, snp_counts: list[int]) -> Floats:
    """Return each person's statistic over the first SNPs, for each number of SNPs."""
    sums = np.empty((len(genotypes), len(snp_counts)))
    running, begin = np.zeros(len(genotypes)), 0
    for place, mark in enumerate(snp_counts):
        for start in range(begin, mark, BLOCK):
            part = slice(start, min(start + BLOCK, mark))
            running += _sum_snp_block(genotypes[:, part], weights, part)
        sums[:, place], begin = running, mark
    return sums


def _sum_snp_block(genotypes: Genotypes, weights: StatisticWeights, part: slice) -> Floats:
    single = genotypes.astype(np.float32) @ weights.per_copy[part].astype(np.float32)
    if weights.both_copies is not None:
        single += (genotypes == 2).astype(np.float32) @ weights.both_copies[part].astype(np.float32)
    return single.astype(np.float64)


def compute_expected_statistic(weights: StatisticWeights, shares: Floats) -> float:
    """Return the expected statistic of a person whose alleles are drawn by these shares."""
    both = 0.0 if weights.both_copies is None else float(weights.both_copies @ shares**2)
    return float(weights.per_copy @ (2 * shares)) + both


def _share_variances(published: Frequencies, reference: Frequencies) -> tuple[Floats, Floats]:
    """Return the variances of a published share around the reference's: from sampling, and from noise."""
    people, middle = published.people or 1, reference.clipped_shares
    halves = 1 / (2 * people) + (1 / (2 * reference.people) if reference.people else 0.0)
    sampled = middle * (1 - middle) * halves
    return sampled, np.full(middle.size, published.noise / (2 * people) ** 2)


def compute_upper_normal_quantile(rate: float) -> float:
    """Return the value that a standard normal variable exceeds with probability `rate`."""
    return -float(scipy.special.ndtri(rate))
