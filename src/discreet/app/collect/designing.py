"""Design of operators for shares of values, for a mean, or for supports of itemsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.app.collect.numbers import parse_range
from discreet.belief import Promise
from discreet.core.errors import RequestError
from discreet.local.baskets import design_baskets
from discreet.local.design import Design, design, design_mean
from discreet.local.operator import Operator


@dataclass(frozen=True, kw_only=True)
class Designed:
    """Operators, best first, and the quantity that their error refers to."""

    designs: Sequence[Design[Operator]]
    what: str
    meaning: str
    in_percent: bool = True


def designed(
    promise: Promise,
    clients: int,
    *,
    domain: int | None,
    mean: str | None,
    items: int | None,
    size: int | None,
) -> Designed:
    """Return the operators for shares, a mean or baskets, whichever is given."""
    baskets = items is not None or size is not None
    if (domain is not None) + (mean is not None) + baskets != 1:
        raise RequestError(
            "A design needs exactly one of a domain, a mean and baskets.",
            hint="Give --domain for shares, --mean 0..100 for a mean, or --items and --size for baskets.",
        )
    if domain is not None:
        said = "the standard deviation of one value's estimated share"
        return Designed(designs=design(promise, domain, clients), what="a share", meaning=said)
    if mean is not None:
        low, high = parse_range("--mean", mean)
        said = "the largest standard deviation that the estimated mean can have"
        found = design_mean(promise, clients, low=low, high=high)
        return Designed(designs=found, what="the mean", meaning=said, in_percent=False)
    if items is None or size is None:
        raise RequestError("Baskets need both --items and --size.")
    said = "the standard deviation of a rare pair's estimated support"
    return Designed(designs=design_baskets(promise, items, size, clients), what="a support", meaning=said)
