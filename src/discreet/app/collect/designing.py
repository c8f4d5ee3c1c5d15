"""Designs for what a command line asks: shares of values, a mean, or the supports of itemsets."""

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
    """Operators, best first, and what their error is an error of."""

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
    """The operators for the one of three that is asked for."""
    baskets = items is not None or size is not None
    if (domain is not None) + (mean is not None) + baskets != 1:
        raise RequestError(
            "A design is for one of three.",
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
