"""High-water marks: the progress of a ledger, written in places outside the ledger itself, and checked.

Order       Commit the entry, write the marks, read data. So a ledger may be ahead of its marks, after a crash
            between the two, and is never behind them: one that is behind is an older copy, and is refused.
Places      A mark is in a file beside the store, in one beside the sources of each writable folder, and
            in a file of the custodian's choice. One file holds the marks of several ledgers.
Atomic      Written in place, by one process at a time (`mark_files`). A mark never goes back: a higher one of
            the same history is left in place.
Copies      A ledger that is behind one of its marks is an older copy, and one with another history than its
            mark is another copy. Both are refused; `discreet ledger restore` charges the lost entries.
            They are compared when a ledger is opened, and again before every reservation is handed out: the
            mark in each place is read, and refused if the ledger lacks its link, before it is overwritten.
Seen        Each transaction, of reading or writing, first checks that the chain extends the newest one that
            this process has seen, committed by itself or by others. A ledger that was rolled back under a
            running server, by a restore or a failover to a standby that lags, is refused there: nothing is
            written to it and no data is read. A commit that is lost later is found by the read that writes
            its mark, or at the latest when the entry is settled, before its answer leaves.
Forward     Servers that share a ledger and have marks of their own write them forward now and then, to what
            the others have charged (`Ledger.refresh_marks`), so that none is far behind.
Restored    A mark of a history that was lost, for which the restored ledger was charged, gives way to the
            mark of the restored ledger, whose number of links may be lower.
Separate    Where a ledger has marked data, a second one is not created or used by accident: it has a
            separate promise only if the custodian says so, and then each names the other.
Batched     Threads that wait for their marks share one write, as they share a commit.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from discreet.accounting.entries import LedgerTransaction
from discreet.accounting.hash_chain import ChainPosition, LinkKind
from discreet.accounting.ledger_storage import make_ledger_error
from discreet.accounting.mark_files import RESTORE, HighWaterMark, MarkFile, MarkStanding
from discreet.accounting.privacy_unit import PrivacyUnit
from discreet.core.errors import EngineFault, RequestError

BESIDE_SOURCES = ".discreet.mark"
MOST_BACKUPS = 64
START_AGAIN = "Stop the servers that have it open before you restore it, and start them again then."


@dataclass
class HighWaterMarks:
    """The high-water marks of one ledger, in all their places."""

    files: Sequence[MarkFile] = ()
    skipped: dict[Path, str] = field(default_factory=dict)
    newest: HighWaterMark | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _pool: ThreadPoolExecutor | None = None

    def read(self) -> list[tuple[MarkFile, HighWaterMark]]:
        """Return every mark of the ledger's data or in its places."""
        for file in self.files:
            folder = file.path.parent
            if file.required and not (folder.is_dir() and os.access(folder, os.W_OK)):
                raise RequestError(
                    f"The mark {file.path} cannot be written.",
                    hint="Make its folder, writable; or name another file under ledger_mark in the policy.",
                )
        return [(file, mark) for file in self.files for mark in file.read()]

    def advance(
        self,
        events: int | None,
        read_state: Callable[[], HighWaterMark],
        classify: Callable[[HighWaterMark], MarkStanding],
    ) -> list[HighWaterMark]:
        """Write marks with at least this many charges; return those of other ledgers that were found.

        `read_state` returns the current mark: threads that wait meanwhile are included in it. Their charges
        are not written again, which is right because the caller has checked, in the transaction of each
        charge, that the ledger extends every state that this process has seen: the number of charges then
        says which of two states is the later one.
        """
        if not self.files:
            return []
        others: dict[str, HighWaterMark] = {}
        with self._turn:
            # while this thread waited, another one wrote a mark that includes its charge
            if events is not None and self.newest is not None and self.newest.total[3] >= events:
                return []
            mark = read_state()
            files = [file for file in self.files if file.written]
            for found in self._write_all(files, lambda file: self._advance_file(file, mark, classify)):
                others |= {each.ledger: each for each in found}
            self.newest = mark
        return [*others.values()]

    def replace(self, mark: HighWaterMark) -> None:
        """Write the mark of a restored ledger in all places."""
        for file in self.files:
            if file.written:
                with self._skip_unwritable(file):
                    file.replace(mark)

    def close(self) -> None:
        """Stop the threads that write in parallel."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()

    def _write_all(
        self, files: Sequence[MarkFile], write: Callable[[MarkFile], list[HighWaterMark]]
    ) -> Iterable[list[HighWaterMark]]:
        """Write all files in parallel, as each waits for its disk."""
        if len(files) < 2:
            return [write(file) for file in files]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(len(files), thread_name_prefix="discreet-mark")
        return [*self._pool.map(write, files)]

    def _advance_file(
        self, file: MarkFile, mark: HighWaterMark, classify: Callable[[HighWaterMark], MarkStanding]
    ) -> list[HighWaterMark]:
        with self._skip_unwritable(file):
            return file.advance(mark, classify)
        return []

    @contextmanager
    def _skip_unwritable(self, file: MarkFile) -> Iterator[None]:
        """Skip a place that cannot be written, unless it is required; the next charge tries it again."""
        try:
            yield
            self.skipped.pop(file.path, None)
        except OSError as error:
            if file.required:
                raise EngineFault(
                    f"The mark {file.path} cannot be written; the charge stays, and no data was read."
                ) from None
            self.skipped[file.path] = error.strerror or "it cannot be written"


def require_unmarked_data(place: str, bound: Iterable[tuple[MarkFile, HighWaterMark]]) -> None:
    """Raise an error for a new ledger at `place` if another ledger has marked the data."""
    for file, mark in bound:
        raise make_ledger_error(
            place,
            f"is missing or empty, and the mark {file.path} says that these data have been asked about under "
            f"the ledger {mark.place}",
            "Name that ledger, put it back, or restore a backup by discreet ledger restore; a new promise "
            "beside it takes discreet ledger create --separate-promise.",
        )


def check_marks(
    transaction: LedgerTransaction, bound: Iterable[tuple[MarkFile, HighWaterMark]], *, separate: bool
) -> None:
    """Raise an error for a ledger behind its marks, or a second one over marked data unless `separate`."""
    identity, named = transaction.chain.identity, transaction.list_separate_ledgers()
    by_file: dict[MarkFile, list[HighWaterMark]] = {}
    for file, mark in bound:
        by_file.setdefault(file, []).append(mark)
    for file, marks in by_file.items():
        declared = any(mark.ledger == identity for mark in marks)
        for mark in marks:
            if mark.ledger == identity:
                _check_mark(transaction, file, mark)
            elif not (separate or declared or mark.ledger in named):
                raise make_ledger_error(
                    transaction.storage.place,
                    f"is not the one of these data: the mark {file.path} says that they have been asked "
                    f"about under the ledger {mark.place}",
                    "Name that ledger; a new promise beside it takes discreet ledger create "
                    "--separate-promise.",
                )
    record_separate_ledgers(transaction, (mark for marks in by_file.values() for mark in marks))


def record_separate_ledgers(transaction: LedgerTransaction, marks: Iterable[HighWaterMark]) -> None:
    """Record the ledgers with a separate promise about the same data, each once."""
    record_other_ledgers(transaction, ((mark.ledger, mark.place) for mark in marks))


def record_other_ledgers(transaction: LedgerTransaction, ledgers: Iterable[tuple[str, str]]) -> None:
    """Record other ledgers about the same data by identity and place, each once."""
    identity, named = transaction.chain.identity, transaction.list_separate_ledgers()
    for other, place in ledgers:
        if other not in (identity, *named):
            transaction.chain.append(LinkKind.SEPARATE, {"other": other, "place": place})
            named[other] = place


def has_marked_link(transaction: LedgerTransaction, mark: HighWaterMark) -> bool:
    """Return whether the ledger has the link of a mark, or was charged for it when restored."""
    return classify_mark(transaction, mark) is not MarkStanding.UNKNOWN


def classify_mark(transaction: LedgerTransaction, mark: HighWaterMark) -> MarkStanding:
    """Return how the ledger relates to a mark.

    A ledger that was charged for the whole promise lacks at most names of releases.
    """
    found = transaction.chain.get_link(mark.count)
    if found is not None and found.head == mark.head:
        return MarkStanding.CHAINED
    is_charged = any(
        {*mark.releases} <= {*link.body["releases"]}
        if link.body["whole"]
        else mark.is_covered_by(link.body["accounts"], link.body["releases"])
        for link in transaction.chain.list_links(LinkKind.RESTORATION)
    )
    return MarkStanding.CHARGED if is_charged else MarkStanding.UNKNOWN


class SeenHistory:
    """The newest committed position of a ledger that this process has seen; it never goes back."""

    def __init__(self) -> None:
        self.position: ChainPosition | None = None
        self._turn = threading.Lock()

    def remember(self, position: ChainPosition) -> None:
        with self._turn:
            if self.position is None or self.position.count < position.count:
                self.position = position


def require_same_history(
    transaction: LedgerTransaction, seen: ChainPosition | None, *, after_data: bool = False
) -> None:
    """Raise an error for a ledger that was rolled back under this process: it lacks what was `seen` of it.

    With `after_data`, data has already been read, so the error is an `EngineFault`.
    """
    if seen is None or transaction.chain.extends(seen):
        return
    if after_data:
        raise EngineFault(
            "The ledger was replaced by an older copy of it after the data was read; its marks hold the "
            f"charge, and no answer leaves. {RESTORE}"
        )
    newest = transaction.chain.get_position()
    place, again = transaction.storage.place, f"{RESTORE} {START_AGAIN}"
    if newest is None or newest.count < seen.count:
        raise make_ledger_error(
            place, "is behind what this process has seen of it: an older copy is in its place", again
        )
    raise make_ledger_error(
        place, "has another history than this process has seen: it is another copy", again
    )


def read_mark(transaction: LedgerTransaction) -> HighWaterMark:
    """Return the current high-water mark of the ledger."""
    chain = transaction.chain
    last = chain.get_last_link()
    if last is None:
        raise transaction.storage.make_damage_error("its founding link is missing")
    return HighWaterMark(
        ledger=chain.identity,
        place=transaction.storage.place,
        count=last.id,
        head=last.head,
        total=last.total_sums,
        accounts=transaction.accounts.read_sums(),
        releases=tuple(f"{row['name']} ({row['description']})" for row in transaction.list_release_rows()),
        separate=tuple(transaction.list_separate_ledgers()),
        trail=_read_trail(transaction, last.id),
    )


def _check_mark(transaction: LedgerTransaction, file: MarkFile, mark: HighWaterMark) -> None:
    """Raise an error for a ledger that lacks the link of one of its marks."""
    if has_marked_link(transaction, mark):
        return
    place, last = transaction.storage.place, transaction.chain.get_last_link()
    if last is None or last.id < mark.count:
        raise make_ledger_error(
            place, f"is behind its mark {file.path}: an older copy is in its place", RESTORE
        )
    raise make_ledger_error(
        place, f"has another history than its mark {file.path}: it is another copy", RESTORE
    )


def _read_trail(transaction: LedgerTransaction, count: int) -> tuple[tuple[int, str], ...]:
    """Return some links that identify an older copy: backups, and ever fewer of the far past."""
    # powers of two: the distance of an older copy is known to a factor of two, by few links
    steps = {count - 2**power for power in range(count.bit_length()) if 2**power < count}
    chain = transaction.chain
    backups = [link.id for link in chain.list_links(LinkKind.BACKUP)[-MOST_BACKUPS:]]
    return tuple(chain.list_heads({*steps, *backups}))


@dataclass(frozen=True, kw_only=True)
class LedgerTerms:
    """The data of a ledger, the places of its marks, and whether its promise is separate.

    `learned_under` are the ledgers that the policy's bounds were learned under, their names by identity.
    `is_session`: the ledger ends with the process, so that its sentences are about this session.
    `is_named`: the policy names its ledger, so that it may share that of another policy.
    """

    marks: HighWaterMarks = field(default_factory=HighWaterMarks)
    units: Mapping[str, PrivacyUnit] = field(default_factory=dict)
    separate: bool = False
    learned_under: Mapping[str, str] = field(default_factory=dict)
    is_session: bool = False
    is_named: bool = True
