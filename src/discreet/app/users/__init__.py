"""Who may enter: users, tokens, sessions, what they wish of the budget, in a file beside the ledger.

Every door asks here who somebody is and what the role allows; no password and no token is kept, only what
they are checked against.
"""

from __future__ import annotations

from discreet.app.users.user_file import UserFile, beside
from discreet.app.users.users import ROLES, Role, User, UserBook, Users

__all__ = ["ROLES", "Role", "User", "UserBook", "UserFile", "Users", "beside"]
