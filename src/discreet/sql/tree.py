"""Rows on their way to an aggregate: what is read, joined, filtered and computed, and how many a person has.

Every node knows its columns by internal names that are unique in the plan, whether its rows belong to
people (`people`: the hidden column PERSON names them, or each row is one), and `rows`, the most rows that one
person can have in it. That number is the whole privacy content of the tree: bounding makes it true, and
sensitivity is computed from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from discreet.sql.expressions import Column, Expression

PERSON, RANK = "_discreet_person", "_discreet_rank"
WEIGHT = "_discreet_weight"
LINK, KEY = "_discreet_link", "_discreet_key"


Total = tuple[str, Expression | None, Expression | None]


class People(StrEnum):
    """Whom the rows of a node are about."""

    ROW = "row"
    COLUMN = "column"
    NOBODY = "nobody"


class Order(StrEnum):
    """What orders a person's rows in a table: their rank; where it is read in place, a hash, or nothing."""

    RANKED = "ranked"
    HASHED = "hashed"
    NONE = "unordered"


@dataclass(frozen=True, kw_only=True)
class Scan:
    """A table of the prepared store: `kept` rows of each person by rank, or all if bounded later."""

    table: str
    alias: str
    columns: tuple[Column, ...]
    stored: tuple[str, ...]
    people: People
    rows: int
    kept: int | None
    order: Order = Order.RANKED


@dataclass(frozen=True, kw_only=True)
class Filter:
    """The rows of which the condition is true."""

    source: Rows
    condition: Expression

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.source.columns

    @property
    def people(self) -> People:
        return self.source.people

    @property
    def rows(self) -> int:
        return self.source.rows


@dataclass(frozen=True, kw_only=True)
class Project:
    """The rows with other columns: each a computed expression, under a new name."""

    source: Rows
    columns: tuple[Column, ...]
    expressions: tuple[Expression, ...]

    @property
    def people(self) -> People:
        return self.source.people

    @property
    def rows(self) -> int:
        return self.source.rows


@dataclass(frozen=True, kw_only=True)
class Join:
    """Rows of `left` beside those of `right`: of the same person, of the linked key, or both.

    Where rows of `left` link to `right`, each finds one there at most (`once`).
    """

    left: Rows
    right: Rows
    keys: tuple[Expression, Expression] | None
    outer: bool
    once: bool = False

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.left.columns + self.right.columns

    @property
    def people(self) -> People:
        return self.left.people if self.left.people is not People.NOBODY else self.right.people

    @property
    def rows(self) -> int:
        """Both sides multiply, unless a row of one side finds one of the other at most."""
        if self.once:
            return self.left.rows
        product = self.left.rows * self.right.rows
        if self.keys is None or not isinstance(self.left, Scan):
            return product
        return min(product, self.right.rows + (self.left.rows if self.outer else 0))


@dataclass(frozen=True, kw_only=True)
class PerPerson:
    """One row for each person, or for each person and key: totals over at most `source.rows` rows.

    A total is a function, its argument and the condition of the rows that it is over.
    """

    source: Rows
    keys: tuple[tuple[Column, Expression], ...]
    totals: tuple[tuple[Column, Total], ...]

    people = People.COLUMN

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(column for column, _ in (*self.keys, *self.totals))

    @property
    def rows(self) -> int:
        return self.source.rows if self.keys else 1


@dataclass(frozen=True, kw_only=True)
class Bounded:
    """Of each person at most `most` rows, or `most` in each of `groups` groups, the first ones by rank.

    Ranks come from a keyed hash of the person's own rows, so who else is in the data changes nothing. An
    engine that `sorts` finds the same rows by sorting them.
    """

    source: Rows
    most: int
    groups: int | None
    keys: tuple[Expression, ...]
    sorts: bool = False

    people = People.COLUMN

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.source.columns

    @property
    def rows(self) -> int:
        return self.most * (self.groups or 1)


@dataclass(frozen=True, kw_only=True)
class Weighted:
    """All rows, each with a weight in the hidden column WEIGHT: one person's add up to `most` at most.

    They are found by one GROUP BY of people, which reads the rows twice, or, where it `sorts`, by sorting.
    """

    source: Rows
    most: int
    sorts: bool = False

    people = People.COLUMN

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.source.columns

    @property
    def rows(self) -> int:
        return self.most


Rows = Scan | Filter | Project | Join | PerPerson | Bounded | Weighted


def scans(node: Rows) -> list[Scan]:
    """Every table that is read."""
    if isinstance(node, Scan):
        return [node]
    if isinstance(node, Join):
        return scans(node.left) + scans(node.right)
    return scans(node.source)
