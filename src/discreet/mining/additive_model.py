"""The released additive model: a score for every bin, whose sums give the probability of each class.

Scores      are multiples of 1 / `SCORE_STEPS`, so that engines add them up exactly, in whole numbers.
Outputs     one for two classes, the log-odds of the second; else one for each class, by softmax.
Residual    of a row and an output: 1 or 0 for its class, minus the probability, times `GRID` and cut to a
            whole number toward 0. Two classes: one residual, at most GRID. More: that of the row's own class
            is at most GRID, and the others are whole numbers below 0 that add up to at most GRID; so a row
            has at most 2 GRID in all, and at most 2 GRID**2 in squares. It is a function of the row and of
            what was released before, so however an engine rounds it, one row moves one row's part.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from discreet.core.guarantees import Guarantee
from discreet.mechanisms.sampling import Floats, Integers
from discreet.mining.attributes import Codes
from discreet.mining.schema import Schema

GRID = 1024
MAX_SCORE = 50.0  # log-odds; exp of it stays far from overflow on every engine
SCORE_STEPS = 2**16


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """`table` over (output, cell), and the intercept of each output in `intercepts`."""

    table: Floats
    intercepts: Floats

    def __post_init__(self) -> None:
        for name in ("table", "intercepts"):
            object.__setattr__(self, name, round_to_grid(getattr(self, name)) / SCORE_STEPS)

    def score_rows(self, codes: Codes, schema: Schema) -> Floats:
        """Return the scores over (row, output)."""
        total = np.tile(self.intercepts, (len(codes), 1))
        for j in range(len(schema.attributes)):
            total += self.table[:, schema.offsets[j] + codes[:, j].astype(np.int64)].T
        return np.clip(total, -MAX_SCORE, MAX_SCORE)

    def predict_probabilities(self, codes: Codes, schema: Schema) -> Floats:
        """Return the probabilities over (row, class)."""
        return scores_to_probabilities(self.score_rows(codes, schema))


def round_to_grid(scores: Floats | float) -> Integers:
    """Return scores as integer multiples of 1 / FINE."""
    return np.asarray(np.rint(np.asarray(scores) * SCORE_STEPS), np.int64)


def scores_to_probabilities(scores: Floats) -> Floats:
    """Return probabilities over (row, class) from scores over (row, output)."""
    if scores.shape[1] == 1:
        second = 1 / (1 + np.exp(-scores))
        return np.hstack([1 - second, second])
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def count_outputs(classes: int) -> int:
    return 1 if classes == 2 else classes


def compute_residuals(scores: Floats, targets: Integers) -> Integers:
    """Return the residuals over (row, output), as defined above."""
    known = scores_to_probabilities(scores)
    own = np.zeros_like(known)
    own[np.arange(len(targets)), targets] = 1
    apart = own - known
    return np.trunc(GRID * (apart[:, 1:] if scores.shape[1] == 1 else apart)).astype(np.int64)


FORMAT = "discreet-additive"


@dataclass(frozen=True, kw_only=True, eq=False)
class AdditiveModel:
    """A forest of trees over one attribute each, or a naive Bayes classifier."""

    schema: Schema
    scores: Scores
    guarantee: Guarantee

    def predict(self, codes: Codes) -> Floats:
        """Return the probabilities of the classes for each row."""
        return self.scores.predict_probabilities(codes, self.schema)

    def list_bin_scores(self, attribute: int, output: int = 0) -> list[tuple[str, float]]:
        """Return the score that each bin of an attribute adds."""
        begin, end = self.schema.offsets[attribute : attribute + 2]
        labels = self.schema.attributes[attribute].labels
        return list(zip(labels, self.scores.table[output, begin:end].tolist(), strict=True))

    def to_json(self) -> str:
        """Return intercepts and the scores of every attribute's bins, for each output, as JSON."""
        target = self.schema.target
        return json.dumps(
            {
                "format": FORMAT,
                "guarantee": repr(self.guarantee),
                "target": target.name if target else None,
                "classes": list(target.values) if target else [],
                "intercept": self.scores.intercepts.tolist(),
                "features": [
                    {
                        "name": each.name,
                        "bins": list(each.labels),
                        "scores": [
                            [score for _, score in self.list_bin_scores(j, output)]
                            for output in range(len(self.scores.table))
                        ],
                    }
                    for j, each in enumerate(self.schema.attributes)
                ],
            },
            indent=1,
        )
