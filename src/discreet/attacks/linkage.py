"""Linkage: people are found in a release by the columns that it shares with a register.

Uniqueness      how many people are the only ones with their values, before any release is considered
Linkage         a register is joined with a release
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.attacks.claims import Claims, build_findings
from discreet.attacks.findings import Findings, Points
from discreet.attacks.match_sets import MatchSets
from discreet.core.errors import RequestError
from discreet.core.number_checks import require_count

Integers = NDArray[np.int64]
CURVE_SIZES = (1, 2, 3, 4, 5, 10, 20, 50, 100, 200, 500, 1_000)
CURVE_NAME = "share of people by match set"


@dataclass(frozen=True, kw_only=True)
class Uniqueness:
    """Uniqueness of people by `columns` in a population.

    Knows       a register of the whole population with some of its columns: place, sex, birth date.
    Learns      the person behind these values in any table that has them: a unique person with certainty, one
                of k people with probability 1 / k.
    Score       the share of people who are unique; the baseline is 1 / N, a random guess. It is computed from
                crowds, the numbers of people who share all values: one GROUP BY where the register is.
                `compute_expected_unique` needs less: of n people who share all but one of `values` equally
                probable values, each is unique with probability (1 - 1 / values) ** (n - 1) [Golle06].
    Stopped by  coarser values: the figures by month, year or county show how coarse they must be.

    By the real counts of 2000, 63% of all Americans were unique by ZIP code, sex and birth date [Golle06]; a
    study of those of 1990 found 87% [Sweeney00].

    [Golle06]   Golle, Revisiting the Uniqueness of Simple Demographics in the US Population.
    [Sweeney00] Sweeney, Simple Demographics Often Identify People Uniquely.
    """

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
    require_count("compute_expected_unique", "values", values)
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


@dataclass(frozen=True, kw_only=True)
class Linkage:
    """Linkage by picking a row from each person's match set.

    Knows       a register of people by name, with some of the release's quasi-identifiers; and that a victim
                is in the release (`present`), or only that the register is the population it was drawn from.
    Learns      which rows may be a victim's: the match set. Each of its n rows is the victim's with
                probability 1/n; if it is one row, the victim is singled out and the whole row is known.
    Score       the share of matched people who are linked to their own row by picking from the match set at
                random; the baseline picks from all rows. `recall` is the same share of the whole register.
    Stopped by  k-anonymity: every match set then has k rows at least. Not by removing names.

    [Sweeney02] Sweeney, k-Anonymity: a model for protecting privacy, 2002: the voter list of Massachusetts.
    """

    present: bool = True

    name: ClassVar[str] = "linkage"
    knows: ClassVar[str] = "a register of people with some of the release's quasi-identifiers"
    learns: ClassVar[str] = "which rows of the release may be a person's"
    stopped_by: ClassVar[str] = "k-anonymity over the columns that are shared"

    def run(self, sets: MatchSets) -> Findings:
        """Link everybody in the attacker's knowledge."""
        rows, people = sets.rows, sets.people
        candidates = rows if self.present else np.maximum(rows, people)
        everyone = sets.published.rows if self.present else max(sets.published.rows, sets.known.people)
        posterior, about = 1 / candidates, np.flatnonzero(people > 0)
        claims = Claims(
            set_ids=about,
            prior=np.full(len(about), 1 / everyone),
            posterior=posterior[about],
            right_people=(people * posterior)[about],
            describe=lambda i: _describe_match(int(rows[about[i]])),
        )
        return build_findings(
            self,
            sets,
            claims,
            baseline=1 / everyone,
            figures=_compute_figures(sets),
            series=_compute_reidentification_curve(sets),
        )


def _compute_reidentification_curve(sets: MatchSets) -> dict[str, Points]:
    """Return the re-identification curve: the share of people with a match set of each size or smaller."""
    matched = sets.people > 0
    sizes = sorted({*(size for size in CURVE_SIZES if size <= sets.published.rows), 1})
    share = {size: int(sets.people[matched & (sets.rows <= size)].sum()) for size in sizes}
    return {CURVE_NAME: tuple((float(size), share[size] / sets.known.people) for size in sizes)}


def _describe_match(rows: int) -> str:
    return "one row of the release is theirs" if rows == 1 else f"one of {rows:,} rows is theirs"


def _compute_figures(sets: MatchSets) -> dict[str, float]:
    people, rows = sets.people, sets.rows
    order = np.argsort(rows, kind="stable")
    ends = np.cumsum(people[order])
    halfway = int(np.searchsorted(ends, (ends[-1] + 1) // 2)) if len(ends) and ends[-1] else -1
    return {
        "matched": int(people.sum()) / sets.known.people,
        "unique": int(people[rows == 1].sum()) / sets.known.people,
        "smallest match set": float(rows[people > 0].min(initial=sets.published.rows)),
        "median match set": float(rows[order[halfway]]) if halfway >= 0 else 0.0,
    }
