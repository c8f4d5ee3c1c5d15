"""Analysis of operators: posteriors after a report, two bounds on breaches, two measures of information.

Table       The prior of every property, and its posterior after the given report, as in the slides on
            [EGS03]; without a given report, after the report that raises it most.
Bounds      A property of prior rho1 reaches at most the posterior that gamma allows, for any prior
            distribution, and at most the one that worst-case information allows, for this prior distribution.
            The smaller of the two holds.
Warning     Mutual information is a mean: it calls an operator harmless that rarely reveals anything, but then
            almost everything. The slides' example of that accompanies every analysis.

[EGS03]     Evfimievski, Gehrke & Srikant, Limiting Privacy Breaches in Privacy Preserving Data Mining.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.belief import Promise, highest_posterior, mutual_information
from discreet.belief.information import bound_posterior_from_information
from discreet.local import MatrixOperator
from discreet.local.operator import Operator, bound_information
from discreet.mechanisms.sampling import Floats
from discreet.services.collect.analysis_files import AnalysisTask

BITS = math.log(2)
PRIORS = (0.001, 0.01, 0.05, 0.1, 0.5)


@dataclass(frozen=True, kw_only=True)
class PosteriorBound:
    """The highest posterior of a property with this prior, by gamma and by worst-case information."""

    prior: float
    amplification: float
    information: float


@dataclass(frozen=True, kw_only=True)
class OperatorAnalysis:
    """The analysis of one operator; information is in bits, None if it cannot be computed."""

    name: str
    operator: Operator
    posteriors: tuple[float, ...]
    bounds: tuple[PosteriorBound, ...]
    mutual: float | None
    worst_case: float
    keeps_promise: bool | None


@dataclass(frozen=True, kw_only=True)
class InformationExample:
    """One operator of the slides' example against mutual information."""

    name: str
    law: str
    mutual: float
    worst_case: float
    posterior: float


def analyse_operators(task: AnalysisTask) -> tuple[OperatorAnalysis, ...]:
    """Return the analysis of every operator of a task."""
    return tuple(_analyse_operator(name, operator, task) for name, operator in task.operators.items())


def make_mutual_information_example() -> tuple[InformationExample, InformationExample]:
    """Return the slides' example: one bit, 0 or 1 with 50% each, randomized in two ways.

    >>> [round(each.mutual, 6) for each in make_mutual_information_example()]
    [0.029049, 9.2e-05]
    """
    fair = np.array([0.5, 0.5])
    flip = MatrixOperator(rows=[[0.6, 0.4], [0.4, 0.6]])
    rarely = MatrixOperator(rows=[[99e-6, 1e-6, 0.9999], [1e-6, 99e-6, 0.9999]])
    laws = (
        ("often a little", "the bit with 60%, the other with 40%", flip),
        ("rarely almost all", "nothing with 99.99%, else the bit in 99 of 100 cases", rarely),
    )
    first, second = (
        InformationExample(
            name=name,
            law=law,
            mutual=mutual_information(each.matrix(), fair, np.log2),
            worst_case=each.worst_case_information(fair) / BITS,
            posterior=float(each.posterior(fair, 0).max()),
        )
        for name, law, each in laws
    )
    return first, second


def _analyse_operator(name: str, operator: Operator, task: AnalysisTask) -> OperatorAnalysis:
    nats = bound_information(operator) if task.prior is None else operator.worst_case_information(task.prior)
    return OperatorAnalysis(
        name=name,
        operator=operator,
        posteriors=_compute_posteriors(operator, task),
        bounds=tuple(_bound_posterior(prior, operator.gamma, nats) for prior in _list_priors(task.promise)),
        mutual=_compute_mutual_information(operator, task),
        worst_case=nats / BITS,
        keeps_promise=None if task.promise is None else _keeps_promise(operator, task.promise),
    )


def _compute_mutual_information(operator: Operator, task: AnalysisTask) -> float | None:
    if task.prior is None or not operator.is_enumerable:
        return None
    return float(mutual_information(operator.matrix(), task.prior, np.log2))


def _compute_posteriors(operator: Operator, task: AnalysisTask) -> tuple[float, ...]:
    """Return each property's posterior after the given report, or after the worst one for it."""
    masks = list(task.properties.values())
    if task.prior is None:
        return ()
    if task.report is None:
        return tuple(swing.highest for swing in operator.posterior_ranges(task.prior, masks))
    after: Floats = operator.posterior(task.prior, task.report)
    return tuple(float(after[mask].sum()) for mask in masks)


def _bound_posterior(prior: float, gamma: float, nats: float) -> PosteriorBound:
    return PosteriorBound(
        prior=prior,
        amplification=1.0 if math.isinf(gamma) else highest_posterior(prior, math.log(gamma)),
        information=1.0 if math.isinf(nats) else bound_posterior_from_information(prior, nats),
    )


def _list_priors(promise: Promise | None) -> list[float]:
    return sorted({*PRIORS, *([] if promise is None else [promise.prior])})


def _keeps_promise(operator: Operator, promise: Promise) -> bool:
    return math.isfinite(operator.gamma) and promise.admits(operator.guarantee)
