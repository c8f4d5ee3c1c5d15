"""Users of a ledger: accounts, API tokens, sessions, idempotency keys and budget requests.

Every listener authenticates users here. No password and no token is stored, only verifiers and hashes.
"""

from __future__ import annotations

from discreet.app.users.opening import beside, users_of
from discreet.app.users.storage import UserStorage
from discreet.app.users.user_file import UserFile
from discreet.app.users.users import ROLES, Role, User, UserBook, Users

__all__ = ["ROLES", "Role", "User", "UserBook", "UserFile", "UserStorage", "Users", "beside", "users_of"]
