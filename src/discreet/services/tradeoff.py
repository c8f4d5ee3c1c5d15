"""Privacy–accuracy trade-off of a question: the error of its answer under each cap on belief.

Cap         a posterior to promise for the policy's prior; the rest of the promise stays the same.
Error       of the answer, if the question gets the whole budget of that promise, or an equal part of it if
            several such questions are to be answered.

Both follow from question and policy alone: no data is read, and nothing is charged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.accounting.accountant import Accountant
from discreet.belief import Promise
from discreet.belief.odds import logit, sigmoid
from discreet.belief.wording import format_number_up, format_percent
from discreet.core.errors import RequestError
from discreet.core.number_checks import DEFAULT_CONFIDENCE
from discreet.core.policy import Policy
from discreet.services.plans import ExpectedError, compute_expected_errors
from discreet.sql.planner import QueryPlan, plan_query

CAP_COUNT = 24
MIN_LOG_ODDS_CHANGE = math.log(1.2)
HIGHEST_CAP = 0.9


@dataclass(frozen=True, kw_only=True)
class TradeoffPoint:
    """A cap, the epsilon of one question under it, and the expected error of each measure."""

    posterior: float
    epsilon: float
    measures: tuple[ExpectedError, ...]
    error: float


@dataclass(frozen=True, kw_only=True)
class Tradeoff:
    """Points by rising cap, with the error of one measure in `unit`; the policy's is at `promised_index`."""

    points: tuple[TradeoffPoint, ...]
    promised_index: int
    prior: float
    measure: str
    unit: str
    questions: int

    def describe_point(self, point: TradeoffPoint) -> str:
        """Describe the error under a cap in one sentence."""
        many = "" if self.questions == 1 else f" after {self.questions:,} questions like this one"
        each = "" if self.questions == 1 else " each"
        return (
            f"To promise at most {format_percent(point.posterior)}{many} costs "
            f"± {format_number_up(point.error)} {self.unit}{each}."
        )


def compute_tradeoff(
    sql: str,
    policy: Policy,
    promise: Promise,
    *,
    questions: int = 1,
    least_rows: int | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
) -> Tradeoff:
    """Return the trade-off of one question; raise RequestError if its error depends on the data."""
    posteriors = list_caps(promise.prior, promise.posterior)
    made = [
        _plan_under_promise(
            sql,
            policy,
            Promise(promise.prior, cap, secret=promise.secret, group=promise.group, tail=promise.tail),
            questions=questions,
            least_rows=least_rows,
            confidence=confidence,
        )
        for cap in posteriors
    ]
    place = _choose_measure(made[0])
    points = [
        TradeoffPoint(
            posterior=cap,
            epsilon=float(each.epsilon),
            measures=tuple(compute_expected_errors(each)),
            error=_get_error(compute_expected_errors(each)[place]) or 0.0,
        )
        for cap, each in zip(posteriors, made, strict=True)
    ]
    return Tradeoff(
        points=tuple(points),
        promised_index=posteriors.index(promise.posterior),
        prior=promise.prior,
        measure=points[0].measures[place].name,
        unit=_describe_unit(made[0], place),
        questions=questions,
    )


def list_caps(prior: float, promised: float) -> list[float]:
    """Return round caps above a prior, about evenly spaced in log odds, and the promised one.

    >>> [format_percent(each) for each in list_caps(0.01, 0.05)][:5]
    ['1.2%', '1.6%', '2.1%', '2.8%', '3.7%']
    """
    start = logit(prior) + MIN_LOG_ODDS_CHANGE
    end = max(logit(HIGHEST_CAP), start + 1, logit(promised))
    spaced = [start + (end - start) * place / (CAP_COUNT - 1) for place in range(CAP_COUNT)]
    rounded = {_round_cap(sigmoid(each)) for each in spaced}
    return sorted({each for each in rounded if prior < each < 1} | {promised})


def _round_cap(p: float) -> float:
    """Round to two significant digits of the smaller of p and 1 - p."""
    small = min(p, 1 - p)
    places = 1 - math.floor(math.log10(small))
    return round(p, places) if p <= 0.5 else round(1 - round(1 - p, places), places)


def _plan_under_promise(
    sql: str,
    policy: Policy,
    promise: Promise,
    *,
    questions: int,
    least_rows: int | None,
    confidence: float,
) -> QueryPlan:
    accountant = Accountant(promise)
    return plan_query(
        sql,
        policy,
        promise,
        epsilon=accountant.epsilon_per_question(questions),
        leak=getattr(accountant.limit, "delta", 0),
        least_rows=least_rows,
        confidence=confidence,
    )


def _choose_measure(plan: QueryPlan) -> int:
    """Return the index of the first measure whose error follows from the plan alone."""
    found = compute_expected_errors(plan)
    place = next((place for place, each in enumerate(found) if _get_error(each) is not None), None)
    if place is None:
        why = found[0].note if found else "there is no measure"
        raise RequestError(
            f"trade-off: the error of the answer does not follow from the question alone: {why}.",
            hint="Give the least number of rows of every group, or ask for COUNT or SUM.",
        )
    return place


def _get_error(each: ExpectedError) -> float | None:
    return each.error95 if each.error95 is not None else each.rows95


def _describe_unit(plan: QueryPlan, index: int) -> str:
    each = compute_expected_errors(plan)[index]
    if index >= len(plan.outputs):
        return f"in {each.name}"
    output = plan.outputs[index]
    return output.measure.describe_error_unit(each.name, is_in_rows=each.error95 is None)
