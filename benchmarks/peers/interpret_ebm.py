"""InterpretML's differentially private explainable boosting machine on Adult, with its defaults."""

from __future__ import annotations

import numpy as np
from interpret.privacy import DPExplainableBoostingClassifier

from benchmarks.peers import task
from benchmarks.peers import uci_adult as adult


def learn(folder: str) -> None:
    train, truth = adult.rows(folder, "adult.data")
    test, expected = adult.rows(folder, "adult.test")
    (numbers, bounds), (others, _) = (adult.numbers(each, folder) for each in (train, test))
    kinds = ["continuous" if name in adult.BOUNDS else "nominal" for name in adult.COLUMNS]
    for epsilon in adult.EPSILONS:
        for run in range(adult.RUNS):
            model = DPExplainableBoostingClassifier(
                epsilon=epsilon,
                delta=adult.DELTA,
                feature_types=kinds,
                privacy_bounds=dict(enumerate(bounds)),
                random_state=run,
            )
            predicted = model.fit(numbers, truth).predict(others)
            accuracy = float(np.mean(predicted == expected))
            task.report(model="explainable boosting", epsilon=epsilon, accuracy=accuracy)


if __name__ == "__main__":
    task.main(learn=learn)
