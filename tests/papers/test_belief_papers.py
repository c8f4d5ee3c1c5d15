"""The papers' numbers on belief, recomputed by the product; where a paper misprints, that is asserted too.

LPB: Ouyang, Yin & Liu, Limiting Privacy Breaches in Differential Privacy. EGS: slides on Evfimievski, Gehrke
& Srikant, Limiting Privacy Breaches in Privacy Preserving Data Mining. LC11: Lee & Clifton, How Much Is
Enough? EGM: the Epsilon Generation Model. The longer tables stand in belief.json beside this file.
"""

import itertools
import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import laplace, norm

from discreet.belief import (
    Promise,
    amplification,
    compute_belief,
    compute_posterior,
    compute_posteriors,
    epsilon_generation,
    find_downward_breaches,
    find_upward_breaches,
    highest_posterior,
    identifiability,
    limiting_breaches,
    mutual_information,
    possible_worlds,
    tail_probability,
    tight_identifiability,
    uniform_prior,
    worst_case_information,
    worst_case_information_for_epsilon,
)
from discreet.core.guarantees import GaussianDP

TABLES = json.loads((Path(__file__).parent / "belief.json").read_text())
Floats = NDArray[np.float64]

PEOPLE = 48_842
BOUNDS = {"age": (17, 90), "education_num": (1, 16), "hours": (1, 99)}


def rows(name: str) -> list[tuple[float, ...]]:
    return [tuple(row) for row in TABLES[name]["rows"]]


def seven_digits(value: float) -> object:
    return pytest.approx(value, rel=1e-6, abs=0)


@dataclass(frozen=True)
class Laplace:
    scale: float

    def likelihood(self, output: float, truth: float) -> float:
        return math.exp(-abs(output - truth) / self.scale) / (2 * self.scale)


# -- LPB, Table I: {1, 2, 3, x}, the mean is released as 5.041 at epsilon 2 ---------------------------------

WORLDS = {x: (1 + 2 + 3 + x) / 4 for x in (1, 2, 3, 5, 10)}
SPREAD = max(WORLDS.values()) - min(WORLDS.values())
NOISE = Laplace(SPREAD / 2)
TABLE_I = {  # x: noise, density, posterior, posterior as printed
    1: (3.291, 0.023843, 0.073368, 0.0751),
    2: (3.041, 0.029776, 0.091625, 0.0682),
    3: (2.791, 0.037186, 0.114426, 0.1174),
    5: (2.291, 0.057996, 0.178462, 0.1831),
    10: (1.041, 0.176177, 0.542119, 0.5562),
}


def test_lpb_table_1() -> None:
    assert NOISE.scale == 1.125
    believed = compute_posterior(NOISE, WORLDS, uniform_prior(WORLDS), 5.041)
    for x, (noise, density, after, printed) in TABLE_I.items():
        assert 5.041 - WORLDS[x] == pytest.approx(noise)
        assert NOISE.likelihood(5.041, WORLDS[x]) == pytest.approx(density, abs=5e-7)
        assert believed[x] == pytest.approx(after, abs=5e-7)
        assert abs(believed[x] - printed) > 1e-3
    assert believed[10] > 0.5


def test_lpb_table_1_misprints_one_noise_and_with_it_every_posterior() -> None:
    """Noise 3.401 for 3.041 at x = 2: the printed posteriors are just those of the densities so printed."""
    assert NOISE.likelihood(3.401, 0.0) == pytest.approx(0.0216, abs=5e-5)
    printed = {1: 0.0238, 2: 0.0216, 3: 0.0372, 5: 0.0580, 10: 0.1762}
    for x, (*_, after) in TABLE_I.items():
        assert printed[x] / sum(printed.values()) == pytest.approx(after, abs=5.1e-5)


def test_lpb_table_1_beliefs_over_all_responses() -> None:
    responses = np.linspace(-5, 12, 3_401).tolist()
    reached = max(compute_posterior(NOISE, WORLDS, uniform_prior(WORLDS), r)[10] for r in responses)
    assert reached == pytest.approx(0.5421189346929799, abs=1e-9)
    assert compute_belief(0.2, 2).highest == pytest.approx(0.6487856442839393)


def test_lpb_table_1_noise_that_keeps_one_fifth_below_one_half() -> None:
    promise = Promise(0.2, 0.5)
    assert promise.epsilon == pytest.approx(1.3862943611198906)
    assert promise.laplace_scale(SPREAD) == pytest.approx(1.6230319210000839)
    tight = tight_identifiability(list(WORLDS.values()), 0.5)
    assert tight.against_this_attacker == pytest.approx(1.7755030648375043)
    assert SPREAD / tight.against_this_attacker == pytest.approx(1.2672464748496066)
    assert tight.safe.epsilon == pytest.approx(promise.epsilon)


