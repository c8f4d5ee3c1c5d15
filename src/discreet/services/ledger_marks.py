"""The terms of a policy's ledger: where its high-water marks are, and the privacy unit of its data.

Store       `ledger.mark` beside the prepared store (ledger.store), or STORE.mark where the policy names one.
Sources     `.discreet.mark` in the folder of each file that holds people's rows; for a pattern such as
            data/*.parquet, in the folder before the first wildcard. It names the files, so that other files
            in the same folder are not affected; none is written to a read-only folder. Marks in parent
            folders, and in the folders of single files, are read as well.
            Tables of a database server have no such folder: only the marks beside the store protect them.
Second      the file that the policy names under `ledger_mark`, on another disk or machine.
Unit        of each table: see `privacy_units`.

A ledger in memory writes no marks, but still refuses data that another ledger has marked.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Iterator
from pathlib import Path

from discreet.accounting.high_water_marks import BESIDE_SOURCES, HighWaterMarks, MarkFile
from discreet.accounting.ledger import LedgerTerms
from discreet.accounting.ledger_storage import MEMORY
from discreet.accounting.privacy_unit import DATABASES, split_source
from discreet.core.policy import Policy, Table
from discreet.services.ledger_addresses import find_sibling_file
from discreet.services.privacy_units import find_anchor, find_units, resolve_source


def find_ledger_terms(policy: Policy, *, separate: bool = False, frames: Collection[str] = ()) -> LedgerTerms:
    """Return the terms of a policy's ledger; `frames` are tables whose source is not read."""
    return LedgerTerms(
        marks=HighWaterMarks([*_find_mark_files(policy, frames)]),
        units=find_units(policy, frames),
        separate=separate,
    )


def _find_mark_files(policy: Policy, frames: Collection[str]) -> Iterator[MarkFile]:
    stays = policy.ledger != MEMORY
    beside = _find_store_mark(policy)
    if stays and beside is not None:
        yield MarkFile(path=beside)
    if stays and policy.ledger_mark is not None:
        yield MarkFile(path=Path(policy.ledger_mark), required=True)
    sources = {
        source
        for name, table in policy.tables.items()
        if table.person != "none" and name not in frames and (source := _find_source(name, table))
    }
    anchors: dict[Path, set[str]] = {}
    looked_at: dict[Path, set[str]] = {}
    for source in sources:
        anchor = find_anchor(source)
        anchors.setdefault(anchor, set()).add(source)
        for folder in {*anchor.parents, *_find_folders(source)}:
            looked_at.setdefault(folder, set()).add(source)
    for folder, patterns in anchors.items():
        path, listed = folder / BESIDE_SOURCES, tuple(sorted(patterns))
        yield MarkFile(path=path, sources=listed, written=stays and _is_writable_folder(folder))
    for folder, patterns in looked_at.items():
        path = folder / BESIDE_SOURCES
        if folder not in anchors and _exists(path):
            yield MarkFile(path=path, sources=tuple(sorted(patterns)), written=False)


def _find_store_mark(policy: Policy) -> Path | None:
    if policy.is_embedded and policy.store not in (None, MEMORY):
        return Path(f"{str(policy.store).rstrip('/')}.mark")
    return find_sibling_file(policy.ledger, ".mark")


def _find_source(name: str, table: Table) -> str | None:
    """Return the absolute path or pattern of a table's rows; None if they are not in local files."""
    file, inner = split_source(table.source)
    if not os.path.isabs(file):
        return None
    resolved = str(resolve_source(file))
    if not glob.has_magic(file) and not os.path.exists(resolved):
        return None
    is_database = file.lower().endswith(DATABASES)
    return f"{resolved}#{inner or name}" if is_database else resolved


def _find_folders(source: str) -> set[Path]:
    """Return the folders of the files that a pattern matches."""
    file = split_source(source)[0]
    if not glob.has_magic(file):
        return set()
    return {Path(each).resolve().parent for each in glob.iglob(file, recursive=True)}


def _is_writable_folder(folder: Path) -> bool:
    """Return whether the folder's mode allows writing: root could write anyway, but should not."""
    try:
        return bool(folder.stat().st_mode & 0o222)
    except OSError:
        return True  # writing the mark will report the reason


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False
