"""A choice of epsilon, together with the beliefs that it allows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from discreet.belief.odds import highest_posterior
from discreet.belief.promise import Promise
from discreet.belief.wording import format_number, format_percent, format_percent_up
from discreet.core.errors import RequestError
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import Real, require_positive

REFERENCE = (0.001, 0.01, 0.05, 0.1, 0.5)


@dataclass(frozen=True, kw_only=True)
class EpsilonChoice:
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
        return self.beliefs_for_priors(REFERENCE)

    def beliefs_for_priors(self, priors: Iterable[Real]) -> tuple[tuple[float, float], ...]:
        """Return each prior with the highest posterior that this epsilon allows for it."""
        return tuple((float(prior), highest_posterior(prior, self.epsilon)) for prior in priors)

    def to_promise(self, prior: Real) -> Promise:
        """Return the promise that this epsilon keeps for claims of at most `prior`."""
        posterior = highest_posterior(prior, self.epsilon)
        if posterior >= 1:
            raise RequestError(
                f"An epsilon of {format_number(self.epsilon)} lets a belief of "
                f"{format_percent(float(prior))} "
                "become certain; no promise follows from it.",
                hint="Choose a smaller epsilon.",
            )
        return Promise(prior, posterior, secret=self.relation)

    def explain(self) -> str:
        """Return a text with the method, the epsilon, and the beliefs that it allows."""
        about = {Relation.VALUE: "what a record says", Relation.PRESENCE: "whether someone is in the data"}
        lines = [
            f"{self.name}: epsilon = {format_number(self.epsilon, 4)} for {self.relation.neighbours} "
            "neighbours.",
            self.note,
            f"It allows beliefs about {about[self.relation]} to grow:",
        ]
        lines += [
            f"  from {format_percent(prior):>5} to at most {format_percent_up(top)}"
            for prior, top in self.beliefs
        ]
        if self.relation is Relation.PRESENCE:
            top = format_percent(highest_posterior(0.01, 2 * self.epsilon))
            lines.append(f"Beliefs about what a record says may grow twice as far in log-odds: 1% to {top}.")
        return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class WhatIf:
    """An epsilon that suffices against one attacker only: for comparison, not for use.

    It has no `epsilon` and makes no promise, so that it cannot be used as a parameter.
    """

    name: str
    against_this_attacker: float
    safe: EpsilonChoice
    warning: str

    def explain(self) -> str:
        top = highest_posterior(0.5, self.against_this_attacker)
        return (
            f"{self.name}: {format_number(self.against_this_attacker)} instead of "
            f"{format_number(self.safe.epsilon)}. "
            f"{self.warning} One who hesitates between two far values, 50% each, could reach "
            f"{format_percent(top)}."
        )
