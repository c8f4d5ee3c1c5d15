"""Row weighting in SQL (contribution bounding): all rows count, one person's with a total weight of at most
R.

Weight      each of a person's n selected rows weighs min(1, R / n), rounded down to a multiple of 1 / PARTS:
            n floor(R PARTS / n) is at most R PARTS, so one person's rows never weigh more than R in total. A
            weight depends on that person's rows alone. Every number up to 12 divides PARTS, so for up to 12
            rows rounding loses nothing; for n > 12 rows it loses at most n / (R PARTS).
Sums        counts and sums are linear in rows. So the rows of each group are summed separately by weight, as
            whole numbers, and each sum is multiplied by its weight: the results are multiples of 1 / PARTS.
Sensitivity a person contributes between nothing and R equal rows, before and after a change: in either norm
            the two sums farthest apart are R rows in one cell and R rows in another. The sensitivity is that
            of R truncated rows (`mechanisms.sensitivity`), times PARTS.
Clamping    the sum of each weight is clamped to MOST, and then the total, so that nothing overflows. Clamping
            moves two numbers no further apart.
People      are counted by one GROUP BY and joined to their rows if the engine is embedded and its store does
            not change. Elsewhere a window counts them, which reads rows once: with two reads, rows written in
            between, or returned by a view only the second time, would get a weight computed without them.
            There a sort takes no longer than the join.
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
    """Return the SQL of the rows with their weights, by a GROUP BY person and a join."""
    weights = f"SELECT {PEOPLE}, {_weight('count(*)', most)} AS {WEIGHS} FROM {ASKED} GROUP BY {PEOPLE}"
    return (
        # rows are read again, which is cheaper than materializing them
        f"WITH {ASKED} AS NOT MATERIALIZED ({source}) SELECT a.*, w.{WEIGHS} "
        f"FROM {ASKED} AS a JOIN ({weights}) AS w ON a.{PEOPLE} = w.{PEOPLE}"
    )


def in_order(source: str, most: int) -> str:
    """Return the SQL of the rows with their weights, by a window over each person."""
    weight = _weight(f"count(*) OVER (PARTITION BY {PEOPLE})", most)
    return f"SELECT *, {weight} AS {WEIGHS} FROM ({source}) AS s"


def summed(counts: str, keys: Sequence[str], names: Sequence[str]) -> str:
    """Return the SQL of each group's totals: its sums per weight, times that weight."""
    totals = [f"{_total(quoted(name))} AS {quoted(name)}" for name in names]
    return f"SELECT {', '.join([*keys, *totals])} FROM ({counts}) AS w GROUP BY {emit.places(len(keys))}"


def _weight(rows: str, most: int) -> str:
    return f"least({PARTS}, {most * PARTS} // greatest(1, {rows}))"


def _total(number: str) -> str:
    return emit.total(f"sum({WEIGHS} * {emit.cut_off(number, MOST)})")
