"""Events that tell two neighbours apart, learned from outputs of any shape.

An output is a number, a word, nothing (None), or a row or table of such cells; each cell is a column here.

Score       the logarithm of how much likelier an output is on the one neighbour than on the other, as if its
            columns were independent: numbers by where they lie (each value by itself where there are few,
            else in bins) and by whether they are finer than 2**-53, which sums of doubles give away; words
            by themselves. For independent noise in every column this is the ordering that tells most. Beside
            it, every single number by its size.
Event       the score is at least a threshold, or at most: the one whose lower bound on epsilon is largest.
            Score and threshold are learned from different runs, since a score flatters what it was made of.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.lower_bound import epsilon_lower_bound

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Outputs = Sequence[object] | NDArray[np.generic]
Column = Floats | NDArray[np.object_]
Score = Callable[[list[Column]], Floats]

FEW = 200
BINS = 64
THRESHOLDS = 256
SINGLE = 8
FINEST = 53
UNSEEN = 1.0


@dataclass(frozen=True, kw_only=True)
class Event:
    """What happens more often on one neighbour: `score` at or above `threshold` (or at or below).

    `reversed` says that the one it is likelier on is the second.
    """

    score: Score
    threshold: float
    above: bool
    reversed: bool
    text: str

    def hits(self, outputs: list[Column]) -> int:
        scores = self.score(outputs)
        return int(np.count_nonzero(scores >= self.threshold if self.above else scores <= self.threshold))


def columns(outputs: Outputs) -> list[Column]:
    """The cells of all outputs, column by column; an output that has fewer has nothing in the others.

    >>> [list(column) for column in columns([(1, "a"), (2,)])]
    [[1.0, 2.0], ['a', None]]
    """
    if isinstance(outputs, np.ndarray) and outputs.dtype.kind in "iufb":
        flat = outputs.reshape(len(outputs), -1).astype(np.float64)
        return list(flat.T)
    rows = [_cells(each) for each in outputs]
    width = max((len(row) for row in rows), default=0)
    padded = [row + [None] * (width - len(row)) for row in rows]
    return [_column([row[place] for row in padded]) for place in range(width)]


def aligned(here: list[Column], there: list[Column]) -> tuple[list[Column], list[Column]]:
    """Both with the same columns, of the same kinds: what only one has is missing in the other."""
    width = max(len(here), len(there))
    sizes = [len(side[0]) if side else 0 for side in (here, there)]
    full = [
        side + [np.full(size, np.nan)] * (width - len(side))
        for side, size in zip((here, there), sizes, strict=True)
    ]
    pairs = [_same_kind(a, b) for a, b in zip(*full, strict=True)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def part(outputs: list[Column], low: int, high: int) -> list[Column]:
    """The runs from `low` up to `high`."""
    return [column[low:high] for column in outputs]


def choose(here: list[Column], there: list[Column], *, miss: float, delta: float) -> Event:
    """The event that shows the most: scores from the first half of these runs, thresholds from the second."""
    half = len(here[0]) // 2
    learned, judged = (
        [part(side, *ends) for side in (here, there)] for ends in ((0, half), (half, 2 * half))
    )
    found = [
        _best(score, text, judged[0], judged[1], miss=miss, delta=delta)
        for text, score in _scores(learned[0], learned[1])
    ]
    return max(found, key=lambda each: each[0])[1]


def _best(
    score: Score, text: str, here: list[Column], there: list[Column], *, miss: float, delta: float
) -> tuple[float, Event]:
    first, second = np.sort(score(here)), np.sort(score(there))
    ties = np.unique(np.concatenate([first, second]))
    tried = ties if ties.size <= THRESHOLDS else np.unique(np.quantile(ties, np.linspace(0, 1, THRESHOLDS)))
    best, event = -1.0, Event(score=score, threshold=np.inf, above=True, reversed=False, text=text)
    for above in (True, False):
        counts = [_reaching(scores, tried, above=above) for scores in (first, second)]
        for reverse in (False, True):
            hits, others = counts[::-1] if reverse else counts
            shown = [
                epsilon_lower_bound(int(a), int(b), first.size, miss=miss, delta=delta)
                for a, b in zip(hits, others, strict=True)
            ]
            place = int(np.argmax(shown))
            if shown[place] > best:
                best = shown[place]
                event = Event(
                    score=score, threshold=float(tried[place]), above=above, reversed=reverse, text=text
                )
    return best, event


def _reaching(ordered: Floats, thresholds: Floats, *, above: bool) -> NDArray[np.int64]:
    if above:
        return ordered.size - np.searchsorted(ordered, thresholds, side="left")
    return np.searchsorted(ordered, thresholds, side="right")


def _scores(here: list[Column], there: list[Column]) -> list[tuple[str, Score]]:
    scores: list[tuple[str, Score]] = [("likelier outputs", _likelihood_ratio(here, there))]
    numbers = [place for place, column in enumerate(here) if column.dtype.kind == "f"]
    return scores + [(f"the size of number {place + 1}", _size(place)) for place in numbers[:SINGLE]]


def _size(place: int) -> Score:
    def score(outputs: list[Column]) -> Floats:
        return np.nan_to_num(outputs[place].astype(np.float64), nan=-np.inf, posinf=np.inf, neginf=-np.inf)

    return score


def _likelihood_ratio(here: list[Column], there: list[Column]) -> Score:
    coders = [_coder(np.concatenate([a, b])) for a, b in zip(here, there, strict=True)]
    weights = []
    for (size, code), a, b in zip(coders, here, there, strict=True):
        seen, others = (np.bincount(code(side), minlength=size) + UNSEEN for side in (a, b))
        weights.append(np.log(seen / others))

    def score(outputs: list[Column]) -> Floats:
        total = np.zeros(len(outputs[0]))
        for (_, code), weight, column in zip(coders, weights, outputs, strict=True):
            total += weight[code(column)]
        return total

    return score


def _coder(seen: Column) -> tuple[int, Callable[[Column], Codes]]:
    """How many codes there are, and the code of each cell."""
    if seen.dtype.kind != "f":
        places = {word: place for place, word in enumerate(dict.fromkeys(seen.tolist()))}
        unknown = len(places)
        return unknown + 1, lambda cells: np.array([places.get(cell, unknown) for cell in cells], np.int64)
    finite = seen[np.isfinite(seen)]
    values = np.unique(finite)
    edges = values if values.size <= FEW else np.unique(np.quantile(finite, np.linspace(0, 1, BINS + 1)))
    missing = edges.size + 1

    def code(cells: Column) -> Codes:
        numbers = cells.astype(np.float64)
        place = np.where(np.isfinite(numbers), np.searchsorted(edges, numbers, side="right"), missing)
        return np.asarray(2 * place + is_fine(numbers), np.int64)

    return 2 * (missing + 1), code


def is_fine(numbers: Floats) -> NDArray[np.bool_]:
    """Whether each is no multiple of 2**-53, the spacing of doubles just below 1."""
    finite = np.where(np.isfinite(numbers) & (np.abs(numbers) < 1), numbers, 0.0)
    scaled = np.ldexp(finite, FINEST)
    return np.asarray(scaled != np.floor(scaled))


def _same_kind(a: Column, b: Column) -> tuple[Column, Column]:
    if a.dtype.kind == b.dtype.kind:
        return a, b
    return a.astype(object), b.astype(object)


def _cells(output: object) -> list[object]:
    if isinstance(output, dict):
        return [cell for key in sorted(output, key=str) for cell in _cells(output[key])]
    if isinstance(output, list | tuple):
        return [cell for each in output for cell in _cells(each)]
    if isinstance(output, np.ndarray):
        return [cell for each in output.tolist() for cell in _cells(each)]
    return [output]


def _column(cells: list[object]) -> Column:
    if all(cell is None or (isinstance(cell, Real) and not isinstance(cell, bool)) for cell in cells):
        return np.array([math.nan if cell is None else float(cell) for cell in cells])  # type: ignore[arg-type]
    words = np.empty(len(cells), object)
    words[:] = cells
    return words
