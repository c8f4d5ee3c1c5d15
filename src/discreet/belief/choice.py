"""A choice of epsilon, together with the beliefs that it allows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from discreet.belief.odds import highest
from discreet.belief.promise import Promise
from discreet.belief.wording import at_most, number, percent
from discreet.core.errors import RequestError
from discreet.core.numbers import Real, require_positive
from discreet.core.relations import Relation

REFERENCE = (0.001, 0.01, 0.05, 0.1, 0.5)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """An epsilon, the method that chose it, and the neighbor relation that it is for."""

    name: str
    epsilon: float
    relation: Relation
    note: str

    def __post_init__(self) -> None:
        require_positive(self, "epsilon", self.epsilon)

    @property
    def beliefs(self) -> tuple[tuple[float, float], ...]:
        """The highest posterior that this epsilon allows, for priors from 0.1% to 50%."""
        return self.beliefs_at(REFERENCE)

    def beliefs_at(self, priors: Iterable[Real]) -> tuple[tuple[float, float], ...]:
        """Return each prior with the highest posterior that this epsilon allows for it."""
        return tuple((float(prior), highest(prior, self.epsilon)) for prior in priors)

    def promise(self, prior: Real) -> Promise:
        """Return the promise that this epsilon keeps for claims of at most `prior`."""
        posterior = highest(prior, self.epsilon)
        if posterior >= 1:
            raise RequestError(
                f"An epsilon of {number(self.epsilon)} lets a belief of {percent(float(prior))} "
                "become certain; no promise follows from it.",
                hint="Choose a smaller epsilon.",
            )
        return Promise(prior, posterior, secret=self.relation)

    def explain(self) -> str:
        """Return a text with the method, the epsilon, and the beliefs that it allows."""
        about = {Relation.VALUE: "what a record says", Relation.PRESENCE: "whether someone is in the data"}
        lines = [
            f"{self.name}: epsilon = {number(self.epsilon, 4)} for {self.relation.neighbours} neighbours.",
            self.note,
            f"It allows beliefs about {about[self.relation]} to grow:",
        ]
        lines += [f"  from {percent(prior):>5} to at most {at_most(top)}" for prior, top in self.beliefs]
        if self.relation is Relation.PRESENCE:
            top = percent(highest(0.01, 2 * self.epsilon))
            lines.append(f"Beliefs about what a record says may grow twice as far in log-odds: 1% to {top}.")
        return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class WhatIf:
    """An epsilon that suffices against one attacker only: for comparison, not for use.

    It has no `epsilon` and makes no promise, so that it cannot be used as a parameter.
    """

    name: str
    against_this_attacker: float
    safe: Choice
    warning: str

    def explain(self) -> str:
        top = highest(0.5, self.against_this_attacker)
        return (
            f"{self.name}: {number(self.against_this_attacker)} instead of {number(self.safe.epsilon)}. "
            f"{self.warning} One who hesitates between two far values, 50% each, could reach {percent(top)}."
        )
