"""anonypy: Mondrian over the columns but the occupation, which it takes as sensitive; ages are numbers."""

from __future__ import annotations

import time

from anonypy import Preserver

from benchmarks.peers import adult, task


def anonymity(folder: str) -> None:
    data = adult.table(folder)
    data["age"] = data["age"].astype(int)
    others = [column for column in data.columns if column != adult.JOB]
    for column in [*others, adult.JOB]:
        if column != "age":
            data[column] = data[column].astype("category")
    start = time.perf_counter()
    released = Preserver(data, others, adult.JOB).anonymize_k_anonymity(k=adult.K)
    seconds = time.perf_counter() - start
    classes = {tuple(str(row[column]) for column in others) for row in released}
    task.report(task="Mondrian", seconds=seconds, classes=len(classes))


if __name__ == "__main__":
    task.main(anonymity=anonymity)
