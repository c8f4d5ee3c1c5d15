"""What the HTTP door refuses by itself; each code has a status, as `replies` says.

RequestError
├── LoginError       nobody is logged in, or name and password do not fit
├── ForbiddenError   the user is known, and may not do that
├── PasswordError    the user has to choose a password first
├── MissingError     there is no such thing
├── MethodError      there is, and it is not asked that way
├── TooLongError     more was sent than any request needs
├── UnclearError     it cannot be told where the request ends, or how to read it
└── CrowdedError     too much is going on in one analyst's name
    └── ThrottledError   too many logins have failed
InternalError        what nobody foresaw
"""

from __future__ import annotations

import math

from discreet.core.errors import DiscreetError, RequestError


class LoginError(RequestError):
    code = "login"


class ForbiddenError(RequestError):
    code = "forbidden"


class PasswordError(RequestError):
    code = "password"


class MissingError(RequestError):
    code = "missing"


class MethodError(RequestError):
    code = "method"


class TooLongError(RequestError):
    code = "too-long"


class UnclearError(RequestError):
    """One that is refused as any other is."""


class CrowdedError(RequestError):
    code = "crowded"


class ThrottledError(CrowdedError):
    def __init__(self, seconds: float) -> None:
        self.seconds = math.ceil(seconds)
        super().__init__("Too many logins have failed.", hint=f"Try again in {self.seconds} seconds.")


class InternalError(DiscreetError):
    code = "internal"
