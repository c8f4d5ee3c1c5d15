"""What stands behind the wire: who may enter, what a statement is, what it returns.

A statement is prepared (read), its columns are planned, and it is run. Preparing and planning are free and
read no data; `run` may charge, and the wire calls it once for each time that a client executes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from discreet.app.users.scram_verifier import Verifier
from discreet.app.wire.kinds import Kind, Scalar
from discreet.core.errors import DiscreetError


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column of a result."""

    name: str
    kind: Kind


Columns = tuple[Column, ...]
Values = Sequence[Scalar]


@dataclass(frozen=True, kw_only=True)
class Warned:
    """A warning: its SQLSTATE and its text."""

    state: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of a statement: rows in the order of its columns, what to say beside them, and its tag.

    A tag that ends in a blank is completed by how many rows were sent.
    """

    rows: Sequence[Sequence[object]] = ()
    notices: tuple[str, ...] = ()
    tag: str = "SELECT "
    warnings: tuple[Warned, ...] = ()


class Prepared(Protocol):
    """A statement that was read."""

    @property
    def parameters(self) -> tuple[Kind, ...]:
        """The kind of each $1, $2 …."""

    def columns(self, values: Values | None) -> Columns | None:
        """What it would return for these parameters, or for whichever come; None where it returns no rows."""

    def run(self, values: Values, wanted: Callable[[], bool]) -> Result:
        """Carry it out. What is no longer `wanted` before anything was charged is left."""


class Session(Protocol):
    """One connection's conversation: it has settings of its own."""

    def prepare(self, sql: str, kinds: tuple[Kind | None, ...]) -> Prepared:
        """Read one statement; `kinds` are the parameters' as far as the client names them."""

    def setting(self, name: str) -> str | None:
        """What a setting stands at; None where there is none of that name."""

    def change(self, settings: Mapping[str, str | None]) -> None:
        """Change settings, None for the default; refused where one is unknown or cannot be so."""

    def settings(self) -> Mapping[str, str]:
        """Everything that was changed."""

    def shown(self) -> Sequence[tuple[str, str]]:
        """Every setting and what it stands at."""


class Door(Protocol):
    """Who may enter, and as whom."""

    @property
    def secret(self) -> bytes:
        """What salts of names that nobody has are made of: the same after a restart, and on every server."""

    def verifier(self, user: str) -> Verifier | None:
        """What a login is checked against; None where there is no such user."""

    def iterations(self) -> Sequence[int]:
        """Return how many iterations the verifiers of all users have."""

    def wait(self, user: str, place: str) -> float:
        """For how many seconds no login of that name from that place is looked at."""

    def tried(self, user: str, place: str, *, admitted: bool) -> None:
        """Note how a login ended; whether there is such a user makes no difference."""

    def enter(self, user: str) -> Session:
        """The conversation of a user who has proven to be one."""

    def unforeseen(self, error: Exception) -> DiscreetError:
        """Note an error that should not be, and say what a client may know of it."""