# -- LPB, Table II and the figures ---------------------------------------------------------------------------


def sensitivity(column: str) -> float:
    low, high = BOUNDS[column]
    return (high - low) / PEOPLE


@pytest.mark.parametrize(
    ("column", "right", "guess"),
    [
        ("age", 0.0014946153, 1 / 74),
        ("education_num", 0.00030711273, 0.0625),
        ("hours", 0.0020064698, 1 / 99),
    ],
)
def test_lpb_table_2(column: str, right: float, guess: float) -> None:
    """Printed: .0015, .0031 (ten times too much), .0020; guesses .0137, then .0101 and .0625 swapped."""
    assert sensitivity(column) == seven_digits(right)
    low, high = BOUNDS[column]
    assert identifiability(high - low + 1, 0.5).epsilon == pytest.approx(
        limiting_breaches(guess, 0.5).epsilon
    )


@pytest.mark.parametrize(("rho1", "age", "education_num", "hours"), rows("lpb_figure_1"))
def test_lpb_figure_1(rho1: float, age: float, education_num: float, hours: float) -> None:
    promise = Promise(rho1, 0.5)
    assert promise.laplace_scale(sensitivity("age")) == seven_digits(age)
    assert promise.laplace_scale(sensitivity("education_num")) == seven_digits(education_num)
    assert promise.laplace_scale(sensitivity("hours")) == seven_digits(hours)


@pytest.mark.parametrize(
    ("rho1", "rho2", "epsilon", "scale", "upper_quartile", "p95"), rows("lpb_figures_2_to_4")
)
def test_lpb_figures_2_to_4(
    rho1: float, rho2: float, epsilon: float, scale: float, upper_quartile: float, p95: float
) -> None:
    """Noise over range is Laplace(1 / (n epsilon)) for all three columns, so the three figures are one."""
    promise = Promise(rho1, rho2)
    assert promise.epsilon == seven_digits(epsilon)
    for column, (low, high) in BOUNDS.items():
        ratio = promise.laplace_scale(sensitivity(column)) / (high - low)
        assert ratio == seven_digits(scale)
        assert laplace.ppf(0.75, scale=ratio) == seven_digits(upper_quartile)
        assert laplace.ppf(0.975, scale=ratio) == seven_digits(p95)


def test_lpb_increasing_the_posterior_needs_less_noise_and_not_more() -> None:
    scales = [Promise(0.19, rho2).laplace_scale(1) for rho2 in (0.2, 0.3, 0.5, 0.9)]
    assert scales == sorted(scales, reverse=True)


def test_lpb_a_belief_may_change_by_more_than_the_two_bounds_differ() -> None:
    assert highest_posterior(0.25, Promise(0.5, 0.9).epsilon) == pytest.approx(0.75)
    assert Promise(0.4, 0.5).epsilon == pytest.approx(0.405, abs=5e-4)


@pytest.mark.parametrize(("epsilon", "prior", "top", "bottom"), rows("prior_to_posterior"))
def test_prior_to_posterior(epsilon: float, prior: float, top: float, bottom: float) -> None:
    found = compute_belief(prior, epsilon)
    assert found.highest == seven_digits(top)
    assert found.lowest == seven_digits(bottom)


# -- LC11 and EGM --------------------------------------------------------------------------------------------


def test_lee_and_clifton_2011() -> None:
    """One of {1, 2, 3, 10} is missing and the mean of the others is asked; one more may be missing or not."""
    universe = (1, 2, 3, 10)
    answers = [float(np.mean(world)) for world in itertools.combinations(universe, 3)]
    sensitivity = max(
        abs(float(np.mean(world)) - float(np.mean(smaller)))
        for world in itertools.combinations(universe, 3)
        for smaller in itertools.combinations(world, 2)
    )
    spread = max(answers) - min(answers)
    assert sensitivity == pytest.approx(2.8333333333333335)
    assert spread == pytest.approx(3)
    choice = possible_worlds(4, 1 / 3, sensitivity=sensitivity, spread=spread)
    assert choice.epsilon == pytest.approx(0.38293926876882195)
    tight = tight_identifiability(answers, 1 / 3, sensitivity=sensitivity)
    assert tight.against_this_attacker == pytest.approx(0.4317201195672408)


def test_egm_epsilon_of_adult() -> None:
    """ln |1 - q| / p gives the paper's .693; Equation 9 has the sign wrong, Algorithm 1 the bracket."""
    choice = epsilon_generation(32_561, 15)
    assert choice.epsilon == pytest.approx(0.6927226546744317)
    assert -math.log(abs(1 - 32_561)) / 15 == pytest.approx(-choice.epsilon)
    assert math.log(abs(1 - 32_561) / 15) == pytest.approx(7.682789619014266)
    assert epsilon_generation(32_561, 14).epsilon == pytest.approx(0.742, abs=5e-4)


