"""Source tables for a policy draft: tables of files and of engines.

Names       a word is a file, a table in a file (`shop.duckdb#visits`), a table in parts (`visits/*.parquet`),
            or a table of the engine; there a pattern (`clinic.*`) selects all matching tables. Without a
            word the engine's tables are listed: a person must choose those about people.
Columns     from headers, footers and catalogues; see `engines.schema` and `engines.inventory`.
Values      where a name says nothing, the engine counts how many of the first rows match a pattern; no
            value leaves the engine.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from discreet.core.column_entry import ColumnType
from discreet.core.errors import EngineFault, RequestError
from discreet.core.release_target import split_source
from discreet.engines.csv_detection import CsvDetection
from discreet.engines.engine_spec import PATH_SUFFIXES, EngineSpec
from discreet.engines.file_formats import is_text_source, strip_suffixes
from discreet.engines.inventory import (
    Inventory,
    InventoryTable,
    Schema,
    compute_file_pattern_shares,
    read_glob_schema,
    read_schemas,
)
from discreet.services.addresses import parse_engine_address
from discreet.services.policy_draft.column_roles import HIPAA_PATTERNS
from discreet.services.policy_errors import find_nearest_name

Shares = Mapping[str, Mapping[str, float]]
MAX_LISTED_NAMES = 30
PATTERN = re.compile(r"[*?\[]")


@dataclass(frozen=True, kw_only=True)
class SourceTable:
    """One table: its name in the policy, the name to display, and its source relative to the policy.

    `match_shares` returns the share of values that match each pattern, per column; None if they could not be
    counted. The kind of a column is None if a policy cannot declare its type. `csv` is how a text file seems
    to be read.
    """

    name: str
    display_name: str
    source: str
    columns: tuple[tuple[str, ColumnType | None], ...]
    match_shares: Callable[[Sequence[str]], Shares | None] = field(repr=False)
    csv: CsvDetection | None = None
    has_guessed_types: bool = False
    is_in_database: bool = False

    @property
    def has_header(self) -> bool:
        """True if the names of the columns are in the source."""
        return self.csv is None or self.csv.options.header


def find_file_tables(words: Sequence[str], folder: Path) -> list[SourceTable]:
    """Return the tables of files, for a policy in `folder`."""
    return [found for word in words for found in _read_word_tables(word, folder)]


@contextmanager
def open_engine_tables(address: str, words: Sequence[str], folder: Path) -> Iterator[list[SourceTable]]:
    """Yield the engine's tables, and files if the engine reads files, while the connection is open."""
    engine = parse_engine_address(address)
    with closing(engine.load_driver().open_inventory(address)) as inventory:
        if not words:
            raise _choose_tables_error(engine, inventory)
        yield [found for word in words for found in _find_engine_tables(word, engine, inventory, folder)]


def is_input(output: Path, words: Sequence[str], address: str | None) -> bool:
    """Return whether an existing output file is an input of the draft, or lies in an input folder."""
    _, mark, database = (address or "").partition("duckdb:///")
    named = [split_source(word)[0] for word in (*words, *([database] if mark else []))]
    places = [Path(each) for word in named for each in (word, *glob.glob(word, recursive=True))]
    inside = output.suffix.lower() in PATH_SUFFIXES
    return any(
        place.exists()
        and (place.samefile(output) or (inside and place.resolve() in output.resolve().parents))
        for place in places
    )


# -- Files --------------------------------------------------------------------------------------------------


def _read_word_tables(word: str, folder: Path) -> list[SourceTable]:
    whole = read_glob_schema(word) if PATTERN.search(word) and not Path(word).is_file() else None
    if whole is None:
        return [_table_from_schema(schema, folder) for schema in _read_word_schemas(word)]
    name, source = _guess_table_name(os.path.abspath(word)), os.path.relpath(word, folder)
    return [replace(_table_from_schema(whole, folder), name=name, display_name=word, source=source)]


def _read_word_schemas(word: str) -> list[Schema]:
    file, inner = split_source(word) if not Path(word).is_file() else (word, "")
    found = read_schemas(Path(file))
    if not inner:
        return found
    named = [each for each in found if each.table == inner]
    if not named:
        raise _missing_table_error(
            inner, file, [each.table or "" for each in found], hint=f"Name it as {file}#TABLE."
        )
    return named


