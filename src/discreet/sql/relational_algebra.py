"""Relational algebra of a plan: scans, filters, projections and joins below the aggregate.

Every node has `columns`, under internal names that are unique in the plan; `people`, the privacy unit of its
rows (the hidden column PERSON identifies them, or each row is one person); and `rows`, the most rows that one
person can have in it. Privacy depends on that number alone: contribution bounding enforces it, and
sensitivity is computed from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from discreet.sql.expression_tree import Column, Expression

PERSON, RANK = "_discreet_person", "_discreet_rank"
WEIGHT = "_discreet_weight"
LINK, KEY = "_discreet_link", "_discreet_key"


Total = tuple[str, Expression | None, Expression | None]


class PrivacyUnit(StrEnum):
    """Privacy unit of a node: each row, the person in a hidden column, or nobody (public data)."""

    ROW = "row"
    COLUMN = "column"
    NOBODY = "nobody"


class RowOrder(StrEnum):
    """Order of a person's rows in a table: a stored rank; if read in place, a hash, or no order."""

    RANKED = "ranked"
    HASHED = "hashed"
    NONE = "unordered"


@dataclass(frozen=True, kw_only=True)
class Scan:
    """A table of the prepared store: each person's first `row_limit` rows, or all if truncated later."""

    table: str
    alias: str
    columns: tuple[Column, ...]
    stored: tuple[str, ...]
    people: PrivacyUnit
    rows: int
    row_limit: int | None
    order: RowOrder = RowOrder.RANKED


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Rows for which the condition is true."""

    source: Rows
    condition: Expression

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.source.columns

    @property
    def people(self) -> PrivacyUnit:
        return self.source.people

    @property
    def rows(self) -> int:
        return self.source.rows


@dataclass(frozen=True, kw_only=True)
class Project:
    """The source's rows with computed columns under new names."""

    source: Rows
    columns: tuple[Column, ...]
    expressions: tuple[Expression, ...]

    @property
    def people(self) -> PrivacyUnit:
        return self.source.people

    @property
    def rows(self) -> int:
        return self.source.rows


@dataclass(frozen=True, kw_only=True)
class Join:
    """Join of `left` and `right` by person, by a linked key, or by both.

    With `is_unique_match`, each row of `left` matches at most one row of `right`.
    """

    left: Rows
    right: Rows
    keys: tuple[Expression, Expression] | None
    is_outer: bool
    is_unique_match: bool = False

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.left.columns + self.right.columns

    @property
    def people(self) -> PrivacyUnit:
        return self.left.people if self.left.people is not PrivacyUnit.NOBODY else self.right.people

    @property
    def rows(self) -> int:
        """Product of both sides' rows, unless a row of one side matches at most one row of the other."""
        if self.is_unique_match:
            return self.left.rows
        product = self.left.rows * self.right.rows
        if self.keys is None or not isinstance(self.left, Scan):
            return product
        return min(product, self.right.rows + (self.left.rows if self.is_outer else 0))


@dataclass(frozen=True, kw_only=True)
class PersonTotals:
    """One row for each person, or for each person and key, with totals over at most `source.rows` rows.

    A total is a function, its argument and a filter condition.
    """

    source: Rows
    keys: tuple[tuple[Column, Expression], ...]
    totals: tuple[tuple[Column, Total], ...]

    people = PrivacyUnit.COLUMN

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(column for column, _ in (*self.keys, *self.totals))

    @property
    def rows(self) -> int:
        return self.source.rows if self.keys else 1


@dataclass(frozen=True, kw_only=True)
class TruncatedRows:
    """The first rows of each person by rank: at most `max_rows`, in all or in each of `max_groups` groups.

    Ranks come from a keyed hash of the person's own rows, so they do not depend on other people. With
    `uses_sorting`, the engine finds the same rows by sorting.
    """

    source: Rows
    max_rows: int
    max_groups: int | None
    keys: tuple[Expression, ...]
    uses_sorting: bool = False

    people = PrivacyUnit.COLUMN

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.source.columns

    @property
    def rows(self) -> int:
        return self.max_rows * (self.max_groups or 1)


@dataclass(frozen=True, kw_only=True)
class WeightedRows:
    """All rows with a weight in the hidden column WEIGHT; one person's weights add up to at most `max_rows`.

    Weights are computed by a GROUP BY person, which reads rows twice, or, with `uses_sorting`, by a window.
    """

    source: Rows
    max_rows: int
    uses_sorting: bool = False

    people = PrivacyUnit.COLUMN

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.source.columns

    @property
    def rows(self) -> int:
        return self.max_rows


Rows = Scan | Filter | Project | Join | PersonTotals | TruncatedRows | WeightedRows


def find_scans(node: Rows) -> list[Scan]:
    """Return every table scan below a node."""
    if isinstance(node, Scan):
        return [node]
    if isinstance(node, Join):
        return find_scans(node.left) + find_scans(node.right)
    return find_scans(node.source)
