"""Addresses of ledgers, and the files that stand beside one: users, the prepared store, the log of faults.

    ledger.db, sqlite:///ledger.db    a file, looked for beside the policy; the others stand beside it
    postgresql://…                    a database; the others stand beside the policy, as if it were ledger.db

An address that is anchored says where they stand after a #, which an address of a database does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from discreet.accounting.ledger_storage import MEMORY, SQLITE, is_database_address
from discreet.core.errors import RequestError

USUAL = "ledger.db"


def anchored(address: str, absolute: Callable[[str], str]) -> str:
    """The same address wherever one works.

    >>> anchored("sqlite:///ledger.db", "/data/{}".format)
    '/data/ledger.db'
    >>> anchored("postgresql://db.example/promises", "/data/{}".format)
    'postgresql://db.example/promises#/data/ledger.db'
    """
    if address == MEMORY:
        return address
    if is_database_address(address):
        return f"{address.partition('#')[0]}#{absolute(USUAL)}"
    path = address.removeprefix(SQLITE)
    if not path or "://" in path:
        raise RequestError(
            "A ledger is a file, sqlite:///FILE or postgresql://…, and this is none of them.",
            hint="Name one under ledger in the policy, or by --ledger.",
        )
    return absolute(path)


def kept_at(ledger: str) -> str:
    """Where the ledger itself is."""
    return ledger.partition("#")[0] if is_database_address(ledger) else ledger


def file_beside(ledger: str, suffix: str) -> Path | None:
    """The file or folder of that suffix beside a ledger; None for one in memory."""
    file = ledger.partition("#")[2] or USUAL if is_database_address(ledger) else ledger
    return None if file == MEMORY else Path(file).with_suffix(suffix)
