"""Addresses of engines in a policy.

What an address means is in the specification of its engine (`discreet.engines.ENGINES`). Addresses of ledgers
are in `accounting.ledger_storage`.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from discreet.core.errors import RequestError
from discreet.engines.engine_registry import ENGINES
from discreet.engines.engine_spec import EngineSpec

ADDRESS_FORMS = [text for engine in ENGINES for form in engine.forms for text in form.texts]
EXPECTED_ADDRESS = f"{', '.join(ADDRESS_FORMS[:-1])} or {ADDRESS_FORMS[-1]}"
"""The forms of all addresses, for messages."""
ENGINE_EXAMPLES = ", ".join(engine.forms[0].texts[0] for engine in ENGINES)
SERVER_EXAMPLES = ", ".join(engine.forms[0].texts[0] for engine in ENGINES if not engine.is_embedded)
"""An address of each engine, and of each one that is not embedded, for help texts."""


def is_engine_address(text: str) -> bool:
    """Return whether a text is an address of some engine."""
    return any(engine.address_pattern.fullmatch(text) for engine in ENGINES)


def parse_engine_address(text: str) -> EngineSpec:
    """Return the engine that an address names, at that address.

    >>> parse_engine_address("postgresql://ann:secret@db.example/shop").location
    'postgresql://db.example/shop'
    """
    scheme = text.partition(":")[0]
    for engine in ENGINES:
        if scheme in engine.schemes:
            return engine(text)
    # the part after the scheme may hold a password
    raise RequestError(f"There is no engine {scheme}.", hint=f"Write {EXPECTED_ADDRESS}.")


def require_engine_address(address: str) -> str:
    """Return the address of an engine; raise if no engine has such addresses."""
    if not is_engine_address(address):
        raise RequestError(f"`engine=` must be {EXPECTED_ADDRESS}.", hint="See docs/scale.md.")
    return address


OptionalEngine = Annotated[
    str | None, AfterValidator(lambda address: None if address is None else require_engine_address(address))
]
"""The field of a request that names an engine."""


def remove_login(address: str) -> str:
    """Return the address without user and password.

    >>> remove_login("postgresql://ann:secret@db.example/shop?sslmode=require"), remove_login("ledger.db")
    ('postgresql://db.example/shop?sslmode=require', 'ledger.db')
    """
    return re.sub(r"(?<=://)[^/?#]*@", "", address)


def remove_password(address: str) -> str:
    """Return the address without its password, token or other secret parameters.

    >>> remove_password("postgresql://ann:secret@db.example/shop?sslmode=require&password=secret")
    'postgresql://ann@db.example/shop?sslmode=require'
    """
    # As libpq reads it: the login ends at the first @, so a later one cannot hide part of the password.
    bare = re.sub(r"^(\w+://[^@/:]*):[^@/]*@", r"\1@", address)
    return parse_engine_address(bare).remove_secret_parameters()
