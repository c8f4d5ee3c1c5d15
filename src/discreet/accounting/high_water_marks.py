"""High-water marks: the progress of a ledger, written in places outside the ledger itself, and checked.

Mark        Identity of the ledger, number of its links and the newest head, the sums of each analyst, the
            names of releases without differential privacy, ledgers with a separate promise, and a trail of
            earlier heads, by which `ledger_backup` finds how much an older copy lacks.
Order       Commit the entry, write the marks, read data. So a ledger may be ahead of its marks, after a crash
            between the two, and is never behind them: one that is behind is an older copy, and is refused.
Places      A mark is in a file beside the store, in one beside the sources of each writable folder, and
            in a file of the custodian's choice. One file holds the marks of several ledgers.
Atomic      Written in place, into one of two slots (`slot_file`), by one process at a time (a lock on the
            folder). A mark never goes back: a higher one of the same history is left in place. Plain JSON
            files of earlier versions are read and replaced.
Copies      A ledger that is behind one of its marks is an older copy, and one with another history than its
            mark is another copy. Both are refused; `discreet ledger restore` charges the lost entries.
            They are compared when a ledger is opened, and again before every reservation is handed out: the
            mark in each place is read, and refused if the ledger lacks its link, before it is overwritten.
            What this process itself has seen is compared in every transaction (`ledger.py`).
Forward     Servers that share a ledger and have marks of their own write them forward now and then, to what
            the others have charged (`Ledger.refresh_marks`), so that none is far behind.
Restored    A mark of a history that was lost, for which the restored ledger was charged, gives way to the
            mark of the restored ledger, whose number of links may be lower.
Separate    Where a ledger has marked data, a second one is not created or used by accident: it has a
            separate promise only if the custodian says so, and then each names the other.
Batched     Threads that wait for their marks share one write, as they share a commit.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.accounting.entries import LedgerTransaction
from discreet.accounting.hash_chain import ChainPosition, LinkKind, RunningSums
from discreet.accounting.ledger_storage import make_ledger_error
from discreet.accounting.privacy_unit import PrivacyUnit, overlap
from discreet.accounting.slot_file import NewerSlotsError, lock_folder, read_text, write_text
from discreet.core.errors import EngineFault, RequestError

FORMAT = 1
BESIDE_SOURCES = ".discreet.mark"
MOST_BACKUPS = 64
RESTORE = "Put the newest ledger back, or charge what is lost by discreet ledger restore."
START_AGAIN = "Stop the servers that have it open before you restore it, and start them again then."


@dataclass(frozen=True, kw_only=True)
class HighWaterMark:
    """The progress of one ledger; `sources` are the patterns that it marks in its folder."""

    ledger: str
    place: str
    count: int
    head: str
    total: RunningSums
    accounts: Mapping[str, RunningSums]
    releases: tuple[str, ...] = ()
    separate: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    trail: tuple[tuple[int, str], ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the mark as a JSON object, without the identity, which is its key in the file.

        >>> total = ("0", "0", "0", 0)
        >>> mark = HighWaterMark(ledger="a", place="b", count=1, head="c", total=total, accounts={})
        >>> mark.to_json()["count"]
        1
        """
        return {name: value for name, value in vars(self).items() if name != "ledger"}

    @classmethod
    def from_json(cls, ledger: str, value: Mapping[str, Any]) -> HighWaterMark:
        texts = ("releases", "separate", "sources")
        accounts = {str(name): _parse_sums(sums) for name, sums in value["accounts"].items()}
        return cls(
            ledger=ledger,
            place=str(value["place"]),
            count=int(value["count"]),
            head=str(value["head"]),
            total=_parse_sums(value["total"]),
            accounts=accounts,
            trail=tuple((int(number), str(head)) for number, head in value.get("trail", ())),
            **{name: tuple(map(str, value.get(name, ()))) for name in texts},
        )

    def is_covered_by(self, accounts: Mapping[str, Sequence[Any]], releases: Iterable[str]) -> bool:
        """Return whether these sums and names hold at least those of the mark."""
        return {*self.releases} <= {*releases} and all(
            Fraction(most) >= Fraction(own)
            for name, sums in self.accounts.items()
            # the number of entries does not matter: lost entries are charged as one
            for most, own in zip(accounts.get(name, ("0", "0", "0"))[:3], sums[:3], strict=True)
        )


class MarkStanding(Enum):
    """How a ledger relates to one of its marks."""

    CHAINED = "the ledger has the link of the mark"
    CHARGED = "the ledger was restored, and charged for what the mark shows"
    UNKNOWN = "the ledger is an older or another copy"


