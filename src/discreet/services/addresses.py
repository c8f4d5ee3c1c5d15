"""Addresses in a policy: of its engine, and of its ledger with the ledger's sibling files.

What an engine's address means is in the specification of that engine (`discreet.engines.ENGINES`).

A ledger's address; its sibling files are the users, the prepared store and the fault log:

ledger.db, sqlite:///ledger.db    a file relative to the policy; sibling files are in its folder
postgresql://…                    a database; sibling files are beside the policy, as for ledger.db

A resolved database address carries the path for its sibling files after a #, which such addresses never use.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from discreet.accounting.ledger_storage import MEMORY, SQLITE, is_database_address
from discreet.core.errors import RequestError
from discreet.engines import ENGINES
from discreet.engines.engine_spec import EngineSpec

DEFAULT_FILE = "ledger.db"
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


def resolve_ledger_address(address: str, make_absolute: Callable[[str], str]) -> str:
    """Return the address with an absolute path, independent of the working directory.

    >>> resolve_ledger_address("sqlite:///ledger.db", "/data/{}".format)
    '/data/ledger.db'
    >>> resolve_ledger_address("postgresql://db.example/promises", "/data/{}".format)
    'postgresql://db.example/promises#/data/ledger.db'
    """
    if address == MEMORY:
        return address
    if is_database_address(address):
        return f"{address.partition('#')[0]}#{make_absolute(DEFAULT_FILE)}"
    path = address.removeprefix(SQLITE)
    if not path or "://" in path:
        raise RequestError(
            "A ledger address is a file, sqlite:///FILE or postgresql://…; this is none of them.",
            hint="Name one under ledger in the policy, or by `ledger=`.",
        )
    return make_absolute(path)


def strip_sibling_path(ledger: str) -> str:
    """Return the address of the ledger itself, without the path of its sibling files."""
    return ledger.partition("#")[0] if is_database_address(ledger) else ledger


def find_sibling_file(ledger: str, suffix: str) -> Path | None:
    """Return the file or folder with that suffix beside a ledger; None for a ledger in memory."""
    file = ledger.partition("#")[2] or DEFAULT_FILE if is_database_address(ledger) else ledger
    return None if file == MEMORY else Path(file).with_suffix(suffix)
