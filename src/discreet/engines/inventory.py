"""Table inventory: the names, columns and types in an engine's own catalog; never a value.

It is read for a custodian who has not written a policy yet. Spark infers the types of a CSV path from its
rows, as is done here for a CSV file; nothing of those rows is kept. How many values match a pattern is
counted by the engine itself (`pattern_shares`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from discreet.core.policy import ColumnType

INSPECTED_TABLE = "looked_at"
INSPECTION_SECONDS = 120.0
"""A view may take arbitrarily long to return its first row; a policy draft is not worth waiting longer."""


@dataclass(frozen=True, kw_only=True)
class InventoryTable:
    """A table or view of an engine, under the name that a policy's `source` has for it.

    The kind of a column is None if policies have no kind for its type, such as lists and documents.
    """

    source: str
    columns: tuple[tuple[str, ColumnType | None], ...]
    is_guessed: bool = False


class Inventory(Protocol):
    """The tables of one engine that the connected user may read."""

    engine: str

    def list_names(self) -> list[str]:
        """Return the names of all tables, in order."""

    def find_table(self, word: str) -> InventoryTable | None:
        """Return the table of that name, or None."""

    def compute_pattern_shares(
        self, source: str, columns: Sequence[str], patterns: Mapping[str, str]
    ) -> Mapping[str, Mapping[str, float]]:
        """Return the share of each column's first values that match each pattern, within the time limit."""

    def close(self) -> None: ...


def match_name(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that equals a word, or else its lower-case form; None if there is none.

    >>> match_name("clinic.Visits", ["clinic.visits"]), match_name("visit", ["visits"])
    ('clinic.visits', None)
    """
    names = set(candidates)
    return next((each for each in (word, word.lower()) if each in names), None)