# -- EGS: X = 0 with 1%, else one of 1..1000 -----------------------------------------------------------------

VALUES = np.arange(1_001)
PRIOR = np.where(VALUES == 0, 0.01, 0.00099)
IS_ZERO, IS_OUTSIDE = VALUES == 0, (VALUES < 200) | (VALUES > 800)


def operators() -> dict[str, Floats]:
    apart = np.abs(VALUES[:, None] - VALUES[None, :])
    near = np.minimum(apart, 1_001 - apart) <= 100
    kept = np.where(apart == 0, 0.2, 0.8 / 1_000)
    shifted = near / 201.0
    return {"R1": kept, "R2": shifted, "R3": shifted / 2 + 0.5 / 1_001}


@pytest.mark.parametrize(
    ("name", "zero", "outside", "gamma", "bits"),
    [
        ("R1", 0.71633, 0.82952, 250, 3.9029),
        ("R2", 0.04808, 1.0, math.inf, 2.2653),
        ("R3", 0.02937, 0.70775, 5.980099502487562, 0.5508),
    ],
)
def test_egs_randomization_operators(
    name: str, zero: float, outside: float, gamma: float, bits: float
) -> None:
    channel = operators()[name]
    assert PRIOR[IS_ZERO].sum() == pytest.approx(0.01)
    assert PRIOR[IS_OUTSIDE].sum() == pytest.approx(0.40501, abs=5e-6)
    assert compute_posteriors(channel, PRIOR, IS_ZERO)[0] == pytest.approx(zero, abs=5e-6)
    assert compute_posteriors(channel, PRIOR, IS_OUTSIDE)[0] == pytest.approx(outside, abs=5e-6)
    assert amplification(channel).overall == pytest.approx(gamma)
    after = PRIOR * channel[:, 0] / (PRIOR @ channel[:, 0])
    seen = after > 0
    assert np.sum(after[seen] * np.log2(after[seen] / PRIOR[seen])) == pytest.approx(bits, abs=5e-5)
    assert worst_case_information(channel, PRIOR, np.log2) >= bits - 5e-5


def test_egs_which_operator_breaches_what() -> None:
    unlikely = {
        name: find_upward_breaches(each, PRIOR, IS_ZERO, 0.01, 0.5) for name, each in operators().items()
    }
    assert [name for name, found in unlikely.items() if found] == ["R1"]
    certain = {
        name: find_downward_breaches(each, PRIOR, ~IS_OUTSIDE, 0.05, 0.5)
        for name, each in operators().items()
    }
    assert [name for name, found in certain.items() if any(b.output == 0 for b in found)] == ["R2"]


def test_egs_mutual_information_fails_to_notice_a_rare_output_that_tells_all() -> None:
    often = np.array([[0.6, 0.4], [0.4, 0.6]])
    rarely = np.array([[99e-6, 1e-6, 0.9999], [1e-6, 99e-6, 0.9999]])
    even = [0.5, 0.5]
    assert mutual_information(often, even, np.log2) == pytest.approx(0.029049405545)
    assert mutual_information(rarely, even, np.log2) == pytest.approx(9.192068641e-05)
    assert worst_case_information(rarely, even, np.log2) == pytest.approx(0.919206864104)
    assert compute_posteriors(rarely, even, [True, False])[0] == pytest.approx(0.99)


@pytest.mark.parametrize(("epsilon", "nats"), rows("worst_case_information"))
def test_worst_case_information_of_epsilon(epsilon: float, nats: float) -> None:
    assert worst_case_information_for_epsilon(epsilon) == seven_digits(nats)


# -- Gaussian noise ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("prior", "after", "allowed", "sigma"), rows("gaussian_closed_form"))
def test_the_closed_form_of_gaussian_noise_is_too_small_for_a_promise(
    prior: float, after: float, allowed: float, sigma: float
) -> None:
    """It makes Pr[loss > ln gamma] just the tail; a promise holds for what is computed from it, too."""
    promise = Promise(prior, after, tail=allowed)
    z = float(norm.isf(allowed))
    assert 1 / (math.sqrt(z * z + 2 * promise.loss) - z) == seven_digits(sigma)
    assert norm.sf(sigma * promise.loss - 1 / (2 * sigma)) == pytest.approx(allowed, rel=1e-4)
    assert promise.gaussian_scale(1) > sigma
    assert tail_probability(GaussianDP(mu=1 / sigma), promise.gamma) > 1.5 * allowed
