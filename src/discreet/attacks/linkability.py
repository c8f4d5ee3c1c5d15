"""Linkability through synthetic data: two sources without a common column, joined by the synthetic rows.

Knows       some columns of `lineup` people from one source and others of the same people from another, in
            different orders, and the synthetic table, which has both.
Learns      which records of the two sources belong to the same person: the pair that some synthetic row is
            nearest to.
Score       the share of people in the data who are linked correctly. The baseline is the same attack on
            people who were not in the data (columns that correlate in everybody link records too), or picking
            at random from the line-up. `precision` counts people for whom a single record was nearest.
Stopped by  a promise about a person that the synthesizer keeps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.attacks.findings import Findings
from discreet.attacks.nearest_records import Integers, Places, compute_joint_distances
from discreet.attacks.panel_evaluation import Guesses, evaluate_against_panel
from discreet.attacks.synthetic_release import MIN_PEOPLE, SyntheticRelease
from discreet.core.errors import RequestError
from discreet.core.number_checks import require_count


@dataclass(frozen=True, kw_only=True)
class Linkability:
    """Linkage of two parts of people's records; by default the second part is all remaining columns."""

    first: tuple[str, ...]
    second: tuple[str, ...] = ()
    lineup: int = 20

    name: ClassVar[str] = "linkability"
    knows: ClassVar[str] = "two sources about the same people without a common column, the synthetic table"
    learns: ClassVar[str] = "which records of the two sources are the same person's"
    stopped_by: ClassVar[str] = "a promise about a person, kept by how the table was made"

    def __post_init__(self) -> None:
        require_count(self, "lineup", self.lineup, minimum=2)
        if not self.first or set(self.first) & set(self.second):
            raise RequestError(
                "attack: linkability needs two nonempty sets of columns without a common column.",
                hint="Name the columns of the first source, and for the second only other columns.",
            )

    def run(self, release: SyntheticRelease) -> Findings:
        """Link the records of the people in the data, and of the panel."""
        second = self.second or tuple(name for name in release.columns if name not in self.first)
        if not second:
            raise RequestError("attack: the second source has no column.", hint="Name fewer for the first.")
        parts = release.find_column_indexes(self.first), release.find_column_indexes(second)
        (found, victims), (_, panel) = (
            self._link_records(release, people, parts) for people in (release.victims, release.panel_victims)
        )
        return evaluate_against_panel(
            self,
            victims=victims,
            panel=panel,
            constant=1 / self.lineup,
            describe=lambda who: (
                f"row {release.victim_rows[who] + 1} of the data",
                f"the second source's record of row {release.victim_rows[found[who]] + 1} is theirs",
            ),
            note=f"{', '.join(self.first)} joined with {', '.join(second)}, among {self.lineup} people.",
        )

    def _link_records(
        self, release: SyntheticRelease, people: Places, parts: tuple[Integers, Integers]
    ) -> tuple[Integers, Guesses]:
        """Return the linked record and the guess for everybody in a full line-up; the rest are skipped."""
        size, number = self.lineup, people.shape[1] // self.lineup
        if not number:
            raise RequestError(
                f"attack: a line-up of {size} needs at least {size} people.", hint=f"Use {MIN_PEOPLE}."
            )
        best, alone, far = (np.empty(number * size, np.int64) for _ in range(3))
        for start in range(0, number * size, size):
            some = slice(start, start + size)
            away = compute_joint_distances(people[:, some], release.synthetic, release.numeric, *parts)
            best[some], far[some] = start + away.argmin(axis=1), away.min(axis=1)
            alone[some] = (away == away.min(axis=1, keepdims=True)).sum(axis=1)
        right = best == np.arange(number * size)
        return best, Guesses(right=right, claimed=alone == 1, distance=far.astype(np.float64))
