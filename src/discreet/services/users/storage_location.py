"""Location of a ledger's users: a file beside a SQLite ledger, or the PostgreSQL database of the ledger."""

from __future__ import annotations

from pathlib import Path

from discreet.accounting.ledger_storage import MEMORY, is_database_address
from discreet.services.ledger_addresses import find_sibling_file
from discreet.services.users.user_file import UserFile
from discreet.services.users.user_storage import UserStorage


def open_user_storage(ledger: str) -> UserStorage:
    """Open the user storage of a ledger by its absolute address; create it if there is none."""
    if is_database_address(ledger):
        from discreet.services.users.user_database import (
            UserDatabase,  # the driver is needed for shared ledgers only
        )

        return UserDatabase(ledger)
    return UserFile(get_user_file_path(ledger))


def get_user_file_path(ledger: str) -> str:
    """Return the path of the user file beside a ledger; in memory for a ledger in memory."""
    return str(find_sibling_file(ledger, ".users.db") or MEMORY)


def has_user_storage(ledger: str) -> bool:
    """Return True if the ledger has a user storage."""
    return is_database_address(ledger) or Path(get_user_file_path(ledger)).exists()
