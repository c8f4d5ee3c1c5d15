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

from discreet.app.addresses import PATHS, EngineAddress, engine_of
from discreet.app.complaints import nearest
from discreet.app.drafting.identifiers import PATTERNS
from discreet.core.errors import EngineFault, RequestError
from discreet.core.policy import ColumnType
from discreet.engines.duckdb_inventory import DuckDBInventory
from discreet.engines.file_schema import Schema, read_glob_schema, read_schemas
from discreet.engines.inventory import Inventory, InventoryTable
from discreet.engines.pattern_shares import compute_file_pattern_shares
from discreet.engines.sources import split_source

Shares = Mapping[str, Mapping[str, float]]
LISTED = 30
PATTERN = re.compile(r"[*?\[]")


@dataclass(frozen=True, kw_only=True)
class Found:
    """One table: its name in the policy, the name to display, and its source relative to the policy.

    `match_shares` returns the share of values that match each pattern, per column; None if they could not be
    counted. The kind of a column is None if a policy cannot declare its type.
    """

    name: str
    called: str
    source: str
    columns: tuple[tuple[str, ColumnType | None], ...]
    look: Callable[[Sequence[str]], Shares | None] = field(repr=False)
    guessed: bool = False
    header: bool = True
    in_database: bool = False


def in_files(words: Sequence[str], folder: Path) -> list[Found]:
    """Return the tables of files, for a policy in `folder`."""
    return [found for word in words for found in _of_word(word, folder)]


@contextmanager
def in_engine(address: str, words: Sequence[str], folder: Path) -> Iterator[list[Found]]:
    """Yield the engine's tables, and files if the engine reads files, while the connection is open."""
    engine = engine_of(address)
    with closing(_inventory(engine)) as inventory:
        if not words:
            raise _to_choose(inventory)
        yield [found for word in words for found in _meant(word, engine, inventory, folder)]


def is_read(output: Path, words: Sequence[str], address: str | None) -> bool:
    """Return whether an existing output file is an input of the draft, or lies in an input folder."""
    _, mark, database = (address or "").partition("duckdb:///")
    named = [split_source(word)[0] for word in (*words, *([database] if mark else []))]
    places = [Path(each) for word in named for each in (word, *glob.glob(word, recursive=True))]
    inside = output.suffix.lower() in PATHS
    return any(
        place.exists()
        and (place.samefile(output) or (inside and place.resolve() in output.resolve().parents))
        for place in places
    )


# -- Files --------------------------------------------------------------------------------------------------


def _of_word(word: str, folder: Path) -> list[Found]:
    whole = read_glob_schema(word) if PATTERN.search(word) and not Path(word).is_file() else None
    if whole is None:
        return [_of_file(schema, folder) for schema in _schemas(word)]
    name, source = _table_of(os.path.abspath(word)), os.path.relpath(word, folder)
    return [replace(_of_file(whole, folder), name=name, called=word, source=source)]


def _schemas(word: str) -> list[Schema]:
    file, inner = split_source(word) if not Path(word).is_file() else (word, "")
    found = read_schemas(Path(file))
    if not inner:
        return found
    named = [each for each in found if each.table == inner]
    if not named:
        raise _missing(inner, file, [each.table or "" for each in found], hint=f"Name it as {file}#TABLE.")
    return named


def _of_file(schema: Schema, folder: Path) -> Found:
    return Found(
        name=schema.table.rpartition(".")[2] if schema.table else schema.path.stem,
        called=Path(schema.source).name,
        source=os.path.relpath(schema.source, folder),
        columns=schema.columns,
        look=lambda columns: compute_file_pattern_shares(schema, columns, PATTERNS),
        guessed=schema.is_guessed,
        header=schema.has_header,
        in_database=schema.table is not None,
    )


# -- Engines ------------------------------------------------------------------------------------------------


def _inventory(engine: EngineAddress) -> Inventory:
    if engine.scheme == "duckdb":
        return DuckDBInventory(Path(engine.text.removeprefix("duckdb:///")))
    if engine.scheme == "postgresql":
        from discreet.engines.postgres_inventory import PostgreSQLInventory  # optional driver

        return PostgreSQLInventory(engine.text)
    from discreet.engines.spark_inventory import SparkInventory

    return SparkInventory(engine.text)


