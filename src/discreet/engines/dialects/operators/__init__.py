"""Operators: a writer for every node that a statement of ours may contain, by subject.

The set is closed: a node that is not listed is refused before any data is read. Engine-specific SQL comes
from the dialect (`dialects.dialect`).
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
