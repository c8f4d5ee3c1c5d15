"""Addresses of ledgers, and the sibling files of a ledger: users, prepared store, fault log.

    ledger.db, sqlite:///ledger.db    a file relative to the policy; sibling files are in its folder
    postgresql://…                    a database; sibling files are beside the policy, as for ledger.db

A resolved database address carries the path for its sibling files after a #, which such addresses never use.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from discreet.accounting.ledger_storage import MEMORY, SQLITE, is_database_address
from discreet.core.errors import RequestError

DEFAULT_FILE = "ledger.db"


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
            hint="Name one under ledger in the policy, or by --ledger.",
        )
    return make_absolute(path)


def strip_sibling_path(ledger: str) -> str:
    """Return the address of the ledger itself, without the path of its sibling files."""
    return ledger.partition("#")[0] if is_database_address(ledger) else ledger


def find_sibling_file(ledger: str, suffix: str) -> Path | None:
    """Return the file or folder with that suffix beside a ledger; None for a ledger in memory."""
    file = ledger.partition("#")[2] or DEFAULT_FILE if is_database_address(ledger) else ledger
    return None if file == MEMORY else Path(file).with_suffix(suffix)
