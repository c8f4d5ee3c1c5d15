"""anjana: the column with most values is made coarser until few enough rows are left over."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from anjana.anonymity import k_anonymity, recursive_c_l_diversity

from benchmarks.peers import adult, task


def anonymity(folder: str) -> None:
    """k-anonymity of all columns, and (4, 3)-diversity of the occupation over the others."""
    data = adult.table(folder)
    everything = {column: _hierarchy(folder, column) for column in data.columns}
    columns = list(data.columns)
    start = time.perf_counter()
    released = k_anonymity(data, [], list(columns), adult.K, adult.MOST_SUPPRESSED, everything)
    seconds = time.perf_counter() - start
    shown = {column: _level(everything[column], set(released[column])) for column in columns}
    task.report(task="k-anonymity", seconds=seconds, levels=[shown[column] for column in columns])

    others = [column for column in columns if column != adult.JOB]
    start = time.perf_counter()
    limits = {"k": adult.K, "c": 4, "l_div": 3, "supp_level": adult.MOST_SUPPRESSED}
    found = recursive_c_l_diversity(data, [], others, adult.JOB, hierarchies=everything, **limits)
    task.report(task="recursive diversity", seconds=time.perf_counter() - start, rows=len(found))


def _hierarchy(folder: str, column: str) -> dict[int, Any]:
    return dict(enumerate(np.array(labels) for labels in adult.levels(folder, column)))


def _level(hierarchy: dict[int, Any], shown: set[str]) -> int:
    """The least level that has all the labels."""
    return next(level for level, labels in hierarchy.items() if shown <= set(labels))


if __name__ == "__main__":
    task.main(anonymity=anonymity)
