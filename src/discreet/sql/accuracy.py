"""Accuracy of an answer, as far as it follows from the plan; and the least epsilon for an error.

Error bound the most by which the interval of a measure extends from its value, at the plan's confidence:
            COUNT, SUM          the half-width h of the noise, in units, plus 1/2 if rows are weighted and
                                whole numbers are shown; for a SUM computed from the primitives of a mean
                                (h + |low + high| k) / 2 steps, with h, k of the centred sum and the count.
            AVG, public n       h / (2 n) steps.
            AVG, at least n     (h + w k) / (2 (n - 2 k)) steps: all holds where the noise of both parts stays
                                within h and k; then at least n - k rows are counted, and
                                `interval_estimates.estimate_mean` has the rest. At worst the mean lies at
                                an end of its range, width w. With n <= 2 k the mean may be unknown.
            others              depends on the data.
Ranks       MEDIAN, QUANTILE, MIN and MAX miss the requested rank by at most a number of rows that does not
            depend on the data: `find_rank_error`. How far that is in values depends on how dense they are
            there, so an error in values cannot be promised, and no interval in values follows from the one
            released value. An error as a share of the rows can be promised, given a least number of rows.
Shown       All of this is about measurements. What an answer shows of them, `sql.error_tracking` finds: a
            measure unchanged, for each row or for all that noise may select; or what is computed from it, of
            which `sql.error_bounds` has the error. Where neither is known, none is promised.
Least rows  is an assumption of the analyst. If it is wrong, the answer's intervals are wider.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.core.errors import InvalidParameterError, require_parameter
from discreet.core.number_checks import Real, parse_probability, require_positive
from discreet.mechanisms.simultaneous_bounds import split_miss_probability
from discreet.sql.aggregates.average import LEAST_ROWS
from discreet.sql.aggregates.base import PlannedNoise, RankError
from discreet.sql.aggregates.selection import SelectedAggregate
from discreet.sql.error_bounds import bound_column_error
from discreet.sql.error_intervals import ReleasedLaws, share_miss_probability, share_over_totals
from discreet.sql.error_plan import ALL_ROWS, MOST_CACHED
from discreet.sql.interval_estimates import split_confidence
from discreet.sql.measure_decomposition import DecomposedMeasure
from discreet.sql.refusal import format_snippet, refuse_query

if TYPE_CHECKING:
    from discreet.sql.planner import QueryPlan

__all__ = [
    "ErrorTolerance",
    "RankError",
    "describe_open_error",
    "find_column_errors",
    "find_error_bound",
    "find_least_epsilon",
    "find_measures_by_column",
    "find_rank_error",
    "find_rank_errors",
    "is_within",
    "list_comparable_errors",
    "search_epsilon",
]

DEPENDS = "its error depends on the data"
FINEST, COARSEST = Fraction(1, 10_000), 10_000  # the range of epsilon that is searched


@dataclass(frozen=True, kw_only=True)
class ErrorTolerance:
    """An allowed error: a number in the measure's units, or a share of the rows, in ranks."""

    amount: Fraction
    is_rank_share: bool

    @classmethod
    def from_value(cls, value: Real | str) -> ErrorTolerance:
        """Return the tolerance of a number in the measure's units, or of "2%", a share of the rows.

        >>> ErrorTolerance.from_value("2%")
        ErrorTolerance(amount=Fraction(1, 50), is_rank_share=True)
        """
        if isinstance(value, str):
            if not value.strip().endswith("%"):
                raise InvalidParameterError(
                    f'ask: `within=` must be a number, or ranks such as "2%"; got {value}.'
                )
            part = Fraction(str(parse_probability("ask: `within=`", value)))
            require_parameter(part > 0, "ask", "within", value, "above 0%")
            return cls(amount=part, is_rank_share=True)
        require_positive("ask", "within", value)
        return cls(amount=Fraction(value), is_rank_share=False)

    def __str__(self) -> str:
        return f"±{float(100 * self.amount):g}%" if self.is_rank_share else f"±{float(self.amount):g}"


def find_error_bound(plan: QueryPlan, output: DecomposedMeasure) -> Fraction | None:
    """Return the most by which a measure's interval extends from its value; None if it depends on data.

    Where the answer shows it in rows that noise selected, that is its interval over all groups at once.
    """
    confidence = None if output.selects_value else _find_row_confidence(plan, output)
    if confidence is None:
        return None
    return output.measure.bound_error(output, _get_planned_noise(plan, output, confidence))


