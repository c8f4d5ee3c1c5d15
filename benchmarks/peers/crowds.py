"""crowds: optimal lattice anonymization (OLA), by its own loss, which is precision."""

from __future__ import annotations

import time
from collections.abc import Callable

from crowds.kanonymity import ola
from crowds.kanonymity.generalizations import GenRule

from benchmarks.peers import adult, task


def anonymity(folder: str) -> None:
    data = adult.table(folder)
    rules = {column: GenRule(_steps(folder, column)) for column in data.columns}
    start = time.perf_counter()
    _, levels = ola.anonymize(data, rules, k=adult.K, max_sup=adult.MOST_SUPPRESSED)
    task.report(
        task="k-anonymity",
        seconds=time.perf_counter() - start,
        levels=[levels[column] for column in data.columns],
    )


def _steps(folder: str, column: str) -> list[Callable[[str], str]]:
    """The levels between the value itself and the top, which it adds by itself."""
    values, *steps, _ = adult.levels(folder, column)
    return [dict(zip(values, labels, strict=True)).__getitem__ for labels in steps]


if __name__ == "__main__":
    task.main(anonymity=anonymity)
