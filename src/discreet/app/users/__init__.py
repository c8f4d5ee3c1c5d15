"""Who may enter: users, tokens, sessions, what they wish of the budget, where the ledger is.

Every door asks here who somebody is and what the role allows; no password and no token is kept, only what
they are checked against.
"""

from __future__ import annotations

from discreet.app.users.opening import beside, users_of
from discreet.app.users.storage import UserStorage
from discreet.app.users.user_file import UserFile
from discreet.app.users.users import ROLES, Role, User, UserBook, Users

__all__ = ["ROLES", "Role", "User", "UserBook", "UserFile", "UserStorage", "Users", "beside", "users_of"]
