"""Genome membership: the statistics are their definitions, the power is the theory's, a promise holds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from benchmarks.simulation.genome_study import Study
from benchmarks.simulation.success_curves import compute_power_by_epsilon, compute_power_by_people
from discreet.attacks.allele_frequencies import (
    Frequencies,
    compute_expected_power,
    compute_expected_shift,
    compute_max_power,
    estimate_shares,
    sum_statistics,
)
from discreet.attacks.genome_membership import GenomeMembership
from discreet.belief.odds import highest_posterior
from discreet.core.errors import RequestError
from discreet.core.randomness import Randomness
from discreet.mechanisms.randomized_response import RandomizedResponse
from tests.attacks.cases.genome_membership import EPSILON, judge, sequenced
from tests.statistical import assert_probability

LIKELIHOOD, HOMER = GenomeMembership(), GenomeMembership(statistic="homer")


def by_definition(statistic: str, copies: Any, study: Any, reference: Any) -> float:
    if statistic == "homer":
        return float((np.abs(copies / 2 - reference) - np.abs(copies / 2 - study)).sum())
    return float(
        (copies * np.log(study / reference) + (2 - copies) * np.log((1 - study) / (1 - reference))).sum()
    )


@pytest.mark.parametrize("attack", [LIKELIHOOD, HOMER], ids=lambda attack: attack.statistic)
def test_statistics_are_their_definitions_up_to_what_all_people_share(attack: GenomeMembership) -> None:
    study = sequenced()
    shares, reference = estimate_shares(study.publish(), study.reference), study.reference.clipped_shares
    marks = [100, 3_999]
    found = sum_statistics(study.candidates, attack.compute_weights(shares, reference), marks)
    for place, mark in enumerate(marks):
        wanted = np.array(
            [
                by_definition(attack.statistic, copies[:mark].astype(float), shares[:mark], reference[:mark])
                for copies in study.candidates
            ]
        )
        assert found[:, place] - found[0, place] == pytest.approx(wanted - wanted[0], abs=1e-3)
        assert wanted.std() > 0.1


@pytest.mark.parametrize(
    ("people", "snps", "reference"), [(500, 2_000, None), (500, 4_000, 500), (4_000, 9_000, None)]
)
def test_power_is_what_the_normal_law_says(people: int, snps: int, reference: int | None) -> None:
    """The bounds are six standard deviations of 500 members' share and mean, the panel's error among them."""
    study = Study(people=people, snps=snps, reference=reference, members=500, panel=1_000).sequence()
    findings = judge(study.publish(), study)
    shift = math.sqrt(snps / people / (1 + people / reference if reference else 1))
    assert compute_expected_shift(study.publish(), study.reference) == pytest.approx(shift, rel=0.01)
    assert findings.figures["shift"] == pytest.approx(shift, abs=0.35)
    assert findings.success == pytest.approx(compute_expected_power(shift, 0.05), abs=0.15)
    strangers = round(findings.figures["false positives"] * 200)
    assert_probability(strangers, 200, 0.05)


def test_power_grows_with_snps_and_falls_with_people() -> None:
    """Six standard deviations of 200 members' share are 0.22."""
    curves = judge(sequenced().publish(), sequenced()).series
    for rate in ("5%", "0.1%"):
        measured = [share for _, share in curves[f"power at {rate} by SNPs"]]
        expected = [share for _, share in curves[f"expected power at {rate} by SNPs"]]
        assert measured == pytest.approx(expected, abs=0.22)
        assert expected == sorted(expected)
    by_people = compute_power_by_people([200, 1_000, 20_000], snps=2_000)
    assert [share for _, share in by_people["power"]] == pytest.approx(
        [share for _, share in by_people["expected power"]], abs=0.22
    )
    assert by_people["power"][0][1] > 0.9 > by_people["power"][1][1] > by_people["power"][2][1]


def test_the_likelihood_ratio_is_no_weaker_than_homers_statistic() -> None:
    ratio, homer = (judge(sequenced().publish(), sequenced(), attack) for attack in (LIKELIHOOD, HOMER))
    assert ratio.figures["shift"] > homer.figures["shift"] > 2


def test_members_are_believed_to_be_members_and_others_not() -> None:
    findings = judge(sequenced().publish(), sequenced(), GenomeMembership(prior=0.5))
    assert all(finding.truth for finding in findings.victims)
    assert all(finding.posterior > 0.95 for finding in findings.victims)


def test_under_a_promise_nobody_is_found_and_no_belief_passes_it(random: Randomness) -> None:
    for attack in (LIKELIHOOD, HOMER):
        published = sequenced().publish_privately(EPSILON, random)
        findings = judge(published, sequenced(), attack)
        assert_probability(round(findings.success * findings.attempts), findings.attempts, 0.05)
        assert all(finding.posterior <= highest_posterior(0.01, EPSILON) for finding in findings.victims)
        assert findings.figures["most that the promise allows"] == pytest.approx(
            compute_max_power(EPSILON, 0.05)
        )


