"""Collection of reports: from clients to counts, in memory or inside an engine.

Reports are randomized before they are sent, so their counts may leave the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import add

import numpy as np

from discreet.core.engine import Engine
from discreet.core.errors import require_parameter
from discreet.core.number_checks import require_count
from discreet.core.randomness import Randomness
from discreet.local.forms import Bits, Counts
from discreet.local.operator import Operator
from discreet.mechanisms.sampling import Integers

AT_ONCE = 1 << 22  # words of reports held in memory at a time


def collect(operator: Operator, x: Integers, random: Randomness, *, threads: int = 1) -> Counts:
    """Randomize and count in batches of clients, so that the reports are never all in memory."""
    require_count("collect", "threads", threads)
    require_parameter(np.size(x) > 0, "collect", "x", "none", "the value of at least one client")

    def counts(part: Integers) -> Counts:
        return operator.form.count(operator.randomize(part, random))

    if threads == 1:
        return reduce(add, map(counts, _parts(operator, x, threads)))
    with ThreadPoolExecutor(max_workers=threads) as workers:
        return reduce(add, workers.map(counts, _parts(operator, x, threads)))


def tallied(operator: Operator, engine: Engine, table: str) -> Counts:
    """Count the reports of a table inside the engine; only counts come back."""
    return operator.form.counted([engine.count(sql).secret for sql in operator.form.tally(table)])


def _parts(operator: Operator, x: Integers, threads: int) -> Iterator[Integers]:
    form = operator.form
    words = form.words if isinstance(form, Bits) else 1
    size = max(1, min(AT_ONCE // words, -(-len(x) // threads)))
    return (x[start : start + size] for start in range(0, len(x), size))
