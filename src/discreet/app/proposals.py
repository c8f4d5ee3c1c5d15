"""A proposal: a plan with its price, before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.belief import Belief
from discreet.sql.expressions import Column
from discreet.sql.plan import Output, Plan


@dataclass(frozen=True, kw_only=True)
class Expected:
    """How wrong one measure may be: ± `error95` where it follows from the plan alone, `note` otherwise."""

    name: str
    mechanism: str
    error95: float | None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A plan with its price: what it costs, what it would do to belief, and how wrong the answer may be."""

    text: str
    plan: Plan
    key: str
    before: Belief
    after: Belief
    repeated: bool

    @property
    def cost(self) -> float:
        """Epsilon of this question."""
        return float(self.plan.epsilon)

    @property
    def belief_after(self) -> Belief:
        return self.after

    @property
    def expected_error(self) -> list[Expected]:
        return expected(self.plan)

    def as_object(self) -> dict[str, object]:
        return {
            "epsilon": self.cost,
            "of": self.plan.promise.epsilon,
            "measures": [vars(each) for each in self.expected_error],
            "groups": self.plan.groups,
            "bounding": self.plan.bounding.rule,
            "relation": self.plan.promise.secret.value,
            "confidence": self.plan.confidence,
            "repeated": self.repeated,
            "belief": {
                "prior": self.before.prior,
                "before": self.before.highest,
                "after": self.after.highest,
            },
        }


def expected(made: Plan) -> list[Expected]:
    """How wrong each measure may be, as far as that follows from text and policy."""
    return [_expected(made, output) for output in made.outputs]


def _expected(made: Plan, output: Output) -> Expected:
    shown = made.question.after[0].outputs
    names = {expression.name: name for name, expression in shown if isinstance(expression, Column)}
    name = names.get(output.column, output.measure.function)
    if output.column in made.counted:
        mechanism = made.counted[output.column].mechanism
        note = "the error is in ranks, and depends on how dense the values are"
        return Expected(name=name, mechanism=type(mechanism).__name__, error95=None, note=note)
    vector = made.vectors[output.parts[0]]
    kind, half = type(vector.noise).__name__, vector.noise.half_width(made.confidence)
    if len(output.parts) == 1 and output.known_rows is None:
        return Expected(name=name, mechanism=kind, error95=float(half * vector.primitive.unit))
    if output.known_rows is not None:
        return Expected(
            name=name, mechanism=kind, error95=float(half * vector.primitive.unit) / output.known_rows
        )
    if output.measure.function == "avg":
        note = f"about {float(half * vector.primitive.unit):.3g} divided by the rows of a group"
        return Expected(name=name, mechanism=kind, error95=None, note=note)
    return Expected(name=name, mechanism=kind, error95=None, note="depends on the rows of a group")
