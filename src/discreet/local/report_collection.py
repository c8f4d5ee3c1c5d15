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
from discreet.local.operator import Operator
from discreet.local.report_formats import BitFormat, ReportCounts
from discreet.mechanisms.sampling import Integers

WORDS_PER_BATCH = 1 << 22  # words of reports held in memory at a time


def randomize_and_count(
    operator: Operator, x: Integers, random: Randomness, *, threads: int = 1
) -> ReportCounts:
    """Randomize and count in batches of clients, so that the reports are never all in memory."""
    require_count("collect", "threads", threads)
    require_parameter(np.size(x) > 0, "collect", "x", "none", "the value of at least one client")

    def count_batch(part: Integers) -> ReportCounts:
        return operator.report_format.count(operator.randomize(part, random))

    if threads == 1:
        return reduce(add, map(count_batch, _iterate_batches(operator, x, threads)))
    with ThreadPoolExecutor(max_workers=threads) as workers:
        return reduce(add, workers.map(count_batch, _iterate_batches(operator, x, threads)))


def count_stored_reports(operator: Operator, engine: Engine, table: str) -> ReportCounts:
    """Count the reports of a table inside the engine; only counts come back."""
    return operator.report_format.read_counts(
        [engine.count(sql).secret for sql in operator.report_format.build_count_queries(table)]
    )


def _iterate_batches(operator: Operator, x: Integers, threads: int) -> Iterator[Integers]:
    form = operator.report_format
    words = form.word_count if isinstance(form, BitFormat) else 1
    size = max(1, min(WORDS_PER_BATCH // words, -(-len(x) // threads)))
    return (x[start : start + size] for start in range(0, len(x), size))
