"""Addresses in a policy: of its engine, and of its ledger with the ledger's sibling files.

duckdb                  files: CSV, Parquet, tables of DuckDB files
duckdb:///FILE          tables of one DuckDB file
postgresql://…          tables and views of a server
spark:local, spark://…  tables of a catalogue, Parquet and CSV paths; `spark:local[2]` takes two cores
sc://…                  the same through Spark Connect

A ledger's address; its sibling files are the users, the prepared store and the fault log:

ledger.db, sqlite:///ledger.db    a file relative to the policy; sibling files are in its folder
postgresql://…                    a database; sibling files are beside the policy, as for ledger.db

A resolved database address carries the path for its sibling files after a #, which such addresses never use.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator

from discreet.accounting.ledger_storage import MEMORY, SQLITE, is_database_address
from discreet.core.errors import RequestError
from discreet.core.policy import ENGINE, ENGINES

MakeAbsolute = Callable[[str], str]
PATH_SUFFIXES = (".parquet", ".pq", ".csv", ".tsv", ".txt", ".duckdb", ".db", ".ddb", ".data")
SECRET_PARAMETERS = ("password", "sslpassword", "oauth_client_secret", "token")
LOCAL_SUFFIXES = (".duckdb", ".db", ".ddb", ".data")
DEFAULT_FILE = "ledger.db"


@dataclass(frozen=True, kw_only=True)
class EngineAddress:
    """A parsed engine address."""

    text: str
    scheme: str

    @property
    def reads_files(self) -> bool:
        return self.scheme in ("duckdb", "spark", "sc")

    @property
    def location(self) -> str:
        """The location of the data, without user and password."""
        if self.scheme == "duckdb":
            return "duckdb"
        parts = urlsplit(self.text)
        host = parts.hostname or "local"
        return f"{self.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"

    def resolve_source(self, text: str, make_absolute: MakeAbsolute) -> str:
        """Return a table's source in the engine's own form; a source that is a URL is returned unchanged."""
        if self.scheme == "postgresql" or "://" in text:
            return text
        if self.text.startswith("duckdb:///") and not _looks_like_path(text):
            return f"{make_absolute(self.text.removeprefix('duckdb:///'))}#{text}"
        return make_absolute(text) if self.scheme == "duckdb" or _looks_like_path(text) else text

    def can_read(self, source: str) -> bool:
        """Return whether the engine reads a source itself; other sources are absolute local paths."""
        if self.scheme == "duckdb":
            return True
        file = source.partition("#")[0]
        here = PATH_SUFFIXES if self.scheme == "postgresql" else LOCAL_SUFFIXES
        return not (os.path.isabs(file) and Path(file).suffix.lower() in here)

    def source_from_name(self, name: str) -> str:
        """Return the source that a command-line name means: an absolute path, or a table of the engine."""
        is_file = self.scheme == "postgresql" and Path(name.partition("#")[0]).suffix.lower() in PATH_SUFFIXES
        return os.path.abspath(name) if is_file else self.resolve_source(name, os.path.abspath)

    def is_path(self, text: str) -> bool:
        """Return whether the engine reads a source as a path rather than as the name of a table."""
        return self.reads_files and _looks_like_path(text)

    def resolve_store(self, text: str, make_absolute: MakeAbsolute) -> str:
        """Return where prepared tables may be written: a schema, or a path."""
        return text if self.scheme == "postgresql" else make_absolute(text)


def parse_engine_address(text: str) -> EngineAddress:
    """Return the parsed address of an engine.

    >>> parse_engine_address("postgresql://ann:secret@db.example/shop").location
    'postgresql://db.example/shop'
    """
    scheme = text.partition(":")[0]
    return EngineAddress(text=text, scheme={"postgres": "postgresql"}.get(scheme, scheme))


def require_engine_address(address: str) -> str:
    """Return the address of an engine; raise if no engine has such addresses."""
    if not ENGINE.fullmatch(address):
        raise RequestError(f"`engine=` must be {ENGINES}.", hint="See docs/scale.md.")
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
    >>> remove_password("sc://spark.example:15002/;use_ssl=true;token=secret")
    'sc://spark.example:15002/;use_ssl=true'
    """
    # As libpq reads it: the login ends at the first @, so a later one cannot hide part of the password.
    bare = re.sub(r"^(\w+://[^@/:]*):[^@/]*@", r"\1@", address)
    place, mark, told = bare.partition("?" if parse_engine_address(bare).scheme == "postgresql" else "/;")
    between = "&" if mark == "?" else ";"
    kept = [each for each in told.split(between) if unquote(each.partition("=")[0]) not in SECRET_PARAMETERS]
    return f"{place}{mark if any(kept) else ''}{between.join(kept)}"


def _looks_like_path(text: str) -> bool:
    file = text.partition("#")[0]
    return os.sep in file or Path(file).suffix.lower() in PATH_SUFFIXES


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
