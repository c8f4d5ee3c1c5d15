"""Where the users of a ledger are: beside a file of SQLite, and within a database of PostgreSQL."""

from __future__ import annotations

from pathlib import Path

from discreet.accounting.ledger_storage import MEMORY, is_database_address
from discreet.app.ledger_addresses import file_beside
from discreet.app.users.storage import UserStorage
from discreet.app.users.user_file import UserFile


def users_of(ledger: str) -> UserStorage:
    """The users of a ledger, by its anchored address; a new place is made for them where there is none."""
    if is_database_address(ledger):
        from discreet.app.users.user_database import UserDatabase  # only those who share one load it

        return UserDatabase(ledger)
    return UserFile(beside(ledger))


def beside(ledger: str) -> str:
    """The file of users beside a ledger; in memory for one in memory."""
    return str(file_beside(ledger, ".users.db") or MEMORY)


def has_users(ledger: str) -> bool:
    """Whether there is a place for users already."""
    return is_database_address(ledger) or Path(beside(ledger)).exists()
