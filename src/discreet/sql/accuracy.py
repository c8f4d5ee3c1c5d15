"""How wrong an answer may be, as far as that follows from the plan; and the least epsilon for an error.

Reach       the most by which the interval of a measure goes beyond its value, with the plan's confidence:
            COUNT, SUM          the half-width h of the noise, in units, and half a one where rows weigh and
                                what is shown is whole; for a SUM made of a mean's parts
                                (h + |low + high| k) / 2 steps, with h, k of the centred sum and the count.
            AVG, public n       h / (2 n) steps.
            AVG, at least n     (h + w k) / (2 (n - 2 k)) steps: all holds where the noise of both parts stays
                                within h and k; then at least n - k rows are counted, and `estimates.mean` has
                                the rest. At worst the mean lies at an end of its range, width w.
                                With n <= 2 k it may be that nothing can be told.
            others              depends on the data.
Ranks       MEDIAN and its kin miss the wanted rank by at most so many rows, whatever the data: `off`. How far
            that is in values depends on how dense they are there, so ± a value cannot be promised, and no
            interval in values follows from the one value that is released. ± a part of the rows can be, if
            there are at least so many.
Shown       All of this is about measurements. It holds for an answer only where `sql.error_tracking` says
            that a measure reaches it as it is; an error of anything else is not promised.
Least rows  is an assumption of whoever asks. Where it is wrong, the answer's intervals say so by being wider.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import NoReturn

from discreet.core.errors import InvalidParameterError, require
from discreet.core.numbers import Real, parse_probability, require_positive
from discreet.mechanisms.quantile import Quantile
from discreet.sql.estimates import each
from discreet.sql.needs import Output
from discreet.sql.plan import Plan
from discreet.sql.primitives import Grid
from discreet.sql.refusal import refuse, shown

FINEST, COARSEST = Fraction(1, 10_000), 10_000
LEAST = "Say how many there are at least: --least-rows 100, in Python least_rows=100."
EXTREMES = {"min": "the lowest row", "max": "the highest row", "median": "the middle"}


@dataclass(frozen=True, kw_only=True)
class Within:
    """An error that is allowed: a number in the measure's own units, or a part of the rows, in ranks."""

    amount: Fraction
    of_ranks: bool

    @classmethod
    def of(cls, value: Real | str) -> Within:
        """2 is a number, "2%" a part of the rows.

        >>> Within.of("2%")
        Within(amount=Fraction(1, 50), of_ranks=True)
        """
        if isinstance(value, str):
            if not value.strip().endswith("%"):
                raise InvalidParameterError(
                    f'ask.within must be a number, or ranks such as "2%"; got {value}.'
                )
            part = Fraction(str(parse_probability("ask.within", value)))
            require(part > 0, "ask", "within", value, "above 0%")
            return cls(amount=part, of_ranks=True)
        require_positive("ask", "within", value)
        return cls(amount=Fraction(value), of_ranks=False)

    def __str__(self) -> str:
        return f"±{float(100 * self.amount):g}%" if self.of_ranks else f"±{float(self.amount):g}"


@dataclass(frozen=True, kw_only=True)
class Off:
    """A picked value's rank is at most `rows` from the wanted one; MODE's value is no rarer than by that."""

    function: str
    probability: Fraction | None
    rows: float

    def as_object(self) -> dict[str, object]:
        """The machine-readable form."""
        share = None if self.probability is None else float(self.probability)
        return {"probability": share, "rows": float(self.rows), "why": self.sentence}

    @property
    def sentence(self) -> str:
        """Of a value, with the plan's confidence."""
        most = ceil(self.rows)
        rows = "a row" if most == 1 else f"{most:,} rows"
        if self.probability is None:
            return f"no value is more than {rows} commoner"
        from_where = EXTREMES.get(self.function, f"{float(100 * self.probability):g}% of all rows")
        return f"its rank is within {rows} of {from_where}"


def reach(plan: Plan, output: Output) -> Fraction | None:
    """The most by which a measure's interval goes beyond its value; None where that depends on the data."""
    function, on = output.measure.function, output.on
    if output.by_values:
        return None
    vectors = [plan.vectors[name] for name in output.parts]
    units = [each.primitive.unit for each in vectors]
    confidence = _confidence(plan, output)
    halves = [each.half_width(confidence) for each in vectors]
    if output.known_rows is not None:
        return halves[0] * units[0] / output.known_rows
    if len(output.parts) == 1:
        rounded = Fraction(1, 2) if units[0] == 1 and plan.bounding.parts > 1 else 0
        return halves[0] * units[0] + rounded
    assert on is not None
    if function == "sum":
        return (halves[0] + abs(on.low + on.high) * halves[1]) * on.step / 2
    if function == "avg" and plan.least_rows is not None:
        return _of_mean(halves[0], halves[1], on, plan.least_rows)
    return None


