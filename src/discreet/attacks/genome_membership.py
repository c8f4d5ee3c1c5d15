"""Genome membership: allele frequencies of a study reveal whether a person's genome was counted in them.

Knows       the victim's genotypes (0, 1 or 2 copies of each SNP's allele), the study's published frequencies
            and size, frequencies of a reference sample, and the genotypes of a panel of people of the same
            origin who are not in the study.
Learns      whether the victim was in the study, and so what everyone in it has: a disease, for example.
Score       two statistics. Homer's: sum |y - pop| - |y - mix|, with y half the copies, pop the reference's
            and mix the study's share [HSRD08]. The likelihood ratio: sum ln P(copies | study's share) -
            ln P(copies | reference's), by Hardy-Weinberg [SOJH09]. The panel gives the mean and the spread of
            a statistic for people outside the study (so SNPs need not be independent); a victim above the
            panel's mean by the normal quantile of `false_positives` is taken for a member.
            The success is the share of members found, the power; guessing finds `false_positives` of them.
            For M independent SNPs, n people in the study and m in the reference, the power is about
            Phi(sqrt(M / (n (1 + n / m))) - z), z the quantile (`attacks.allele_frequencies`).
            Known noise in the frequencies is taken into account: a share is shrunk towards the reference's by
            the part of its deviation that is noise.
            The posterior is Bayes' rule between two normal distributions: the panel's, and the same one
            around the mean of a member according to the study's shares. If an epsilon is stated, no output is
            more probable with a person than without by more than e^epsilon; the posterior is clipped to that,
            because normal distributions are not. If more members are found than epsilon allows, the statement
            is false and is ignored.
Stopped by  a promise about a person over all SNPs together: under epsilon the power is at most
            min(e^epsilon a, 1 - e^-epsilon (1 - a)) at a share `a` of false positives. An epsilon per SNP is
            weaker: over M SNPs it adds up to M epsilon, which promises nothing.

[HSRD08]    Homer, Szelinger, Redman, Duggan et al., Resolving Individuals Contributing Trace Amounts of DNA.
[SOJH09]    Sankararaman, Obozinski, Jordan & Halperin, Genomic Privacy and Limits of Individual Detection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from discreet.attacks.allele_frequencies import (
    Floats,
    Frequencies,
    Genotypes,
    StatisticWeights,
    compute_expected_power,
    compute_expected_shift,
    compute_expected_statistic,
    compute_max_power,
    compute_upper_normal_quantile,
    estimate_shares,
    sum_statistics,
)
from discreet.attacks.findings import Finding, Findings, Points, select_strongest
from discreet.belief.odds import logit
from discreet.core.binomial import clopper_pearson
from discreet.core.errors import RequestError, require_parameter
from discreet.core.number_checks import require_probability

Booleans = NDArray[np.bool_]
FEWEST = 100  # SNPs at which the curve begins
MIN_PANEL = 30


@dataclass(frozen=True, kw_only=True)
class GenomeMembership:
    """Inference from published frequencies whether genomes were counted in them."""

    statistic: Literal["likelihood ratio", "homer"] = "likelihood ratio"
    false_positives: float = 0.05
    prior: float = 0.01

    name: ClassVar[str] = "genome membership"
    knows: ClassVar[str] = "the victim's genotypes, a reference's frequencies, a panel of outsiders"
    learns: ClassVar[str] = "whether the victim was in the study"
    stopped_by: ClassVar[str] = "a promise about a person over all SNPs together"

    def __post_init__(self) -> None:
        known = self.statistic in ("likelihood ratio", "homer")
        require_parameter(known, self, "statistic", self.statistic, "'likelihood ratio' or 'homer'")
        require_probability(self, "false_positives", self.false_positives)
        require_probability(self, "prior", self.prior)

    def run(
        self,
        published: Frequencies,
        reference: Frequencies,
        *,
        candidates: Genotypes,
        is_member: Booleans,
        panel: Genotypes,
        names: Sequence[str] = (),
    ) -> Findings:
        """Judge every candidate, and compare with the truth in `is_member`."""
        _require_consistent_inputs(published, reference, candidates, is_member, panel)
        known = names or [f"candidate {who}" for who in range(len(candidates))]
        require_parameter(
            len(known) == len(candidates), self, "names", f"{len(names)} names", "one for each candidate"
        )
        shares = estimate_shares(published, reference)
        weights = self.compute_weights(shares, reference.clipped_shares)
        marks = _choose_curve_sizes(published.share.size)
        null, found = sum_statistics(panel, weights, marks), sum_statistics(candidates, weights, marks)
        deviation = null.std(axis=0, ddof=1)
        score = (found - null.mean(axis=0)) / np.where(deviation > 0, deviation, np.inf)
        gained = (
            (compute_expected_statistic(weights, shares) - null[:, -1].mean()) / deviation[-1]
            if deviation[-1] > 0
            else 0.0
        )
        told = self._build_findings(
            published, reference, score, np.asarray(is_member, bool), known, gained, marks
        )
        if published.epsilon is None or told.interval[0] <= compute_max_power(
            published.epsilon, self.false_positives
        ):
            return told
        return self.run(
            replace(published, epsilon=None, noise=0.0),
            reference,
            candidates=candidates,
            is_member=is_member,
            panel=panel,
            names=names,
        )

    def compute_weights(self, shares: Floats, reference: Floats) -> StatisticWeights:
        """Return the weight of each copy of an allele in a candidate's statistic."""
        if self.statistic == "likelihood ratio":
            return StatisticWeights(np.log(shares / reference) - np.log((1 - shares) / (1 - reference)), None)
        none, one, two = (np.abs(y - reference) - np.abs(y - shares) for y in (0.0, 0.5, 1.0))
        return StatisticWeights(one - none, two - 2 * one + none)

    def _build_findings(
        self,
        published: Frequencies,
        reference: Frequencies,
        score: Floats,
        is_member: Booleans,
        names: Sequence[str],
        gained: float,
        curve_sizes: list[int],
    ) -> Findings:
        final, rate = score[:, -1], self.false_positives
        members = int(is_member.sum())
        hits = int((final[is_member] > compute_upper_normal_quantile(rate)).sum())
        shift = max(gained, 0.0)
        most = math.inf if published.epsilon is None else float(published.epsilon)
        loss = np.clip(shift * final - shift**2 / 2, -most, most)
        posterior = scipy.special.expit(logit(self.prior) + loss)
        victims = [
            Finding(
                victim=name,
                claim="they were in the study",
                prior=self.prior,
                posterior=float(posterior[who]),
                truth=bool(is_member[who]),
            )
            for who, name in enumerate(names)
        ]
        return Findings(
            attack=f"{self.name} ({self.statistic})",
            knows=self.knows,
            learns=self.learns,
            stopped_by=self.stopped_by,
            success=hits / members,
            baseline=rate,
            attempts=members,
            interval=clopper_pearson(hits, members),
            victims=select_strongest(victims),
            figures=_compute_figures(published, reference, final, is_member, rate),
            series=_compute_curves(published, reference, score, is_member, curve_sizes),
        )


