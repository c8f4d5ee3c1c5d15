"""The sources that a custodian may point at: files below the policy's folder, tables of its database.

A source is accepted only if it is one of those that are listed, so no path leads out of the folder. Links are
not followed, and hidden files and the server's own (ledger, store, users) are not listed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from discreet.accounting.ledger_storage import find_sibling_file
from discreet.core.errors import EngineFault, RequestError
from discreet.core.policy import Policy
from discreet.core.release_target import split_source
from discreet.engines.file_formats import find_file_format
from discreet.services.addresses import parse_engine_address
from discreet.services.policy_draft.draft_sources import (
    PATTERN,
    find_file_tables,
    open_engine_tables,
)
from discreet.services.policy_draft.table_drafts import TableDraft, draft_tables

MAX_LISTED = 200
MAX_DEPTH = 3
PLAIN_ENGINE = "duckdb"


@dataclass(frozen=True, kw_only=True)
class SourceChoices:
    """Files and tables that may be chosen; `has_more` if there are others that are not listed."""

    files: tuple[str, ...]
    tables: tuple[str, ...]
    has_more: bool
    can_upload: bool


def list_sources(policy: Policy, folder: Path) -> SourceChoices:
    """Return the sources that a policy in this folder may name."""
    engine = parse_engine_address(policy.engine)
    files = sorted(_iterate_files(policy, folder)) if engine.is_embedded else []
    tables: list[str] = []
    if policy.engine != PLAIN_ENGINE:
        try:
            with closing(engine.load_driver().open_inventory(policy.engine)) as inventory:
                tables = list(inventory.list_names())
        except EngineFault:
            raise RequestError(
                f"The tables of {engine.name} cannot be listed: it does not answer.", hint="Try again later."
            ) from None
    return SourceChoices(
        files=tuple(files[:MAX_LISTED]),
        tables=tuple(tables[:MAX_LISTED]),
        has_more=len(files) > MAX_LISTED or len(tables) > MAX_LISTED,
        can_upload=engine.is_embedded,
    )


def draft_source(source: str, policy: Policy, folder: Path) -> list[TableDraft]:
    """Return a draft of each table of a source that may be chosen; refuse any other source."""
    engine = parse_engine_address(policy.engine)
    file, inner = split_source(source)
    if engine.is_embedded and file in set(_iterate_files(policy, folder)):
        return draft_tables(find_file_tables([str(folder / file) + (f"#{inner}" if inner else "")], folder))
    if policy.engine == PLAIN_ENGINE or not source or engine.is_path(source) or PATTERN.search(source):
        raise RequestError(
            "This is not a table that may be brought in.", hint="Choose one of those that are listed."
        )
    with open_engine_tables(policy.engine, [source], folder) as found:
        return draft_tables(found)


def _iterate_files(policy: Policy, folder: Path) -> Iterator[str]:
    """Yield the data files below the folder, relative to it, without following links."""
    for place, folders, names in os.walk(folder, followlinks=False):
        inside = Path(place).relative_to(folder)
        deep = len(inside.parts) >= MAX_DEPTH
        folders[:] = (
            [] if deep else [each for each in folders if _is_listed_folder(policy, Path(place, each))]
        )
        for name in names:
            path = Path(place, name)
            if not name.startswith(".") and find_file_format(path) is not None and _is_data(policy, path):
                yield str(inside / name)


def _is_listed_folder(policy: Policy, path: Path) -> bool:
    return not (path.name.startswith(".") or path.is_symlink() or _is_own(policy, path))


def _is_data(policy: Policy, path: Path) -> bool:
    """Return whether a file may be data: a file itself, and not one that the server keeps for itself."""
    return path.is_file() and not path.is_symlink() and not _is_own(policy, path)


def _is_own(policy: Policy, path: Path) -> bool:
    """Return whether a path is the ledger's, or the prepared store's."""
    ledger = find_sibling_file(policy.ledger, ".db")
    beside = ledger is not None and path.parent == ledger.parent and path.name.startswith(f"{ledger.stem}.")
    return beside or str(path) == policy.store
