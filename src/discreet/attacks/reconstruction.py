"""Reconstruction: almost everybody's secret bit, from noisy counts of random sets of people.

Knows       a key by which each person can be included in a count or not, and the rough size of the noise.
Learns      a bit for each person: the bits in [0, 1] that fit the answers best, rounded. By least squares, or
            by linear programming for the least sum of absolute errors.
Score       the share of right bits; the baseline is the share of the commoner bit.
Stopped by  noise of more than about sqrt(n) on each answer: nothing that protects privacy can give that many
            accurate answers [DN03]. A budget over all answers makes the noise that large, or the answers that
            few.

Least squares takes accelerated projected gradient steps on the normal equations. The sets are encoded as
signs, centered over the answers, so that the equations stay well conditioned.

[DN03]      Dinur & Nissim, Revealing Information while Preserving Privacy.
[DMT07]     Dwork, McSherry & Talwar, The Price of Privacy and the Limits of LP Decoding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.findings import Findings
from discreet.attacks.query_attacks import Answerer, ask_count
from discreet.core.binomial import clopper_pearson
from discreet.core.errors import RequestError, require_parameter
from discreet.core.number_checks import require_count, require_probability
from discreet.core.randomness import Randomness

Floats = NDArray[np.float64]
Sets = NDArray[np.bool_]
Method = Literal["least squares", "linear programming"]

STEPS = 400
ENOUGH = 1e-4  # bits are rounded, so a step this small decides none
POWERS, SAFETY = 30, 1.1


@dataclass(frozen=True, kw_only=True)
class Reconstruction:
    """Counts of the claim over random halves of the people, `per_person` times as many as people.

    Without a `key` column, keys are conditions, each of which only one person's row meets.
    """

    table: str
    claim: str
    key: str | None = None
    per_person: int = 8
    method: Method = "least squares"
    prior: float = 0.5

    name: ClassVar[str] = "reconstruction"
    knows: ClassVar[str] = "everybody's key, by which people are counted in or out"
    learns: ClassVar[str] = "for nearly everybody whether the claim is true"
    stopped_by: ClassVar[str] = "noise above the square root of the number of people, or a budget over all"

    def __post_init__(self) -> None:
        require_count(self, "per_person", self.per_person)
        require_probability(self, "prior", self.prior)
        require_parameter(
            self.method in DECODERS, self, "method", self.method, f"one of {', '.join(DECODERS)}"
        )

    def run(
        self, answerer: Answerer, keys: Sequence[int | str], truth: Sequence[bool], random: Randomness
    ) -> Findings:
        """Ask all questions or until a refusal, then decode; the truth is used for scoring only."""
        if len(keys) < 2 or len(keys) != len(truth):
            raise RequestError(
                "reconstruction: it needs at least two people, and the truth about each.",
                hint="Give one truth per key.",
            )
        sets = draw_random_sets(self.per_person * len(keys), len(keys), random)
        answers: list[int] = []
        for members in sets:
            answer = ask_count(
                answerer, self.table, f"({self.claim}) AND {self._build_membership_condition(keys, members)}"
            )
            if answer is None:
                break
            answers.append(answer)
        bits = self._decode_answers(sets[: len(answers)], np.array(answers, float))
        return self.score_bits(bits, np.asarray(truth, bool), {"answers": float(len(answers))})

    def score_bits(self, bits: Sets, truth: Sets, figures: dict[str, float]) -> Findings:
        """Return findings from the number of right bits."""
        right, often = int(np.count_nonzero(bits == truth)), int(truth.sum())
        return Findings(
            attack=self.name,
            knows=self.knows,
            learns=self.learns,
            stopped_by=self.stopped_by,
            success=right / truth.size,
            baseline=max(often, truth.size - often) / truth.size,
            attempts=truth.size,
            interval=clopper_pearson(right, truth.size),
            figures=figures,
            note=self.method,
        )

    def _decode_answers(self, sets: Sets, answers: Floats) -> Sets:
        if not answers.size:
            return np.full(sets.shape[1], self.prior > 0.5)
        return decode_bits(sets, answers, self.method)

    def _build_membership_condition(self, keys: Sequence[int | str], members: Sets) -> str:
        chosen = [key for key, member in zip(keys, members, strict=True) if member]
        if self.key is None:
            return "(" + " OR ".join(f"({condition})" for condition in chosen) + ")"
        return f"{self.key} IN ({', '.join(map(_to_sql_literal, chosen))})"


def draw_random_sets(questions: int, people: int, random: Randomness) -> Sets:
    """Return random sets with each person in each with probability one half; no set is empty."""
    words = random.draw_words(math.ceil(questions * people / 64)).view(np.uint8)
    sets = np.unpackbits(words, count=questions * people).reshape(questions, people).astype(bool)
    sets[~sets.any(axis=1), 0] = True
    return sets


def decode_bits(sets: Sets, answers: Floats, method: Method = "least squares") -> Sets:
    """Return the bits that fit the counts of these sets best."""
    fits = sets.ndim == 2 and answers.shape == (sets.shape[0],) and sets.size > 0
    require_parameter(fits, "decode_bits", "answers", f"{answers.size} numbers", "one number for each set")
    return np.asarray(DECODERS[method](sets, answers) > 0.5)


def _solve_least_squares(sets: Sets, answers: Floats) -> Floats:
    """Return the fractional bits with the least squared error."""
    signs = sets.astype(np.float32) - np.float32(0.5)
    signs -= signs.mean(axis=0)
    gram = (signs.T @ signs).astype(np.float64)
    target = signs.T.astype(np.float64) @ (answers - answers.mean())
    step = 1 / _largest_eigenvalue(gram)
    point = ahead = np.full(sets.shape[1], 0.5)
    momentum = 1.0
    for _ in range(STEPS):
        moved = np.clip(ahead - step * (gram @ ahead - target), 0, 1)
        following = (1 + math.sqrt(1 + 4 * momentum * momentum)) / 2
        ahead = moved + (momentum - 1) / following * (moved - point)
        if np.abs(moved - point).max() < ENOUGH:
            return np.asarray(moved)
        point, momentum = moved, following
    return np.asarray(point)


def _largest_eigenvalue(gram: Floats) -> float:
    """Return slightly more than the largest eigenvalue, by power iteration."""
    vector = gram[int(np.diag(gram).argmax())]
    for _ in range(POWERS):
        vector = gram @ vector
        vector /= max(float(np.linalg.norm(vector)), np.finfo(float).tiny)
    return SAFETY * float(vector @ gram @ vector) + np.finfo(float).tiny


def _solve_linear_program(sets: Sets, answers: Floats) -> Floats:
    """Return the fractional bits with the least absolute error."""
    from scipy.optimize import linprog  # takes a second to load
    from scipy.sparse import csr_array, eye_array, hstack, vstack

    questions, people = sets.shape
    inside, off = csr_array(sets.astype(float)), eye_array(questions)
    found = linprog(
        np.concatenate([np.zeros(people), np.ones(questions)]),
        A_ub=vstack([hstack([inside, -off]), hstack([-inside, -off])], format="csr"),
        b_ub=np.concatenate([answers, -answers]),
        bounds=[(0, 1)] * people + [(0, None)] * questions,
        method="highs",
    )
    if found.x is None:
        raise RequestError("reconstruction: the linear program was not solved.", hint="Use least squares.")
    return np.asarray(found.x[:people])


DECODERS = {"least squares": _solve_least_squares, "linear programming": _solve_linear_program}


def _to_sql_literal(key: int | str) -> str:
    return str(key) if isinstance(key, int) else "'" + key.replace("'", "''") + "'"