def test_the_promise_is_paid_over_all_snps(random: Randomness) -> None:
    snps, published = 4_000, sequenced().publish_privately(EPSILON, random)
    assert published.noise == pytest.approx(2 * (2 * snps / EPSILON) ** 2, rel=1e-3)
    deviation = (published.share - sequenced().publish().share) * 2 * sequenced().people
    assert deviation.std() == pytest.approx(math.sqrt(published.noise), rel=0.2)


def test_an_epsilon_for_each_snp_promises_nothing(random: Randomness) -> None:
    """As if a person had only one: over the 4,000 that each has it comes to 4,000 times as much."""
    findings = judge(sequenced().publish_privately(4_000 * EPSILON, random), sequenced())
    assert findings.success > 0.7
    assert findings.figures["most that the promise allows"] == 1.0


def test_power_stays_under_what_each_epsilon_allows(random: Randomness) -> None:
    curves = compute_power_by_epsilon(Study(people=1_000, snps=100), [0.5, 2, 500], random)
    for (_, power), (_, most) in zip(curves["power"], curves["most that the promise allows"], strict=True):
        assert power <= most + 0.1
    assert curves["power"][-1][1] > curves["power"][0][1]


def test_randomized_response_reaches_the_most_that_an_epsilon_allows() -> None:
    mechanism = RandomizedResponse(epsilon=Fraction(3, 2), values=2)
    rate = mechanism.likelihood(1, 0)
    assert compute_max_power(1.5, rate) == pytest.approx(mechanism.likelihood(1, 1))


def test_shares_are_drawn_back_by_as_much_as_is_noise() -> None:
    reference = Frequencies(share=np.array([0.5, 0.5]))
    for noise, kept in ((1e-12, 1.0), (50.0, 0.5), (1e12, 0.0)):
        published = Frequencies(share=np.array([0.6, 0.4]), people=100, noise=noise)
        assert estimate_shares(published, reference) == pytest.approx([0.5 + 0.1 * kept, 0.5 - 0.1 * kept])


def test_alleles_that_nobody_or_everybody_has_say_nothing() -> None:
    study, fixed = sequenced(), slice(0, 2)
    copies: dict[str, Any] = {"candidates": study.candidates.copy(), "panel": study.panel.copy()}
    for genotypes in copies.values():
        genotypes[:, fixed] = (0, 2)
    share = study.publish().share.copy()
    share[fixed] = (0.0, 1.0)
    published, reference = Frequencies(share=share, people=500), Frequencies(share=share)
    found = LIKELIHOOD.run(published, study.reference, is_member=study.is_member, **copies)
    without: dict[str, Any] = {name: genotypes[:, 2:] for name, genotypes in copies.items()}
    shorter = (Frequencies(share=study.reference.share[2:]), Frequencies(share=share[2:], people=500))
    assert (
        found.success == LIKELIHOOD.run(shorter[1], shorter[0], is_member=study.is_member, **without).success
    )
    assert np.isfinite(
        LIKELIHOOD.compute_weights(published.clipped_shares, reference.clipped_shares).per_copy
    ).all()


def wrong(**changes: Any) -> None:
    study = sequenced()
    given: dict[str, Any] = {
        "published": study.publish(),
        "reference": study.reference,
        "candidates": study.candidates,
        "is_member": study.is_member,
        "panel": study.panel,
    } | changes
    LIKELIHOOD.run(given.pop("published"), given.pop("reference"), **given)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: wrong(published=sequenced().reference), "lack the number of people"),
        (lambda: wrong(reference=Frequencies(share=np.array([0.5]))), "the reference has 1"),
        (lambda: wrong(panel=sequenced().panel[:3]), "at least 30 people"),
        (lambda: wrong(panel=sequenced().panel[:, :9]), "4000 columns"),
        (lambda: wrong(candidates=sequenced().candidates / 2), "whole numbers"),
        (lambda: wrong(candidates=sequenced().candidates - 1), "0, 1 or 2 copies"),
        (lambda: wrong(names=["Joe"]), "one for each candidate"),
        (lambda: wrong(is_member=[True]), "whether they were in the study"),
        (lambda: wrong(is_member=np.zeros(400, bool)), "whether they were in the study"),
        (lambda: Frequencies(share=np.array([1.5])), "shares between 0 and 1"),
        (lambda: Frequencies(share=np.array([math.nan])), "one for each SNP"),
        (lambda: GenomeMembership(statistic="guess"), "'likelihood ratio' or 'homer'"),  # type: ignore[arg-type]
        (lambda: GenomeMembership(false_positives=0), "false_positives must be"),
        (lambda: Study(people=10, members=11), "at most the people"),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(make: Any, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        make()
