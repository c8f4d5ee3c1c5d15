"""diffprivlib's forest, naive Bayes and logistic regression on Adult."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from diffprivlib.models import GaussianNB, LogisticRegression, RandomForestClassifier

from benchmarks.peers import task
from benchmarks.peers import uci_adult as adult


def learn(folder: str) -> None:
    train, truth = adult.rows(folder, "adult.data")
    test, expected = adult.rows(folder, "adult.test")
    (numbers, bounds), (others, _) = (adult.numbers(each, folder) for each in (train, test))
    dummies, other_dummies = (adult.indicators(each, folder) for each in (train, test))
    lows, highs = (np.array(each) for each in zip(*bounds, strict=True))
    made: dict[str, tuple[Callable[[float], Any], Any, Any]] = {
        "forest": (
            lambda e: RandomForestClassifier(
                n_estimators=10, epsilon=e, bounds=(lows, highs), classes=[0, 1], n_jobs=1
            ),
            numbers,
            others,
        ),
        "naive Bayes": (
            lambda e: GaussianNB(epsilon=e, bounds=(lows, highs), priors=None),
            numbers,
            others,
        ),
        "logistic regression": (
            lambda e: LogisticRegression(epsilon=e, data_norm=math.sqrt(14), max_iter=200),
            dummies,
            other_dummies,
        ),
    }
    for name, (model, here, there) in made.items():
        for epsilon in adult.EPSILONS:
            for _ in range(adult.RUNS):
                predicted = model(epsilon).fit(here, truth).predict(there)
                task.report(model=name, epsilon=epsilon, accuracy=float(np.mean(predicted == expected)))


if __name__ == "__main__":
    task.main(learn=learn)