def _find_row_confidence(plan: QueryPlan, output: DecomposedMeasure) -> float | None:
    """Return the confidence of one row's interval; None if the number of rows that share it is not known."""
    kinds = {
        plan.column_errors.interval_kinds[name]
        for name, column in plan.column_errors.measures_with_intervals.items()
        if column == output.column
    }
    confidence = plan.find_confidence(output)
    if ALL_ROWS not in kinds:
        return confidence
    groups = plan.find_core(output).group_count
    return None if groups is None else 1 - split_miss_probability(1 - confidence, max(1, groups))


def find_column_errors(plan: QueryPlan) -> dict[str, float | None]:
    """Return the error bound of each computed column of the answer; None where it depends on the data."""
    return {
        column.name: bound_column_error(column, plan.released_schemas, plan.confidence)
        for column in plan.error_plan.noisy_columns
        if column.has_interval and column.measure is None
    }


def list_comparable_errors(plan: QueryPlan) -> dict[str, float]:
    """Return a width of every column with an interval, to compare the noises that it may be answered with.

    It is the error bound where that follows from the plan; else what the error is proportional to, the widths
    of the primitives' intervals at the same confidence.
    """
    known = {output.column: output for output in plan.outputs}
    found: dict[str, float] = {}
    for name, column in plan.column_errors.measures_with_intervals.items():
        output = known[column]
        confidence = None if output.selects_value else _find_row_confidence(plan, output)
        if confidence is not None:
            noise = _get_planned_noise(plan, output, confidence)
            bound = output.measure.bound_error(output, noise)
            widths = [width * unit for width, unit in zip(noise.half_widths, noise.units, strict=True)]
            found[name] = float(sum(widths) if bound is None else bound)
    for name, error in find_column_errors(plan).items():
        found[name] = _sum_half_widths(plan, name) if error is None else error
    return found


def _sum_half_widths(plan: QueryPlan, name: str) -> float:
    """Return the sum of the half-widths of all noises that a computed column is made of."""
    column = plan.error_plan.get_column(name)
    counts = {each.name: each.row_count or 1 for each in plan.released_schemas}
    laws = ReleasedLaws.from_schemas(plan.released_schemas, counts)
    beta = laws.share_of_look(column, 1 - plan.confidence)
    if column.was_shown:
        share = share_over_totals(column, laws, beta)
    else:
        share = share_miss_probability(column, laws, beta)
    sources = {term.source for term in column.list_terms() if not term.is_rounding}
    return sum(float(laws.noises[each].half_width(share)) for each in sorted(sources))


def _get_planned_noise(plan: QueryPlan, output: DecomposedMeasure, confidence: float) -> PlannedNoise:
    vectors = [plan.noisy_primitives[name] for name in output.primitive_names]
    share = split_confidence(confidence, len(vectors))
    return PlannedNoise(
        half_widths=tuple(each.half_width(share) for each in vectors),
        units=tuple(each.primitive.unit for each in vectors),
        errors=tuple(each.error for each in vectors),
        confidence=confidence,
        is_rounded=any(each.primitive.weight_denominator > 1 for each in vectors),
        least_rows=plan.least_rows,
    )


def find_rank_error(plan: QueryPlan, output: DecomposedMeasure) -> RankError | None:
    """Return the error in rows of a measure without an interval, at the plan's confidence; else None."""
    if not isinstance(output.measure, SelectedAggregate):
        return output.measure.bound_row_error(_get_planned_noise(plan, output, plan.find_confidence(output)))
    found = plan.value_selections[output.column]
    return output.measure.bound_selection_error(found.mechanism, len(found.domain), plan.confidence)


@lru_cache(maxsize=MOST_CACHED)
def find_rank_errors(plan: QueryPlan) -> Mapping[str, RankError]:
    """Return the errors in rows of an answer's columns that have one."""
    shown = plan.column_errors.measures_with_intervals
    return {
        name: found
        for name, each in find_measures_by_column(plan).items()
        if name in shown and (found := find_rank_error(plan, each))
    }


def describe_open_error(plan: QueryPlan, output: DecomposedMeasure) -> str:
    """Describe the error of a measure that has no error bound: in rows, or how it depends on the data."""
    rows = find_rank_error(plan, output)
    if rows is None:
        vector = plan.noisy_primitives[output.primitive_names[0]]
        half_width = vector.half_width(plan.find_confidence(output)) * vector.primitive.unit
        return output.measure.describe_open_error(float(half_width))
    if plan.least_rows is None or not output.selects_value:
        return rows.description
    return f"{rows.description} ({100 * rows.rows / plan.least_rows:.2g}% of {plan.least_rows:,})"


