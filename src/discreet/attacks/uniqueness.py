"""Uniqueness: the share of people who are the only ones with their values, before any release is considered.

Knows       a register of the whole population with some of its columns: place, sex, birth date.
Learns      the person behind these values in any table that has them: a unique person with certainty, one of
            k people with probability 1 / k.
Score       the share of people who are unique; the baseline is 1 / N, a random guess. It is computed from
            crowds, the numbers of people who share all values: one GROUP BY where the register is.
            `compute_expected_unique` needs less: of n people who share all but one of `values` equally probable
            values, each is unique with probability (1 - 1 / values) ** (n - 1) [Golle06].
Stopped by  coarser values: the figures by month, year or county show how coarse they must be.

By the real counts of 2000, 63% of all Americans were unique by ZIP code, sex and birth date [Golle06]; a
study of those of 1990 found 87% [Sweeney00].

[Golle06]   Golle, Revisiting the Uniqueness of Simple Demographics in the US Population.
[Sweeney00] Sweeney, Simple Demographics Often Identify People Uniquely.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.attacks.findings import Findings
from discreet.core.errors import RequestError
from discreet.core.number_checks import require_count

Integers = NDArray[np.int64]
CURVE_SIZES = (1, 2, 3, 4, 5, 10, 20, 50, 100, 200, 500, 1_000)


@dataclass(frozen=True, kw_only=True)
class Uniqueness:
    """Uniqueness of people by `columns` in a population."""

    columns: tuple[str, ...]

    name: ClassVar[str] = "uniqueness"
    knows: ClassVar[str] = "a register of everybody"
    learns: ClassVar[str] = "who is meant by these values, wherever they stand"
    stopped_by: ClassVar[str] = "coarser values, until nobody's are rare"

    def __post_init__(self) -> None:
        if not self.columns:
            raise RequestError("uniqueness: no column is named.", hint="Name at least one column.")

    def run(self, crowds: ArrayLike) -> Findings:
        """Return the findings from the number of people in each group of equal values, in any order."""
        sizes = _parse_crowd_sizes(crowds)
        people = int(sizes.sum())
        unique = _compute_share_up_to(sizes, 1, people)
        return Findings(
            attack=self.name,
            knows=f"{self.knows}, with {', '.join(self.columns)}",
            learns=self.learns,
            stopped_by=self.stopped_by,
            success=unique,
            baseline=1 / people,
            attempts=people,
            interval=(unique, unique),
            figures={
                "people": float(people),
                "unique": unique,
                "in crowds of at most 5": _compute_share_up_to(sizes, 5, people),
                "right guesses within crowds": sizes.size / people,
                "median crowd": _compute_median_crowd(sizes),
            },
            series={
                "share of people by crowd": tuple(
                    (k, _compute_share_up_to(sizes, k, people)) for k in CURVE_SIZES
                )
            },
        )


def compute_expected_unique(counts: ArrayLike, values: int) -> float:
    """Return the expected share of unique people if `counts` of them share all but one of `values` values.

    >>> compute_expected_unique([2, 1], 2)  # the two fall on different values every other time
    0.666...
    """
    require_count("expected_unique", "values", values)
    sizes = _parse_crowd_sizes(counts).astype(np.float64)
    alone = np.power(1 - 1 / values, sizes - 1)
    return float(sizes @ alone / sizes.sum())


def _parse_crowd_sizes(crowds: ArrayLike) -> Integers:
    """Return the sizes of nonempty crowds; raise RequestError if they are not counts."""
    sizes = np.asarray(crowds)
    if sizes.size and (sizes.dtype.kind not in "iu" or sizes.min() < 0):
        raise RequestError(
            "Crowds must be whole numbers of people.", hint="Count rows for each group of values."
        )
    sizes = sizes[sizes > 0].astype(np.int64)
    if not sizes.size:
        raise RequestError("The register is empty.", hint="Give at least one person.")
    return sizes


def _compute_share_up_to(sizes: Integers, most: int, people: int) -> float:
    return float(sizes[sizes <= most].sum() / people)


def _compute_median_crowd(sizes: Integers) -> float:
    """Return the crowd size that half of the people are in at most."""
    ordered = np.sort(sizes)
    within = np.cumsum(ordered)
    return float(ordered[np.searchsorted(within, within[-1] / 2)])
