"""Errors of the HTTP frontend; `responses` maps each code to its HTTP status.

RequestError
├── AuthenticationError           not logged in, or name and password do not match
├── ForbiddenError                the user is known and lacks the permission
├── PasswordChangeRequiredError   the user has to choose a password first
├── NotFoundError                 there is no such resource
├── MethodNotAllowedError         the resource does not accept the method
├── BodyTooLargeError             the body is larger than any request needs
├── MalformedRequestError         the end or the version of the request is ambiguous
└── TooManyRequestsError          one analyst has too many queries waiting
    └── ThrottledLoginError       too many logins have failed
InternalError                     an unexpected exception
"""

from __future__ import annotations

import math

from discreet.core.errors import DiscreetError, RequestError


class AuthenticationError(RequestError):
    code = "login"


class ForbiddenError(RequestError):
    code = "forbidden"


class PasswordChangeRequiredError(RequestError):
    code = "password"


class NotFoundError(RequestError):
    code = "missing"


class MethodNotAllowedError(RequestError):
    code = "method"


class BodyTooLargeError(RequestError):
    code = "too-long"


class MalformedRequestError(RequestError):
    """A malformed request, with the general code of a refused request."""


class TooManyRequestsError(RequestError):
    code = "crowded"


class ThrottledLoginError(TooManyRequestsError):
    def __init__(self, seconds: float) -> None:
        self.seconds = math.ceil(seconds)
        super().__init__("Too many logins have failed.", hint=f"Try again in {self.seconds} seconds.")


class InternalError(DiscreetError):
    code = "internal"