def _table_from_schema(schema: Schema, folder: Path) -> SourceTable:
    return SourceTable(
        name=schema.table.rpartition(".")[2] if schema.table else strip_suffixes(schema.path),
        display_name=Path(schema.source).name,
        source=os.path.relpath(schema.source, folder),
        columns=schema.columns,
        match_shares=lambda columns: compute_file_pattern_shares(schema, columns, HIPAA_PATTERNS),
        csv=schema.csv,
        has_guessed_types=schema.is_guessed,
        is_in_database=schema.table is not None,
    )


# -- Engines ------------------------------------------------------------------------------------------------


def _find_engine_tables(
    word: str, engine: EngineSpec, inventory: Inventory, folder: Path
) -> list[SourceTable]:
    """Return the tables that a word names: a file, a table of the engine, or all that match a pattern."""
    # text is read on this machine, whatever the engine
    is_text_here = is_text_source(word) and (Path(word).is_file() or bool(glob.glob(word)))
    if (engine.is_embedded and engine.is_path(word)) or (engine.reads_files and is_text_here):
        return find_file_tables([word], folder)
    if engine.is_path(word) or not PATTERN.search(word):
        held = inventory.find_table(
            engine.resolve_source(word, os.path.abspath) if engine.is_path(word) else word
        )
        found = [] if held is None else [held]
    else:
        fitting = [name for name in inventory.list_names() if fnmatchcase(name, word)]
        found = [held for name in fitting if (held := inventory.find_table(name)) is not None]
    if not found:
        raise _unknown_table_error(word, engine, inventory)
    return [_table_from_inventory(held, inventory, folder) for held in found]


def _table_from_inventory(held: InventoryTable, inventory: Inventory, folder: Path) -> SourceTable:
    here = os.path.isabs(held.source)
    return SourceTable(
        name=_guess_table_name(held.source),
        display_name=os.path.relpath(held.source) if here else held.source,
        source=os.path.relpath(held.source, folder) if here else held.source,
        columns=held.columns,
        match_shares=partial(_compute_match_shares, inventory, held.source),
        has_guessed_types=held.is_guessed,
        is_in_database=not here,
    )


def _compute_match_shares(inventory: Inventory, source: str, columns: Sequence[str]) -> Shares | None:
    """Return the share of values that match each pattern; None if they cannot be read in time."""
    try:
        return inventory.compute_pattern_shares(source, columns, HIPAA_PATTERNS) if columns else {}
    except EngineFault:
        return None


def _guess_table_name(source: str) -> str:
    """Return a table name: the last word of the source, or the folder of a table in parts.

    >>> sources = ("clinic.visits", "s3a://shop/visits/*.parquet", "/data/visits.csv")
    >>> [_guess_table_name(source) for source in sources]
    ['visits', 'visits', 'visits']
    """
    if "/" not in source:
        return source.rpartition(".")[2]
    stems = [Path(part).stem.partition("*")[0] for part in reversed(source.split("/"))]
    said = (stem for stem in stems if re.search("[A-Za-z]", stem) and not re.match("part-|.*=", stem))
    return next(said, stems[0])


def _choose_tables_error(engine: EngineSpec, inventory: Inventory) -> RequestError:
    names = inventory.list_names()
    if not names:
        return RequestError(f"init: {engine.name} has no table that may be read.", hint=engine.empty_hint)
    return RequestError(
        f"init: name the tables to draft; {engine.name} has {_join_names(names)}.",
        hint=f"For example: discreet init {shlex.quote(names[0])} --engine ADDRESS; '*' drafts all of them.",
    )


def _unknown_table_error(word: str, engine: EngineSpec, inventory: Inventory) -> RequestError:
    if engine.is_path(word):
        return RequestError(
            f"init: {engine.name} finds nothing at {word}.", hint=engine.suggest_table_hint(word)
        )
    return _missing_table_error(
        word, engine.name, inventory.list_names(), hint=engine.suggest_table_hint(word)
    )


def _missing_table_error(word: str, place: str, names: Sequence[str], *, hint: str) -> RequestError:
    last = word.lower().rpartition(".")[2]
    same = [name for name in names if name.lower().rpartition(".")[2] == last]
    likely = next(iter(same), None) or find_nearest_name(word, names)
    known = (
        f"did you mean {likely}?" if likely else f"it has {_join_names(names)}." if names else "it has none."
    )
    return RequestError(f"init: {place} has no table {word} that may be read: {known}", hint=hint)


def _join_names(names: Sequence[str]) -> str:
    more = len(names) - MAX_LISTED_NAMES
    return ", ".join(names[:MAX_LISTED_NAMES]) + (f" and {more} more" if more > 0 else "")
