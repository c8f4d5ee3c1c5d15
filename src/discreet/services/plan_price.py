"""The price of a plan: what is charged for it, whether that fits the budget, and what it does to belief."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Self

from discreet.accounting.accountant import Accountant
from discreet.accounting.ledger import Ledger
from discreet.belief import Belief
from discreet.belief.wording import format_percent, format_percent_up
from discreet.core.guarantees import Guarantee
from discreet.services.budget_units import compute_share


@dataclass(frozen=True, kw_only=True, repr=False)
class PlanPrice:
    """The price of one question, or of several together; `guarantee` is None if nothing is charged."""

    guarantee: Guarantee | None = field(repr=False)
    belief_before: Belief
    belief_after: Belief
    fits: bool
    share: Fraction
    uncovered: str = ""

    @classmethod
    def from_ledger(
        cls, ledger: Ledger, analyst: str, spent: Accountant, guarantee: Guarantee | None
    ) -> Self:
        """Return the price of a guarantee to an analyst who may know what was `spent`."""
        before = after = spent.compute_belief()
        fits, share = True, Fraction(0)
        if guarantee is not None:
            fits = ledger.has_room_for(analyst, guarantee)
            share = compute_share(spent.compute_cost(guarantee), spent.limit)
            after = spent.spend(guarantee).compute_belief() if fits else before
        return cls(
            guarantee=guarantee,
            belief_before=before,
            belief_after=after,
            fits=fits,
            share=share,
            uncovered=ledger.describe_uncovered(),
        )

    @property
    def repeated(self) -> bool:
        """True if everything that it needs is stored, so that it is free."""
        return self.guarantee is None

    @property
    def belief_change(self) -> str:
        """The highest belief after the answer, and what it is before it, in a few words."""
        before = format_percent_up(self.belief_before.highest)
        if self.repeated:
            return f"{before}, as now"
        if not self.fits:
            return f"{before}, as now: it costs more than is left and would be refused"
        return f"at most {format_percent_up(self.belief_after.highest)}, now {before}"

    def _describe_belief(self) -> str:
        return f"{format_percent(self.belief_before.prior)} → {self.belief_change}"

    def _list_belief_facts(self, posterior: float) -> list[tuple[str, str]]:
        """Return the belief under a promise, and what it does not cover, each with its name."""
        return [
            ("belief", f"{self._describe_belief()} (promise: {format_percent(posterior)})"),
            *([("not covered", self.uncovered)] if self.uncovered else []),
        ]

    def _belief_to_json(self) -> dict[str, object]:
        return {
            "prior": self.belief_before.prior,
            "before": self.belief_before.highest,
            "after": self.belief_after.highest,
            "uncovered": self.uncovered or None,
        }
