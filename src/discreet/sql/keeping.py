"""Bounding as SQL: of the rows that a question asks for, the first ones of each person by rank.

Each function takes rows as a subquery's text, with person and rank of every row, and gives the text of those
that are kept. Ranks of one person are different, so what is kept is a function of that person's rows alone.

Rows        a person's first R of what is asked for, mostly without sorting. A row of rank R or less is kept,
            since at most R - 1 come before it. People who have fewer than R of these are *short*: they keep
            further rows, in the order of rank, until they have R. Which of the next 63 ranks a short person
            has is one integer, so whether a row is kept is a count of its bits. Only rows of higher rank are
            sorted, of people who lost more than 63 of their first R + 63 rows to the filter. This reads the
            rows four times, which a columnar engine at hand does faster than it sorts; one that would fetch,
            rank or shuffle them each time sorts.
Groups      the groups that a person's first rows are in, and the first rows in each of them. Rows that are
            too many for their group go first, which never empties a group nor moves its first rank.
Total       shifts stay between 0 and 62 for every rank, wherever the engine evaluates them.
Memory      what is kept of a person while grouping has a fixed size, so it goes to disk if need be. Lists
            of the least ranks, the other way without sorting, have to fit in memory: a fault for large data.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.sql.emit import quoted
from discreet.sql.tree import PERSON, RANK

BITS = 63
ASKED, SHORT, FIRST = "_discreet_asked", "_discreet_short", "_discreet_first"
PEOPLE, ORDER = quoted(PERSON), quoted(RANK)


def first_rows(source: str, most: int) -> str:
    """Of each person at most so many rows."""
    last = most + BITS
    return (
        # the rows are read again, which costs less than keeping them; short people are found once
        f"WITH {ASKED} AS NOT MATERIALIZED ({source}), {SHORT} AS MATERIALIZED ({_short(most)}) "
        f"SELECT * FROM {ASKED} WHERE {ORDER} <= {most} "
        f"UNION ALL {_further(f'a.{ORDER} > {most} AND a.{ORDER} <= {last}')} "
        f"AND p.had + bit_count(p.further >> {_place(f'a.{ORDER}', last)}) <= {most} "
        f"UNION ALL {_further(f'a.{ORDER} > {last}')} AND p.had + bit_count(p.further) < {most} "
        f"QUALIFY row_number() OVER (PARTITION BY a.{PEOPLE} ORDER BY a.{ORDER}) "
        f"<= {most} - p.had - bit_count(p.further)"
    )


def first_rows_in_order(source: str, most: int, then: Sequence[str] = ()) -> str:
    """The same rows, by sorting; where ranks may be equal, `then` by columns that tell rows apart."""
    place = f"row_number() OVER (PARTITION BY {PEOPLE} ORDER BY {', '.join([ORDER, *then])})"
    return f"SELECT * FROM ({source}) AS s QUALIFY {place} <= {most}"


def first_groups(source: str, keys: Sequence[str], most: int, groups: int) -> str:
    """Of each person at most so many groups, and so many rows in each of them."""
    cell = f"(PARTITION BY {', '.join([PEOPLE, *keys])} ORDER BY {ORDER})"
    rows = (
        f"SELECT *, first_value({ORDER}) OVER cell AS {FIRST} FROM ({source}) AS s "
        f"WINDOW cell AS {cell} QUALIFY row_number() OVER cell <= {most}"
    )
    kept = f"dense_rank() OVER (PARTITION BY {PEOPLE} ORDER BY {FIRST}) <= {groups}"
    return f"SELECT * EXCLUDE ({FIRST}) FROM ({rows}) AS f QUALIFY {kept}"


def _short(most: int) -> str:
    """People with rows left over and places to fill: how many they had, and their further ranks as bits."""
    last = most + BITS
    had = f"count(*) FILTER (WHERE {ORDER} <= {most})"
    bit = f"CAST(1 AS BIGINT) << {_place(ORDER, last)}"
    further = f"bit_or({bit}) FILTER (WHERE {ORDER} > {most} AND {ORDER} <= {last})"
    return (
        f"SELECT {PEOPLE}, {had} AS had, coalesce({further}, 0) AS further FROM {ASKED} "
        f"GROUP BY {PEOPLE} HAVING {had} < {most} AND max({ORDER}) > {most}"
    )


def _further(condition: str) -> str:
    return f"SELECT a.* FROM {ASKED} AS a JOIN {SHORT} AS p ON a.{PEOPLE} = p.{PEOPLE} WHERE {condition}"


def _place(rank: str, last: int) -> str:
    """The bit of a rank: the higher, the earlier, so that shifting right leaves what comes no later."""
    return f"least({BITS - 1}, greatest(0, {last} - {rank}))"
