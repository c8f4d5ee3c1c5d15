"""Slides on Evfimievski, Gehrke & Srikant, Limiting Privacy Breaches in Privacy Preserving Data Mining.

A number from 0 to 1000 is randomized by three operators, and the posteriors after a report of 0 are computed.
Every printed number is right; gamma and the KL divergence of each report are added.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.belief import (
    amplification,
    bound_posterior_from_information,
    compute_posteriors,
    find_worst_property,
    gamma,
    highest_posterior,
    mutual_information,
    worst_case_information,
)
from discreet.papers.reproduction import ComparedValue, Curve, Figure, Reproduction, ReproductionInputs

DOCUMENT = "Limiting Privacy Breaches in Privacy Preserving Data Mining (slides)"
Floats = NDArray[np.float64]

VALUES = np.arange(1_001)
PRIOR: Floats = np.where(VALUES == 0, 0.01, 0.00099)
IS_ZERO, IS_OUTSIDE = VALUES == 0, (VALUES < 200) | (VALUES > 800)
EVEN = [0.5, 0.5]
OFTEN = np.array([[0.6, 0.4], [0.4, 0.6]])
RARELY = np.array([[99e-6, 1e-6, 0.9999], [1e-6, 99e-6, 0.9999]])
RHO1, RHO2 = 0.01, 0.5


def build_operators() -> dict[str, Floats]:
    """Return Pr[x -> y] of R1 (kept with 20%), R2 (shifted by up to 100) and R3 (half R2, half uniform)."""
    apart = np.abs(VALUES[:, None] - VALUES[None, :])
    near = np.minimum(apart, 1_001 - apart) <= 100
    kept = np.where(apart == 0, 0.2, 0.8 / 1_000)
    shifted = near / 201.0
    return {"R1": kept, "R2": shifted, "R3": shifted / 2 + 0.5 / 1_001}


def reproduce_breaches(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce the table of priors and posteriors."""
    del inputs
    printed = {"R1": ("71.6%", "83.0%"), "R2": ("4.8%", "100%"), "R3": ("2.9%", "70.8%")}
    lines = [
        ComparedValue("given nothing: X = 0", "1%", float(PRIOR[IS_ZERO].sum())),
        ComparedValue("given nothing: X outside 200..800", "40.5%", float(PRIOR[IS_OUTSIDE].sum())),
    ]
    for name, channel in build_operators().items():
        zero, outside = printed[name]
        told = f"given {name}(X) = 0"
        lines += [
            ComparedValue(f"{told}: X = 0", zero, _get_posterior(channel, IS_ZERO)),
            ComparedValue(f"{told}: X outside 200..800", outside, _get_posterior(channel, IS_OUTSIDE)),
        ]
    return Reproduction(
        name="slides-breaches",
        document=DOCUMENT,
        title="Prior and posterior probabilities after a report of 0",
        lines=tuple(lines),
        notes=("R1 makes the unlikely likely; R2 makes the uncertain certain; R3 does neither.",),
    )


def reproduce_amplification(inputs: ReproductionInputs) -> Reproduction:
    """Compute gamma of each operator, and the bound on breaches that follows."""
    del inputs
    lines = []
    for name, channel in build_operators().items():
        worst = find_worst_property(channel, PRIOR, RHO1)
        reached = worst.posterior if worst is not None else 0.0
        lines += [
            ComparedValue(f"{name}: gamma", "", amplification(channel).overall),
            ComparedValue(f"{name}: most that a property of at most 1% can become", "", reached),
            ComparedValue(
                f"{name}: most that gamma allows it to become", "", _get_allowed_posterior(channel)
            ),
            ComparedValue(
                f"{name}: distance (KL) of a report of 0, in bits",
                "",
                _compute_kl_divergence(channel, PRIOR, 0),
            ),
        ]
    priors = [k / 200 for k in range(1, 200)]
    curves = tuple(
        Curve(name=name, points=tuple((p, highest_posterior(p, _get_privacy_loss(channel))) for p in priors))
        for name, channel in build_operators().items()
    )
    return Reproduction(
        name="slides-amplification",
        document=DOCUMENT,
        title="Amplification: no breach from rho1 to rho2 while gamma is below the odds between them",
        lines=tuple(lines),
        notes=(
            f"From 1% to 50% the odds grow by a factor of {gamma(RHO1, RHO2):.0f}: R3 stays below it, R1 and "
            "R2 do not.",
        ),
        figure=Figure(x="prior", y="highest posterior", curves=curves),
    )


