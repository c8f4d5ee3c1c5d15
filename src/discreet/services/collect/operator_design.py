"""Design of operators for shares of values, for a mean, or for supports of itemsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.belief import Promise
from discreet.core.errors import RequestError
from discreet.local.design import Design, design_baskets, design_frequencies, design_mean
from discreet.local.operator import Operator
from discreet.services.collect.number_clients import parse_range


@dataclass(frozen=True, kw_only=True)
class DesignResult:
    """Operators, best first, and the quantity that their error refers to."""

    designs: Sequence[Design[Operator]]
    quantity: str
    error_meaning: str
    is_percentage: bool = True


def design_operators(
    promise: Promise,
    clients: int,
    *,
    domain: int | None,
    mean: str | None,
    items: int | None,
    size: int | None,
) -> DesignResult:
    """Return the operators for shares, a mean or baskets, whichever is given."""
    baskets = items is not None or size is not None
    if (domain is not None) + (mean is not None) + baskets != 1:
        raise RequestError(
            "A design needs exactly one of a domain, a mean and baskets.",
            hint="Give --domain for shares, --mean 0..100 for a mean, or --items and --size for baskets.",
        )
    if domain is not None:
        said = "the standard deviation of one value's estimated share"
        return DesignResult(
            designs=design_frequencies(promise, domain, clients), quantity="a share", error_meaning=said
        )
    if mean is not None:
        low, high = parse_range("--mean", mean)
        said = "the largest standard deviation that the estimated mean can have"
        found = design_mean(promise, clients, low=low, high=high)
        return DesignResult(designs=found, quantity="the mean", error_meaning=said, is_percentage=False)
    if items is None or size is None:
        raise RequestError("Baskets need both --items and --size.")
    said = "the standard deviation of a rare pair's estimated support"
    return DesignResult(
        designs=design_baskets(promise, items, size, clients), quantity="a support", error_meaning=said
    )
