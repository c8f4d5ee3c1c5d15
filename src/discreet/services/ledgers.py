"""Opening the ledger of a policy with its high-water marks, and resolving the analyst to charge.

Marks are files that tell an older copy of a ledger from the ledger itself:

Store       `ledger.mark` beside the prepared store (ledger.store), or STORE.mark where the policy names one.
Sources     `.discreet.mark` in the folder of each file that holds people's rows; for a pattern such as
            data/*.parquet, in the folder before the first wildcard. It names the files, so that other files
            in the same folder are not affected; none is written to a read-only folder. Marks in parent
            folders, and in the folders of single files, are read as well.
            Tables of a database server have no such folder: only the marks beside the store protect them.
Second      the file that the policy names under `ledger_mark`, on another disk or machine.

A ledger in memory, or that of a session, writes no marks, but still refuses data that another ledger has
marked.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from discreet.accounting.high_water_marks import (
    BESIDE_SOURCES,
    HighWaterMarks,
    LedgerTerms,
    require_unmarked_data,
)
from discreet.accounting.ledger import Ledger
from discreet.accounting.ledger_storage import (
    MEMORY,
    find_sibling_file,
    is_database_address,
    strip_sibling_path,
)
from discreet.accounting.mark_files import MarkFile
from discreet.accounting.privacy_unit import DATABASES, split_source
from discreet.core.policy import Policy
from discreet.core.table_entry import Table
from discreet.services.policies import get_promise
from discreet.services.privacy_units import find_anchor, find_units, resolve_source
from discreet.services.session_ledger import is_session_ledger
from discreet.services.users.budget_requests import get_analyst_shares


def open_ledger(
    policy: Policy,
    *,
    separate_promise: bool = False,
    frames: Collection[str] = (),
    check_units: bool = True,
) -> Ledger:
    """Open the ledger of a policy, with the budget shares that policy and custodian grant.

    Data marked by another ledger is refused, unless `separate_promise` is set. `frames` are tables whose
    rows the program passes in, in place of the policy's source.
    """
    found = find_ledger_terms(policy, separate=separate_promise, frames=frames)
    return _build_ledger(
        policy, strip_sibling_path(policy.ledger), found if check_units else replace(found, units={})
    )


def open_ledger_unmarked(policy: Policy, address: str) -> Ledger:
    """Open a ledger without checking high-water marks or privacy units, as a restore does."""
    return _build_ledger(policy, address, LedgerTerms())


def find_high_water_marks(policy: Policy) -> HighWaterMarks:
    """Return the high-water marks of a policy's ledger."""
    return find_ledger_terms(policy).marks


def open_ledger_readonly(policy: Policy) -> Ledger:
    """Open the ledger for reading; return an empty one in memory, not a new file, if there is none yet."""
    address = strip_sibling_path(policy.ledger)
    if is_database_address(address) or Path(address).exists():
        return _build_ledger(policy, address, find_ledger_terms(policy))
    require_unmarked_data(address, find_ledger_terms(policy).marks.read())
    return _build_ledger(policy, MEMORY, LedgerTerms(learned_under=_find_learned_ledgers(policy)))


def _build_ledger(policy: Policy, address: str, terms: LedgerTerms) -> Ledger:
    shares = get_analyst_shares(policy)
    return Ledger(address, get_promise(policy), analysts=shares or None, terms=terms)


def find_ledger_terms(policy: Policy, *, separate: bool = False, frames: Collection[str] = ()) -> LedgerTerms:
    """Return the terms of a policy's ledger; `frames` are tables whose source is not read."""
    return LedgerTerms(
        marks=HighWaterMarks([*_find_mark_files(policy, frames)]),
        units=find_units(policy, frames),
        separate=separate,
        learned_under=_find_learned_ledgers(policy),
        is_session=is_session_ledger(policy.ledger),
        is_named="ledger" in policy.model_fields_set,
    )


def _find_learned_ledgers(policy: Policy) -> dict[str, str]:
    """Return the ledgers that bounds or values of the policy were learned under: their names by identity."""
    learned = (column.learned for table in policy.tables.values() for column in table.columns.values())
    return {each.identity: each.ledger for each in learned if each is not None}


def _find_mark_files(policy: Policy, frames: Collection[str]) -> Iterator[MarkFile]:
    stays = policy.ledger != MEMORY and not is_session_ledger(policy.ledger)
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
        if folder not in anchors and _has_ledger(path):
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


def _has_ledger(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False
