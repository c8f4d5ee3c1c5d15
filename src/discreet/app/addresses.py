"""Addresses of engines: what a policy's `engine` means for its sources and its store.

duckdb                  files: CSV, Parquet, tables of DuckDB files
duckdb:///FILE          tables of one DuckDB file
postgresql://…          tables and views of a server
spark:local, spark://…  tables of a catalogue, Parquet and CSV paths; `spark:local[2]` takes two cores
sc://…                  the same through Spark Connect
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

Absolute = Callable[[str], str]
PATHS = (".parquet", ".pq", ".csv", ".tsv", ".txt", ".duckdb", ".db", ".ddb", ".data")
SECRETS = ("password", "sslpassword", "oauth_client_secret", "token")
HERE_ALONE = (".duckdb", ".db", ".ddb", ".data")


@dataclass(frozen=True, kw_only=True)
class EngineAddress:
    """One address, taken apart."""

    text: str
    scheme: str

    @property
    def reads_files(self) -> bool:
        return self.scheme in ("duckdb", "spark", "sc")

    @property
    def place(self) -> str:
        """Where the data is, without who asks for it: no user, no password."""
        if self.scheme == "duckdb":
            return "duckdb"
        parts = urlsplit(self.text)
        host = parts.hostname or "local"
        return f"{self.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"

    def source(self, text: str, absolute: Absolute) -> str:
        """A table's source as the engine takes it; what has an address of its own stays as it is."""
        if self.scheme == "postgresql" or "://" in text:
            return text
        if self.text.startswith("duckdb:///") and not _is_path(text):
            return f"{absolute(self.text.removeprefix('duckdb:///'))}#{text}"
        return absolute(text) if self.scheme == "duckdb" or _is_path(text) else text

    def reads(self, source: str) -> bool:
        """Whether the engine reads a source itself; others are files here, by their absolute paths."""
        if self.scheme == "duckdb":
            return True
        file = source.partition("#")[0]
        here = PATHS if self.scheme == "postgresql" else HERE_ALONE
        return not (os.path.isabs(file) and Path(file).suffix.lower() in here)

    def named(self, text: str) -> str:
        """The source that somebody names in passing: a file by its absolute path, or what the engine has."""
        is_file = self.scheme == "postgresql" and Path(text.partition("#")[0]).suffix.lower() in PATHS
        return os.path.abspath(text) if is_file else self.source(text, os.path.abspath)

    def is_path(self, text: str) -> bool:
        """Whether the engine takes a source for a path rather than for the name of a table."""
        return self.reads_files and _is_path(text)

    def store(self, text: str, absolute: Absolute) -> str:
        """Where prepared tables may be written: a schema, or a path."""
        return text if self.scheme == "postgresql" else absolute(text)


def engine_of(text: str) -> EngineAddress:
    """
    >>> engine_of("postgresql://ann:secret@db.example/shop").place
    'postgresql://db.example/shop'
    """
    scheme = text.partition(":")[0]
    return EngineAddress(text=text, scheme={"postgres": "postgresql"}.get(scheme, scheme))


def without_login(address: str) -> str:
    """The same address without user and password.

    >>> without_login("postgresql://ann:secret@db.example/shop?sslmode=require"), without_login("ledger.db")
    ('postgresql://db.example/shop?sslmode=require', 'ledger.db')
    """
    return re.sub(r"(?<=://)[^/?#]*@", "", address)


def without_password(address: str) -> str:
    """The same address without what only its user may know.

    >>> without_password("postgresql://ann:secret@db.example/shop?sslmode=require&password=secret")
    'postgresql://ann@db.example/shop?sslmode=require'
    >>> without_password("sc://spark.example:15002/;use_ssl=true;token=secret")
    'sc://spark.example:15002/;use_ssl=true'
    """
    # as libpq reads it: a login ends at the first @, whatever else is in it
    bare = re.sub(r"^(\w+://[^@/:]*):[^@/]*@", r"\1@", address)
    place, mark, told = bare.partition("?" if engine_of(bare).scheme == "postgresql" else "/;")
    between = "&" if mark == "?" else ";"
    kept = [each for each in told.split(between) if unquote(each.partition("=")[0]) not in SECRETS]
    return f"{place}{mark if any(kept) else ''}{between.join(kept)}"


def _is_path(text: str) -> bool:
    file = text.partition("#")[0]
    return os.sep in file or Path(file).suffix.lower() in PATHS
