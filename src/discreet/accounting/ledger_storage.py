"""Storage of a ledger: an SQLite file, or a PostgreSQL database that several servers share.

    ledger.db, sqlite:///ledger.db    a file          :memory:    not persistent
    postgresql://host/database        a database; `?options=-csearch_path%3Dname` names a schema of it

A ledger has sibling files: the users, the prepared store, the fault log and others. Those of a file are in
its folder; those of a database are beside the policy, as for a file ledger.db. A resolved address of a
database has the path for its sibling files after a #, which such addresses never use.

Both implement `LedgerStorage`. Every failure is one sentence, and none contains a value from the data, or the
password of an address. Both write by `GroupCommit`, one commit for all waiting threads of a process:

Turn        While one thread commits, others arrive and wait. The next one writes for all of them, in order of
            arrival, in one transaction: a disk that syncs 200 times a second takes many more charges than
            200, and no thread is overtaken.
Isolation   Each write has its own savepoint: a refused one leaves no trace and hinders no other.
Durable     No thread continues before the commit of its write has returned.
Failed      A transaction that fails, fails for every thread in it, because decisions in it depend on each
            other's writes.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast

from discreet.core.errors import DiscreetError, EngineFault, RequestError

MEMORY = ":memory:"
DEFAULT_FILE = "ledger.db"
SQLITE, POSTGRESQL = "sqlite:///", ("postgresql://", "postgres://")
FORMAT, CHAINED_FORMAT = 6, 3
"""The format of new ledgers, and the first that was chained.

In 4 shares and suspensions are chained, too; 5 has a link for acceptances of data; 6 an index of the
measurements that each entry released.
"""
PATIENCE = 60.0
MOST = 128
"""Writes that one commit holds."""
T = TypeVar("T")

DAMAGED = "is damaged", "Restore it from a backup; without one, treat the whole promise as spent."
FOREIGN = "is not a ledger of discreet", "Name another place under ledger in the policy."
MALFORMED = (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError)
"""The errors of parsing a row whose values were changed."""
UNWRITABLE = (
    "cannot be written",
    "Make it and its folder writable, or name another file under ledger in the policy.",
)
BUSY = "is kept busy by another process", "Try again when it is done."
UNDER_WAY = (
    "CREATE INDEX IF NOT EXISTS entry_under_way ON entry (analyst, question_key) WHERE state = 'reserved'"
)
MEASUREMENTS = (
    "CREATE TABLE IF NOT EXISTS measurement (analyst {name} NOT NULL, identity TEXT NOT NULL,"
    " entry {number} NOT NULL, PRIMARY KEY (analyst, identity, entry))"
)
"""The entries under which an analyst has released, or is releasing, each measurement."""
FULL = "cannot grow: the disk is full", "Make room; nothing was charged."

COLUMNS = {
    "terms": ("one", "prior", "posterior", "secret", "people", "tail", "leak"),
    "account": ("analyst", "share", "epsilon", "rho", "delta", "events", "incident"),
    "entry": (
        *("id", "time", "analyst", "question_key", "question", "guarantee", "epsilon", "rho", "delta"),
        *("state", "process", "incident", "metadata", "answer", "number"),
    ),
    "release": ("id", "time", "after", "name", "description", "certificate"),
    "link": ("id", "kind", "analyst", "body", "previous", "head"),
    "measurement": ("analyst", "identity", "entry"),
}
"""The tables of every ledger, in an order in which they can be filled."""


class SqlResult(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> Sequence[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class SqlTransaction(Protocol):
    """One transaction; statements are the same in every storage, with values by :name."""

    def execute(self, statement: str, values: Mapping[str, Any] = ..., /) -> SqlResult: ...


class LedgerStorage(Protocol):
    """The operations that a ledger needs from its storage."""

    place: str

    def read_transaction(self) -> AbstractContextManager[SqlTransaction]:
        """Open a read-only transaction that sees one snapshot."""

    def write(self, work: Callable[[SqlTransaction], T], *, after_data: bool = False) -> T:
        """Return the result of `work`, in a transaction that excludes other writers.

        The result is durable when this returns. `after_data`: data has been read already, so that a failure
        is an `EngineFault` and not a refusal.
        """

    def verify(self, rows: SqlTransaction) -> None:
        """Raise an error if the storage finds itself damaged."""

    def is_process_alive(self, rows: SqlTransaction, process: str) -> bool:
        """Return whether a process that has written here still runs."""

    def copy_to(self, path: Path) -> None:
        """Copy one snapshot of everything into a new SQLite file, while writers continue."""

    def make_damage_error(self, what: str) -> RequestError:
        """Return the error for a ledger that contradicts itself."""

    def close(self) -> None: ...


def make_ledger_error(place: str, what: str, hint: str) -> RequestError:
    return RequestError(f"The ledger {place} {what}.", hint=hint)


class NewerFormatError(RequestError):
    """A ledger of a format that this version does not know, and therefore does not write."""


def make_newer_format_error(place: str, form: int) -> NewerFormatError:
    return NewerFormatError(
        f"The ledger {place} has format {form}; this version of discreet knows formats up to {FORMAT}.",
        hint="Open it with the version that wrote it, or a newer one.",
    )


@contextmanager
def translate_errors(
    place: str, driver_error: type[Exception], explain: Callable[[Any], tuple[str, str]], *, after_data: bool
) -> Iterator[None]:
    """Raise every failure of a storage as one sentence; `after_data` was read, as an `EngineFault`.

    `explain` says what is wrong and what to do, for an error of the driver.
    """
    try:
        yield
    except driver_error as error:
        if after_data:
            raise EngineFault(
                "The ledger could not be written after the data was read; the charge stays."
            ) from None
        raise make_ledger_error(place, *explain(error)) from None
    except NewerFormatError:
        if after_data:
            raise EngineFault(
                "The ledger was taken over by a newer version after the data was read; the charge stays."
            ) from None
        raise
    except DiscreetError:
        raise
    except MALFORMED:
        if after_data:
            raise EngineFault("The ledger could not be read after the data was; the charge stays.") from None
        raise make_ledger_error(place, f"{DAMAGED[0]}: a row of it cannot be read", DAMAGED[1]) from None


def is_database_address(address: str) -> bool:
    """Return whether a ledger's address is that of a server."""
    return address.startswith(POSTGRESQL)


