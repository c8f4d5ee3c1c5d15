"""The slides on Evfimievski, Gehrke & Srikant, every number of them, by the operators themselves."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.belief import Promise, mutual_information
from discreet.local import KaryResponse, MatrixOperator, ModularNoise
from discreet.local.operator import Operator

PRIOR = np.array([0.01, *[0.00099] * 1000])
IS_ZERO = np.arange(1001) == 0
OUTSIDE = (np.arange(1001) < 200) | (np.arange(1001) > 800)
R1 = KaryResponse(values=1001, truth=Fraction("0.2"))
R2 = ModularNoise(values=1001, reach=100, share=Fraction(1))
R3 = ModularNoise(values=1001, reach=100, share=Fraction("0.5"))
BITS = math.log(2)

FLIP = MatrixOperator(rows=[[0.6, 0.4], [0.4, 0.6]])
RARELY = MatrixOperator(rows=[[0.9999, 99e-6, 1e-6], [0.9999, 1e-6, 99e-6]])
FAIR = np.array([0.5, 0.5])


def test_priors() -> None:
    assert PRIOR[IS_ZERO].sum() == pytest.approx(0.01)
    assert PRIOR[OUTSIDE].sum() == pytest.approx(0.40501)


@pytest.mark.parametrize(
    ("operator", "zero", "outside"), [(R1, 0.71633, 0.82952), (R2, 0.04808, 1.0), (R3, 0.02937, 0.70775)]
)
def test_posteriors_after_a_report_of_0(operator: Operator, zero: float, outside: float) -> None:
    after = operator.posterior(PRIOR, 0)
    assert after[IS_ZERO].sum() == pytest.approx(zero, abs=5e-6)
    assert after[OUTSIDE].sum() == pytest.approx(outside, abs=5e-6)


@pytest.mark.parametrize(("operator", "shown"), [(R1, (71.6, 83.0)), (R2, (4.8, 100.0)), (R3, (2.9, 70.8))])
def test_the_table_as_printed(operator: Operator, shown: tuple[float, float]) -> None:
    after = operator.posterior(PRIOR, 0)
    assert (round(100 * after[IS_ZERO].sum(), 1), round(100 * after[OUTSIDE].sum(), 1)) == shown


@pytest.mark.parametrize(("operator", "gamma"), [(R1, 250), (R2, math.inf), (R3, 5.980099502487562)])
def test_amplifications(operator: Operator, gamma: float) -> None:
    assert operator.gamma == pytest.approx(gamma, rel=1e-12)


@pytest.mark.parametrize(("operator", "bits"), [(R1, 3.9029), (R2, 2.2653), (R3, 0.5508)])
def test_information_of_a_report_of_0(operator: Operator, bits: float) -> None:
    after = operator.posterior(PRIOR, 0)
    possible = after > 0
    found = float(after[possible] @ np.log2(after[possible] / PRIOR[possible]))
    assert found == pytest.approx(bits, abs=5e-5)
    assert operator.worst_case_information(PRIOR) / BITS >= found - 1e-12


def test_the_three_operators_breach_what_the_slides_say_that_they_breach() -> None:
    """R1 makes the unlikely likely, R2 the uncertain certain, R3 neither."""
    unlikely, uncertain = Promise(0.01, 0.5), Promise(0.41, 0.95)
    properties = [IS_ZERO, OUTSIDE]
    assert [each.prior for each in R1.find_breaches(PRIOR, properties, unlikely)] == [pytest.approx(0.01)]
    assert R1.find_breaches(PRIOR, properties, uncertain) == ()
    assert R2.find_breaches(PRIOR, properties, unlikely) == ()
    assert [each.highest for each in R2.find_breaches(PRIOR, properties, uncertain)] == [1.0]
    assert (
        R3.find_breaches(PRIOR, properties, unlikely) == R3.find_breaches(PRIOR, properties, uncertain) == ()
    )


def test_mutual_information_calls_the_worse_operator_the_better_one() -> None:
    flip, rarely = (mutual_information(each.matrix(), FAIR, np.log2) for each in (FLIP, RARELY))
    assert flip == pytest.approx(0.029049405545, rel=1e-9)
    assert rarely == pytest.approx(9.192068641e-05, rel=1e-6)
    assert rarely < flip


def test_worst_case_information_does_not() -> None:
    flip, rarely = (each.worst_case_information(FAIR) / BITS for each in (FLIP, RARELY))
    assert flip == pytest.approx(0.029049405545, rel=1e-9)
    assert rarely == pytest.approx(0.919206864104, rel=1e-9)
    assert RARELY.posterior(FAIR, 1) == pytest.approx([0.99, 0.01])
    assert FLIP.posterior(FAIR, 1) == pytest.approx([0.4, 0.6])
    assert RARELY.posterior(FAIR, 0) == pytest.approx([0.5, 0.5])
    assert [FLIP.gamma, RARELY.gamma] == pytest.approx([1.5, 99])
