"""A proposal: a plan with its cost, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from discreet.belief import Belief
from discreet.core.number_checks import Real
from discreet.sql.accuracy import describe_open_error, find_error_bound, find_rank_error
from discreet.sql.expression_tree import Column
from discreet.sql.planner import DecomposedMeasure, Plan


@dataclass(frozen=True, kw_only=True)
class ExpectedError:
    """Expected error of one measure: ± `error95` if the plan alone determines it, `note` otherwise.

    Both refer to the output column that shows the measure. If there is none, or its rows are selected by
    noisy values, `note` says so.

    `share` is the part of epsilon spent on its primitives; a primitive shared by measures counts for each.
    `rows95` is by how many rows a value picked by rank may miss its rank, or from how many rows on a decision
    such as BOOL_OR is right.
    """

    name: str
    mechanism: str
    share: float
    error95: float | None
    rows95: float | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A plan with its cost, its effect on belief, and the expected error of the answer.

    `uncovered` names the releases that no bound on belief covers, in sentences. `fits` is whether the
    remaining budget allows it; `plan_at` returns the same question's plan for another
    epsilon.
    """

    text: str
    plan: Plan
    key: str
    belief_before: Belief
    belief_after: Belief
    repeated: bool
    fits: bool
    uncovered: str = ""
    plan_at: Callable[[Real], Plan] = field(repr=False, compare=False)

    @property
    def cost(self) -> float:
        """The epsilon of this question."""
        return float(self.plan.epsilon)

    @property
    def expected_errors(self) -> list[ExpectedError]:
        return compute_expected_errors(self.plan)

    def to_json(self) -> dict[str, object]:
        return {
            "epsilon": self.cost,
            "of": self.plan.promise.epsilon,
            "measures": [vars(each) for each in self.expected_errors],
            "groups": self.plan.group_count,
            "least_rows": self.plan.least_rows,
            "bounding": self.plan.bounding.rule,
            "relation": self.plan.promise.secret.value,
            "confidence": self.plan.confidence,
            "repeated": self.repeated,
            "fits": self.fits,
            "belief": {
                "prior": self.belief_before.prior,
                "before": self.belief_before.highest,
                "after": self.belief_after.highest,
                "uncovered": self.uncovered or None,
            },
        }


def compute_expected_errors(plan: Plan) -> list[ExpectedError]:
    """Return the expected error of each measure, as far as text and policy determine it."""
    return [_compute_expected_error(plan, output) for output in plan.outputs]


def _compute_expected_error(plan: Plan, output: DecomposedMeasure) -> ExpectedError:
    around = plan.question.post_processing[0].outputs
    names = {expression.name: name for name, expression in around if isinstance(expression, Column)}
    missing = plan.column_errors.explain_missing(output.column)
    error, rows = (
        (find_error_bound(plan, output), find_rank_error(plan, output)) if missing is None else (None, None)
    )
    return ExpectedError(
        name=names.get(output.column, output.measure.name),
        mechanism=type(_find_mechanism(plan, output)).__name__,
        share=float(sum(plan.shares[name] for name in output.charged_names)),
        error95=None if error is None else float(error),
        rows95=None if rows is None else float(rows.rows),
        note=missing or (describe_open_error(plan, output) if error is None else ""),
    )


def _find_mechanism(plan: Plan, output: DecomposedMeasure) -> object:
    if output.column in plan.value_selections:
        return plan.value_selections[output.column].mechanism
    return plan.noisy_primitives[output.primitive_names[0]].noise
