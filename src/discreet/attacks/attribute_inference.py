"""Attribute inference from synthetic data: the nearest synthetic rows reveal an unknown column of a person.

Knows       some columns of the victim (all but the secret one, in the worst case) and the synthetic table.
Learns      the secret column: the commonest value among the nearest synthetic rows, or the median if it is
            numeric. If no row is nearer than `within`, a share of the known columns, the attacker guesses the
            commonest value of the synthetic table.
Score       the share of people in the data who are guessed right (a number: with at most a share `close` of
            the synthetic values between guess and truth). The baseline is the same attack on people who were
            not in the data, or the best constant guess if that is better. `precision` and `recall` refer to
            guesses that the nearest rows made.
Stopped by  a promise about a person: then whatever is guessed about somebody in the data could also be
            guessed if they had not been in it. Not stopped by the table being synthetic: a synthetic row can
            still equal a real one.

Distances are exact, over all synthetic rows (`attacks.nearest_records`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.attacks.findings import Findings
from discreet.attacks.nearest_records import UNIT, Integers, Places, vote_secrets
from discreet.attacks.panel_evaluation import Floats, Guesses, evaluate_against_panel
from discreet.attacks.synthetic_release import SyntheticRelease
from discreet.belief.wording import format_percent
from discreet.core.errors import RequestError, require_parameter
from discreet.core.number_checks import is_real


@dataclass(frozen=True, kw_only=True)
class ConstantGuess:
    """The constant guess for everybody, and whether the column is numeric."""

    position: int
    is_number: bool


@dataclass(frozen=True, kw_only=True)
class AttributeInference:
    """Inference of one column of people from other columns; from all others if none are named."""

    secret: str
    known: tuple[str, ...] = ()
    within: float = 1.0
    close: float = 0.025

    name: ClassVar[str] = "attribute inference"
    knows: ClassVar[str] = "other columns of a person, and the synthetic table"
    learns: ClassVar[str] = "a column that is not known, from the nearest synthetic rows"
    stopped_by: ClassVar[str] = "a promise about a person, kept by how the table was made"

    def __post_init__(self) -> None:
        for name in ("within", "close"):
            value = getattr(self, name)
            require_parameter(is_real(value) and 0 <= value <= 1, self, name, value, "a share from 0 to 1")
        if self.secret in self.known:
            raise RequestError(
                f"attack: {self.secret} is both known and secret.", hint="Remove it from the known columns."
            )

    def run(self, release: SyntheticRelease) -> Findings:
        """Attack the people in the data and the panel, and return the findings."""
        secret = int(release.find_column_indexes((self.secret,))[0])
        known = self.known or tuple(name for name in release.columns if name != self.secret)
        usual = find_constant_guess(release, secret, self.close)
        sides = []
        for people in (release.victims, release.panel_victims):
            said, far = vote_by_nearest_rows(release, people, known, np.array([secret]))
            guessed = self.score_guesses(people[secret], said[0], far[0] / len(known), usual)
            sides.append((said[0], guessed))
        (told, victims), (_, panel) = sides
        return evaluate_against_panel(
            self,
            victims=victims,
            panel=panel,
            constant=choose_constant(release.victims[secret], usual.is_number, self.close)[1],
            describe=lambda who: (
                f"row {release.victim_rows[who] + 1} of the data",
                f"{self.secret} is {release.format_position(secret, int(told[who]))}",
            ),
            note=f"{self.secret} from {', '.join(known)}{self._distance_text}.",
        )

    def score_guesses(
        self, truth: Places, votes: Places, distances: Floats, constant_guess: ConstantGuess
    ) -> Guesses:
        """Score the nearest rows' vote where they are near, and the usual value elsewhere."""
        near = distances <= self.within * UNIT
        said = np.where(near, votes, np.int32(constant_guess.position))
        right = np.abs(truth - said) <= self.close * UNIT if constant_guess.is_number else truth == said
        return Guesses(right=np.asarray(right), claimed=near, distance=distances)

    @property
    def _distance_text(self) -> str:
        """The distance limit, as text for the note."""
        return "" if self.within == 1 else f", by rows that are nearer than {format_percent(self.within)}"


def vote_by_nearest_rows(
    release: SyntheticRelease, people: Places, known: tuple[str, ...], secrets: Integers
) -> tuple[Places, Places]:
    """Return the nearest rows' vote for each secret column, and the distance of those rows."""
    mask = np.zeros(len(release.columns), np.bool_)
    mask[release.find_column_indexes(known)] = True
    return vote_secrets(people, release.synthetic, release.numeric, mask, secrets)


def find_constant_guess(release: SyntheticRelease, secret: int, close: float) -> ConstantGuess:
    """Return the best guess for a column by an attacker who has only the synthetic table."""
    number = bool(release.numeric[secret])
    return ConstantGuess(
        position=choose_constant(release.synthetic[secret], number, close)[0], is_number=number
    )


def choose_constant(truth: Places, is_number: bool, close: float) -> tuple[int, float]:
    """Return the constant guess that is right most often, and its success rate."""
    values, counts = np.unique(truth, return_counts=True)
    if not is_number:
        return int(values[counts.argmax()]), float(counts.max() / len(truth))
    upto = np.concatenate([[0], np.cumsum(counts)])
    # the best interval of guesses starts at an observed value, so only those are tried
    guess = np.minimum(values + int(close * UNIT), values[-1])
    low = np.searchsorted(values, guess - close * UNIT, "left")
    held = upto[np.searchsorted(values, guess + close * UNIT, "right")] - upto[low]
    return int(guess[held.argmax()]), float(held.max() / len(truth))
