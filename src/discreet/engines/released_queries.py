"""Queries over released tables: post-processing, in a process of its own that holds these tables alone.

Limits      of memory and of processor time. What exceeds them, or fails, is an ordinary request error: it
            depends on the query and on what was released, which the analyst may see, and on nothing else.
Workers     are kept for the next query, and end with this process.
Repeats     give the same answer: the rows of a released table have an order, and one thread works on them.
"""

from __future__ import annotations

import atexit
import json
import os
import re
from collections.abc import Mapping
from functools import cache

import pyarrow as pa

from discreet.core.errors import RequestError
from discreet.engines import released_query_worker
from discreet.engines.released_query_worker import REFUSED, TOO_LARGE
from discreet.engines.worker_process import WorkerPool, table_from_bytes

SECONDS = 10.0
TRIAL_SECONDS = 2.0
"""For a query over empty tables: what takes longer than that takes it for what it generates itself."""
LONGEST_MESSAGE = 200
UNKNOWN_COLUMN = re.compile(
    r'Referenced column "(?P<column>.*?)" (?:was )?not found|does not have a column named "(?P<other>.*?)"'
)
CANDIDATES = re.compile(r"Candidate bindings: (?P<names>[^\n]*)")
KIND = re.compile(r"^[A-Z][A-Za-z -]*(?:Error|Exception): ")


class ReleasedQueryError(RequestError):
    """A query over released tables that cannot be answered."""

    code = "refused-question"


class ReleasedQueryTooLargeError(ReleasedQueryError):
    """A query over released tables that takes too much time or memory."""


def query_released_tables(
    sql: str, released: Mapping[str, pa.Table], *, seconds: float = SECONDS
) -> pa.Table:
    """Return the rows of one SELECT over released tables, or raise a request error.

    >>> released = {"r0": pa.table({"n": [1, 2]})}
    >>> query_released_tables("SELECT max(n) AS n FROM r0", released).to_pylist()
    [{'n': 2}]
    """
    head = json.dumps({"sql": sql, "tables": list(released), "seconds": seconds}).encode()
    answer = _open_workers(os.getpid()).exchange(head, *released.values())
    status = b"" if answer is None else answer.slice(0, 1).to_pybytes()
    if answer is None or status == TOO_LARGE:
        raise ReleasedQueryTooLargeError(
            "ask: what is computed from the released values takes too much time or memory.",
            hint="Compute less of it in one question.",
        )
    if status == REFUSED:
        raise _build_error(answer.slice(1).to_pybytes().decode(errors="replace"))
    return table_from_bytes(answer)


def try_released_query(sql: str, released: Mapping[str, pa.Table]) -> pa.Table:
    """Return the rows of a SELECT over released tables that are empty, in little time."""
    return query_released_tables(sql, released, seconds=TRIAL_SECONDS)


@cache
def _open_workers(_process: int) -> WorkerPool:
    """Return the workers of this process; a fork has its own."""
    workers = WorkerPool(released_query_worker.__name__, [])
    atexit.register(workers.close)
    return workers


def _build_error(message: str) -> ReleasedQueryError:
    """Return DuckDB's message as a sentence."""
    column = UNKNOWN_COLUMN.search(message)
    if column is not None:
        candidates = CANDIDATES.search(message)
        names = candidates["names"].replace('"', "").strip(" :") if candidates else ""
        return ReleasedQueryError(
            f"ask: the answer has no column {column['column'] or column['other']}.",
            hint=f"Did you mean {names}?" if names else "Name a column of the subquery.",
        )
    first = KIND.sub("", message.strip().split("\n")[0]).strip().rstrip(".!")
    text = "".join(each if each.isprintable() else "\ufffd" for each in first)[:LONGEST_MESSAGE]
    return ReleasedQueryError(
        f"ask: what is computed from the released values fails: {text}.",
        hint="docs/sql.md lists what can be asked.",
    )
