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
Shown       All of this is about measurements. It holds for an answer only if `sql.error_tracking` finds that
            a measure is shown unchanged; no error is promised for anything else.
Least rows  is an assumption of the analyst. If it is wrong, the answer's intervals are wider.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import NoReturn

from discreet.core.errors import InvalidParameterError, require_parameter
from discreet.core.number_checks import Real, parse_probability, require_positive
from discreet.mechanisms.quantile import Quantile
from discreet.sql.interval_estimates import split_confidence
from discreet.sql.measure_decomposition import DecomposedMeasure
from discreet.sql.planner import Plan
from discreet.sql.primitives import Grid
from discreet.sql.refusal import format_snippet, refuse_query

FINEST, COARSEST = Fraction(1, 10_000), 10_000  # the range of epsilon that is searched
LEAST = "Give the least number of rows: --least-rows 100, in Python least_rows=100."
EXTREMES = {"min": "the lowest row", "max": "the highest row", "median": "the middle"}


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
                    f'ask.within must be a number, or ranks such as "2%"; got {value}.'
                )
            part = Fraction(str(parse_probability("ask.within", value)))
            require_parameter(part > 0, "ask", "within", value, "above 0%")
            return cls(amount=part, is_rank_share=True)
        require_positive("ask", "within", value)
        return cls(amount=Fraction(value), is_rank_share=False)

    def __str__(self) -> str:
        return f"±{float(100 * self.amount):g}%" if self.is_rank_share else f"±{float(self.amount):g}"


@dataclass(frozen=True, kw_only=True)
class RankError:
    """Error of a selected value: its rank is off by at most `rows`; a MODE is at most `rows` rarer."""

    function: str
    probability: Fraction | None
    rows: float

    def to_json(self) -> dict[str, object]:
        """Return the JSON object."""
        share = None if self.probability is None else float(self.probability)
        return {"probability": share, "rows": float(self.rows), "why": self.description}

    @property
    def description(self) -> str:
        """Sentence about the value, at the plan's confidence."""
        most = ceil(self.rows)
        rows = "a row" if most == 1 else f"{most:,} rows"
        if self.probability is None:
            return f"no value is more than {rows} commoner"
        from_where = EXTREMES.get(self.function, f"{float(100 * self.probability):g}% of all rows")
        return f"its rank is within {rows} of {from_where}"


def find_error_bound(plan: Plan, output: DecomposedMeasure) -> Fraction | None:
    """Return the most by which a measure's interval extends from its value; None if it depends on data."""
    function, on = output.measure.function, output.grid
    if output.selects_value:
        return None
    vectors = [plan.noisy_primitives[name] for name in output.primitive_names]
    units = [each.primitive.unit for each in vectors]
    confidence = _get_part_confidence(plan, output)
    halves = [each.half_width(confidence) for each in vectors]
    if output.public_rows is not None:
        return halves[0] * units[0] / output.public_rows
    if len(output.primitive_names) == 1:
        rounded = Fraction(1, 2) if units[0] == 1 and plan.bounding.weight_denominator > 1 else 0
        return halves[0] * units[0] + rounded
    assert on is not None
    if function == "sum":
        return (halves[0] + abs(on.low + on.high) * halves[1]) * on.step / 2
    if function == "avg" and plan.least_rows is not None:
        return _bound_mean_error(halves[0], halves[1], on, plan.least_rows)
    return None


def _bound_mean_error(h: Fraction, k: Fraction, grid: Grid, least_rows: int) -> Fraction:
    """Return the error bound of a mean; at most the whole range, which is the interval if it is unknown."""
    counted, whole = least_rows - 2 * k, grid.width * grid.step
    return whole if counted < 1 else min((h + grid.width * k) * grid.step / (2 * counted), whole)


def _get_part_confidence(plan: Plan, output: DecomposedMeasure) -> float:
    return split_confidence(plan.confidence, len(output.primitive_names))


