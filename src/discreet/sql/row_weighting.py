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

from discreet.core.sql_quoting import quote_identifier
from discreet.sql import expression_sql
from discreet.sql.relational_algebra import PERSON, WEIGHT

PARTS = 27_720
MOST = 1 << 46  # times PARTS below 2**61
ASKED = "_discreet_asked"
PEOPLE, WEIGHS = quote_identifier(PERSON), quote_identifier(WEIGHT)


def weight_rows_by_join(source: str, max_rows: int) -> str:
    """Return the SQL of the rows with their weights, by a GROUP BY person and a join."""
    weights = (
        f"SELECT {PEOPLE}, {_compile_weight('count(*)', max_rows)} AS {WEIGHS} FROM {ASKED} GROUP BY {PEOPLE}"
    )
    return (
        # rows are read again, which is cheaper than materializing them
        f"WITH {ASKED} AS NOT MATERIALIZED ({source}) SELECT a.*, w.{WEIGHS} "
        f"FROM {ASKED} AS a JOIN ({weights}) AS w ON a.{PEOPLE} = w.{PEOPLE}"
    )


def weight_rows_by_window(source: str, max_rows: int) -> str:
    """Return the SQL of the rows with their weights, by a window over each person."""
    weight = _compile_weight(f"count(*) OVER (PARTITION BY {PEOPLE})", max_rows)
    return f"SELECT *, {weight} AS {WEIGHS} FROM ({source}) AS s"


def sum_weighted_rows(counts: str, keys: Sequence[str], names: Sequence[str]) -> str:
    """Return the SQL of each group's totals: its sums per weight, times that weight."""
    totals = [
        f"{_compile_weighted_sum(quote_identifier(name))} AS {quote_identifier(name)}" for name in names
    ]
    return (
        f"SELECT {', '.join([*keys, *totals])} FROM ({counts}) AS w GROUP BY "
        f"{expression_sql.format_column_positions(len(keys))}"
    )


def _compile_weight(rows: str, max_rows: int) -> str:
    return f"least({PARTS}, {max_rows * PARTS} // greatest(1, {rows}))"


def _compile_weighted_sum(number: str) -> str:
    return expression_sql.compile_clamped_sum(f"sum({WEIGHS} * {expression_sql.clamp_number(number, MOST)})")
