"""Singling out by synthetic data: a condition from a synthetic row that exactly one person in the data meets.

Knows       the synthetic table. Not the data, nor anything about the victim.
Learns      a condition that holds for exactly one person in the data, so that any question about those who
            meet it is a question about that person: the words of some columns of one synthetic row, and its
            numbers within a share `width` of the synthetic values, if no other synthetic row meets it. A
            number at the end of the synthetic values is also met by all values beyond.
Score       the share of people in the data who are singled out by the condition of their nearest synthetic
            row. The baseline is the larger of two: the share of people outside the data who would be, had
            they replaced somebody in it (conditions so narrow that few people meet them single out anybody by
            chance); and the best condition made without a release, which singles out a given one of n people
            with probability at most (1 - 1/n)^(n-1) / n. `precision` is the share of synthetic rows'
            conditions that exactly one person in the data meets.
Stopped by  a promise about a person that the synthesizer keeps. Not by removing rows that equal real ones: a
            condition singles out by nearness.

[CN20]      Cohen & Nissim, Towards Formalizing the GDPR's Notion of Singling Out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.attacks.findings import Findings
from discreet.attacks.nearest_records import (
    UNIT,
    Booleans,
    Integers,
    Places,
    count_rows_within,
    find_nearest_rows,
)
from discreet.attacks.panel_evaluation import Guesses, evaluate_against_panel
from discreet.attacks.synthetic_release import SyntheticRelease, choose_evenly
from discreet.belief.wording import format_percent
from discreet.core.errors import RequestError, require_parameter
from discreet.core.number_checks import is_real


@dataclass(frozen=True, kw_only=True)
class SinglingOut:
    """Singling out by conditions on some columns, one for each synthetic row."""

    columns: tuple[str, ...]
    width: float = 0.01

    name: ClassVar[str] = "singling out"
    knows: ClassVar[str] = "the synthetic table"
    learns: ClassVar[str] = "a condition that exactly one person of the data meets"
    stopped_by: ClassVar[str] = "a promise about a person, kept by how the table was made"

    def __post_init__(self) -> None:
        require_parameter(
            is_real(self.width) and 0 <= self.width < 1, self, "width", self.width, "a share below 1"
        )
        if not self.columns:
            raise RequestError("attack: a condition needs a column.", hint="Name at least one.")

    def run(self, release: SyntheticRelease) -> Findings:
        """Single out the people in the data, and the panel in their place."""
        chosen = release.find_column_indexes(self.columns)
        width, numeric = int(self.width * UNIT), release.numeric[chosen]
        synthetic, original = release.synthetic[chosen], release.original[chosen]

        def guess_by_condition(people: Places, replaced: Places | None) -> tuple[Integers, Guesses]:
            row = find_nearest_rows(people, synthetic, numeric)
            centre = synthetic[:, row]
            lone = count_rows_within(centre, synthetic, numeric, width) == 1
            met = _meets_condition(people, centre, numeric, width)
            inside = count_rows_within(centre, original, numeric, width)
            if replaced is not None:
                inside = inside - _meets_condition(replaced, centre, numeric, width) + met
            far = np.abs(np.where(numeric[:, None], people - centre, UNIT * (people != centre))).sum(axis=0)
            return row, Guesses(
                right=lone & met & (inside == 1), claimed=lone & met, distance=far.astype(np.float64)
            )

        victims = release.victims[chosen]
        row, found = guess_by_condition(victims, None)
        others = release.panel_victims[chosen]
        partners = victims[:, np.arange(others.shape[1]) % victims.shape[1]]
        return evaluate_against_panel(
            self,
            victims=found,
            panel=guess_by_condition(others, partners)[1],
            constant=compute_blind_probability(original.shape[1]),
            describe=lambda who: (
                f"row {release.victim_rows[who] + 1} of the data",
                f"nobody else has {self._describe_condition(release, chosen, synthetic[:, row[who]])}",
            ),
            figures={
                "precision": _compute_precision(synthetic, original, numeric, width, len(release.victim_rows))
            },
            note=f"By {', '.join(self.columns)}, numbers {self._width_text}.",
        )

    @property
    def _width_text(self) -> str:
        """The tolerance of numbers, as text."""
        return f"within {format_percent(self.width)} of the synthetic values" if self.width else "as they are"

    def _describe_condition(self, release: SyntheticRelease, column_indexes: Integers, centre: Places) -> str:
        """Return the condition of a synthetic row as text."""
        cells = zip(self.columns, column_indexes.tolist(), centre.tolist(), strict=True)
        return ", ".join(f"{name} {release.format_position(column, place)}" for name, column, place in cells)


def compute_blind_probability(people: int) -> float:
    """Return the highest probability that a condition made without a release singles out a given person."""
    return float((1 - 1 / people) ** (people - 1) / people)


def _meets_condition(people: Places, centre: Places, numeric: Booleans, width: int) -> Booleans:
    """Return which people meet the condition around a center."""
    apart = np.abs(people - centre)
    return np.asarray(np.where(numeric[:, None], apart <= width, apart == 0).all(axis=0))


def _compute_precision(
    synthetic: Places, original: Places, numeric: Booleans, width: int, rows: int
) -> float:
    """Return the share, of conditions that one synthetic row meets, that exactly one person meets."""
    centre = synthetic[:, choose_evenly(synthetic.shape[1], rows)]
    lone = count_rows_within(centre, synthetic, numeric, width) == 1
    if not lone.any():
        return 0.0
    return float((count_rows_within(centre[:, lone], original, numeric, width) == 1).mean())