def find_rank_error(plan: Plan, output: DecomposedMeasure) -> RankError | None:
    """Return the rank error of a measure that selects a value, at the plan's confidence; else None."""
    found = plan.value_selections.get(output.column)
    if found is None:
        return None
    mechanism, function = found.mechanism, output.measure.function
    if isinstance(mechanism, Quantile):
        rows = mechanism.rank_error(plan.confidence) + abs(mechanism.offset)
        return RankError(function=function, probability=mechanism.probability, rows=rows)
    rows = mechanism.shortfall(len(found.domain), plan.confidence)
    return RankError(function=function, probability=None, rows=rows)


def find_measures_by_column(plan: Plan) -> dict[str, DecomposedMeasure]:
    """Return the answer's columns that are measures, possibly renamed, with their decomposition."""
    known = {output.column: output for output in plan.outputs}
    return {name: known[column] for name, column in plan.column_errors.measures.items()}


def find_least_epsilon(within: Real | str, plan_at: Callable[[Fraction], Plan]) -> Fraction:
    """Return the least epsilon, to a thousandth, at which every measure of the plan is within the error."""
    allowed = ErrorTolerance.from_value(within)
    _require_error_bars(plan_at(FINEST), allowed)

    def wide(epsilon: Fraction) -> bool:
        made = plan_at(epsilon)
        return any(_get_error(made, output, allowed) > allowed.amount for output in made.outputs)

    low = high = FINEST
    while wide(high):
        low, high = high, high * 2
        require_parameter(
            high < COARSEST, "ask", "within", within, f"wide enough for any epsilon below {COARSEST:,}"
        )
    while high / low > Fraction(1001, 1000):
        middle = (low + high) / 2
        low, high = (middle, high) if wide(middle) else (low, middle)
    return high.limit_denominator(10**6) + Fraction(1, 10**6)


def _require_error_bars(plan: Plan, tolerance: ErrorTolerance) -> None:
    """Refuse an error for columns that are not measures, or whose rows are selected by noisy values."""
    for name, reason in plan.column_errors.missing_reasons.items():
        refuse_query(
            f"{tolerance} cannot be promised for {format_snippet(name)}: {reason}.",
            "Ask for the measures themselves, without selecting rows by them; or ask with epsilon.",
        )
    if not plan.column_errors.measures_with_intervals:
        refuse_query(
            f"{tolerance} cannot be promised: the answer shows no measure.",
            "Select one, such as COUNT(*), or ask with epsilon.",
        )


def _get_error(plan: Plan, output: DecomposedMeasure, tolerance: ErrorTolerance) -> Fraction:
    if tolerance.is_rank_share:
        return _get_rank_error_share(plan, output, tolerance)
    found = find_error_bound(plan, output)
    return found if found is not None else _refuse_number(output, tolerance)


def _get_rank_error_share(plan: Plan, output: DecomposedMeasure, tolerance: ErrorTolerance) -> Fraction:
    found, name = find_rank_error(plan, output), _get_function_name(output)
    if found is None or found.probability is None:
        refuse_query(
            f"{tolerance} is a part of the rows, in ranks, and {name} has no rank.",
            "Give within as a number, or ask for MEDIAN, QUANTILE_CONT, MIN and MAX alone.",
        )
    if plan.least_rows is None:
        refuse_query(
            f"how far {name} is off depends on how many rows a group has, so {tolerance} of them cannot be "
            "promised.",
            LEAST,
        )
    return Fraction(found.rows) / plan.least_rows


def _refuse_number(output: DecomposedMeasure, tolerance: ErrorTolerance) -> NoReturn:
    name = _get_function_name(output)
    if output.measure.function == "avg":
        refuse_query(
            f"the error of {name} depends on how many rows a group has, so {tolerance} cannot be "
            "promised for "
            "it.",
            f"{LEAST} Or ask with epsilon.",
        )
    if output.selects_value and output.measure.function != "mode":
        refuse_query(
            f"how far {name} is off in values depends on how dense they are, so {tolerance} cannot "
            "be promised "
            "for it.",
            "Give the error in ranks: --within 2% --least-rows 100, in Python within='2%', least_rows=100; "
            "or ask with epsilon.",
        )
    refuse_query(
        f"the error of {name} depends on the data, so {tolerance} cannot be promised for it.",
        "Ask with epsilon.",
    )


def _get_function_name(output: DecomposedMeasure) -> str:
    return output.measure.function.upper()
