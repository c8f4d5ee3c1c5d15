"""The budget in the units that a user types: an epsilon, or a share of the promise.

Without a tail the ledger sums epsilon, which can be typed as it is. With a tail it sums rho, which no request
takes: its refusals are translated into shares of the promise, and the largest epsilon that still fits is
found from the plan. A share is a share of the ledger's limit, so twenty questions of 5% always fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, ROUND_UP, Context, Decimal
from fractions import Fraction

from discreet.accounting.accountant import HARDLY_ANY, Accountant
from discreet.accounting.amounts import Cost, format_amount, is_exhausted
from discreet.accounting.ledger import Ledger
from discreet.core.errors import BudgetError, RequestError, replace_verb
from discreet.core.guarantees import Guarantee, PureDP
from discreet.core.number_checks import Real

DIGITS, SUGGESTED_DIGITS, SHOWN_DIGITS = 6, 5, 3
ROUNDS = 5
"""Steps of the search for an epsilon: a cost in rho grows nearly with its square, so few are needed."""
MAX_STEPS_DOWN = 100
LEAST_SHARE = Fraction(1, 100)
"""A smaller remainder of the promise is as good as none."""

GuaranteeAt = Callable[[Fraction], Guarantee]
"""The guarantee of a release as a function of its epsilon."""


def compute_share(cost: Cost, limit: Cost) -> Fraction:
    """Return the share of the limit that a cost takes, of epsilon or of rho."""
    if isinstance(cost, PureDP) or isinstance(limit, PureDP):
        assert isinstance(cost, PureDP)
        assert isinstance(limit, PureDP)
        return Fraction(cost.epsilon) / Fraction(limit.epsilon)
    return Fraction(cost.rho) / Fraction(limit.rho)


def format_share(share: Real, *, up: bool = False) -> str:
    """Return a share in percent, rounded down so that it can be spent, or `up` as a cost is.

    >>> format_share(Fraction(2, 3)), format_share(Fraction(2, 3), up=True), format_share(1)
    ('66.6%', '66.7%', '100%')
    """
    exact = 100 * Fraction(share)
    rounding = Context(prec=SHOWN_DIGITS, rounding=ROUND_UP if up else ROUND_DOWN)
    shown = rounding.divide(Decimal(exact.numerator), Decimal(exact.denominator)).normalize()
    return f"{shown:f}%"


@dataclass(frozen=True, kw_only=True)
class Charge:
    """The cost of a release to an analyst, and what is left to the analyst after it."""

    analyst: str
    cost: Cost
    left: Cost
    share: Fraction
    """The share of the promise that it costs."""
    left_share: Fraction
    fits: bool

    @property
    def leaves_nothing(self) -> bool:
        """True if so little is left that no question is worth asking."""
        return self.fits and self.left_share < LEAST_SHARE

    def __str__(self) -> str:
        """Return cost and remainder, in a few words."""
        left = "nothing" if is_exhausted(self.left) else format_share(self.left_share)
        cost = f"{format_amount(self.cost, up=True)}, {format_share(self.share, up=True)} of the promise"
        return f"{cost}; {left} is left to {self.analyst}"


def compute_charge(ledger: Ledger, analyst: str, guarantee: Guarantee) -> Charge:
    """Return what a release would cost an analyst, and leave; charges nothing."""
    account, accountant = ledger.get_account(analyst), ledger.get_accountant(analyst)
    cost, fits = accountant.compute_cost(guarantee), ledger.has_room_for(analyst, guarantee)
    left = subtract_cost(account.left, cost, accountant.limit) if fits else account.left
    return Charge(
        analyst=analyst,
        cost=cost,
        left=left,
        share=compute_share(cost, accountant.limit),
        left_share=compute_share(left, accountant.limit),
        fits=fits,
    )


def subtract_cost(left: Cost, cost: Cost, limit: Cost) -> Cost:
    """Return what a cost leaves; a remainder due to rounding counts as nothing."""
    if isinstance(left, PureDP) and isinstance(cost, PureDP) and isinstance(limit, PureDP):
        rest = Fraction(left.epsilon) - Fraction(cost.epsilon)
        return replace(left, epsilon=rest if rest > HARDLY_ANY * Fraction(limit.epsilon) else Fraction(0))
    assert not isinstance(left, PureDP)
    assert not isinstance(cost, PureDP)
    assert not isinstance(limit, PureDP)
    rest = Fraction(left.rho) - Fraction(cost.rho)
    delta = max(Fraction(left.delta) - Fraction(cost.delta), Fraction(0))
    return replace(left, rho=rest if rest > HARDLY_ANY * Fraction(limit.rho) else Fraction(0), delta=delta)


def find_epsilon_for_share(
    accountant: Accountant, share: Real, guarantee_at: GuaranteeAt, *, digits: int = DIGITS
) -> Fraction:
    """Return the epsilon that costs a share of the promise; with a tail, rounded down to `digits`."""
    limit = accountant.limit
    if isinstance(limit, PureDP):
        return Fraction(limit.epsilon) * Fraction(share)
    most = Fraction(limit.rho) * Fraction(share)
    epsilon = math.sqrt(2 * float(most))
    for _ in range(ROUNDS):
        epsilon *= math.sqrt(float(most) / float(_compute_rho(accountant, guarantee_at(Fraction(epsilon)))))
    return _round_down_to_fit(
        epsilon, digits, lambda each: _compute_rho(accountant, guarantee_at(each)) <= most
    )


def build_budget_refusal(
    ledger: Ledger,
    analyst: str,
    verb: str,
    refusal: RequestError,
    guarantee: Guarantee,
    guarantee_at: GuaranteeAt | None = None,
    describe_errors: Callable[[Fraction], str] = lambda _: "",
) -> RequestError:
    """Return the ledger's refusal as the user of a verb reads it, with what would still fit.

    `describe_errors` returns the errors of the release at another epsilon.
    """
    if not isinstance(refusal, BudgetError):
        return replace_verb(refusal, verb)
    account, accountant = ledger.get_account(analyst), ledger.get_accountant(analyst)
    limit, cost = accountant.limit, accountant.compute_cost(guarantee)
    hint = ""
    if guarantee_at is not None and not is_exhausted(account.left):
        with suppress(RequestError):  # so little is left that it buys nothing
            left = compute_share(account.left, limit)
            fits = find_epsilon_for_share(accountant, left, guarantee_at, digits=SUGGESTED_DIGITS)
            fits = _round_down_to_fit(
                float(fits), SUGGESTED_DIGITS, lambda each: ledger.has_room_for(analyst, guarantee_at(each))
            )
            hint = f"What would still fit: `epsilon={float(fits):g}`{describe_errors(fits)}."
    if isinstance(limit, PureDP) or is_exhausted(account.left) or not _is_refused_for_rho(cost, account.left):
        return replace_verb(refusal, verb, hint=hint)
    left = compute_share(account.left, limit)
    return BudgetError(
        f"{verb}: this costs {format_share(compute_share(cost, limit), up=True)} of the promise; "
        f"left to {analyst} is {format_share(left)}, of a share of {format_share(account.share)}.",
        hint=hint or refusal.hint,
    )


def _is_refused_for_rho(cost: Cost, left: Cost) -> bool:
    return not isinstance(cost, PureDP) and not isinstance(left, PureDP) and cost.rho > left.rho


def _compute_rho(accountant: Accountant, guarantee: Guarantee) -> Fraction:
    cost = accountant.compute_cost(guarantee)
    assert not isinstance(cost, PureDP)
    return Fraction(cost.rho)


def _round_down_to_fit(epsilon: float, digits: int, fits: Callable[[Fraction], bool]) -> Fraction:
    """Return the largest number of so many digits, at most `epsilon`, that fits; raise if there is none."""
    unit = Fraction(10) ** (math.floor(math.log10(epsilon)) - digits + 1)
    rounded = math.floor(Fraction(epsilon) / unit) * unit
    for _ in range(MAX_STEPS_DOWN):
        # the double of a decimal may be slightly above it
        if rounded > 0 and fits(max(rounded, Fraction(float(rounded)))):
            return rounded
        rounded -= unit
    raise RequestError("No epsilon fits into what is left.")
