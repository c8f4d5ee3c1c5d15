"""Who may enter: users, tokens, sessions, what they wish of the budget, in a file beside the ledger."""

from __future__ import annotations

from discreet.app.users.user_file import UserFile, beside
from discreet.app.users.users import ROLES, Role, User, UserBook, Users

__all__ = ["ROLES", "Role", "User", "UserBook", "UserFile", "Users", "beside"]
