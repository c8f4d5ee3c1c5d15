"""Weights as SQL: all rows of a person count, each for so little that together they count for R at most.

Weight      of n rows that a question asks for, each weighs min(1, R / n), rounded down to a multiple of
            1 / PARTS: n floor(R PARTS / n) is at most R PARTS, so one person's rows never weigh more than R
            together. A weight is a function of that person's rows alone. Every number up to 12 divides
            PARTS, so of so many rows none is lost by rounding; of n > 12 rows at most n / (R PARTS) is.
Sums        counts and sums are linear in rows. So the rows of each group are summed apart by weight, as
            whole numbers, and each sum is multiplied by its weight: whole numbers of 1 / PARTS come out.
Sensitivity what a person adds lies between nothing and R rows that are alike, and so does what they added
            before: in either norm the farthest two such sums are R rows here and R rows there. It is that
            of R rows kept (`mechanisms.sensitivity`), times PARTS.
Cut         a sum of one weight is cut off at MOST, and then the total, so that nothing overflows. Cutting
            brings two numbers no further apart.
People      are counted by one GROUP BY and joined to their rows, where the engine is at hand and its store
            stays as it is. Elsewhere by a window, which reads rows once: what somebody writes between two
            readings, or what a view gives only the second time, would have the weight that others had before
            it. There a sort takes no longer than the join.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.sql import emit
from discreet.sql.emit import quoted
from discreet.sql.tree import PERSON, WEIGHT

PARTS = 27_720
MOST = 1 << 46  # times PARTS below 2**61
ASKED = "_discreet_asked"
PEOPLE, WEIGHS = quoted(PERSON), quoted(WEIGHT)


def joined(source: str, most: int) -> str:
    """The rows with their weights, by counting people first."""
    weights = f"SELECT {PEOPLE}, {_weight('count(*)', most)} AS {WEIGHS} FROM {ASKED} GROUP BY {PEOPLE}"
    return (
        # the rows are read again, which costs less than keeping them
        f"WITH {ASKED} AS NOT MATERIALIZED ({source}) SELECT a.*, w.{WEIGHS} "
        f"FROM {ASKED} AS a JOIN ({weights}) AS w ON a.{PEOPLE} = w.{PEOPLE}"
    )


def in_order(source: str, most: int) -> str:
    """The same by sorting."""
    weight = _weight(f"count(*) OVER (PARTITION BY {PEOPLE})", most)
    return f"SELECT *, {weight} AS {WEIGHS} FROM ({source}) AS s"


def summed(counts: str, keys: Sequence[str], names: Sequence[str]) -> str:
    """The totals of each group: its sums of each weight, times that weight."""
    totals = [f"{_total(quoted(name))} AS {quoted(name)}" for name in names]
    return f"SELECT {', '.join([*keys, *totals])} FROM ({counts}) AS w GROUP BY {emit.places(len(keys))}"


def _weight(rows: str, most: int) -> str:
    return f"least({PARTS}, {most * PARTS} // greatest(1, {rows}))"


def _total(number: str) -> str:
    return emit.total(f"sum({WEIGHS} * {emit.cut_off(number, MOST)})")
