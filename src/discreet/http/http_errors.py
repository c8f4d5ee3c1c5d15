"""Errors of the HTTP frontend, and the HTTP status of each error code.

RequestError
├── ForbiddenError                the user is known and lacks the permission
├── PasswordChangeRequiredError   the user has to choose a password first
├── NotFoundError                 there is no such resource
├── MethodNotAllowedError         the resource does not accept the method
├── BodyTooLargeError             the body is larger than any request needs
├── MalformedRequestError         the end or the version of the request is ambiguous
└── TooManyRequestsError          one analyst has too many queries waiting
InternalError                     an unexpected exception

Errors of logins are those of `services.users.sessions`.
"""

from __future__ import annotations

from discreet.core.errors import DiscreetError, RequestError

STATUS_BY_CODE = {
    "refused": 400,
    "invalid-parameter": 422,
    "budget": 402,
    "login": 401,
    "forbidden": 403,
    "password": 403,
    "missing": 404,
    "method": 405,
    "too-long": 413,
    "misdirected": 421,
    "crowded": 429,
    "busy": 429,
    "data": 400,
    "no-data": 409,
    "unmet": 409,
    "too-late": 409,
    "under-way": 409,
    "engine-fault": 500,
    "internal": 500,
}
"""The HTTP status of each error code; several codes share a status."""


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


class InternalError(DiscreetError):
    code = "internal"
