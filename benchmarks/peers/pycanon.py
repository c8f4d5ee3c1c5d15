"""pycanon: judges a table that is there; here Adult as it is, by the equal distance of occupations."""

from __future__ import annotations

import time

from pycanon.anonymity import t_closeness

from benchmarks.peers import adult, task


def anonymity(folder: str) -> None:
    data = adult.table(folder)
    others = [column for column in data.columns if column != adult.JOB]
    start = time.perf_counter()
    t = t_closeness(data, others, [adult.JOB])
    task.report(task="t-closeness", seconds=time.perf_counter() - start, t=float(t))


if __name__ == "__main__":
    task.main(anonymity=anonymity)
