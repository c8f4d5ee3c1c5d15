"""diffprivlib's tools: replace-one neighbours; the number of rows is taken as public, even of a group."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
from diffprivlib import tools

from benchmarks.peers import task

UNIT = (-1.0, 1.0)


def utility(census: str) -> None:
    table = pq.read_table(census, columns=["workclass", "age", "hours_per_week"])
    hours, ages = (table[name].to_numpy().astype(int) for name in ("hours_per_week", "age"))
    classes = table["workclass"].cast("string").to_numpy(zero_copy_only=False)
    task.repeated(_questions(hours, ages, [hours[classes == name] for name in task.CLASSES]))


def _questions(hours: Any, ages: Any, by_class: list[Any]) -> Iterator[tuple[str, task.Answer]]:
    spent = {"epsilon": task.EPSILON}
    yield "count where", lambda: [float(tools.count_nonzero(hours > 40, **spent))]
    yield "sum", lambda: [float(tools.sum(hours, bounds=task.HOURS, dtype=int, **spent))]
    yield "avg", lambda: [float(tools.mean(hours, bounds=task.HOURS, **spent))]
    yield "median", lambda: [float(tools.median(ages, bounds=task.AGES, **spent))]
    # one person who changes classes changes two of them: each gets half
    halved = {"epsilon": task.EPSILON / 2}
    yield "avg by class", lambda: [float(tools.mean(part, bounds=task.HOURS, **halved)) for part in by_class]


def audit() -> None:
    """The low bits of a mean, a class whose only person moved away, and two that stand."""
    spent = {"epsilon": task.AUDITED}
    task.audited(
        "AVG lies in (0, 1/2) and has bits below 2⁻⁵³, for one row of 0 and of 1",
        "avg",
        lambda: _fine(tools.mean([0.0], bounds=UNIT, **spent)),
        lambda: _fine(tools.mean([1.0], bounds=UNIT, **spent)),
    )
    task.audited(
        "AVG of a class is a number, with 1 row in it and with none",
        "avg by class",
        lambda: _told([99]),
        lambda: _told([]),
    )
    task.audited(
        "SUM is 99 or more, for one row of 99 and of 1",
        "sum",
        lambda: tools.sum([99], bounds=task.HOURS, dtype=int, **spent) >= 99,
        lambda: tools.sum([1], bounds=task.HOURS, dtype=int, **spent) >= 99,
    )
    task.audited(
        "COUNT is 1 or more, for one row that counts and one that does not",
        "count where",
        lambda: tools.count_nonzero([True], **spent) >= 1,
        lambda: tools.count_nonzero([False], **spent) >= 1,
    )


def _fine(value: float) -> bool:
    return 0 < value < 0.5 and not float(value * 2.0**53).is_integer()


def _told(values: list[int]) -> bool:
    try:
        return math.isfinite(tools.mean(values, epsilon=task.AUDITED, bounds=task.HOURS))
    except (ValueError, ZeroDivisionError, IndexError):
        return False


if __name__ == "__main__":
    task.main(utility=utility, audit=audit)
