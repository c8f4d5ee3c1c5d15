"""Linkage: a public register is joined with a release on the columns that they share.

Knows       a register of people by name, with some of the release's quasi-identifiers; and that a victim is
            in the release (`present`), or only that the register is the population it was drawn from.
Learns      which rows may be a victim's: the match set. Each of its n rows is the victim's with probability
            1/n; if it is one row, the victim is singled out and the whole row is known.
Score       the share of matched people who are linked to their own row by picking from the match set at
            random; the baseline picks from all rows. `recall` is the same share of the whole register.
Stopped by  k-anonymity: every match set then has k rows at least. Not by removing names.

[Sweeney02] Sweeney, k-Anonymity: a model for protecting privacy, 2002: the voter list of Massachusetts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.attacks.claims import Claims, build_findings
from discreet.attacks.findings import Findings, Points
from discreet.attacks.match_sets import MatchSets
from discreet.attacks.uniqueness import CURVE_SIZES

CURVE_NAME = "share of people by match set"


@dataclass(frozen=True, kw_only=True)
class Linkage:
    """Linkage by picking a row from each person's match set."""

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
