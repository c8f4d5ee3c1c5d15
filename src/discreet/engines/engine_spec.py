"""Engine specifications: the addresses, facts and openings of one database system.

The class of a specification has the facts of its engine: its names, the forms of its addresses, its extra and
driver, its limits, what a policy draft and the reference page say of it. An instance is one address of it,
and says what a table's source and the store mean there.

Reading a specification loads neither a driver nor a data frame library, so that help texts can be made of it;
`load_driver` loads what opens the engine.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol
from urllib.parse import unquote, urlsplit

from discreet.core.errors import RequestError

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.core.engine import Engine, Publisher
    from discreet.core.policy import Policy
    from discreet.core.table_entry import Table
    from discreet.engines.inventory import Inventory

MakeAbsolute = Callable[[str], str]
Progress = Callable[[str], None]
LOCAL_FILE_SUFFIXES = (".duckdb", ".db", ".ddb", ".data", ".arrow", ".feather")
"""The suffixes of files that only DuckDB reads."""
PATH_SUFFIXES = (
    *(".parquet", ".pq", ".csv", ".tsv", ".txt", ".gz", ".zst", ".xlsx"),
    *LOCAL_FILE_SUFFIXES,
)
SECRET_PARAMETERS = ("password", "sslpassword", "oauth_client_secret", "token")


@dataclass(frozen=True, kw_only=True)
class AddressForm:
    """A form of an address: as messages write it, examples, where its rows are, and what names a table."""

    texts: tuple[str, ...]
    examples: tuple[str, ...]
    rows: str
    sources: str
    requires: str = ""


@dataclass(frozen=True, kw_only=True)
class CostModel:
    """Seconds that an engine takes: the minimum, per row, per group, per call on a row, per text character.

    `per_statement_character` is per character of the statement without quoted texts: two hundred sums take
    longer to plan than to compute.
    `per_row_in_place` is for unprepared rows. `case_growth` is how many characters a change of case may make
    of one.
    """

    minimum: float
    per_row: float
    per_group: float
    per_call: float
    per_text_character: float
    per_statement_character: float
    per_row_in_place: float = 0.0
    case_growth: int = 3


class EngineDriver(Protocol):
    """The functions of an engine's own module; `address` is the text of the engine's address."""

    def prepare_engine(
        self,
        policy: Policy,
        *,
        key: bytes | None,
        folder: Path | None,
        frames: Mapping[str, pa.Table] | None,
        progress: Progress | None,
    ) -> Callable[[], Engine]:
        """Return a function that opens engines over the policy's tables.

        `folder` holds the prepared store of an embedded engine. `key` hashes people; without one, the folder
        has it.
        """

    def open_tables(self, address: str, sources: Mapping[str, str]) -> Engine:
        """Return an engine without a policy, for rows that may be counted as they are."""

    def open_publisher(
        self, address: str, tables: Mapping[str, Table], *, store: str | None, lists: Collection[str]
    ) -> Publisher:
        """Return a publisher of tables; `store` is where it may write, `lists` are read as lists."""

    def open_inventory(self, address: str) -> Inventory:
        """Return the tables of the engine."""


@dataclass(frozen=True)
class EngineSpec(ABC):
    """One address of an engine, `text`; the class has the facts of the engine."""

    text: str

    name: ClassVar[str]
    schemes: ClassVar[tuple[str, ...]]
    """The words before the colon of an address."""
    address_pattern: ClassVar[re.Pattern[str]]
    forms: ClassVar[tuple[AddressForm, ...]]
    extra: ClassVar[str] = ""
    """The extra of the package that installs the driver, and the driver's module."""
    driver: ClassVar[str] = ""
    is_embedded: ClassVar[bool] = False
    """The engine runs in this process, over a store of its own, and reads frames of the program."""
    reads_files: ClassVar[bool] = True
    cost_model: ClassVar[CostModel]
    parameter_marks: ClassVar[tuple[str, str] | None] = None
    """What precedes the parameters of an address, and what separates them, if it has any."""
    store_example: ClassVar[tuple[str, str]] = ("prepared", "path")
    """A value of the policy's `store`, and what it names."""
    table_hint: ClassVar[str]
    """What a custodian should name where there is no such table."""
    empty_hint: ClassVar[str] = "Check the address, and what its user may read."
    """What a custodian should do where there is no table at all."""
    inexact_identifiers: ClassVar[str]
    """Types that cannot name people: the engine calls values equal that are written differently."""
    time_limit: ClassVar[str]
    memory_limit: ClassVar[str]

    @property
    def scheme(self) -> str:
        return self.text.partition(":")[0]

    @property
    def location(self) -> str:
        """The location of the data, without user and password."""
        parts = urlsplit(self.text)
        host = parts.hostname or "local"
        return f"{self.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"

    @property
    def password_place(self) -> str | None:
        """The proper place of a password or token, if the engine takes one."""
        return None

    @abstractmethod
    def load_driver(self) -> EngineDriver:
        """Return the module that opens this engine, or refuse if its driver is not installed."""

    @abstractmethod
    def resolve_source(self, text: str, make_absolute: MakeAbsolute) -> str:
        """Return a table's source in the engine's own form; a source that is a URL is returned unchanged."""

    @abstractmethod
    def can_read(self, source: str) -> bool:
        """Return whether the engine reads a source itself; other sources are absolute local paths."""

    def source_from_name(self, name: str) -> str:
        """Return the source that a command-line name means: an absolute path, or a table of the engine."""
        return self.resolve_source(name, os.path.abspath)

    def is_path(self, text: str) -> bool:
        """Return whether the engine reads a source as a path rather than as the name of a table."""
        return self.reads_files and looks_like_path(text)

    def resolve_store(self, text: str, make_absolute: MakeAbsolute) -> str:
        """Return where prepared tables may be written: a schema, or a path."""
        return make_absolute(text)

    def qualify_table_name(self, name: str, store: str) -> str:
        """Return the full name of a table that a release is written to; `store` is the policy's."""
        return name

    def suggest_table_hint(self, word: str) -> str:
        """Return what to name instead of a word that names no table."""
        return self.table_hint

    def remove_secret_parameters(self) -> str:
        """Return the address without parameters that are a password or a token."""
        if self.parameter_marks is None:
            return self.text
        mark, separator = self.parameter_marks
        place, _, parameters = self.text.partition(mark)
        kept = [
            each
            for each in parameters.split(separator)
            if unquote(each.partition("=")[0]) not in SECRET_PARAMETERS
        ]
        return f"{place}{mark if any(kept) else ''}{separator.join(kept)}"

    def require_driver(self) -> None:
        if find_spec(self.driver) is None:
            raise RequestError(
                f"{self.name}: its driver is not installed.",
                hint=f"Install it with pip install 'discreet[{self.extra}]'.",
            )


def looks_like_path(text: str) -> bool:
    """Return whether a source is a path: it has a separator, or the suffix of a file that holds rows."""
    return os.sep in text.partition("#")[0] or has_suffix(text, PATH_SUFFIXES)


def has_suffix(source: str, suffixes: tuple[str, ...]) -> bool:
    """Return whether the file that a source names has one of these suffixes."""
    return Path(source.partition("#")[0]).suffix.lower() in suffixes