def resolve_ledger_address(address: str, make_absolute: Callable[[str], str]) -> str:
    """Return the address with an absolute path, independent of the working directory.

    >>> resolve_ledger_address("sqlite:///ledger.db", "/data/{}".format)
    '/data/ledger.db'
    >>> resolve_ledger_address("postgresql://db.example/promises", "/data/{}".format)
    'postgresql://db.example/promises#/data/ledger.db'
    """
    if address == MEMORY:
        return address
    if is_database_address(address):
        return f"{address.partition('#')[0]}#{make_absolute(DEFAULT_FILE)}"
    path = address.removeprefix(SQLITE)
    if not path or "://" in path:
        raise RequestError(
            "A ledger address is a file, sqlite:///FILE or postgresql://…; this is none of them.",
            hint="Name one under ledger in the policy, or by `ledger=`.",
        )
    return make_absolute(path)


def strip_sibling_path(ledger: str) -> str:
    """Return the address of the ledger itself, without the path of its sibling files."""
    return ledger.partition("#")[0] if is_database_address(ledger) else ledger


def find_sibling_file(ledger: str, suffix: str) -> Path | None:
    """Return the file or folder with that suffix beside a ledger; None for a ledger in memory."""
    file = ledger.partition("#")[2] or DEFAULT_FILE if is_database_address(ledger) else ledger
    return None if file == MEMORY else Path(file).with_suffix(suffix)


def copy_tables(source: SqlTransaction, target: SqlTransaction, *, keep: str = "") -> None:
    """Copy the rows of all tables of a ledger; `keep` is SQL that makes the target accept given ids."""
    for table, columns in COLUMNS.items():
        names, values = ", ".join(columns), ", ".join(f":{name}" for name in columns)
        for row in source.execute(f"SELECT {names} FROM {table} ORDER BY 1"):
            target.execute(
                f"INSERT INTO {table} ({names}){keep if table == 'release' else ''} VALUES ({values})",
                dict(zip(columns, row, strict=True)),
            )


@dataclass
class _PendingWrite(Generic[T]):
    """A pending write, and its result."""

    work: Callable[[SqlTransaction], T]
    done: bool = False
    value: T | None = None
    error: Exception | None = None

    def run(self, rows: SqlTransaction, *, is_alone: bool) -> None:
        """Write, behind a savepoint where others write too, and roll back to it on failure."""
        if is_alone:
            self.value = self.work(rows)
            return
        rows.execute("SAVEPOINT one")
        try:
            self.value = self.work(rows)
        except Exception as error:
            self.error = error
            try:
                rows.execute("ROLLBACK TO SAVEPOINT one")
            except Exception:
                raise error from None  # the whole transaction is lost
        rows.execute("RELEASE SAVEPOINT one")


@dataclass
class GroupCommit:
    """A queue of writes, of which `most` at a time run in one `transaction`."""

    transaction: Callable[[], AbstractContextManager[SqlTransaction]]
    most: int = MOST
    _waiting: deque[_PendingWrite[Any]] = field(default_factory=deque)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def write(self, work: Callable[[SqlTransaction], T]) -> T:
        """Return the result of `work`, once the commit that holds it has returned."""
        own = _PendingWrite(work)
        self._waiting.append(own)
        with self._turn:
            while not own.done:
                count = min(self.most, len(self._waiting))
                self._commit_batch([self._waiting.popleft() for _ in range(count)])
        if own.error is not None:
            raise own.error
        return cast("T", own.value)

    def _commit_batch(self, batch: Sequence[_PendingWrite[Any]]) -> None:
        try:
            with self.transaction() as rows:
                for each in batch:
                    each.run(rows, is_alone=len(batch) == 1)
        except Exception as error:
            for each in batch:
                each.error = error
        except BaseException:
            self._waiting.extendleft(reversed(batch))  # the next thread takes them over
            raise
        for each in batch:
            each.done = True
