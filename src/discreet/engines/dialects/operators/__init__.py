"""Operators: every node that a statement of ours may hold, by subject, and who writes it.

The set is closed: a node that is not listed is refused before any data is read. What a dialect decides is
asked of the dialect; see `dialects.dialect`.
"""

from __future__ import annotations

from discreet.engines.dialects.expressions import Writers
from discreet.engines.dialects.operators import (
    bits,
    calls,
    conditions,
    constants,
    conversions,
    lists,
    numbers,
    texts,
    times,
    totals,
    windows,
)

OPERATORS: Writers = {
    node: writer
    for subject in (
        constants,
        numbers,
        conversions,
        conditions,
        texts,
        times,
        lists,
        bits,
        totals,
        windows,
        calls,
    )
    for node, writer in subject.WRITERS.items()
}
