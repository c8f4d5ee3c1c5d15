"""The plan of a stream: the cost of all its answers and their error; reads no data.

median      the median mechanism [RR10] over all small databases; for small universes
weights     private multiplicative weights [HR10] over a distribution; for larger ones
laplace     noise on every answer, a k-th of the budget for each of k questions; for comparison, or for few
Default     without a name, the one of those that fit whose stated error is least; `weighed` holds all of
            them. The median mechanism fits a handful of cells, and there its databases of few rows tell
            counts apart so coarsely that another one mostly errs less: by name it is there all the same.

Budget      of median and weights: a twentieth for the number of rows, unless that is public; half of the rest
            for testing, half for `updates` noisy counts. Pure: the parts' epsilons add up to the whole. Else
            every update costs a pure test and a Gaussian count, and their rhos add up.
Threshold   of weights: half as far again as where, of questions that are known exactly, a quarter of the
            updates is expected to be wasted by noise. Of median: r = 3/4, and noise as small beside it.
Updates     twice the root of the number of questions, so that errors grow with the root where those of
            laplace grow with the number; at most twice as many as there are cells, since as many different
            counts as cells determine everything. After them the stream ends, as both papers have it.
Bounds      every answer is kept, in 400 bytes or so: `MOST_QUESTIONS` take 2 GB. Every update of weights
            keeps a mask of one byte a cell, at most `MOST_HELD` together, and goes through all earlier ones,
            up to `PASSES` times: at most `MOST_STEPS` cells, a day's work at the 25 ns that one takes. Median
            keeps no masks, and is bounded alike.
End         The end of a stream follows from the number of queries and the released answers, so it reveals
            nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from discreet.core.errors import RequestError, require_parameter
from discreet.core.guarantees import Guarantee, PureDP, ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import require_count
from discreet.core.policy import Policy
from discreet.mechanisms.sensitivity import Sensitivity
from discreet.mining.stream import candidates, weights
from discreet.mining.stream.sparse_vector import SparseVector
from discreet.mining.stream.universe import Universe
from discreet.mining.tabulation.budget import Budget, Noise
from discreet.mining.tabulation.workloads import declared_table

METHODS = ("median", "weights", "laplace")
CONFIDENCE = 0.95
COUNTING, TESTING = Fraction(1, 20), Fraction(1, 2)
WASTED, FURTHER = 1 / 4, 3 / 2
MOST_QUESTIONS = 5_000_000
MOST_HELD = 1 << 31
MOST_STEPS = 3_456 * 10**9


@dataclass(frozen=True, kw_only=True, eq=False)
class StreamPlan:
    """The plan of a stream of at most `questions` queries, `updates` of them answered by a fresh count.

    `width` is in rows: how far off counts as hard for weights, how fast r falls for median. `rows` is the
    number of rows where it is public, else `counting` is the noise that it gets. `weighed` has the stated
    error of every method that fits, where none was named.
    """

    table: str
    universe: Universe
    method: str
    questions: int
    budget: Budget
    answering: Noise
    updates: int = 0
    rows: int | None = None
    counting: Noise | None = None
    testing: SparseVector | None = None
    width: int = 0
    size: int = 0
    weighed: Mapping[str, int] = field(default_factory=dict)

    @property
    def guarantee(self) -> PureDP | ZeroConcentratedDP:
        """The guarantee of the whole stream, whatever is asked and whenever it ends."""
        return self.budget.guarantee

    @property
    def parts(self) -> dict[Guarantee, int]:
        """The most that is spent: each guarantee and its number of uses."""
        tests = self.testing.guarantees if self.testing else {}
        found: dict[Guarantee, int] = {each: often for each, often in tests.items()}  # noqa: C416  (keys of a wider type)
        if self.counting:
            found[self.counting.guarantee] = found.get(self.counting.guarantee, 0) + 1
        often = self.updates if self.testing else self.questions
        found[self.answering.guarantee] = found.get(self.answering.guarantee, 0) + often
        return found

    @cached_property
    def fresh95(self) -> int:
        """The error that 95% of the freshly counted answers do not exceed."""
        return self.answering.half_width(CONFIDENCE)

    @cached_property
    def error95(self) -> int:
        """The error that 95% of the other answers do not exceed; without others, of all answers.

        For median it may be more by as much as databases of `size` rows cannot tell apart, where the number
        of rows is not public.
        """
        if self.testing is None:
            return self.fresh95
        reach = self.testing.reach(1 - CONFIDENCE)
        if self.method == "weights":
            return self.width + reach
        # r of a question that was found easy, mostly; with the width that is planned it is above 5/8 or so
        least = max(0.5 + 1e-6, 3 / 4 - reach / candidates.GRID)
        width = candidates.widened(self.width, self.rows or 1, self.size)
        return math.ceil(-width * math.log(2 * least - 1))


def plan(
    policy: Policy,
    table: str,
    columns: Sequence[str],
    budget: PureDP | ZeroConcentratedDP,
    *,
    questions: int,
    method: str | None = None,
    updates: int | None = None,
    bins: Mapping[str, int] | None = None,
    logarithmic: Collection[str] = (),
) -> StreamPlan:
    """Return the plan of a stream, or refuse; without a method, choose the least expected error."""
    declared = declared_table(policy, table)
    require_count("stream", "questions", questions)
    require_parameter(
        questions <= MOST_QUESTIONS, "stream", "questions", f"{questions:,}", f"at most {MOST_QUESTIONS:,}"
    )
    universe = Universe.of_table(declared, columns, bins=bins or {}, logarithmic=logarithmic)
    amount = Budget.of(budget, rows=declared.rows_per_person)
    rows = declared.rows if budget.relation is Relation.VALUE else None
    if method is not None:
        require_parameter(method in METHODS, "stream", "method", method, f"one of {', '.join(METHODS)}")
        return planned(method, table, universe, amount, questions=questions, updates=updates, rows=rows)
    fits = [name for name in METHODS if name != "median" or _listable(universe)]
    if updates is not None:
        fits.remove("laplace")
    every = [
        planned(name, table, universe, amount, questions=questions, updates=updates, rows=rows)
        for name in fits
    ]
    weighed = {each.method: each.error95 for each in every}
    return replace(min(every, key=lambda each: each.error95), weighed=weighed)


def planned(
    method: str,
    table: str,
    universe: Universe,
    budget: Budget,
    *,
    questions: int,
    updates: int | None = None,
    rows: int | None = None,
) -> StreamPlan:
    """Return the plan of one method."""
    moved = Sensitivity(l1=budget.rows, squared_l2=budget.rows**2)
    if method == "laplace":
        if updates is not None:
            raise RequestError("stream: laplace has no updates.", hint="Leave them out, or name a method.")
        each = budget.part(Fraction(1, questions)).noise(moved)
        return StreamPlan(
            table=table, universe=universe, method=method, questions=questions, budget=budget, answering=each
        )
    size = candidates.largest_size(universe.cells) if method == "median" else 0
    if method == "median" and size < candidates.LEAST_SIZE:
        raise RequestError(
            f"stream: {universe.cells:,} cells are too many for the median mechanism.",
            hint="Use weights, or fewer columns and bins.",
        )
    often = _updates(universe.cells, questions) if updates is None else updates
    require_count("stream", "updates", often)
    most = most_updates(universe.cells)
    if often > most:
        raise RequestError(
            f"stream: {often:,} updates of {universe.cells:,} cells take more memory or time than there is.",
            hint=f"Ask for at most {most:,} updates.",
        )
    counting = None if rows is not None else budget.part(COUNTING)
    rest = budget if rows is not None else budget.part(1 - COUNTING)
    testing, width = _testing(method, rest.part(TESTING), often, questions)
    return StreamPlan(
        table=table,
        universe=universe,
        method=method,
        questions=questions,
        budget=budget,
        answering=rest.part((1 - TESTING) / often).noise(moved),
        updates=often,
        rows=rows,
        counting=None if counting is None else counting.noise(moved),
        testing=testing,
        width=width,
        size=size,
    )


def _listable(universe: Universe) -> bool:
    return candidates.largest_size(universe.cells) >= candidates.LEAST_SIZE


def _updates(cells: int, questions: int) -> int:
    return max(1, min(2 * cells, questions, math.ceil(2 * math.sqrt(questions)), most_updates(cells)))


def most_updates(cells: int) -> int:
    """Return the most updates whose masks fit into memory and are gone through within a day.

    >>> most_updates(1_000), most_updates(1_000_000)
    (26290, 2147)
    """
    passes = weights.passes_over(cells)
    return min(MOST_HELD // cells, math.isqrt(2 * MOST_STEPS // (passes * cells)))


def _testing(method: str, budget: Budget, updates: int, questions: int) -> tuple[SparseVector, int]:
    """Return the test, and the error in rows from which it finds a query hard."""
    epsilon = budget.loss if budget.pure else budget.part(Fraction(1, updates)).loss

    def vector(sensitivity: int) -> SparseVector:
        return SparseVector.of(
            epsilon,
            passes=updates,
            sensitivity=sensitivity,
            renewed=not budget.pure,
            relation=budget.relation,
        )

    miss = min(0.25, WASTED * updates / questions)
    if method == "weights":
        found = vector(budget.rows)
        return found, math.ceil(FURTHER * found.reach(miss))
    # r falls by rows / width a person; noise stays below a quarter of r, and mostly below an eighth
    far = max(4 * vector(1).reach(miss), 8 * vector(1).reach(1 - CONFIDENCE))
    width = math.ceil(budget.rows * far * (1 + 1e-3))
    return vector(candidates.grid_sensitivity(budget.rows, width)), width
