"""A proposal: a plan with its price, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from discreet.belief import Belief
from discreet.belief.wording import number
from discreet.core.numbers import Real
from discreet.sql.accuracy import off, reach
from discreet.sql.expressions import Column
from discreet.sql.plan import Output, Plan


@dataclass(frozen=True, kw_only=True)
class Expected:
    """How wrong one measure may be: ± `error95` where it follows from the plan alone, `note` otherwise.

    Both are about the column of the answer that shows the measure. Where none does, or its rows are selected
    by noisy values, `note` says so.

    `share` is the part of epsilon that its primitives have; what measures have in common counts for each.
    `rows95` is by how many rows a value that is picked by its rank may be off.
    """

    name: str
    mechanism: str
    share: float
    error95: float | None
    rows95: float | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A plan with its price: what it costs, what it would do to belief, and how wrong the answer may be.

    `fits` says whether the budget that is left allows it; `priced` is the same question's plan for
    another epsilon.
    """

    text: str
    plan: Plan
    key: str
    belief_before: Belief
    belief_after: Belief
    repeated: bool
    fits: bool
    priced: Callable[[Real], Plan] = field(repr=False, compare=False)

    @property
    def cost(self) -> float:
        """Epsilon of this question."""
        return float(self.plan.epsilon)

    @property
    def expected_error(self) -> list[Expected]:
        return expected(self.plan)

    def as_object(self) -> dict[str, object]:
        return {
            "epsilon": self.cost,
            "of": self.plan.promise.epsilon,
            "measures": [vars(each) for each in self.expected_error],
            "groups": self.plan.groups,
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
            },
        }


def expected(made: Plan) -> list[Expected]:
    """How wrong each measure may be, as far as that follows from text and policy."""
    return [_expected(made, output) for output in made.outputs]


def _expected(made: Plan, output: Output) -> Expected:
    around = made.question.after[0].outputs
    names = {expression.name: name for name, expression in around if isinstance(expression, Column)}
    missing = made.errors.explain_missing(output.column)
    error, rows = (reach(made, output), off(made, output)) if missing is None else (None, None)
    return Expected(
        name=names.get(output.column, output.measure.function),
        mechanism=type(_mechanism(made, output)).__name__,
        share=float(sum(made.shares[name] for name in output.paid)),
        error95=None if error is None else float(error),
        rows95=None if rows is None else float(rows.rows),
        note=missing or (_note(made, output) if error is None else ""),
    )


def _mechanism(made: Plan, output: Output) -> object:
    if output.column in made.counted:
        return made.counted[output.column].mechanism
    return made.vectors[output.parts[0]].noise


def _note(made: Plan, output: Output) -> str:
    """What is known of an error that depends on the data."""
    rows = off(made, output)
    if rows is not None:
        of_all = (
            f" ({100 * rows.rows / made.least_rows:.2g}% of {made.least_rows:,})" if made.least_rows else ""
        )
        return f"{rows.sentence}{of_all}"
    if output.measure.function == "avg":
        vector = made.vectors[output.parts[0]]
        half = float(vector.half_width(made.confidence) * vector.primitive.unit)
        return f"about {number(half)} / the rows of a group"
    return "depends on the rows of a group"