def _of_mean(h: Fraction, k: Fraction, on: Grid, least_rows: int) -> Fraction:
    """At most the whole range, which the interval is where nothing can be told."""
    counted, whole = least_rows - 2 * k, on.width * on.step
    return whole if counted < 1 else min((h + on.width * k) * on.step / (2 * counted), whole)


def _confidence(plan: Plan, output: Output) -> float:
    return each(plan.confidence, len(output.parts))


def off(plan: Plan, output: Output) -> Off | None:
    """By how many rows a measure that is counted by values may be off, with the plan's confidence."""
    found = plan.counted.get(output.column)
    if found is None:
        return None
    mechanism, function = found.mechanism, output.measure.function
    if isinstance(mechanism, Quantile):
        rows = mechanism.rank_error(plan.confidence) + abs(mechanism.offset)
        return Off(function=function, probability=mechanism.probability, rows=rows)
    rows = mechanism.shortfall(len(found.domain), plan.confidence)
    return Off(function=function, probability=None, rows=rows)


def traced(plan: Plan) -> dict[str, Output]:
    """The columns of the answer that are measures, renamed at most."""
    known = {output.column: output for output in plan.outputs}
    return {name: known[column] for name, column in plan.errors.measures.items()}


def least_epsilon(within: Real | str, priced: Callable[[Fraction], Plan]) -> Fraction:
    """The smallest epsilon with which no measure of the plan goes beyond the error, within a thousandth."""
    allowed = Within.of(within)
    _require_shown(priced(FINEST), allowed)

    def wide(epsilon: Fraction) -> bool:
        made = priced(epsilon)
        return any(_error(made, output, allowed) > allowed.amount for output in made.outputs)

    low = high = FINEST
    while wide(high):
        low, high = high, high * 2
        require(high < COARSEST, "ask", "within", within, f"wide enough for any epsilon below {COARSEST:,}")
    while high / low > Fraction(1001, 1000):
        middle = (low + high) / 2
        low, high = (middle, high) if wide(middle) else (low, middle)
    return high.limit_denominator(10**6) + Fraction(1, 10**6)


def _require_shown(made: Plan, allowed: Within) -> None:
    """Refuse an error for columns of the answer that are no longer measures, or were selected by noise."""
    for name, reason in made.errors.missing.items():
        refuse(
            f"{allowed} cannot be promised for {shown(name)}: {reason}.",
            "Ask for the measures themselves, without selecting rows by them; or ask with epsilon.",
        )
    if not made.errors.kept:
        refuse(
            f"{allowed} cannot be promised: the answer shows no measure.",
            "Select one, such as COUNT(*), or ask with epsilon.",
        )


def _error(made: Plan, output: Output, allowed: Within) -> Fraction:
    if allowed.of_ranks:
        return _rank_error(made, output, allowed)
    found = reach(made, output)
    return found if found is not None else _refuse_number(output, allowed)


def _rank_error(made: Plan, output: Output, allowed: Within) -> Fraction:
    found, name = off(made, output), _named(output)
    if found is None or found.probability is None:
        refuse(
            f"{allowed} is a part of the rows, in ranks, and {name} has no rank.",
            "Give within as a number, or ask for MEDIAN, QUANTILE_CONT, MIN and MAX alone.",
        )
    if made.least_rows is None:
        refuse(
            f"how far {name} is off depends on how many rows a group has, so {allowed} of them cannot be "
            "promised.",
            LEAST,
        )
    return Fraction(found.rows) / made.least_rows


def _refuse_number(output: Output, allowed: Within) -> NoReturn:
    name = _named(output)
    if output.measure.function == "avg":
        refuse(
            f"the error of {name} depends on how many rows a group has, so {allowed} cannot be promised for "
            "it.",
            f"{LEAST} Or ask with epsilon.",
        )
    if output.by_values and output.measure.function != "mode":
        refuse(
            f"how far {name} is off in values depends on how dense they are, so {allowed} cannot be promised "
            "for it.",
            "Say it in ranks: --within 2% --least-rows 100, in Python within='2%', least_rows=100; or ask "
            "with epsilon.",
        )
    refuse(
        f"the error of {name} depends on the data, so {allowed} cannot be promised for it.",
        "Ask with epsilon.",
    )


def _named(output: Output) -> str:
    return output.measure.function.upper()
