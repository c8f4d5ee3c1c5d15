"""Row truncation in SQL (contribution bounding): keep each person's first rows by rank.

Each function takes the SQL of a subquery with a person and a rank for every row, and returns the SQL of the
truncated rows. One person's ranks are distinct, so which rows are kept depends on that person's rows alone.

Rows        each person's first R selected rows, mostly without sorting. A row of rank R or less is kept,
            since at most R - 1 come before it. People who have fewer than R of these are *short*: they keep
            further rows, in the order of rank, until they have R. Which of the next 63 ranks a short person
            has is stored as bits of one integer, so whether a row is kept is a bit count. Only rows of higher
            rank are sorted, for people who lost more than 63 of their first R + 63 rows to the filter. This
            reads the rows four times, which an embedded columnar engine does faster than sorting them; an
            engine that would fetch, rank or shuffle them each time sorts instead.
Groups      the groups of a person's first rows, and the first rows in each of them. Rows beyond the limit of
            their group are dropped first, which never empties a group nor changes its first rank.
No errors   shifts stay between 0 and 62 for every rank, wherever the engine evaluates them.
Memory      the state kept for a person while grouping has a fixed size, so it can spill to disk. Lists of the
            smallest ranks, the alternative without sorting, have to fit in memory, and fail on large data.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.core.sql_quoting import quote_identifier
from discreet.sql.relational_algebra import PERSON, RANK

BITS = 63
ASKED, SHORT, FIRST = "_discreet_asked", "_discreet_short", "_discreet_first"
PEOPLE, ORDER = quote_identifier(PERSON), quote_identifier(RANK)


def truncate_rows(source: str, max_rows: int) -> str:
    """Return the SQL of each person's first `max_rows` rows by rank."""
    last = max_rows + BITS
    return (
        # rows are read again, which is cheaper than materializing them; short people are computed once
        f"WITH {ASKED} AS NOT MATERIALIZED ({source}), {SHORT} AS MATERIALIZED "
        f"({_find_short_people(max_rows)}) "
        f"SELECT * FROM {ASKED} WHERE {ORDER} <= {max_rows} "
        f"UNION ALL {_select_further_rows(f'a.{ORDER} > {max_rows} AND a.{ORDER} <= {last}')} "
        f"AND p.had + bit_count(p.further >> {_get_rank_bit(f'a.{ORDER}', last)}) <= {max_rows} "
        f"UNION ALL {_select_further_rows(f'a.{ORDER} > {last}')} AND p.had + bit_count(p.further) < "
        f"{max_rows} "
        f"QUALIFY row_number() OVER (PARTITION BY a.{PEOPLE} ORDER BY a.{ORDER}) "
        f"<= {max_rows} - p.had - bit_count(p.further)"
    )


def truncate_rows_by_sorting(source: str, max_rows: int, tie_breakers: Sequence[str] = ()) -> str:
    """Return the SQL of the same rows by sorting; `tie_breakers` order rows whose ranks may be equal."""
    place = f"row_number() OVER (PARTITION BY {PEOPLE} ORDER BY {', '.join([ORDER, *tie_breakers])})"
    return f"SELECT * FROM ({source}) AS s QUALIFY {place} <= {max_rows}"


def truncate_groups(source: str, keys: Sequence[str], max_rows: int, max_groups: int) -> str:
    """Return the SQL of each person's first `max_groups` groups and first `max_rows` rows in each."""
    cell = f"(PARTITION BY {', '.join([PEOPLE, *keys])} ORDER BY {ORDER})"
    rows = (
        f"SELECT *, first_value({ORDER}) OVER cell AS {FIRST} FROM ({source}) AS s "
        f"WINDOW cell AS {cell} QUALIFY row_number() OVER cell <= {max_rows}"
    )
    kept = f"dense_rank() OVER (PARTITION BY {PEOPLE} ORDER BY {FIRST}) <= {max_groups}"
    return f"SELECT * EXCLUDE ({FIRST}) FROM ({rows}) AS f QUALIFY {kept}"


def _find_short_people(max_rows: int) -> str:
    """Return the SQL of short people with further rows: rows they have, and their next ranks as bits."""
    last = max_rows + BITS
    had = f"count(*) FILTER (WHERE {ORDER} <= {max_rows})"
    bit = f"CAST(1 AS BIGINT) << {_get_rank_bit(ORDER, last)}"
    further = f"bit_or({bit}) FILTER (WHERE {ORDER} > {max_rows} AND {ORDER} <= {last})"
    return (
        f"SELECT {PEOPLE}, {had} AS had, coalesce({further}, 0) AS further FROM {ASKED} "
        f"GROUP BY {PEOPLE} HAVING {had} < {max_rows} AND max({ORDER}) > {max_rows}"
    )


def _select_further_rows(condition: str) -> str:
    return f"SELECT a.* FROM {ASKED} AS a JOIN {SHORT} AS p ON a.{PEOPLE} = p.{PEOPLE} WHERE {condition}"


def _get_rank_bit(rank: str, last: int) -> str:
    """Return the bit position of a rank; lower ranks have higher bits, so a right shift drops later ranks."""
    return f"least({BITS - 1}, greatest(0, {last} - {rank}))"
