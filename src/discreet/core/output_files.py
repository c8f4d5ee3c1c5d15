"""Output files: written completely or not at all, never over anything else, and without leftovers.

Complete    A draft is written beside the file and replaces it at the end.
Refused     An existing path that is not a regular file (a folder, a device, a pipe, a symbolic link), or a
            file whose content does not match its extension: a mistyped name must not destroy a table or a
            ledger. It is refused before anything is charged.
Leftovers   A draft may hold rows, and a killed process leaves it behind. Its name identifies the process and
            the machine, so that the next process that writes to the folder removes it. Folders for data that
            does not fit into memory are treated alike.
Full        An error says so where the disk is full.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.core.errors import RequestError

HEAD = 16
KINDS: tuple[tuple[int, bytes, tuple[str, ...], str], ...] = (
    (0, b"PAR1", (".parquet", ".pq"), "a Parquet file"),
    (0, b"SQLite format 3\0", (".sqlite",), "an SQLite database"),
    (8, b"DUCK", (".duckdb", ".db", ".ddb"), "a DuckDB database"),
    (0, b"\x89PNG", (".png",), "a picture"),
    (0, b"PK\x03\x04", (".zip", ".xlsx"), "an archive"),
    (0, b"\x1f\x8b", (".gz",), "an archive"),
)
"""Formats by their magic number: its offset, its bytes, the extensions of the format, and its name."""
BINARY = tuple(ending for _, _, endings, _ in KINDS for ending in endings)
FULL = "No space left on device"
SPILL = "discreet-spill-"


def require_output(path: Path) -> None:
    """Raise an error for a path that cannot be written, or that holds anything but an earlier output."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise RequestError(f"There is no folder {path.parent}.", hint="Create it, or name another file.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise make_unwritable_error(path, OSError(errno.EACCES, os.strerror(errno.EACCES)))
    draft = get_draft_path(path.absolute(), ".try")
    try:
        # what rights say is not all: a read-only disk, /proc, a name that is too long
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        draft.unlink(missing_ok=True)  # another thread may have tried the same
    except OSError as error:
        raise make_unwritable_error(path, error) from None
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise make_unwritable_error(path, error) from None
    if not stat.S_ISREG(mode):
        raise RequestError(
            f"{path} is {_describe_file_type(mode)}, not a file to replace.", hint="Name another."
        )
    found = _find_conflicting_format(path)
    if found is not None:
        raise RequestError(
            f"{path} exists and is {found}, which would be lost.", hint="Name another file, or remove it."
        )


@contextmanager
def replace_output(path: Path) -> Iterator[Path]:
    """Yield a draft beside `path` to write to; it replaces `path` once it is complete."""
    require_output(path)
    remove_leftovers(path.absolute().parent, path.name)
    draft = get_draft_path(path)
    try:
        yield draft
        os.replace(draft, path)
    except OSError as error:
        raise make_unwritable_error(path, error) from None
    finally:
        draft.unlink(missing_ok=True)


def write_output(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write a small file, completely or not at all; only its owner can read a `private` one."""
    mode = 0o600 if private else 0o666
    with replace_output(path) as draft:
        # O_EXCL does not follow a link that somebody placed at the draft's name
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)


def sync_path(path: Path) -> None:
    """Flush a file, or a folder so that a new name in it survives a crash."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def make_unwritable_error(path: Path, error: OSError) -> RequestError:
    """Return the error for a file that the system does not let us write."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return make_disk_full_error(path)
    return RequestError(
        f"{path} cannot be written: {error.strerror or 'the system refuses'}.", hint="Name another file."
    )


def make_disk_full_error(path: Path) -> RequestError:
    """Return the error for a full disk."""
    return RequestError(
        f"{path} cannot be written: its disk is full.",
        hint="Make room and run it again; nothing is charged twice.",
    )


def is_disk_full(error: BaseException) -> bool:
    """Return whether an error of the system or of a driver reports a full disk."""
    known = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    return known or FULL in str(error)


def get_draft_path(path: Path, ending: str = "") -> Path:
    """Return a path beside `path` that only this process uses."""
    return path.with_name(f".{path.name}.{os.getpid()}.{_hash_hostname()}.draft{ending}")


def make_spill_folder() -> tempfile.TemporaryDirectory[str]:
    """Create a private folder for data that does not fit into memory; remove those of dead processes."""
    return tempfile.TemporaryDirectory(prefix=claim_folder_prefix(SPILL))


def claim_folder_prefix(purpose: str) -> str:
    """Return the prefix of temporary folders of this process; remove those that dead processes left."""
    for left in Path(tempfile.gettempdir()).glob(f"{purpose}*"):
        if match := re.match(rf"{purpose}(\d+)\.(\w+)-", left.name):
            _remove_leftover(left, match)
    return f"{purpose}{os.getpid()}.{_hash_hostname()}-"


def remove_leftovers(folder: Path, name: str = "") -> None:
    """Remove the drafts of processes that ended without doing so.

    Drafts that an earlier version left for a file of that `name` carry only the process number.
    """
    patterns = [r"\..+\.(\d+)\.(\w+)\.draft.*"]
    if name:
        patterns.append(rf"\.{re.escape(name)}\.(\d+)()")
    with suppress(OSError):
        for left in folder.glob(".*"):
            for pattern in patterns:
                if match := re.fullmatch(pattern, left.name, re.DOTALL):
                    _remove_leftover(left, match)


def _remove_leftover(path: Path, match: re.Match[str]) -> None:
    pid, machine = int(match[1]), match[2]
    with suppress(OSError):
        # a process elsewhere cannot be checked, and a running one or another user's is not ours to remove
        if machine not in ("", _hash_hostname()) or _is_running(pid) or path.lstat().st_uid != os.getuid():
            return
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _hash_hostname() -> str:
    """Return a hash of the host name: process numbers are of one machine, and a folder may be shared."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _describe_file_type(mode: int) -> str:
    for is_one, name in (
        (stat.S_ISLNK, "a symbolic link"),
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
    ):
        if is_one(mode):
            return name
    return "something else"


def _find_conflicting_format(path: Path) -> str | None:
    """Return a description of an existing file that does not match its extension, else None."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise make_unwritable_error(path, error) from None
    ending = path.suffix.lower()
    for place, mark, endings, name in KINDS:
        if head[place : place + len(mark)] == mark:
            return None if ending in endings else name
    return f"no {ending} file" if head and ending in BINARY else None