def _choose_curve_sizes(snps: int) -> list[int]:
    """Return the numbers of SNPs at which the curve has points: 100, 200, 500, 1,000 and so on, and all."""
    steps = (FEWEST * 10**power * step for power in range(12) for step in (1, 2, 5))
    return [*(step for step in steps if step < snps), snps]


def _compute_figures(
    published: Frequencies, reference: Frequencies, final: Floats, member: Booleans, rate: float
) -> dict[str, float]:
    shift = compute_expected_shift(published, reference)
    figures = {
        "power at 5%": float((final[member] > compute_upper_normal_quantile(0.05)).mean()),
        "power at 0.1%": float((final[member] > compute_upper_normal_quantile(0.001)).mean()),
        "expected power of the likelihood ratio": compute_expected_power(shift, rate),
        "shift": float(final[member].mean()),
        "expected shift of the likelihood ratio": shift,
    }
    if not member.all():
        figures["false positives"] = float((final[~member] > compute_upper_normal_quantile(rate)).mean())
    if published.epsilon is not None:
        figures["most that the promise allows"] = compute_max_power(published.epsilon, rate)
    return figures


def _compute_curves(
    published: Frequencies, reference: Frequencies, score: Floats, member: Booleans, marks: list[int]
) -> dict[str, Points]:
    curves: dict[str, Points] = {}
    for label, rate in (("5%", 0.05), ("0.1%", 0.001)):
        power = (score[member] > compute_upper_normal_quantile(rate)).mean(axis=0)
        expected = [
            compute_expected_power(compute_expected_shift(published, reference, mark), rate) for mark in marks
        ]
        curves[f"power at {label} by SNPs"] = tuple(zip(map(float, marks), map(float, power), strict=True))
        curves[f"expected power at {label} by SNPs"] = tuple(zip(map(float, marks), expected, strict=True))
    return curves


def _require_consistent_inputs(
    published: Frequencies, reference: Frequencies, candidates: Genotypes, member: Booleans, panel: Genotypes
) -> None:
    """Raise RequestError unless tables, genotypes and truth fit together."""
    snps = published.share.size
    if published.people is None:
        raise RequestError("The published frequencies lack the number of people in the study.")
    if reference.share.size != snps:
        raise RequestError(
            f"{snps} frequencies are published, but the reference has {reference.share.size}.",
            hint="Keep the SNPs that both have, in the same order.",
        )
    for name, genotypes, least in (("candidates", candidates, 1), ("panel", panel, MIN_PANEL)):
        _require_genotypes(name, np.asarray(genotypes), snps, least)
    if np.shape(member) != (len(candidates),) or not np.any(member):
        raise RequestError(
            "`is_member` must say for each candidate whether they were in the study, "
            "and at least one must be.",
            hint="Give `is_member` as one truth value per candidate.",
        )


def _require_genotypes(name: str, genotypes: NDArray[np.generic], snps: int, least: int) -> None:
    if genotypes.ndim != 2 or genotypes.shape[1] != snps or genotypes.dtype.kind not in "iu":
        raise RequestError(
            f"The {name} must be a table of whole numbers with {snps} columns, one for each SNP."
        )
    if len(genotypes) < least:
        raise RequestError(f"The {name} must be at least {least} people.")
    if genotypes.min() < 0 or genotypes.max() > 2:
        raise RequestError(
            f"The genotypes of the {name} must be 0, 1 or 2 copies.",
            hint="Leave out SNPs that are not genotyped in every person.",
        )
