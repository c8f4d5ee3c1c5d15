"""A small file that is written in place, by one sync, and survives kill -9 and power loss at any moment.

Slots       The file has two halves of `capacity` bytes. Each begins with a line that holds a sequence number,
            the length of the text behind it, and the SHA-256 of all of that. The valid slot with the higher
            number is what the file says.
Write       goes to the other slot, and is synced: one write of blocks that are on the disk already, so that
            neither the size of the file nor its folder changes. A slot that is torn does not fit its hash,
            and the file says what it said before. Text that no longer fits makes a larger file, beside it,
            which takes its place by a rename.
Read        needs no lock, except where a slot does not fit its hash: then either somebody is writing, who is
            waited for, or somebody was killed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

FORMAT = 2
BLOCK = 4096
HEADER = re.compile(
    rb"discreet mark (\d+) capacity (\d+) sequence (\d+) length (\d+) sha256 ([0-9a-f]{64})\n"
)
LONGEST_HEADER = 256


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
    with suppress(OSError), _open_file(path.parent, os.O_RDONLY) as folder:
        os.fsync(folder)


@contextmanager
def lock_folder(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock of a folder; the system lets go of it even if the process dies."""
    with _open_file(folder, os.O_RDONLY) as file:
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield


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
    return f"discreet mark {FORMAT} {stated} sha256 {_hash(stated, content)}\n".encode() + content


def _parse_slot(content: bytes, capacity: int) -> tuple[int, str] | None:
    """Return sequence number and text of a slot; None for one that is torn."""
    header = HEADER.match(content)
    if header is None:
        return None
    form, room, sequence, length = (int(each) for each in header.groups()[:4])
    if form > FORMAT:
        raise NewerSlotsError("the file was written by a later version")
    text = content[header.end() : header.end() + length]
    stated = f"capacity {room} sequence {sequence} length {length}"
    if room != capacity or _hash(stated, text).encode() != header[5]:
        return None
    return sequence, text.decode()


def _hash(stated: str, content: bytes) -> str:
    return hashlib.sha256(f"{stated}\n".encode() + content).hexdigest()


@contextmanager
def _open_file(path: Path, flags: int) -> Iterator[int]:
    file = os.open(path, flags)
    try:
        yield file
    finally:
        os.close(file)
