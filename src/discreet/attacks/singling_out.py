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

from discreet.attacks.attack import Findings
from discreet.attacks.held_out import judged
from discreet.attacks.nearest import ONE, Booleans, Integers, Places, closest, insiders
from discreet.attacks.nearness import Guesses
from discreet.attacks.synthetic_release import SyntheticRelease, spread_evenly
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
        chosen = release.places(self.columns)
        width, numeric = int(self.width * ONE), release.numeric[chosen]
        synthetic, original = release.synthetic[chosen], release.original[chosen]

        def condition(people: Places, replaced: Places | None) -> tuple[Integers, Guesses]:
            row = closest(people, synthetic, numeric)
            centre = synthetic[:, row]
            lone = insiders(centre, synthetic, numeric, width) == 1
            met = _meets(people, centre, numeric, width)
            inside = insiders(centre, original, numeric, width)
            if replaced is not None:
                inside = inside - _meets(replaced, centre, numeric, width) + met
            far = np.abs(np.where(numeric[:, None], people - centre, ONE * (people != centre))).sum(axis=0)
            return row, Guesses(
                right=lone & met & (inside == 1), claimed=lone & met, far=far.astype(np.float64)
            )

        victims = release.victims[chosen]
        row, found = condition(victims, None)
        others = release.others[chosen]
        partners = victims[:, np.arange(others.shape[1]) % victims.shape[1]]
        return judged(
            self,
            victims=found,
            panel=condition(others, partners)[1],
            constant=blind(original.shape[1]),
            said=lambda who: (
                f"row {release.attacked[who] + 1} of the data",
                f"nobody else has {self._said(release, chosen, synthetic[:, row[who]])}",
            ),
            figures={"precision": _precision(synthetic, original, numeric, width, len(release.attacked))},
            note=f"By {', '.join(self.columns)}, numbers {self._said_width}.",
        )

    @property
    def _said_width(self) -> str:
        """The tolerance of numbers, as text."""
        return f"within {format_percent(self.width)} of the synthetic values" if self.width else "as they are"

    def _said(self, release: SyntheticRelease, chosen: Integers, centre: Places) -> str:
        """Return the condition of a synthetic row as text."""
        cells = zip(self.columns, chosen.tolist(), centre.tolist(), strict=True)
        return ", ".join(f"{name} {release.said(column, place)}" for name, column, place in cells)


def blind(people: int) -> float:
    """Return the highest probability that a condition made without a release singles out a given person."""
    return float((1 - 1 / people) ** (people - 1) / people)


def _meets(people: Places, centre: Places, numeric: Booleans, width: int) -> Booleans:
    """Return which people meet the condition around a center."""
    apart = np.abs(people - centre)
    return np.asarray(np.where(numeric[:, None], apart <= width, apart == 0).all(axis=0))


def _precision(synthetic: Places, original: Places, numeric: Booleans, width: int, rows: int) -> float:
    """Return the share, of conditions that one synthetic row meets, that exactly one person meets."""
    centre = synthetic[:, spread_evenly(synthetic.shape[1], rows)]
    lone = insiders(centre, synthetic, numeric, width) == 1
    if not lone.any():
        return 0.0
    return float((insiders(centre[:, lone], original, numeric, width) == 1).mean())
