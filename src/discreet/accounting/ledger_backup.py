"""Backups of a ledger, and the charges that are due after one was restored.

Backup      An SQLite file, copied while others write. A link in the ledger, and so its marks, records it.
Gap         The charges after the copy was made, which are lost with the newer ledger. The marks show them:
            the sums of each analyst there, less the sums at the newest link that copy and mark have in
            common. For a recorded backup that is exact; for any other copy it may be somewhat too much, and
            is never too little, even if questions were asked under the copy.
Unknown     Where no mark shows the ledger's progress, each analyst's whole share is charged.
Recorded    Lost charges become one entry for each analyst; releases that only the mark has are recorded by
            name; a link records the restoration, which identifies marks of the lost history.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from discreet.accounting.budget import limit_to_share
from discreet.accounting.entries import LedgerTransaction
from discreet.accounting.hash_chain import EVERYBODY, SUMS, LinkKind, format_current_time
from discreet.accounting.high_water_marks import HighWaterMarks, has_marked_link
from discreet.accounting.ledger import Ledger
from discreet.accounting.ledger_database import LedgerDatabase, has_ledger
from discreet.accounting.ledger_file import LedgerFile
from discreet.accounting.ledger_storage import SQLITE, is_database_address, make_ledger_error
from discreet.accounting.mark_files import HighWaterMark
from discreet.core.errors import RequestError
from discreet.core.output_files import sync_path

LOST_KEY, LOST = "restored", "what was asked after the backup, and is lost"

Amounts = Mapping[str, Fraction]
Opener = Callable[[str], Ledger]


@dataclass(frozen=True, kw_only=True)
class RestoreResult:
    """The result of a restoration: who was charged for lost entries, and whether for the whole budget."""

    charged: tuple[str, ...]
    releases: tuple[str, ...]
    whole: bool


def back_up_ledger(ledger: Ledger, path: Path) -> None:
    """Write a backup to a new file, and record it."""
    if path.exists():
        raise RequestError(f"backup: {path} exists already.", hint="Name a new file.")
    if not path.parent.is_dir():
        raise RequestError(f"backup: there is no folder {path.parent}.", hint="Create it.")
    # recorded first, so that the marks show what a restored backup lacks
    ledger.transact(
        lambda transaction: transaction.chain.append(LinkKind.BACKUP, {"time": format_current_time()})
    )
    ledger.write_marks()
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        ledger.storage.copy_to(draft)
        sync_path(draft)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def restore_ledger(
    backup: Path | None, address: str, marks: HighWaterMarks, open_unmarked: Opener
) -> RestoreResult:
    """Replace a ledger by a backup, or take the ledger as it is, and charge the entries that it lacks.

    `open_unmarked` opens a ledger at an address without checking its marks.
    """
    if backup is None:
        if not has_ledger(address):
            raise make_ledger_error(
                address, "is missing or empty", "Name a backup: discreet ledger restore FILE."
            )
        with open_unmarked(address) as ledger:
            return _charge_ledger(ledger, marks)
    if not backup.is_file():
        raise RequestError(f"restore: there is no file {backup}.", hint="Name a backup.")
    if is_database_address(address):
        return _restore_into_database(backup, address, marks, open_unmarked)
    path = Path(address.removeprefix(SQLITE))
    if path.exists() and backup.resolve() == path.resolve():
        raise RequestError("restore: this is the ledger itself.", hint="Leave out the file.")
    _require_outdated_ledger(address, marks, open_unmarked)
    draft = path.with_name(f"{path.name}.restoring")
    _remove_with_logs(draft)
    try:
        _copy_with_log(backup, draft)
        with open_unmarked(str(draft)) as ledger:
            ledger.verify()
            restored, mark = _charge_copy(ledger, marks)
        _fold_log(draft)
        _move_aside(path)
        os.replace(draft, path)
    except RequestError as error:
        raise RequestError(error.message.replace(str(draft), str(backup)), hint=error.hint) from None
    finally:
        _remove_with_logs(draft)
    marks.replace(replace(mark, place=address))
    return restored


def _restore_into_database(
    backup: Path, address: str, marks: HighWaterMarks, open_unmarked: Opener
) -> RestoreResult:
    if has_ledger(address):
        raise make_ledger_error(
            address.partition("?")[0],
            "holds a ledger already",
            "Take it as it stands, by leaving out the file; or empty its schema first.",
        )
    with tempfile.TemporaryDirectory(prefix="discreet-restore-") as folder:
        draft = Path(folder) / backup.name
        _copy_with_log(backup, draft)
        with open_unmarked(str(draft)) as ledger:
            ledger.verify()
            with closing(LedgerDatabase(address)) as storage, ledger.storage.read_transaction() as rows:
                storage.load_from(rows)
    with open_unmarked(address) as ledger:
        return _charge_ledger(ledger, marks)


def _charge_ledger(ledger: Ledger, marks: HighWaterMarks) -> RestoreResult:
    ledger.verify()
    restored, mark = _charge_copy(ledger, marks)
    marks.replace(mark)
    return restored


def _charge_copy(ledger: Ledger, marks: HighWaterMarks) -> tuple[RestoreResult, HighWaterMark]:
    found = [mark for _, mark in marks.read()]
    restored = ledger.transact(lambda transaction: charge_lost_entries(transaction, found))
    return restored, ledger.read_mark()


def charge_lost_entries(transaction: LedgerTransaction, found: Iterable[HighWaterMark]) -> RestoreResult:
    """Charge a copy of a ledger for everything that its marks show and it lacks."""
    own = [mark for mark in found if mark.ledger == transaction.chain.identity]
    lost = [mark for mark in own if not has_marked_link(transaction, mark)]
    if own and not lost:
        return RestoreResult(charged=(), releases=(), whole=False)
    gaps = _find_gaps(transaction, lost) if lost else _find_remaining_budgets(transaction)
    for analyst, gap in gaps.items():
        _charge_gap(transaction, analyst, gap)
    known = {f"{row['name']} ({row['description']})" for row in transaction.list_release_rows()}
    names = tuple(sorted({name for mark in lost for name in mark.releases} - known))
    for name in names:
        transaction.record_release(name, "known from a mark alone", "{}")
    transaction.chain.append(
        LinkKind.RESTORATION,
        {
            "accounts": transaction.accounts.read_sums(),
            "releases": sorted({*known, *names}),
            "whole": not lost,
            "time": format_current_time(),
        },
    )
    return RestoreResult(charged=tuple(gaps), releases=names, whole=not lost)


def _find_gaps(transaction: LedgerTransaction, lost: Iterable[HighWaterMark]) -> dict[str, Amounts]:
    """Return each analyst's charges after the last link that the copy and each mark share."""
    gaps: dict[str, Amounts] = {}
    for mark in lost:
        heads = dict(transaction.chain.list_heads(number for number, _ in mark.trail))
        shared = max((number for number, head in mark.trail if heads.get(number) == head), default=0)
        for analyst, sums in mark.accounts.items():
            before = transaction.chain.read_sums(analyst, until=shared) if shared else ("0", "0", "0", 0)
            gap = {
                name: max(Fraction(0), Fraction(after) - Fraction(then))
                for name, after, then in zip(SUMS, sums[:3], before[:3], strict=True)
            }
            kept = gaps.get(analyst, dict.fromkeys(SUMS, Fraction(0)))
            if any(gap.values()):
                gaps[analyst] = {name: max(gap[name], kept[name]) for name in SUMS}
    return gaps


