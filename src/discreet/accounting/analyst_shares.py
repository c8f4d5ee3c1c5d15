"""Analysts' shares: a division of one cap that reveals to none of them what the others spend.

Limit       An analyst's accountant counts all other shares as spent. The remaining budget is share * limit
            minus the analyst's own spending, and the filter's own rule decides.
Room        The larger of each analyst's spending and share fits under the cap for all together. So no
            analyst is ever refused because of another, and the cap holds.
Exact       A share is the decimal that was written: ten times 0.1 is 1. Shares that exceed 100% by a rounding
            error are scaled down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from discreet.accounting.accountant import Accountant
from discreet.core.errors import RequestError, require_parameter
from discreet.core.guarantees import PureDP
from discreet.core.number_checks import Real, is_real

PLACES = 10**18
SLACK = Fraction(1, 10**9)


def parse_shares(analysts: Mapping[str, Real]) -> dict[str, Fraction]:
    """Return the shares as fractions that add up to at most 1."""
    require_parameter(bool(analysts), "Ledger", "analysts", "none", "at least one analyst with a share")
    shares: dict[str, Fraction] = {}
    for name, share in analysts.items():
        named = isinstance(name, str) and name.isprintable() and name == name.strip() and 0 < len(name) <= 100
        require_parameter(
            named, "Ledger", "analysts", repr(name), "named by a text of 1 to 100 printable characters"
        )
        holds = is_real(share) and 0 <= share <= 1
        require_parameter(holds, "Ledger", f"analysts[{name}]", share, "a share between 0 and 1")
        shares[name] = Fraction(str(share))
    total = sum(shares.values(), Fraction(0))
    if total > 1 + SLACK:
        raise RequestError(
            f"The analysts' shares add up to {float(total):.4%}; there is 100% to divide.",
            hint="Lower some of them in the policy.",
        )
    scale = max(total, Fraction(1))
    # rounded down, so that together they never exceed 1
    return {name: Fraction(share * PLACES // scale, PLACES) for name, share in shares.items()}


def limit_to_share(spent: Accountant, share: Fraction) -> Accountant:
    """Return the accountant of one analyst: everything outside this share counts as spent."""
    return _add_amounts(spent, _scale_limit(spent, 1 - share))


def require_shares_cover_spending(
    nothing: Accountant, shares: Mapping[str, Fraction], spent: Mapping[str, Accountant]
) -> None:
    """Raise an error for shares that would grant again a budget that is already spent."""
    together, beyond = nothing, Fraction(0)
    for name, share in shares.items():
        own, part = spent.get(name, nothing), _scale_limit(nothing, share)
        taken = {each: max(most, getattr(own, each)) for each, most in part.items()}
        together = _add_amounts(together, taken)
        if taken != part:
            beyond += _compute_used_share(own)
    if not together.has_room_for(nothing.total_spent):
        over = [
            name for name, share in shares.items() if _compute_used_share(spent.get(name, nothing)) > share
        ]
        raise RequestError(
            f"These shares grant again what is already spent: {', '.join(over)} spent more than that.",
            hint=f"Let the shares of all others add up to at most {_format_share_down(1 - beyond)}.",
        )


def _scale_limit(accountant: Accountant, share: Fraction) -> dict[str, Fraction]:
    """Return a share of the cap, in each of the sums that it bounds."""
    limit = accountant.limit
    if isinstance(limit, PureDP):
        return {"epsilon": share * Fraction(limit.epsilon)}
    return {"rho": share * Fraction(limit.rho), "delta": share * Fraction(limit.delta)}


def _add_amounts(accountant: Accountant, amounts: Mapping[str, Fraction]) -> Accountant:
    return replace(accountant, **{name: getattr(accountant, name) + more for name, more in amounts.items()})


def _compute_used_share(spent: Accountant) -> Fraction:
    """Return the share of the cap that is spent, in the sum where it is largest."""
    whole = _scale_limit(spent, Fraction(1))
    return max(getattr(spent, name) / most if most else Fraction(0) for name, most in whole.items())


def _format_share_down(share: Fraction) -> str:
    """Return a share as a percentage, rounded down."""
    return f"{float(max(Fraction(0), share) * 10_000 // 1) / 100:g}%"
