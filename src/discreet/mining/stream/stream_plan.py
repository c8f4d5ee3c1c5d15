"""The plan of a stream: the cost of all its answers and their error; reads no data.

median      the median mechanism [RR10] over all small databases; for small universes
weights     private multiplicative weights [HR10] over a distribution; for larger ones
laplace     noise on every answer, a k-th of the budget for each of k questions; for comparison, or for few
Default     without a name, the one of those that fit whose stated error is least; `method_errors` holds all
            of them. The median mechanism fits a handful of cells, and there its databases of few rows tell
            counts apart so coarsely that another one mostly errs less: by name it is there all the same.

Budget      of median and weights: a twentieth for the number of rows, unless that is public; half of the rest
            for testing, half for `updates` noisy counts. Pure: the parts' epsilons add up to the whole. Else
            every update costs a pure test and a Gaussian count, and their rhos add up.
Threshold   of weights: half as far again as where, of questions that are known exactly, a quarter of the
            updates is expected to be wasted by noise. Of median: r = 3/4, and noise as small beside it.
Updates     twice the root of the number of questions, so that errors grow with the root where those of
            laplace grow with the number; at most twice as many as there are cells, since as many different
            counts as cells determine everything. After them the stream ends, as both papers have it.
Bounds      every answer is kept, in 400 bytes or so: `MAX_QUESTIONS` take 2 GB. Every update of weights
            keeps a mask of one byte a cell, at most `MAX_MASK_CELLS` together, and goes through all earlier
            ones, up to `PASSES` times: at most `MAX_STEPS` cells, a day's work at the 25 ns that one takes.
            Median keeps no masks, and is bounded alike.
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
from discreet.mechanisms.noise_laws import IntegerNoise
from discreet.mechanisms.sensitivity import Sensitivity
from discreet.mining.stream import median_mechanism, multiplicative_weights
from discreet.mining.stream.sparse_vector import SparseVector
from discreet.mining.stream.universe import Universe
from discreet.mining.tabulation.noise_budget import NoiseBudget
from discreet.mining.tabulation.workloads import get_declared_table

METHODS = ("median", "weights", "laplace")
CONFIDENCE = 0.95
COUNTING, TESTING = Fraction(1, 20), Fraction(1, 2)
WASTED, FURTHER = 1 / 4, 3 / 2
MAX_QUESTIONS = 5_000_000
MAX_MASK_CELLS = 1 << 31
MAX_STEPS = 3_456 * 10**9


@dataclass(frozen=True, kw_only=True, eq=False)
class StreamPlan:
    """The plan of a stream of at most `questions` queries, `updates` of them answered by a fresh count.

    `width` is in rows: how far off counts as hard for weights, how fast r falls for median. `rows` is the
    table's number of rows, if that is public; otherwise `row_count_noise` is the noise that is added to it.
    `method_errors` has the stated error of every method that fits, where none was named.
    """

    table: str
    universe: Universe
    method: str
    questions: int
    budget: NoiseBudget
    answer_noise: IntegerNoise
    updates: int = 0
    rows: int | None = None
    row_count_noise: IntegerNoise | None = None
    sparse_vector: SparseVector | None = None
    width: int = 0
    size: int = 0
    method_errors: Mapping[str, int] = field(default_factory=dict)

    @property
    def guarantee(self) -> PureDP | ZeroConcentratedDP:
        """The guarantee of the whole stream, whatever is asked and whenever it ends."""
        return self.budget.guarantee

    @property
    def parts(self) -> dict[Guarantee, int]:
        """The most that is spent: each guarantee and its number of uses."""
        tests = self.sparse_vector.guarantees if self.sparse_vector else {}
        found: dict[Guarantee, int] = {each: often for each, often in tests.items()}  # noqa: C416  (keys of a wider type)
        if self.row_count_noise:
            found[self.row_count_noise.guarantee] = found.get(self.row_count_noise.guarantee, 0) + 1
        often = self.updates if self.sparse_vector else self.questions
        found[self.answer_noise.guarantee] = found.get(self.answer_noise.guarantee, 0) + often
        return found

    @cached_property
    def fresh_error95(self) -> int:
        """The error that 95% of the freshly counted answers do not exceed."""
        return self.answer_noise.half_width(CONFIDENCE)

    @cached_property
    def error95(self) -> int:
        """The error that 95% of the other answers do not exceed; without others, of all answers.

        For median it may be more by as much as databases of `size` rows cannot tell apart, where the number
        of rows is not public.
        """
        if self.sparse_vector is None:
            return self.fresh_error95
        reach = self.sparse_vector.bound_error(1 - CONFIDENCE)
        if self.method == "weights":
            return self.width + reach
        # r of a question that was found easy, mostly; with the width that is planned it is above 5/8 or so
        least = max(0.5 + 1e-6, 3 / 4 - reach / median_mechanism.GRID)
        width = median_mechanism.widen_to_resolution(self.width, self.rows or 1, self.size)
        return math.ceil(-width * math.log(2 * least - 1))


def plan_stream(
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
    declared = get_declared_table(policy, table)
    require_count("stream", "questions", questions)
    require_parameter(
        questions <= MAX_QUESTIONS, "stream", "questions", f"{questions:,}", f"at most {MAX_QUESTIONS:,}"
    )
    universe = Universe.from_table(declared, columns, bins=bins or {}, logarithmic=logarithmic)
    amount = NoiseBudget.from_guarantee(budget, rows_per_person=declared.rows_per_person)
    rows = declared.rows if budget.relation is Relation.VALUE else None
    if method is not None:
        require_parameter(method in METHODS, "stream", "method", method, f"one of {', '.join(METHODS)}")
        return plan_method(method, table, universe, amount, questions=questions, updates=updates, rows=rows)
    fits = [name for name in METHODS if name != "median" or _can_list_databases(universe)]
    if updates is not None:
        fits.remove("laplace")
    every = [
        plan_method(name, table, universe, amount, questions=questions, updates=updates, rows=rows)
        for name in fits
    ]
    weighed = {each.method: each.error95 for each in every}
    return replace(min(every, key=lambda each: each.error95), method_errors=weighed)


def plan_method(
    method: str,
    table: str,
    universe: Universe,
    budget: NoiseBudget,
    *,
    questions: int,
    updates: int | None = None,
    rows: int | None = None,
) -> StreamPlan:
    """Return the plan of one method."""
    moved = Sensitivity(l1=budget.rows_per_person, squared_l2=budget.rows_per_person**2)
    if method == "laplace":
        if updates is not None:
            raise RequestError("stream: laplace has no updates.", hint="Leave them out, or name a method.")
        each = budget.take_share(Fraction(1, questions)).make_noise(moved)
        return StreamPlan(
            table=table,
            universe=universe,
            method=method,
            questions=questions,
            budget=budget,
            answer_noise=each,
        )
    size = median_mechanism.find_largest_size(universe.cells) if method == "median" else 0
    if method == "median" and size < median_mechanism.MIN_SIZE:
        raise RequestError(
            f"stream: {universe.cells:,} cells are too many for the median mechanism.",
            hint='Use `method="weights"`, or fewer columns and bins.',
        )
    often = _choose_updates(universe.cells, questions) if updates is None else updates
    require_count("stream", "updates", often)
    limit = compute_max_updates(universe.cells)
    if often > limit:
        raise RequestError(
            f"stream: {often:,} updates of {universe.cells:,} cells take more memory or time than there is.",
            hint=f"Ask for at most {limit:,} updates.",
        )
    counting = None if rows is not None else budget.take_share(COUNTING)
    rest = budget if rows is not None else budget.take_share(1 - COUNTING)
    testing, width = _plan_test(method, rest.take_share(TESTING), often, questions)
    return StreamPlan(
        table=table,
        universe=universe,
        method=method,
        questions=questions,
        budget=budget,
        answer_noise=rest.take_share((1 - TESTING) / often).make_noise(moved),
        updates=often,
        rows=rows,
        row_count_noise=None if counting is None else counting.make_noise(moved),
        sparse_vector=testing,
        width=width,
        size=size,
    )


def _can_list_databases(universe: Universe) -> bool:
    return median_mechanism.find_largest_size(universe.cells) >= median_mechanism.MIN_SIZE


def _choose_updates(cells: int, questions: int) -> int:
    return max(1, min(2 * cells, questions, math.ceil(2 * math.sqrt(questions)), compute_max_updates(cells)))


def compute_max_updates(cells: int) -> int:
    """Return the most updates whose masks fit into memory and are gone through within a day.

    >>> compute_max_updates(1_000), compute_max_updates(1_000_000)
    (26290, 2147)
    """
    passes = multiplicative_weights.count_passes(cells)
    return min(MAX_MASK_CELLS // cells, math.isqrt(2 * MAX_STEPS // (passes * cells)))


def _plan_test(method: str, budget: NoiseBudget, updates: int, questions: int) -> tuple[SparseVector, int]:
    """Return the test, and the error in rows from which it finds a query hard."""
    epsilon = budget.pure_epsilon if budget.is_pure else budget.take_share(Fraction(1, updates)).pure_epsilon

    def make_vector(sensitivity: int) -> SparseVector:
        return SparseVector.from_epsilon(
            epsilon,
            passes=updates,
            sensitivity=sensitivity,
            redraws_threshold=not budget.is_pure,
            relation=budget.relation,
        )

    miss = min(0.25, WASTED * updates / questions)
    if method == "weights":
        found = make_vector(budget.rows_per_person)
        return found, math.ceil(FURTHER * found.bound_error(miss))
    # r falls by rows / width a person; noise stays below a quarter of r, and mostly below an eighth
    far = max(4 * make_vector(1).bound_error(miss), 8 * make_vector(1).bound_error(1 - CONFIDENCE))
    width = math.ceil(budget.rows_per_person * far * (1 + 1e-3))
    return make_vector(median_mechanism.compute_grid_sensitivity(budget.rows_per_person, width)), width
