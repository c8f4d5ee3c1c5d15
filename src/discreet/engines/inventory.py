"""What an engine's own catalogue says of its tables: their names, columns and types, never a value.

It is read for a custodian who has yet to write a policy. Of a CSV path Spark guesses the types from the rows,
as is done with a file here; nothing of those rows is kept. What values look like is counted by the engine, by
patterns that it is told; see `patterns`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from discreet.core.policy import Kind

LOOKED_AT = "looked_at"
SECONDS = 120.0
"""A view may take as long as it likes to its first row, and a custodian waits for no more than a draft."""


@dataclass(frozen=True, kw_only=True)
class Held:
    """A table or view that an engine has, as a policy calls it.

    The kind of a column is None where a policy has none for its type, such as lists and documents.
    """

    source: str
    columns: tuple[tuple[str, Kind | None], ...]
    guessed: bool = False


class Inventory(Protocol):
    """The tables of one engine that whoever connects may read."""

    engine: str

    def names(self) -> list[str]:
        """What they are called, in order."""

    def held(self, word: str) -> Held | None:
        """The one that a word means, if there is one."""

    def matching(
        self, source: str, columns: Sequence[str], patterns: Mapping[str, str]
    ) -> Mapping[str, Mapping[str, float]]:
        """The share of some columns' first values that each pattern matches; stopped after `SECONDS`."""

    def close(self) -> None: ...


def meant(word: str, known: Iterable[str]) -> str | None:
    """The known name that a word is, in these letters or else in small ones.

    >>> meant("clinic.Visits", ["clinic.visits"]), meant("visit", ["visits"])
    ('clinic.visits', None)
    """
    names = set(known)
    return next((each for each in (word, word.lower()) if each in names), None)
