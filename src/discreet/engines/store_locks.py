"""Store locks: a session that uses a prepared store holds a shared lock; unlocked stores can be dropped.

Files       each store file of DuckDB has an empty lock file beside it (`flock`). The system releases the
            lock when its holder ends, however that happens.
PostgreSQL  a shared advisory lock of the session, named by schema and version; the server releases it when
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

LOCK_PREFIX = "used-"


class StoreLock:
    """A shared lock on a store file, held until this object is collected or the process ends."""

    def __init__(self, descriptor: int) -> None:
        self._closing = weakref.finalize(self, os.close, descriptor)


def lock_store_file(store: Path) -> StoreLock | None:
    """Return a lock on a store file, or None if there is no such store."""
    while store.exists():
        lock = os.open(_lock_path(store), os.O_RDWR | os.O_CREAT, 0o600)
        use = StoreLock(lock)
        fcntl.flock(lock, fcntl.LOCK_SH)
        # another process may have dropped the store, and its lock file, meanwhile
        if store.exists() and _is_same_file(lock, _lock_path(store)):
            return use
    return None


def drop_store_file(store: Path) -> bool:
    """Remove a store file unless it is locked; return whether it was removed."""
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


def lock_store_tables(fetch: Callable[[str], object], schema: str, version: str) -> None:
    """Take the session's shared lock on the store of a version; call it before looking for its tables."""
    fetch(f"SELECT pg_catalog.pg_advisory_lock_shared({_lock_number(schema, version)}) AS held")


def unlock_store_tables(fetch: Callable[[str], object]) -> None:
    """Release the session's lock now: a server notices only later that a session has ended."""
    fetch("SELECT pg_catalog.pg_advisory_unlock_all() AS released")


def write_exclusive_lock_query(schema: str, version: str) -> str:
    """Return the SELECT that tries to lock a version exclusively until its transaction ends."""
    return f"SELECT pg_catalog.pg_try_advisory_xact_lock({_lock_number(schema, version)}) AS free"


def _lock_path(store: Path) -> Path:
    return store.with_name(f"{LOCK_PREFIX}{store.stem}")


def _is_same_file(lock: int, path: Path) -> bool:
    """Return whether an open file is the one at a path."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(lock), path.stat())
    return False


def _lock_number(schema: str, version: str) -> str:
    digest = hashlib.sha256(f"discreet store {schema}.{version}".encode()).digest()
    return f"CAST('{int.from_bytes(digest[:8], signed=True)}' AS bigint)"
