"""Attribute inference from synthetic data: a person's nearest synthetic rows tell what is not known of them.

Knows       some columns of the victim (all but the secret one, at worst) and the synthetic table.
Learns      the secret column: the commonest value among the synthetic rows that are nearest, the middle one
            of numbers. Where no row is nearer than `within`, a share of the known columns, the value that is
            commonest in the synthetic table is as good.
Score       how many people of the data are guessed rightly (a number: with at most `close` of the synthetic
            values between), beside the same attack on people who were not in the data, and beside the one
            value that is right most often. `precision` and `recall` are of the guesses that the nearest rows
            were asked for.
Stopped by  a promise about a person: then what is guessed of somebody who was in the data can be guessed of
            them as well if they were not. Not by a table that is made up: rows can be made up and still be
            somebody's.

Distances are exact, over all synthetic rows (`attacks.nearest`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.attacks.attack import Findings
from discreet.attacks.held_out import judged
from discreet.attacks.nearest import ONE, Integers, Places, votes
from discreet.attacks.nearness import Floats, Guesses
from discreet.attacks.synthetic_release import SyntheticRelease
from discreet.belief.wording import format_percent
from discreet.core.errors import RequestError, require_parameter
from discreet.core.number_checks import is_real


@dataclass(frozen=True, kw_only=True)
class Usual:
    """The guess for everybody, and whether it is a number."""

    place: int
    number: bool


@dataclass(frozen=True, kw_only=True)
class AttributeInference:
    """Guess one column of people from others; from all others where none are named."""

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
            raise RequestError(f"attack: {self.secret} is known, so it need not be inferred.")

    def run(self, release: SyntheticRelease) -> Findings:
        """Guess for the people of the data, and for the panel."""
        secret = int(release.places((self.secret,))[0])
        known = self.known or tuple(name for name in release.columns if name != self.secret)
        usual = usual_of(release, secret, self.close)
        sides = []
        for people in (release.victims, release.others):
            said, far = ask(release, people, known, np.array([secret]))
            guessed = self.guesses(people[secret], said[0], far[0] / len(known), usual)
            sides.append((said[0], guessed))
        (told, victims), (_, panel) = sides
        return judged(
            self,
            victims=victims,
            panel=panel,
            constant=best_constant(release.victims[secret], usual.number, self.close)[1],
            said=lambda who: (
                f"row {release.attacked[who] + 1} of the data",
                f"{self.secret} is {release.said(secret, int(told[who]))}",
            ),
            note=f"{self.secret} from {', '.join(known)}{self._where}.",
        )

    def guesses(self, truth: Places, told: Places, far: Floats, usual: Usual) -> Guesses:
        """What the nearest rows say where they are near, the usual value elsewhere, against the truth."""
        near = far <= self.within * ONE
        said = np.where(near, told, np.int32(usual.place))
        right = np.abs(truth - said) <= self.close * ONE if usual.number else truth == said
        return Guesses(right=np.asarray(right), claimed=near, far=far)

    @property
    def _where(self) -> str:
        return "" if self.within == 1 else f", by rows that are nearer than {format_percent(self.within)}"


def ask(
    release: SyntheticRelease, people: Places, known: tuple[str, ...], secrets: Integers
) -> tuple[Places, Places]:
    """What the nearest rows vote for in each secret column, and how far away they are."""
    mask = np.zeros(len(release.columns), np.bool_)
    mask[release.places(known)] = True
    return votes(people, release.synthetic, release.numeric, mask, secrets)


def usual_of(release: SyntheticRelease, secret: int, close: float) -> Usual:
    """What an attacker takes a column to be who has nothing but the synthetic table."""
    number = bool(release.numeric[secret])
    return Usual(place=best_constant(release.synthetic[secret], number, close)[0], number=number)


def best_constant(truth: Places, number: bool, close: float) -> tuple[int, float]:
    """The one guess that is right most often, and how often."""
    values, counts = np.unique(truth, return_counts=True)
    if not number:
        return int(values[counts.argmax()]), float(counts.max() / len(truth))
    upto = np.concatenate([[0], np.cumsum(counts)])
    # a guess may stand up to `close` above the lowest value that it fits
    guess = np.minimum(values + int(close * ONE), values[-1])
    low = np.searchsorted(values, guess - close * ONE, "left")
    held = upto[np.searchsorted(values, guess + close * ONE, "right")] - upto[low]
    return int(guess[held.argmax()]), float(held.max() / len(truth))
