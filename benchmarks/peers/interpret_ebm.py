"""InterpretML's differentially private explainable boosting machine on Adult, with its defaults."""

from __future__ import annotations

import numpy as np
from interpret.privacy import DPExplainableBoostingClassifier

from benchmarks.peers import task, uci_adult


def learn(folder: str) -> None:
    train, truth = uci_adult.rows(folder, "uci_adult.data")
    test, expected = uci_adult.rows(folder, "uci_adult.test")
    (numbers, bounds), (others, _) = (uci_adult.numbers(each, folder) for each in (train, test))
    kinds = ["continuous" if name in uci_adult.BOUNDS else "nominal" for name in uci_adult.COLUMNS]
    for epsilon in uci_adult.EPSILONS:
        for run in range(uci_adult.RUNS):
            model = DPExplainableBoostingClassifier(
                epsilon=epsilon,
                delta=uci_adult.DELTA,
                feature_types=kinds,
                privacy_bounds=dict(enumerate(bounds)),
                random_state=run,
            )
            predicted = model.fit(numbers, truth).predict(others)
            accuracy = float(np.mean(predicted == expected))
            task.report(model="explainable boosting", epsilon=epsilon, accuracy=accuracy)


if __name__ == "__main__":
    task.main(learn=learn)