def _meant(word: str, engine: EngineAddress, inventory: Inventory, folder: Path) -> list[Found]:
    """Return the tables that a word names: a file, a table of the engine, or all that match a pattern."""
    if engine.scheme == "duckdb" and engine.is_path(word):
        return in_files([word], folder)
    if engine.is_path(word) or not PATTERN.search(word):
        held = inventory.find_table(engine.source(word, os.path.abspath) if engine.is_path(word) else word)
        found = [] if held is None else [held]
    else:
        fitting = [name for name in inventory.list_names() if fnmatchcase(name, word)]
        found = [held for name in fitting if (held := inventory.find_table(name)) is not None]
    if not found:
        raise _unknown(word, engine, inventory)
    return [_of_engine(held, inventory, folder) for held in found]


def _of_engine(held: InventoryTable, inventory: Inventory, folder: Path) -> Found:
    here = os.path.isabs(held.source)
    return Found(
        name=_table_of(held.source),
        called=os.path.relpath(held.source) if here else held.source,
        source=os.path.relpath(held.source, folder) if here else held.source,
        columns=held.columns,
        look=partial(_looked, inventory, held.source),
        guessed=held.is_guessed,
        in_database=not here,
    )


def _looked(inventory: Inventory, source: str, columns: Sequence[str]) -> Shares | None:
    """Return the share of values that match each pattern; None if they cannot be read in time."""
    try:
        return inventory.compute_pattern_shares(source, columns, PATTERNS) if columns else {}
    except EngineFault:
        return None


def _table_of(source: str) -> str:
    """Return a table name: the last word of the source, or the folder of a table in parts.

    >>> [_table_of(source) for source in ("clinic.visits", "s3a://shop/visits/*.parquet", "/data/visits.csv")]
    ['visits', 'visits', 'visits']
    """
    if "/" not in source:
        return source.rpartition(".")[2]
    stems = [Path(part).stem.partition("*")[0] for part in reversed(source.split("/"))]
    said = (stem for stem in stems if re.search("[A-Za-z]", stem) and not re.match("part-|.*=", stem))
    return next(said, stems[0])


def _to_choose(inventory: Inventory) -> RequestError:
    names = inventory.list_names()
    if not names:
        return RequestError(
            f"init: {inventory.engine} has no table that may be read.",
            hint="Name a Parquet or CSV path."
            if inventory.engine == "Spark"
            else "Check the address, and what its user may read.",
        )
    return RequestError(
        f"init: name the tables to draft; {inventory.engine} has {_listed(names)}.",
        hint=f"For example: discreet init {shlex.quote(names[0])} --engine ADDRESS; '*' drafts all of them.",
    )


def _unknown(word: str, engine: EngineAddress, inventory: Inventory) -> RequestError:
    if engine.is_path(word):
        return RequestError(f"init: {inventory.engine} finds nothing at {word}.", hint=_way_out(word, engine))
    return _missing(word, inventory.engine, inventory.list_names(), hint=_way_out(word, engine))


def _missing(word: str, place: str, names: Sequence[str], *, hint: str) -> RequestError:
    last = word.lower().rpartition(".")[2]
    same = [name for name in names if name.lower().rpartition(".")[2] == last]
    likely = next(iter(same), None) or nearest(word, names)
    known = f"did you mean {likely}?" if likely else f"it has {_listed(names)}." if names else "it has none."
    return RequestError(f"init: {place} has no table {word} that may be read: {known}", hint=hint)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _way_out(word: str, engine: EngineAddress) -> str:
    if engine.scheme == "postgresql" and Path(word).suffix.lower() in PATHS:
        return "For a file leave out --engine; here name a table or view."
    if engine.scheme == "postgresql":
        return "Name a table or view, with its schema where that is not public."
    if engine.scheme == "duckdb":
        return "Name a table of the file, or a CSV, Parquet or DuckDB file."
    return "Name a table of the catalogue, or a Parquet or CSV path."