@dataclass(frozen=True, kw_only=True)
class MarkFile:
    """A file of marks. `sources` are absolute patterns that a mark must match to count; None for all.

    A file that is not `written` is only read; one that is `required` must be writable.
    """

    path: Path
    sources: tuple[str, ...] | None = None
    written: bool = True
    required: bool = False

    def read(self) -> list[HighWaterMark]:
        """Return the marks of these sources; raise an error for a file that cannot be read."""
        found = self._load().values()
        if self.sources is None:
            return [*found]
        return [mark for mark in found if any(self._matches_source(each) for each in mark.sources)]

    def advance(
        self, mark: HighWaterMark, classify: Callable[[HighWaterMark], MarkStanding]
    ) -> list[HighWaterMark]:
        """Write the mark unless a higher one of the same history is there; return those of other ledgers.

        `classify` compares the mark that is there with the ledger. It is called while nobody else can write
        the mark, so that of two processes each sees what the other has written.
        """
        with lock_folder(self.path.parent):
            marks = self._load(is_locked=True)
            kept = marks.get(mark.ledger)
            standing = MarkStanding.CHARGED if kept is None else classify(kept)
            if standing is MarkStanding.UNKNOWN:
                raise EngineFault(
                    f"The mark {self.path} was written by a newer or another copy of this ledger; the charge "
                    f"stays, and no data was read. {RESTORE}"
                )
            is_higher = kept is None or standing is MarkStanding.CHARGED or kept.count < mark.count
            if is_higher or kept is None or not {*self._relative_sources()} <= {*kept.sources}:
                higher = mark if is_higher or kept is None else kept
                self._store(marks | {mark.ledger: self._with_sources(higher, kept)})
            return self._find_other_ledgers(marks, mark.ledger)

    def replace(self, mark: HighWaterMark) -> None:
        """Write the mark in place of a higher one: the ledger was restored, and this is its history now."""
        with lock_folder(self.path.parent):
            marks = self._load(is_locked=True)
            self._store(marks | {mark.ledger: self._with_sources(mark, marks.get(mark.ledger))})

    def _find_other_ledgers(self, marks: Mapping[str, HighWaterMark], identity: str) -> list[HighWaterMark]:
        return [
            each
            for each in marks.values()
            if each.ledger != identity
            and (self.sources is None or any(map(self._matches_source, each.sources)))
        ]

    def _with_sources(self, mark: HighWaterMark, kept: HighWaterMark | None) -> HighWaterMark:
        before = () if kept is None else kept.sources
        return replace(mark, sources=tuple(sorted({*before, *self._relative_sources()})))

    def _relative_sources(self) -> list[str]:
        return [os.path.relpath(each, self.path.parent) for each in self.sources or ()]

    def _matches_source(self, relative: str) -> bool:
        other = os.path.normpath(os.path.join(self.path.parent, relative))
        return any(overlap(other, each) for each in self.sources or ())

    def _load(self, *, is_locked: bool = False) -> dict[str, HighWaterMark]:
        try:
            stored = json.loads(read_text(self.path, is_locked=is_locked))
            if stored["format"] > FORMAT:
                raise NewerSlotsError
            return {name: HighWaterMark.from_json(name, each) for name, each in stored["ledgers"].items()}
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError:
            raise self._make_error("cannot be read") from None
        except NewerSlotsError:
            raise self._make_error("was written by a newer version of discreet") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise self._make_error("is damaged") from None

    def _store(self, marks: Mapping[str, HighWaterMark]) -> None:
        content = {"format": FORMAT, "ledgers": {name: each.to_json() for name, each in marks.items()}}
        write_text(self.path, json.dumps(content) + "\n")  # without indent, which is ten times slower

    def _make_error(self, what: str) -> RequestError:
        return RequestError(
            f"The mark {self.path} {what}, so it is not known how far the ledger of these data had come.",
            hint="Make it readable, or restore it from a backup; delete it only if the ledger is the newest.",
        )


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
    identity, named = transaction.chain.identity, transaction.list_separate_ledgers()
    for mark in marks:
        if mark.ledger not in (identity, *named):
            transaction.chain.append(LinkKind.SEPARATE, {"other": mark.ledger, "place": mark.place})
            named[mark.ledger] = mark.place


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


def require_same_history(transaction: LedgerTransaction, seen: ChainPosition) -> None:
    """Raise an error for a ledger that does not extend what was `seen` of it before."""
    if transaction.chain.extends(seen):
        return
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
    steps = {count - 2**power for power in range(count.bit_length()) if 2**power < count}
    chain = transaction.chain
    backups = [link.id for link in chain.list_links(LinkKind.BACKUP)[-MOST_BACKUPS:]]
    return tuple(chain.list_heads({*steps, *backups}))


def _parse_sums(value: Sequence[Any]) -> RunningSums:
    epsilon, rho, delta, events = value
    for each in (epsilon, rho, delta):
        Fraction(each)
    return str(epsilon), str(rho), str(delta), int(events)


@dataclass(frozen=True, kw_only=True)
class LedgerTerms:
    """The data of a ledger, the places of its marks, and whether its promise is separate.

    `is_session`: the ledger ends with the process, so that its sentences are about this session.
    """

    marks: HighWaterMarks = field(default_factory=HighWaterMarks)
    units: Mapping[str, PrivacyUnit] = field(default_factory=dict)
    separate: bool = False
    is_session: bool = False
