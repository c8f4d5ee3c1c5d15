"""What is written is whole, goes over nothing else, and leaves nothing behind."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from discreet.core import output_files
from discreet.core.errors import RequestError
from discreet.core.output_files import (
    SPILL,
    get_draft_path,
    is_disk_full,
    make_spill_folder,
    remove_leftovers,
    replace_output,
    require_output,
    write_output,
)
from tests.patience import PATIENCE


def ended() -> int:
    """The number of a process that is no more."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait(PATIENCE)
    return process.pid


@pytest.mark.parametrize("kind", ["link", "broken link", "link to a device", "folder", "pipe", "socket"])
def test_only_plain_files_are_replaced(tmp_path: Path, kind: str) -> None:
    place, other = tmp_path / "out.csv", tmp_path / "other.csv"
    other.write_text("kept")
    with socket.socket(socket.AF_UNIX) as line:
        makers: dict[str, Callable[[], object]] = {
            "link": lambda: place.symlink_to(other),
            "broken link": lambda: place.symlink_to(tmp_path / "nowhere"),
            "link to a device": lambda: place.symlink_to("/dev/full"),
            "folder": place.mkdir,
            "pipe": lambda: os.mkfifo(place),
            "socket": lambda: line.bind(str(place)),
        }
        makers[kind]()
        with pytest.raises(RequestError, match="not a file to replace"):
            write_output(place, "x")
    assert other.read_text() == "kept"
    assert not list(tmp_path.glob("*.draft*"))


def test_devices_are_no_outputs() -> None:
    with pytest.raises(RequestError, match="is a device"):
        require_output(Path("/dev/null"))


@pytest.mark.parametrize(
    ("name", "content", "kept"),
    [
        ("out.csv", b"PAR1....", True),
        ("out.csv", b"SQLite format 3\0...", True),
        ("out.csv", b"\0" * 8 + b"DUCK" + b"\0" * 8, True),
        ("out.parquet", b"age,sex\n1,2\n", True),
        ("out.duckdb", b"SQLite format 3\0...", True),
        ("out.db", b"SQLite format 3\0...", True),
        ("out.png", b"<svg/>", True),
        ("out.svg", b"\x89PNG....", True),
        ("out.json", b"\x1f\x8b......", True),
        ("out.csv", b"age,sex\n1,2\n", False),
        ("out.parquet", b"PAR1....", False),
        ("out.parquet", b"", False),
        ("out.json", b"{}", False),
    ],
)
def test_a_file_of_another_kind_is_not_lost(tmp_path: Path, name: str, content: bytes, kept: bool) -> None:
    place = tmp_path / name
    place.write_bytes(content)
    if kept:
        with pytest.raises(RequestError, match="which would be lost"):
            write_output(place, b"new")
    else:
        write_output(place, b"new")
    assert place.read_bytes() == (content if kept else b"new")


def test_a_database_that_duckdb_wrote_is_known_as_one(tmp_path: Path) -> None:
    place = tmp_path / "shop.duckdb"
    duckdb.connect(str(place)).close()
    require_output(place)
    place.rename(tmp_path / "shop.csv")
    with pytest.raises(RequestError, match="a DuckDB database"):
        require_output(tmp_path / "shop.csv")


def test_what_fails_halfway_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    place = tmp_path / "out.csv"
    place.write_text("old")

    def write() -> None:
        with replace_output(place) as draft:
            draft.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        write()
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    assert place.read_text() == "old"


def test_drafts_of_processes_that_are_gone_are_removed_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, gone = tmp_path / "rel.csv", ended()
    here, alive = get_draft_path(place), get_draft_path(place).name
    left = tmp_path / alive.replace(str(os.getpid()), str(gone))
    former, another = tmp_path / f".rel.csv.{gone}", tmp_path / f".other.csv.{gone}"
    with monkeypatch.context() as patch:
        patch.setattr(output_files, "_hash_hostname", lambda: "elsewhere")
        elsewhere = tmp_path / get_draft_path(place).name.replace(str(os.getpid()), str(gone))
    for path in (here, left, former, another, elsewhere, tmp_path / ".notes.draft"):
        path.write_text("rows")
    remove_leftovers(tmp_path, place.name)
    kept = {here.name, another.name, elsewhere.name, ".notes.draft"}
    assert {path.name for path in tmp_path.iterdir()} == kept


def test_spill_folders_of_processes_that_are_gone_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / f"{SPILL}{ended()}.{output_files._hash_hostname()}-abc"
    left.mkdir()
    (left / "rows").write_text("rows")
    with make_spill_folder() as mine, make_spill_folder() as another:
        assert {Path(mine).name, Path(another).name} == {path.name for path in tmp_path.iterdir()}


def test_a_full_disk_is_told_from_other_errors() -> None:
    with pytest.raises(RequestError, match="its disk is full") as refusal:
        raise output_files.make_unwritable_error(Path("x.csv"), OSError(28, "No space left on device"))
    assert "nothing is charged twice" in refusal.value.hint
    assert is_disk_full(duckdb.IOException("Could not write: No space left on device"))
    assert not is_disk_full(OSError(13, "Permission denied"))


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="There is no folder"):
        require_output(tmp_path / "nowhere" / "out.csv")
