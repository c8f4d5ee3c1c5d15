"""Design: find the operator that keeps a promise with the least error, and state that error.

Question    Given prior -> posterior, what should clients send so that the server learns most? [EGS03]
Answer      gamma of the promise bounds every column's ratio; among the operators of this package whose law
            stays within it, the best is the one whose raw shares have the least expected squared error for
            a uniform distribution. Subset selection is optimal up to lower order [YB18], and is k-ary
            randomized response for few values; others come close with shorter reports.

Design for baskets: find the operator that keeps a promise with the least error of an itemset's support.

The error is that of an itemset that few baskets hold, in whole or in part: every estimated support has at
least this noise, and it is what a strict promise makes large.

[EGS03]     Evfimievski, Gehrke & Srikant, Limiting Privacy Breaches in Privacy Preserving Data Mining.
[YB18]      Ye & Barg, Optimal Schemes for Discrete Distribution Estimation under Locally Differential
            Privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic, TypeVar

from discreet.belief.odds import highest_posterior
from discreet.belief.promise import Promise
from discreet.belief.wording import format_percent
from discreet.core.argument_types import refuse_wrong_types
from discreet.core.errors import RequestError
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import require_count
from discreet.local.baskets.basket_operator import BasketOperator
from discreet.local.baskets.cut_and_paste import MIN_EPSILON, CutAndPaste
from discreet.local.baskets.select_a_size import SelectASize
from discreet.local.estimates import MeanOperator
from discreet.local.exact_sampling import MAX_EPSILON
from discreet.local.frequency_oracles import PureFrequencyOracle
from discreet.local.hadamard_response import HadamardResponse
from discreet.local.kary_response import KaryResponse
from discreet.local.laplace_mean import DEFAULT_POINTS as LAPLACE_POINTS
from discreet.local.laplace_mean import LaplaceMean
from discreet.local.local_hashing import LocalHashing
from discreet.local.mean_estimation import DEFAULT_POINTS
from discreet.local.operator import Operator
from discreet.local.piecewise_mean import PiecewiseMean
from discreet.local.report_formats import BitFormat
from discreet.local.subset_selection import SubsetSelection
from discreet.local.two_point_mean import TwoPointMean
from discreet.local.unary_encoding import UnaryEncoding

CANDIDATES: tuple[type[PureFrequencyOracle], ...] = (
    KaryResponse,
    HadamardResponse,
    LocalHashing,
    UnaryEncoding,
    SubsetSelection,
)
ROUNDING = 1e-9
LOG_ROUNDING = 2.0**-51  # the logarithm of a gamma near 1 is known to no more places

Operator_co = TypeVar("Operator_co", bound=Operator, covariant=True)


@dataclass(frozen=True, kw_only=True)
class Design(Generic[Operator_co]):
    """An operator with its expected standard error, and the number of bits of a report."""

    operator: Operator_co
    error: float
    bits: int


@refuse_wrong_types
def design_frequencies(
    promise: Promise, values: int, clients: int
) -> tuple[Design[PureFrequencyOracle], ...]:
    """Return the frequency oracles that keep the promise, best first; `error` is that of one raw share.

    >>> best = design_frequencies(Promise(0.01, 0.05), values=1000, clients=100_000)[0]
    >>> type(best.operator).__name__, round(best.error, 4)
    ('SubsetSelection', 0.0034)
    """
    require_count("design_frequencies", "clients", clients)
    epsilon = compute_client_epsilon(promise)
    made = [kind.for_epsilon(epsilon, values) for kind in CANDIDATES]
    found = [
        Design(
            operator=each, error=math.sqrt(each.variance(1 / values, clients)), bits=_count_report_bits(each)
        )
        for each in made
    ]
    # two operators may be the same but for rounding: then the shorter reports come first
    return tuple(sorted(found, key=lambda each: (round(math.log(each.error) / ROUNDING), each.bits)))


@refuse_wrong_types
def design_mean(
    promise: Promise, clients: int, *, low: float = -1.0, high: float = 1.0, values: int = DEFAULT_POINTS
) -> tuple[Design[MeanOperator], ...]:
    """Return the mean operators that keep the promise, best first; `error` is the worst over distributions.

    >>> [type(each.operator).__name__ for each in design_mean(Promise(0.01, 0.05), clients=1000, values=101)]
    ['PiecewiseMean', 'TwoPointMean', 'LaplaceMean']
    """
    require_count("design_mean", "clients", clients)
    epsilon = compute_client_epsilon(promise)
    coarse = min(values, LAPLACE_POINTS)
    made: list[MeanOperator] = [
        TwoPointMean.for_epsilon(epsilon, low=low, high=high, values=values),
        PiecewiseMean.for_epsilon(epsilon, low=low, high=high, values=values),
        LaplaceMean.for_epsilon(epsilon, low=low, high=high, values=coarse),
    ]
    found = [
        Design(operator=each, error=_compute_worst_error(each, clients), bits=_count_report_bits(each))
        for each in made
    ]
    return tuple(sorted(found, key=lambda each: each.error))


def require_promise_kept(operator: Operator, promise: Promise) -> None:
    """Refuse an operator that lets beliefs grow beyond the promise."""
    allowed = promise.epsilon_for(Relation.VALUE)
    if math.isinf(operator.gamma):
        raise RequestError(
            f"{type(operator).__name__} keeps no promise: some of its reports rule a value out.",
            hint="Mix it with a uniform report, or use `design_frequencies`.",
        )
    if not promise.admits(operator.guarantee):
        reached = highest_posterior(promise.prior, operator.epsilon * promise.group)
        raise RequestError(
            f"{type(operator).__name__} lets a belief of {format_percent(promise.prior)} become "
            f"{format_percent(reached)}; "
            f"promised is {format_percent(promise.posterior)}.",
            hint=f"Its epsilon is {operator.epsilon:.4g}, and may be {allowed:.4g} at most.",
        )


def compute_client_epsilon(promise: Promise) -> float:
    """Return the epsilon of each client; participation is visible, so presence cannot be promised."""
    return min(promise.epsilon_for(Relation.VALUE), MAX_EPSILON) - LOG_ROUNDING


def _compute_worst_error(operator: MeanOperator, clients: int) -> float:
    """Return the larger error of the two codes at which variance can be largest: an end and the middle."""
    codes = (0, operator.values // 2)
    return math.sqrt(max(operator.variance(code, clients) for code in codes))


def _count_report_bits(operator: Operator) -> int:
    form = operator.report_format
    if isinstance(form, BitFormat):
        return form.width + (form.cohorts - 1).bit_length()
    return ((operator.outputs or 1) - 1).bit_length()


@refuse_wrong_types
def design_baskets(
    promise: Promise, items: int, size: int, clients: int, itemset: int = 2
) -> tuple[Design[BasketOperator], ...]:
    """Return the operators that keep the promise, best first; baskets have at most `size` of the items.

    >>> best = design_baskets(Promise(0.05, 0.5), items=1000, size=5, clients=1_000_000)[0]
    >>> type(best.operator).__name__, round(best.error, 5)
    ('SelectASize', 0.00228)
    """
    require_count("design_baskets", "clients", clients)
    epsilon = compute_client_epsilon(promise)
    made: list[BasketOperator] = [SelectASize.for_epsilon(epsilon, items, size, itemset)]
    if epsilon >= MIN_EPSILON:
        made.append(CutAndPaste.for_epsilon(epsilon, items, size, itemset))
    k = min(size, itemset)
    found = [
        Design(operator=each, error=math.sqrt(each.variance(k, clients)), bits=each.items)
        for each in made
        if each.contrast(k)  # under a strict promise cut-and-paste shows too few items at once
    ]
    return tuple(sorted(found, key=lambda each: each.error))
