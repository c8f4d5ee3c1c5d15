"""Attacks on synthetic tables, by the three criteria of the GDPR's Article 29 Working Party.

Singling out    a condition from a synthetic row that exactly one person in the data meets
Linkability     two sources without a common column are joined by the synthetic rows
Inference       the nearest synthetic rows reveal an unknown column of a person

Distances are exact, over all synthetic rows (`nearest_records`). The baseline of each attack is the same
attack on people who were not in the data (`panel_evaluation`).
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
    compute_joint_distances,
    count_rows_within,
    find_nearest_rows,
    vote_secrets,
)
from discreet.attacks.panel_evaluation import Floats, Guesses, evaluate_against_panel
from discreet.attacks.synthetic_release import MIN_PEOPLE, SyntheticRelease, choose_evenly
from discreet.belief.wording import format_percent
from discreet.core.errors import RequestError, require_parameter
from discreet.core.number_checks import is_real, require_count


@dataclass(frozen=True, kw_only=True)
class SinglingOut:
    """Singling out by conditions on some columns, one for each synthetic row.

    Knows       the synthetic table. Not the data, nor anything about the victim.
    Learns      a condition that holds for exactly one person in the data, so that any question about those
                who meet it is a question about that person: the words of some columns of one synthetic row,
                and its numbers within a share `width` of the synthetic values, if no other synthetic row
                meets it. A number at the end of the synthetic values is also met by all values beyond.
    Score       the share of people in the data who are singled out by the condition of their nearest
                synthetic row. The baseline is the larger of two: the share of people outside the data who
                would be, had they replaced somebody in it (conditions so narrow that few people meet them
                single out anybody by chance); and the best condition made without a release, which singles
                out a given one of n people with probability at most (1 - 1/n)^(n-1) / n. `precision` is the
                share of synthetic rows' conditions that exactly one person in the data meets.
    Stopped by  a promise about a person that the synthesizer keeps. Not by removing rows that equal real
                ones: a condition singles out by nearness.

    [CN20]      Cohen & Nissim, Towards Formalizing the GDPR's Notion of Singling Out.
    """

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


@dataclass(frozen=True, kw_only=True)
class Linkability:
    """Linkage of two parts of people's records; by default the second part is all remaining columns.

    Knows       some columns of `lineup` people from one source and others of the same people from another, in
                different orders, and the synthetic table, which has both.
    Learns      which records of the two sources belong to the same person: the pair that some synthetic row
                is nearest to.
    Score       the share of people in the data who are linked correctly. The baseline is the same attack on
                people who were not in the data (columns that correlate in everybody link records too), or
                picking at random from the line-up. `precision` counts people for whom a single record was
                nearest.
    Stopped by  a promise about a person that the synthesizer keeps.
    """

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


@dataclass(frozen=True, kw_only=True)
class ConstantGuess:
    """The constant guess for everybody, and whether the column is numeric."""

    position: int
    is_number: bool


@dataclass(frozen=True, kw_only=True)
class AttributeInference:
    """Inference of one column of people from other columns; from all others if none are named.

    Knows       some columns of the victim (all but the secret one, in the worst case) and the synthetic
                table.
    Learns      the secret column: the commonest value among the nearest synthetic rows, or the median if it
                is numeric. If no row is nearer than `within`, a share of the known columns, the attacker
                guesses the commonest value of the synthetic table.
    Score       the share of people in the data who are guessed right (a number: with at most a share `close`
                of the synthetic values between guess and truth). The baseline is the same attack on people
                who were not in the data, or the best constant guess if that is better. `precision` and
                `recall` refer to guesses that the nearest rows made.
    Stopped by  a promise about a person: then whatever is guessed about somebody in the data could also be
                guessed if they had not been in it. Not stopped by the table being synthetic: a synthetic row
                can still equal a real one.

    Distances are exact, over all synthetic rows (`attacks.nearest_records`).
    """

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
