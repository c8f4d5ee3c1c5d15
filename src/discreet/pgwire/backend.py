"""The backend protocol: what the wire protocol needs of a server of logins, sessions and statements.

A statement is prepared (parsed), its columns are planned, and it is run. Preparing and planning are free and
read no data; `run` may charge the budget, and is called once for each Execute of a client.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from discreet.core.errors import DiscreetError
from discreet.pgwire.postgres_types import PostgresType, Scalar
from discreet.services.users.scram_verifier import Verifier


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column of a result."""

    name: str
    pg_type: PostgresType


Columns = tuple[Column, ...]
Values = Sequence[Scalar]


@dataclass(frozen=True, kw_only=True)
class WireWarning:
    """A warning for the client: its SQLSTATE and its text."""

    sqlstate: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of a statement: rows in the order of its columns, notices, warnings and the command tag.

    The number of rows sent is appended to a tag that ends in a blank.
    """

    rows: Sequence[Sequence[object]] = ()
    notices: tuple[str, ...] = ()
    tag: str = "SELECT "
    warnings: tuple[WireWarning, ...] = ()


class PreparedStatement(Protocol):
    """A parsed statement."""

    @property
    def parameters(self) -> tuple[PostgresType, ...]:
        """The types of $1, $2, …."""

    def plan_columns(self, values: Values | None) -> Columns | None:
        """Return the columns for these parameters, or for any if None; None if the statement has no rows."""

    def run(self, values: Values, should_continue: Callable[[], bool]) -> Result:
        """Run the statement; drop it if `should_continue` is false before anything is charged."""


class Session(Protocol):
    """The session of one connection, with its own settings."""

    def prepare(self, sql: str, types: tuple[PostgresType | None, ...]) -> PreparedStatement:
        """Parse one statement; `types` are those of its parameters, None where the client declares none."""

    def get_setting(self, name: str) -> str | None:
        """Return the value of a setting; None if there is no setting of that name."""

    def change_settings(self, settings: Mapping[str, str | None]) -> None:
        """Change settings, None for the default; raise if one is unknown or a value is not allowed."""

    def get_changed_settings(self) -> Mapping[str, str]:
        """Return the settings that differ from their defaults."""

    def list_settings(self) -> Sequence[tuple[str, str]]:
        """Return every setting with its value."""


class Backend(Protocol):
    """Logins and sessions of one server."""

    @property
    def secret(self) -> bytes:
        """The key that derives salts for unknown names: the same after a restart, and on every server."""

    def find_verifier(self, user: str) -> Verifier | None:
        """Return the SCRAM verifier of a user; None if there is no such user."""

    def list_iterations(self) -> Sequence[int]:
        """Return the iteration counts of all users' verifiers."""

    def get_login_delay(self, user: str, address: str) -> float:
        """Return the seconds until the next login with this name and address is checked."""

    def record_login(self, user: str, address: str, *, succeeded: bool) -> None:
        """Record how a login ended; unknown names are treated like known ones."""

    def open_session(self, user: str) -> Session:
        """Open the session of a user who has authenticated."""

    def log_fault(self, error: Exception) -> DiscreetError:
        """Log an unexpected error, and return the error that a client may see."""
