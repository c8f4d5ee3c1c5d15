"""Events that distinguish two neighboring inputs, learned from outputs of any shape.

An output is a number, a word, nothing (None), or a row or mapping of such cells. Cells at the same position,
or under the same key, form a column; a cell that an output lacks is None. Outputs may also come in columns.

Score       the log-likelihood ratio of an output on the two inputs, as if its columns were independent:
            numbers by their position (each value separately if there are few, else in bins) and by whether
            they are finer than 2**-53, which sums of doubles reveal; words by themselves. For independent
            noise in every column this is the optimal ordering. Single numbers, by their size, are tried too.
Event       the score is at least a threshold, or at most: the one with the largest lower bound on epsilon.
            Score and threshold are learned from different runs, since a score overfits its own runs.
Bound       on epsilon, from below: the frequency of the event on both inputs, with stated confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from discreet.core.binomial import clopper_pearson
from discreet.core.errors import require_parameter
from discreet.core.number_checks import require_count, require_probability


def compute_epsilon_lower_bound(
    hits: int, neighbor_hits: int, trials: int, *, error_rate: float, delta: float = 0.0
) -> float:
    """Return the loss proved by `hits` against `neighbor_hits`, both out of `trials` runs.

    The event must be fixed without looking at the runs that are counted here; then the result is above the
    epsilon that holds with `delta` with probability at most `error_rate`.

    >>> compute_epsilon_lower_bound(700, 300, 1000, error_rate=0.05)
    0.710...
    """
    require_count("compute_epsilon_lower_bound", "trials", trials)
    require_probability("compute_epsilon_lower_bound", "error_rate", error_rate)
    for name, count in (("hits", hits), ("neighbor_hits", neighbor_hits)):
        require_parameter(
            0 <= count <= trials, "compute_epsilon_lower_bound", name, count, f"between 0 and {trials}"
        )
    at_least = clopper_pearson(hits, trials, alpha=error_rate)[0] - delta
    at_most = clopper_pearson(neighbor_hits, trials, alpha=error_rate)[1]
    return max(0.0, math.log(at_least / at_most)) if at_least > 0 else 0.0


Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Column = Floats | NDArray[np.object_]
Columns = dict[tuple[object, ...], Column]
Outputs = Sequence[object] | NDArray[np.generic] | Columns
Score = Callable[[Columns], Floats]

FEW = 200  # up to so many values, each has a bin of its own
BINS = 64
THRESHOLDS = 256
SINGLE = 8  # so many numbers are also tried by themselves
FINEST = 53
UNSEEN = 1.0  # added to each count, so that a value of one side's runs alone has a finite ratio
LIKELY = 0.05
THRESHOLDS_TRIED = 4 * THRESHOLDS


@dataclass(frozen=True, kw_only=True)
class Event:
    """An event that is more frequent on one input: `score` at or above `threshold` (or at or below).

    `favors_neighbor` means that it is more frequent on the second input.
    """

    score: Score
    threshold: float
    is_above: bool
    favors_neighbor: bool

    def count_hits(self, outputs: Columns) -> int:
        """Return the number of outputs in which the event happens."""
        scores = self.score(outputs)
        return int(np.count_nonzero(scores >= self.threshold if self.is_above else scores <= self.threshold))


def align_columns(primary_outputs: Outputs, neighbor_outputs: Outputs) -> tuple[Columns, Columns]:
    """Return the cells of the outputs on both inputs, arranged in the same columns.

    >>> align_columns([(1, "a"), (2,)], [(3, "b")])
    ({(0,): array([1., 2.]), (1,): array(['a', None], dtype=object)},
     {(0,): array([3.]), (1,): array(['b'], dtype=object)})
    """
    sides = [_read_columns(outputs) for outputs in (primary_outputs, neighbor_outputs)]
    names = list(dict.fromkeys([*sides[0], *sides[1]]))
    runs = [max(map(len, side.values()), default=0) for side in sides]
    filled = [
        {name: side.get(name, np.full(many, np.nan)) for name in names}
        for side, many in zip(sides, runs, strict=True)
    ]
    for name in names:
        if filled[0][name].dtype.kind != filled[1][name].dtype.kind:
            for side in filled:
                side[name] = _build_word_column(side[name].tolist())
    return filled[0], filled[1]


def slice_runs(outputs: Columns, low: int, high: int) -> Columns:
    """Return the runs from `low` up to `high`."""
    return {name: column[low:high] for name, column in outputs.items()}


def choose_event(outputs: Columns, neighbor_outputs: Columns, *, miss: float, delta: float) -> Event:
    """Return the event with the largest bound; half of these runs give the scores, half the thresholds."""
    half = len(next(iter(outputs.values()))) // 2
    learned = [slice_runs(side, 0, half) for side in (outputs, neighbor_outputs)]
    judged = [slice_runs(side, half, 2 * half) for side in (outputs, neighbor_outputs)]
    found = [
        _find_best_threshold(score, judged[0], judged[1], miss=miss, delta=delta)
        for score in _list_candidate_scores(learned[0], learned[1])
    ]
    return max(found, key=lambda each: each[0])[1]


def has_fine_bits(numbers: Floats) -> NDArray[np.bool_]:
    """Return which numbers are not multiples of 2**-53, the spacing of doubles just below 1."""
    finite = np.where(np.isfinite(numbers) & (np.abs(numbers) < 1), numbers, 0.0)
    scaled = np.ldexp(finite, FINEST)
    return np.asarray(scaled != np.floor(scaled))


def _find_best_threshold(
    score: Score, here: Columns, there: Columns, *, miss: float, delta: float
) -> tuple[tuple[float, float], Event]:
    """Return the threshold event with the largest bound for one score, and the bound."""
    first, second = np.sort(score(here)), np.sort(score(there))
    ties = np.unique(np.concatenate([first, second]))
    tried = ties[np.unique(np.linspace(0, ties.size - 1, THRESHOLDS).astype(int))]
    best, event = (-1.0, -1.0), Event(score=score, threshold=np.inf, is_above=True, favors_neighbor=False)
    for above in (True, False):
        counts = [_count_reaching(scores, tried, above=above) for scores in (first, second)]
        for reverse in (False, True):
            hits, others = counts[::-1] if reverse else counts
            shown = [
                _compute_simultaneous_bound(int(a), int(b), first.size, miss=miss, delta=delta)
                for a, b in zip(hits, others, strict=True)
            ]
            most = max(shown)
            if most > best:
                threshold = float(tried[shown.index(most)])
                best, event = (
                    most,
                    Event(score=score, threshold=threshold, is_above=above, favors_neighbor=reverse),
                )
    return best, event


def _compute_simultaneous_bound(
    hits: int, neighbor_hits: int, trials: int, *, miss: float, delta: float
) -> tuple[float, float]:
    """Return a bound that holds for all tried thresholds at once, so that rare events do not win by luck.

    The second component, which breaks ties when few runs show nothing, holds for each threshold alone.
    """
    all_of_them, each = min(miss, LIKELY) / THRESHOLDS_TRIED, max(miss, LIKELY)
    return (
        compute_epsilon_lower_bound(hits, neighbor_hits, trials, error_rate=all_of_them, delta=delta),
        compute_epsilon_lower_bound(hits, neighbor_hits, trials, error_rate=each, delta=delta),
    )


def _count_reaching(ordered: Floats, thresholds: Floats, *, above: bool) -> NDArray[np.int64]:
    """Return how many scores are at or above each threshold (or at or below)."""
    if above:
        return np.asarray(ordered.size - np.searchsorted(ordered, thresholds, side="left"))
    return np.asarray(np.searchsorted(ordered, thresholds, side="right"))


def _list_candidate_scores(here: Columns, there: Columns) -> list[Score]:
    """Return the candidate scores: the likelihood ratio, and single numeric columns."""
    numbers = [name for name, column in here.items() if column.dtype.kind == "f"]
    return [
        _make_likelihood_ratio_score(here, there),
        *(_make_column_score(name) for name in numbers[:SINGLE]),
    ]


def _make_column_score(name: tuple[object, ...]) -> Score:
    """Return a score that is the value of one column."""

    def score(outputs: Columns) -> Floats:
        return np.nan_to_num(outputs[name].astype(np.float64), nan=-np.inf, posinf=np.inf, neginf=-np.inf)

    return score


def _make_likelihood_ratio_score(here: Columns, there: Columns) -> Score:
    """Return the log-likelihood-ratio score, with columns taken as independent."""
    coders = {name: _make_encoder(np.concatenate([here[name], there[name]])) for name in here}
    weights = {}
    for name, (size, code) in coders.items():
        seen, others = (np.bincount(code(side[name]), minlength=size) + UNSEEN for side in (here, there))
        weights[name] = np.log(seen / others)

    def score(outputs: Columns) -> Floats:
        gained = [weights[name][coders[name][1](column)] for name, column in outputs.items()]
        return np.asarray(np.sum(gained, axis=0))

    return score


def _make_encoder(seen: Column) -> tuple[int, Callable[[Column], Codes]]:
    """Return the number of codes of a column, and a function that encodes its cells."""
    if seen.dtype.kind != "f":
        places = {word: place for place, word in enumerate(dict.fromkeys(seen.tolist()))}
        unknown = len(places)
        return unknown + 1, lambda cells: np.array([places.get(cell, unknown) for cell in cells], np.int64)
    finite = seen[np.isfinite(seen)].astype(np.float64)
    values = np.unique(finite)
    edges = values if values.size <= FEW else np.unique(np.quantile(finite, np.linspace(0, 1, BINS + 1)))
    missing = edges.size + 1

    def encode(cells: Column) -> Codes:
        numbers = cells.astype(np.float64)
        place = np.where(np.isfinite(numbers), np.searchsorted(edges, numbers, side="right"), missing)
        return np.asarray(2 * place + has_fine_bits(numbers), np.int64)

    return 2 * (missing + 1), encode


def _read_columns(outputs: Outputs) -> Columns:
    """Return outputs as columns."""
    if isinstance(outputs, dict):
        return outputs
    if isinstance(outputs, np.ndarray) and outputs.dtype.kind in "iuf":
        flat = outputs.reshape(len(outputs), -1).astype(np.float64)
        return {(place,): flat[:, place] for place in range(flat.shape[1])}
    rows = [dict(_flatten_output(each, ())) for each in outputs]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _build_column([row.get(name) for row in rows]) for name in names}


def _flatten_output(output: object, name: tuple[object, ...]) -> list[tuple[tuple[object, ...], object]]:
    if isinstance(output, np.ndarray):
        output = output.tolist()
    if isinstance(output, Mapping):
        inner = list(output.items())
    elif isinstance(output, list | tuple):
        inner = list(enumerate(output))
    else:
        return [(name, output)]
    return [cell for key, each in inner for cell in _flatten_output(each, (*name, key))]


def _build_column(cells: list[object]) -> Column:
    if all(cell is None or (isinstance(cell, Real) and not isinstance(cell, bool)) for cell in cells):
        return np.array([math.nan if cell is None else float(cell) for cell in cells])  # type: ignore[arg-type]
    return _build_word_column(cells)


def _build_word_column(cells: list[object]) -> NDArray[np.object_]:
    words = np.empty(len(cells), object)
    words[:] = cells
    return words
