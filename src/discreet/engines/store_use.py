"""Who uses a prepared store: a user holds a shared lock, and only a store that nobody holds is dropped.

Files       beside each store file of DuckDB stands an empty file to be locked (`flock`). The system lets go
            of the lock when its holder ends, however that happens.
PostgreSQL  a shared advisory lock of the session, named by schema and version; the server lets go of it when
            the session ends.
Spark       drops nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

USED = "used-"


class StoreUse:
    """A shared lock on a store file, held until this object is collected or the process ends."""

    def __init__(self, lock: int) -> None:
        self._closing = weakref.finalize(self, os.close, lock)


def hold_file(store: Path) -> StoreUse | None:
    """Return a hold on a store file, or None where there is no such store."""
    while store.exists():
        lock = os.open(_lock_path(store), os.O_RDWR | os.O_CREAT, 0o600)
        use = StoreUse(lock)
        fcntl.flock(lock, fcntl.LOCK_SH)
        # whoever dropped the store meanwhile has removed what is locked here
        if store.exists() and _is_at(lock, _lock_path(store)):
            return use
    return None


def drop_file(store: Path) -> bool:
    """Remove a store file, unless somebody holds it; return whether it is gone."""
    path = _lock_path(store)
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            store.unlink(missing_ok=True)
            path.unlink(missing_ok=True)
            return True
        return False
    finally:
        os.close(lock)


def hold_tables(fetch: Callable[[str], object], schema: str, version: str) -> None:
    """Have the session of `fetch` hold the store of that version, before it looks for the tables."""
    fetch(f"SELECT pg_catalog.pg_advisory_lock_shared({_lock_number(schema, version)}) AS held")


def release_tables(fetch: Callable[[str], object]) -> None:
    """Have a session let go of its store now: a server notices only later that a session has ended."""
    fetch("SELECT pg_catalog.pg_advisory_unlock_all() AS released")


def try_to_own_tables(schema: str, version: str) -> str:
    """Return the SELECT that tells, for the rest of its transaction, whether nobody holds that version."""
    return f"SELECT pg_catalog.pg_try_advisory_xact_lock({_lock_number(schema, version)}) AS free"


def _lock_path(store: Path) -> Path:
    return store.with_name(f"{USED}{store.stem}")


def _is_at(lock: int, path: Path) -> bool:
    """Whether an open file is the one at a path."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(lock), path.stat())
    return False


def _lock_number(schema: str, version: str) -> str:
    digest = hashlib.sha256(f"discreet store {schema}.{version}".encode()).digest()
    return f"CAST('{int.from_bytes(digest[:8], signed=True)}' AS bigint)"