def reproduce_information(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce the failure of mutual information: a rare report that reveals almost everything."""
    del inputs
    return Reproduction(
        name="slides-information",
        document=DOCUMENT,
        title="The failure of mutual information, and the worst case in its place",
        lines=(
            ComparedValue("R2: belief in 1 after a 1", "0.99", _get_first_posterior(RARELY)),
            ComparedValue("R1: the same", "0.6", _get_first_posterior(OFTEN)),
            ComparedValue("R1: log of 0.6 / 0.5", "0.2630", math.log2(0.6 / 0.5)),
            ComparedValue("R1: log of 0.4 / 0.5", "-0.3219", math.log2(0.4 / 0.5)),
            ComparedValue("R1: distance of a report", "0.02905", _compute_kl_divergence(OFTEN, EVEN, 0)),
            ComparedValue("R2: log of 0.99 / 0.5", "0.9855", math.log2(0.99 / 0.5)),
            ComparedValue("R2: log of 0.01 / 0.5", "-5.6439", math.log2(0.01 / 0.5)),
            ComparedValue("R2: distance of a report", "0.91921", _compute_kl_divergence(RARELY, EVEN, 0)),
            ComparedValue("R2: distance of e", "0", abs(_compute_kl_divergence(RARELY, EVEN, 2))),
            ComparedValue("R1: mutual information", "0.02905", mutual_information(OFTEN, EVEN, np.log2)),
            ComparedValue("R2: mutual information", "", mutual_information(RARELY, EVEN, np.log2)),
            ComparedValue("R1: worst-case information", "", worst_case_information(OFTEN, EVEN, np.log2)),
            ComparedValue("R2: worst-case information", "", worst_case_information(RARELY, EVEN, np.log2)),
        ),
        notes=("By mutual information R2 hides 300 times as much as R1; by the worst case far less.",),
    )


def reproduce_worst_case(inputs: ReproductionInputs) -> Reproduction:
    """Compare the bounds on upward breaches from worst-case information and from gamma."""
    del inputs
    lines = []
    for name, channel in build_operators().items():
        nats = worst_case_information(channel, PRIOR)
        lines += [
            ComparedValue(f"{name}: worst-case information, in nats", "", nats),
            ComparedValue(
                f"{name}: so a belief of 1% stays at most", "", bound_posterior_from_information(RHO1, nats)
            ),
            ComparedValue(f"{name}: by gamma at most", "", _get_allowed_posterior(channel)),
        ]
    return Reproduction(
        name="slides-worst-case",
        document=DOCUMENT,
        title="Bounds on upward breaches: worst-case information and amplification",
        lines=tuple(lines),
        notes=("Neither bound is always the smaller one; discreet reports the smaller.",),
    )


def _get_posterior(channel: Floats, holds: NDArray[np.bool_]) -> float:
    return float(compute_posteriors(channel, PRIOR, holds)[0])


def _get_first_posterior(channel: Floats) -> float:
    return float(compute_posteriors(channel, EVEN, [True, False])[0])


def _compute_kl_divergence(channel: Floats, prior: Floats | list[float], output: int) -> float:
    """Return the KL divergence of the posterior after `output` from the prior, in bits."""
    before = np.asarray(prior, dtype=np.float64)
    after = before * channel[:, output] / (before @ channel[:, output])
    seen = after > 0
    return float(np.sum(after[seen] * np.log2(after[seen] / before[seen])))


def _get_allowed_posterior(channel: Floats) -> float:
    return highest_posterior(RHO1, _get_privacy_loss(channel))


def _get_privacy_loss(channel: Floats) -> float:
    return math.log(amplification(channel).overall)
