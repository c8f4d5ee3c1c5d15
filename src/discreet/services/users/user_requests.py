"""The request of `user add`, and which analyst the new user asks as.

Custodians ask as nobody unless an analyst is given, auditors never ask. An analyst is by default the one of
the policy that has the user's name.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.services.policies import resolve_analyst
from discreet.services.request_fields import CommandLine
from discreet.services.users.user_accounts import Role, UserAccounts, get_sole_analyst


class AddUserRequest(BaseModel):
    """A user to add: name and role, and the analyst whose share the user spends."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(description="The user's name."), CommandLine(is_argument=True)]
    role: Annotated[Role, Field(description="The user's role.")] = Role.ANALYST
    analyst: Annotated[
        str | None,
        Field(description="The analyst as whom the user asks; by default, the one of the same name."),
    ] = None


def add_user(
    users: UserAccounts, policy: Policy, request: AddUserRequest, password: str | None
) -> tuple[str | None, str]:
    """Add a user; return the analyst as whom the user asks, and the password, drawn if none is given."""
    analyst = _resolve_user_analyst(policy, request)
    return analyst, users.add(request.name, request.role, analyst, password)


def _resolve_user_analyst(policy: Policy, request: AddUserRequest) -> str | None:
    if request.role is Role.AUDITOR:
        if request.analyst is not None:
            raise RequestError("user: an auditor reads and does not ask.", hint="Leave out `analyst=`.")
        return None
    if request.role is Role.CUSTODIAN and request.analyst is None:
        return get_sole_analyst(policy)
    who = resolve_analyst(
        policy, request.analyst or (request.name if request.name in policy.analysts else None)
    )
    if not policy.analysts and who != get_sole_analyst(policy):
        raise RequestError(
            f"user: the policy gives {who} no share.",
            hint=f"Leave out `analyst=`, or write analysts: {{{who}: {{share: 50%}}}} into the policy.",
        )
    return who
