"""Files of high-water marks, each written in place, by one sync; they survive kill -9 and power loss.

Mark        Identity of the ledger, number of its links and the newest head, the sums of each analyst, the
            names of releases without differential privacy, ledgers with a separate promise, and a trail of
            earlier heads, by which `ledger_backup` finds how much an older copy lacks. One file holds the
            marks of several ledgers, as JSON.
Slots       The file has two halves of `capacity` bytes. Each begins with a line that holds a sequence number,
            the length of the text behind it, and the SHA-256 of all of that. The valid slot with the higher
            number is what the file says.
Write       goes to the other slot, and is synced: one write of blocks that are on the disk already, so that
            neither the size of the file nor its folder changes. A slot that is torn does not fit its hash,
            and the file says what it said before. Text that no longer fits makes a larger file, beside it,
            which takes its place by a rename.
Read        needs no lock, except where a slot does not fit its hash: then either somebody is writing, who is
            waited for, or somebody was killed.
Earlier     Plain JSON files of earlier versions are read and replaced.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.accounting.hash_chain import RunningSums
from discreet.accounting.privacy_unit import can_overlap
from discreet.core.errors import EngineFault, RequestError
from discreet.core.output_files import sync_path

FORMAT, SLOT_FORMAT = 1, 2
"""The formats of the JSON text of marks, and of the slots that hold it."""
BLOCK = 4096
HEADER = re.compile(
    rb"discreet mark (\d+) capacity (\d+) sequence (\d+) length (\d+) sha256 ([0-9a-f]{64})\n"
)
LONGEST_HEADER = 256
RESTORE = "Put the newest ledger back, or charge what is lost by discreet ledger restore."


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
        return any(can_overlap(other, each) for each in self.sources or ())

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


def _parse_sums(value: Sequence[Any]) -> RunningSums:
    epsilon, rho, delta, events = value
    for each in (epsilon, rho, delta):
        Fraction(each)
    return str(epsilon), str(rho), str(delta), int(events)


class SlotsDamagedError(ValueError):
    """Neither slot of a file is valid, or the file is not as long as it says."""


class NewerSlotsError(ValueError):
    """The file was written by a later version."""


@dataclass(frozen=True, kw_only=True)
class Slots:
    """The content of a file: its newest text, the slot that holds it, and whether the other slot is torn."""

    text: str
    sequence: int
    index: int
    capacity: int
    is_torn: bool


def has_slots(content: bytes) -> bool:
    """Return whether this begins as a file of slots does; a torn first slot has zeros or a header there."""
    return HEADER.match(content[:LONGEST_HEADER]) is not None or _find_second(content) is not None


def parse_slots(content: bytes) -> Slots:
    """Return what a file says; raise `SlotsDamagedError` where no slot is whole."""
    capacity = len(content) // 2
    found = [_parse_slot(content[start : start + capacity], capacity) for start in (0, capacity)]
    whole = [(sequence, index, text) for index, each in enumerate(found) if each for sequence, text in [each]]
    if not whole:
        raise SlotsDamagedError("no slot is whole")
    sequence, index, text = max(whole)
    return Slots(text=text, sequence=sequence, index=index, capacity=capacity, is_torn=len(whole) < 2)


def make_write(slots: Slots, text: str) -> tuple[int, bytes] | None:
    """Return where to write which bytes so that the file says `text`; None where it does not fit."""
    content = _encode_slot(text, slots.sequence + 1, slots.capacity)
    if len(content) > slots.capacity:
        return None
    return (1 - slots.index) * slots.capacity, content


def make_file(text: str, sequence: int = 1) -> bytes:
    """Return a whole file that says `text` in both slots, with room for twice as much."""
    room = 2 * (LONGEST_HEADER + len(text.encode()))
    capacity = -(-room // BLOCK) * BLOCK
    slots = [_encode_slot(text, sequence + each, capacity) for each in (0, 1)]
    return b"".join(each.ljust(capacity, b"\n") for each in slots)


def read_text(path: Path, *, is_locked: bool = False) -> str:
    """Return what the file at `path` says, with slots or, as earlier versions wrote it, without.

    `is_locked`: the caller holds the lock of its folder, so that nobody else is writing.
    """
    content = path.read_bytes()
    if not has_slots(content):
        return content.decode()
    slots = parse_slots(content)
    if is_locked or not slots.is_torn:
        return slots.text
    return _read_alone(path) or slots.text


def _read_alone(path: Path) -> str | None:
    """Return what a file says while nobody writes it; None where its folder cannot be locked."""
    with suppress(OSError), lock_folder(path.parent, shared=True):
        return parse_slots(path.read_bytes()).text
    return None


def write_text(path: Path, text: str) -> None:
    """Make the file say `text`, on the disk when this returns; the caller holds the folder's lock."""
    if not _write_in_place(path, text):
        replace_file(path, make_file(text, _find_sequence(path) + 1))


def replace_file(path: Path, content: bytes) -> None:
    """Put a new file in the place of another, or of none."""
    draft = path.with_name(f"{path.name}.new")
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(file, "wb") as written:  # which writes all of it, or fails on a full disk
        written.write(content)
        written.flush()
        os.fsync(file)
    os.replace(draft, path)
    with suppress(OSError):
        sync_path(path.parent)


@contextmanager
def lock_folder(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock of a folder; the system lets go of it even if the process dies."""
    file = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _write_in_place(path: Path, text: str) -> bool:
    """Return whether the file could be written where it is: it has slots, with room, and is no link."""
    try:
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        wanted = make_write(parse_slots(_read_all(file)), text)
        if wanted is None:
            return False
        start, content = wanted
        while content:
            count = os.pwrite(file, content, start)
            start, content = start + count, content[count:]
        os.fdatasync(file)
        return True
    except ValueError:
        return False
    finally:
        os.close(file)


def _read_all(file: int) -> bytes:
    return os.pread(file, os.fstat(file).st_size, 0)


def _find_sequence(path: Path) -> int:
    try:
        return parse_slots(path.read_bytes()).sequence
    except (OSError, ValueError):
        return 0


def _find_second(content: bytes) -> re.Match[bytes] | None:
    start = len(content) // 2
    return HEADER.match(content[start : start + LONGEST_HEADER])


def _encode_slot(text: str, sequence: int, capacity: int) -> bytes:
    content = text.encode()
    stated = f"capacity {capacity} sequence {sequence} length {len(content)}"
    return (
        f"discreet mark {SLOT_FORMAT} {stated} sha256 {_hash_content(stated, content)}\n".encode() + content
    )


def _parse_slot(content: bytes, capacity: int) -> tuple[int, str] | None:
    """Return sequence number and text of a slot; None for one that is torn."""
    header = HEADER.match(content)
    if header is None:
        return None
    form, room, sequence, length = (int(each) for each in header.groups()[:4])
    if form > SLOT_FORMAT:
        raise NewerSlotsError("the file was written by a later version")
    text = content[header.end() : header.end() + length]
    stated = f"capacity {room} sequence {sequence} length {length}"
    if room != capacity or _hash_content(stated, text).encode() != header[5]:
        return None
    return sequence, text.decode()


def _hash_content(stated: str, content: bytes) -> str:
    return hashlib.sha256(f"{stated}\n".encode() + content).hexdigest()
