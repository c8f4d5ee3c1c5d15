"""Location of a ledger's users: a file beside a SQLite ledger, or the PostgreSQL database of the ledger."""

from __future__ import annotations

from pathlib import Path

from discreet.accounting.ledger_storage import MEMORY, is_database_address
from discreet.app.ledger_addresses import file_beside
from discreet.app.users.storage import UserStorage
from discreet.app.users.user_file import UserFile


def users_of(ledger: str) -> UserStorage:
    """Open the user storage of a ledger by its absolute address; create it if there is none."""
    if is_database_address(ledger):
        from discreet.app.users.user_database import (
            UserDatabase,
        )  # the driver is needed for shared ledgers only

        return UserDatabase(ledger)
    return UserFile(beside(ledger))


def beside(ledger: str) -> str:
    """Return the path of the user file beside a ledger; in memory for a ledger in memory."""
    return str(file_beside(ledger, ".users.db") or MEMORY)


def has_users(ledger: str) -> bool:
    """Return True if the ledger has a user storage."""
    return is_database_address(ledger) or Path(beside(ledger)).exists()
