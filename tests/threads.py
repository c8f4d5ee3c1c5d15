"""Sixteen threads at once, over a source of entropy that gives every one of them time to come between."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from discreet.core.errors import DiscreetError
from discreet.core.randomness import Randomness

THREADS = 16
T = TypeVar("T")


def draw_slowly(count: int) -> bytes:
    """Return the system's bytes, after every other thread had its turn."""
    time.sleep(0.02)
    return os.urandom(count)


SLOW = Randomness(source=draw_slowly)


def run_at_once(work: Callable[[int], T], threads: int = THREADS) -> list[T | DiscreetError]:
    """Return what `work` of each thread's number returned or was refused with; all of them start together."""
    start = threading.Barrier(threads)

    def run(number: int) -> T | DiscreetError:
        start.wait()
        try:
            return work(number)
        except DiscreetError as error:
            return error

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(threads)))


def select_errors(results: Sequence[object]) -> list[DiscreetError]:
    return [each for each in results if isinstance(each, DiscreetError)]
