"""Operators: a writer for every node that a statement of ours may contain, by subject.

The set is closed: a node that is not listed is refused before any data is read. Engine-specific SQL comes
from the dialect (`dialects.dialect`).
"""

from __future__ import annotations

from discreet.engines.dialects.expression_writer import OperatorWriters
from discreet.engines.dialects.operators import (
    aggregate_functions,
    arithmetic,
    casts,
    conditions,
    datetime_functions,
    function_calls,
    list_functions,
    text_functions,
)

OPERATORS: OperatorWriters = {
    node: writer
    for subject in (
        casts,
        arithmetic,
        conditions,
        text_functions,
        datetime_functions,
        list_functions,
        aggregate_functions,
        function_calls,
    )
    for node, writer in subject.WRITERS.items()
}
