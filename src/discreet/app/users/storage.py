"""Where users are kept: a file beside the ledger, or the database that the ledger is in, which servers share.

Holds       names, roles, what passwords and tokens are checked against, what sessions are signed with and
            which of them were ended, wishes for budget and what was decided on them, which requests were
            answered under which key of their sender's, and which long work was begun and how it ended.
            No password, no token, and no value of the data that was not released.
Shared      with `discreet user`, which may write while servers run: whoever is removed is out at once.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from discreet.accounting.ledger_storage import SqlTransaction
from discreet.core.randomness import Randomness

FORMAT = 4
TOKEN_DAYS = 90
"""How long a token lasts where nothing else is said, and from now on where a store knew no expiry."""
SECRET_BYTES = 32


class UserStorage(Protocol):
    """What users need of the place where they are kept; `releases` is the folder for what jobs write."""

    @property
    def releases(self) -> Path | None: ...

    @property
    def secret(self) -> bytes:
        """What sessions are signed with; drawn when the place is made."""

    def reading(self) -> AbstractContextManager[SqlTransaction]:
        """Everything inside sees the same moment."""

    def writing(self) -> AbstractContextManager[SqlTransaction]:
        """Nobody else writes meanwhile; on the disk afterwards, or not at all."""

    def is_alive(self, rows: SqlTransaction, process: str) -> bool:
        """Whether a process that has written here can still go on with it."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def days_from_now(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")


def drawn_secret() -> bytes:
    return Randomness().source(SECRET_BYTES)
