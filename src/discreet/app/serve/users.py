"""Who may enter: a name, what its login is checked against, and in which analyst's name it asks."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from discreet.accounting.ledger import SOLE_ANALYST
from discreet.app.wire.scram import Verifier
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness

PASSWORD_BYTES = 15


@dataclass(frozen=True, kw_only=True)
class User:
    """Somebody who may ask."""

    name: str
    verifier: Verifier
    analyst: str


class Users(Protocol):
    """A store of users; it keeps no password."""

    def find(self, name: str) -> User | None:
        """The user of that name, if there is one."""


@dataclass(frozen=True)
class Guests:
    """The policy's analysts, each under the analyst's own name, for as long as the process runs."""

    users: Mapping[str, User]

    def find(self, name: str) -> User | None:
        return self.users.get(name)


def guests(policy: Policy, passwords: Mapping[str, str] | None = None) -> tuple[Guests, dict[str, str]]:
    """A guest for each analyst, and the passwords, new ones but for those that are given."""
    drawn = {
        name: base64.b32encode(Randomness().source(PASSWORD_BYTES)).decode().lower()
        for name in policy.analysts or (SOLE_ANALYST,)
    }
    told = drawn | dict(passwords or {})
    users = {name: User(name=name, verifier=Verifier.of(told[name]), analyst=name) for name in drawn}
    return Guests(users), told