def _find_remaining_budgets(transaction: LedgerTransaction) -> dict[str, Amounts]:
    """Return the remaining budget of each analyst; budget outside all shares goes to the first."""
    accounts, gaps = transaction.accounts, dict[str, Amounts]()
    everything = accounts.read_accountant(EVERYBODY)
    for analyst, share in accounts.read_shares().items():
        left = limit_to_share(accounts.read_accountant(analyst), share).remaining_budget
        gaps[analyst] = {name: Fraction(getattr(left, name, 0)) for name in SUMS}
    rest = {name: Fraction(getattr(everything.remaining_budget, name, 0)) for name in SUMS}
    given = {name: sum((gap[name] for gap in gaps.values()), Fraction(0)) for name in SUMS}
    first = next(iter(gaps))
    gaps[first] = {name: gaps[first][name] + max(Fraction(0), rest[name] - given[name]) for name in SUMS}
    return {analyst: gap for analyst, gap in gaps.items() if any(gap.values())}


def _charge_gap(transaction: LedgerTransaction, analyst: str, gap: Amounts) -> None:
    """Charge lost entries, even beyond the remaining budget: they have happened."""
    accounts = transaction.accounts
    if analyst not in accounts.read_shares():
        accounts.write_shares({analyst: Fraction(0)})
    charge = accounts.nothing.to_cost(gap["epsilon"], gap["rho"], gap["delta"])
    transaction.charge_lost(analyst, LOST_KEY, LOST, charge)


def _require_outdated_ledger(address: str, marks: HighWaterMarks, open_unmarked: Opener) -> None:
    """Raise an error instead of replacing a ledger that is intact and not behind its marks."""
    if not has_ledger(address):
        return
    try:
        with open_unmarked(address) as ledger:
            ledger.verify()
            whole = ledger.transact(
                lambda transaction: _is_newest(transaction, [mark for _, mark in marks.read()])
            )
    except RequestError:
        return
    if whole:
        raise make_ledger_error(
            address, "is intact and the newest, so there is nothing to restore", "Use it."
        )


def _is_newest(transaction: LedgerTransaction, found: Iterable[HighWaterMark]) -> bool:
    own = [mark for mark in found if mark.ledger == transaction.chain.identity]
    return bool(own) and all(has_marked_link(transaction, mark) for mark in own)


def _move_aside(path: Path) -> None:
    """Rename the replaced ledger, with its log files."""
    if not path.exists():
        return
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    for suffix in ("-wal", "-shm", ""):
        part = path.with_name(path.name + suffix)
        if part.exists():
            os.replace(part, path.with_name(f"{path.name}.replaced-{stamp}{suffix}"))


def _fold_log(path: Path) -> None:
    """Fold the log into the file, so that the file can be moved without it."""
    copy = path.with_name(f"{path.name}.folded")
    _remove_with_logs(copy)
    with closing(LedgerFile(path)) as source:
        source.copy_to(copy)
    copy.chmod(0o600)
    _remove_with_logs(path)
    sync_path(copy)
    os.replace(copy, path)


def _copy_with_log(backup: Path, draft: Path) -> None:
    """Copy a backup, with the log of one that was copied while it was open; the backup is unchanged."""
    for suffix in ("", "-wal"):
        part = backup.with_name(backup.name + suffix)
        if part.exists():
            target = draft.with_name(draft.name + suffix)
            shutil.copyfile(part, target)
            target.chmod(0o600)


def _remove_with_logs(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