def find_measures_by_column(plan: QueryPlan) -> dict[str, DecomposedMeasure]:
    """Return the answer's columns that are measures, possibly renamed, with their decomposition."""
    known = {output.column: output for output in plan.outputs}
    return {name: known[column] for name, column in plan.column_errors.measures.items()}


def find_least_epsilon(within: Real | str, plan_at: Callable[[Fraction], QueryPlan]) -> Fraction:
    """Return the least epsilon, to a thousandth, at which every measure of the plan is within the error."""
    _require_error_bars(plan_at(FINEST), ErrorTolerance.from_value(within))
    low = high = FINEST
    while not is_within(plan_at(high), within):
        low, high = high, high * 2
        require_parameter(
            high < COARSEST, "ask", "within", within, f"wide enough for any epsilon below {COARSEST:,}"
        )
    return search_epsilon(lambda epsilon: is_within(plan_at(epsilon), within), low, high)


def is_within(plan: QueryPlan, within: Real | str) -> bool:
    """Return True if every column of the answer states an error, and none a larger one."""
    allowed = ErrorTolerance.from_value(within)
    if plan.column_errors.missing_reasons:
        return False
    shown = set(plan.column_errors.measures_with_intervals.values())
    measured = [_get_error(plan, each, allowed) for each in plan.outputs if each.column in shown]
    computed = find_column_errors(plan).values()
    return all(each <= allowed.amount for each in measured) and all(
        each is not None and Fraction(each) <= allowed.amount for each in computed
    )


def search_epsilon(is_enough: Callable[[Fraction], bool], lowest: Fraction, highest: Fraction) -> Fraction:
    """Return an epsilon that is enough, from `lowest` to `highest`, which is; a thousandth less is not."""
    low, high = lowest, highest
    while high / low > Fraction(1001, 1000):
        middle = (low + high) / 2
        low, high = (middle, high) if not is_enough(middle) else (low, middle)
    rounded = high.limit_denominator(10**6) + Fraction(1, 10**6)
    # the weights of a mean are rounded, so a little more is not always enough
    return rounded if rounded <= highest and is_enough(rounded) else high


def _require_error_bars(plan: QueryPlan, tolerance: ErrorTolerance) -> None:
    """Refuse an error for columns that are not measures, or whose rows are selected by noisy values."""
    for name, reason in plan.column_errors.missing_reasons.items():
        refuse_query(
            f"{tolerance} cannot be promised for {format_snippet(name)}: {reason}.",
            "Ask for the measures themselves, without selecting rows by them; or ask with epsilon.",
        )
    for name, error in find_column_errors(plan).items():
        if error is None or tolerance.is_rank_share:
            refuse_query(
                f"{tolerance} cannot be promised for {format_snippet(name)}: {DEPENDS}.",
                "Ask for the measures that it is computed from; or ask with epsilon.",
            )
    if not plan.column_errors.interval_kinds:
        refuse_query(
            f"{tolerance} cannot be promised: the answer shows no measure.",
            "Select one, such as COUNT(*), or ask with epsilon.",
        )


def _get_error(plan: QueryPlan, output: DecomposedMeasure, tolerance: ErrorTolerance) -> Fraction:
    if tolerance.is_rank_share:
        return _get_rank_error_share(plan, output, tolerance)
    found = find_error_bound(plan, output)
    return found if found is not None else output.measure.refuse_tolerance(tolerance)


def _get_rank_error_share(plan: QueryPlan, output: DecomposedMeasure, tolerance: ErrorTolerance) -> Fraction:
    found, name = find_rank_error(plan, output), output.measure.name.upper()
    if found is None or found.probability is None:
        refuse_query(
            f"{tolerance} is a part of the rows, in ranks, and {name} has no rank.",
            "Give within as a number, or ask for MEDIAN, QUANTILE_CONT, MIN and MAX alone.",
        )
    if plan.least_rows is None:
        refuse_query(
            f"how far {name} is off depends on how many rows a group has, so {tolerance} of them cannot be "
            "promised.",
            LEAST_ROWS,
        )
    return Fraction(found.rows) / plan.least_rows
