"""Storage of users: a file beside the ledger, or the ledger's own database, which several servers share.

Content     Names, roles, password hashes and verifiers, token hashes, the signing key of sessions, ended
            sessions, budget requests and decisions, idempotency keys with their responses, and jobs.
            No password, no token, and no data value that was not released.
Shared      with `discreet user`, which may write while servers run: a removed user is logged out at once.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from discreet.accounting.ledger_storage import SqlTransaction
from discreet.core.randomness import Randomness

STORAGE_FORMAT = 4
DEFAULT_TOKEN_DAYS = 90
"""The default lifetime of a token, also given to tokens of storages that had no expiry."""
SECRET_BYTES = 32


class UserStorage(Protocol):
    """A transactional storage of users; `releases_folder` is the folder for files that jobs write."""

    @property
    def releases_folder(self) -> Path | None: ...

    @property
    def secret(self) -> bytes:
        """The signing key of sessions, drawn when the storage is created."""

    def read_transaction(self) -> AbstractContextManager[SqlTransaction]:
        """Begin a read transaction: everything within it sees one snapshot."""

    def write_transaction(self) -> AbstractContextManager[SqlTransaction]:
        """Begin an exclusive write transaction, durable when it ends."""

    def is_process_alive(self, transaction: SqlTransaction, process: str) -> bool:
        """Return True if a process that wrote here still runs."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def get_timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def make_expiry_timestamp(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")


def draw_secret() -> bytes:
    return Randomness().source(SECRET_BYTES)
