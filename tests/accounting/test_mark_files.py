"""A file of two slots: wherever a write is cut off, it says what it said before or what was written."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from discreet.accounting.mark_files import (
    NewerSlotsError,
    SlotsDamagedError,
    make_file,
    make_write,
    parse_slots,
    read_text,
    write_text,
)

SECTOR = 512
Write = Callable[[bytes, str], tuple[int, bytes]]


def write_other_slot(content: bytes, text: str) -> tuple[int, bytes]:
    found = make_write(parse_slots(content), text)
    assert found is not None
    return found


def write_same_slot(content: bytes, text: str) -> tuple[int, bytes]:
    """The broken twin: one slot, and its copy, written in place."""
    _, written = write_other_slot(content, text)
    return 0, written.ljust(len(content) // 2, b"\n") * 2


def tear(content: bytes, start: int, written: bytes) -> Iterator[bytes]:
    """Yield the contents that a crash may leave: every prefix, and any set of whole sectors."""
    for length in range(len(written) + 1):
        yield content[:start] + written[:length] + content[start + length :]
    sectors, draw = range(0, len(written), SECTOR), random.Random(18)
    for _ in range(300):
        torn = bytearray(content)
        for each in sectors:
            if draw.random() < 0.5:
                part = written[each : each + SECTOR]
                torn[start + each : start + each + len(part)] = part
        yield bytes(torn)


def count_lost(write: Write) -> int:
    """How many torn files say neither the text before nor the one that was written."""
    content, lost = make_file("before " * 150), 0
    for number in range(3):  # both slots have their turn
        text = f"after {number} " * 140
        start, written = write(content, text)
        known = (parse_slots(content).text, text)
        for torn in tear(content, start, written):
            try:
                lost += parse_slots(torn).text not in known
            except SlotsDamagedError:
                lost += 1
        content = content[:start] + written + content[start + len(written) :]
        assert parse_slots(content).text == text
    return lost


def test_wherever_a_write_is_cut_off_the_file_says_the_old_text_or_the_new() -> None:
    assert count_lost(write_other_slot) == 0


def test_a_file_that_is_written_over_in_place_would_be_lost() -> None:
    assert count_lost(write_same_slot) > 100


def test_a_torn_slot_is_written_again_and_the_whole_one_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.mark"
    write_text(path, "one")
    start, written = write_other_slot(path.read_bytes(), "two")
    content = path.read_bytes()
    path.write_bytes(content[:start] + written[:-1] + b"?" + content[start + len(written) :])
    assert read_text(path) == "one"
    write_text(path, "three")
    assert read_text(path) == "three"
    assert not parse_slots(path.read_bytes()).is_torn


def test_text_of_any_length_is_kept_and_short_ones_keep_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.mark"
    write_text(path, "")
    before = path.stat()
    for number in range(9):
        write_text(path, f"{number}" * 99)
        assert read_text(path) == f"{number}" * 99
    after = path.stat()
    assert (before.st_ino, before.st_size) == (after.st_ino, after.st_size)
    for length in (5_000, 50_000, 100):
        write_text(path, "é" * length)
        assert read_text(path) == "é" * length
    assert [each.name for each in tmp_path.iterdir()] == ["x.mark"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_without_slots_is_read_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "x.mark"
    path.write_text("{}")
    assert read_text(path) == "{}"
    write_text(path, "text")
    assert read_text(path) == "text"


def test_what_a_link_leads_to_is_left_alone(tmp_path: Path) -> None:
    path, target = tmp_path / "x.mark", tmp_path / "letter"
    write_text(target, "dear")
    os.symlink(target, path)
    write_text(path, "text")
    assert (read_text(path), read_text(target)) == ("text", "dear")


def test_a_file_that_was_cut_or_rotted_is_damaged_and_a_later_version_is_said() -> None:
    content = make_file("text")
    half = len(content) // 2
    for cut in (content[:half], content[: half + 300], content[:-1], content + b"\n" * 2):
        with pytest.raises(SlotsDamagedError):
            parse_slots(cut)
    for each, other in itertools.product(range(0, 120, 7), range(0, 120, 7)):
        rotted = bytearray(content)
        rotted[each] ^= 1
        rotted[half + other] ^= 1
        with pytest.raises((SlotsDamagedError, NewerSlotsError)):
            parse_slots(bytes(rotted))
    with pytest.raises(NewerSlotsError):
        parse_slots(content.replace(b"discreet mark 2", b"discreet mark 3"))


def test_a_full_disk_or_one_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.mark"
    write_text(path, "one")

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", fail)
    with pytest.raises(OSError, match="Input/output"):
        write_text(path, "two")
