"""Users of a ledger: accounts, API tokens, sessions, idempotency keys and budget requests.

Every listener authenticates users here. No password and no token is stored, only verifiers and hashes.
"""

from __future__ import annotations

from discreet.services.users.user_accounts import ROLES, Role, User, UserAccounts, UserLookup
from discreet.services.users.user_storage import UserFile, UserStorage, get_user_file_path, open_user_storage

__all__ = [
    "ROLES",
    "Role",
    "User",
    "UserAccounts",
    "UserFile",
    "UserLookup",
    "UserStorage",
    "get_user_file_path",
    "open_user_storage",
]
