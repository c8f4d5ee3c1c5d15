"""The ledger of a session: one for each process, for frames and policies that name no ledger.

Ledger      a file in a folder of its own, which only its owner can enter and which is removed when the
            process ends. Everything that a process asks without naming a ledger is charged to it, whatever
            the frame: a frame has no identity, and two of them may hold the same people. Processes that are
            forked share it. It writes no marks, and its sentences say that they are about this session.
Versions    A stored answer is replayed for the frame that it was computed from, as long as that frame is
            unchanged. A frame of the same contents that is another object is charged anew: whether it is must
            not depend on the data. Frames of Spark cannot be changed, so that the object decides.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from uuid import uuid4

from discreet.core.errors import RequestError

CREATING = threading.Lock()
SEEN: dict[int, tuple[weakref.ref[object], dict[str, str]]] = {}
"""By the frame's id: the frame, and the version of its contents by their digest."""


def find_session_ledger() -> str:
    """Return the path of this process's ledger; its folder is created with the first call."""
    with CREATING:
        return make_session_ledger()


@cache
def make_session_ledger() -> str:
    """Create the folder of the process's ledger, once; threads come here one at a time."""
    folder, owner = tempfile.mkdtemp(prefix="discreet-session-"), os.getpid()  # with mode 0700

    def remove() -> None:
        if os.getpid() == owner:  # a forked child leaves it to its parent
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return str(Path(folder).resolve() / "ledger.db")


def is_session_ledger(address: str) -> bool:
    """Return whether a ledger's address is that of this process's ledger."""
    return make_session_ledger.cache_info().currsize > 0 and address == find_session_ledger()


@contextmanager
def name_session_ledger(address: str) -> Iterator[None]:
    """Raise refusals of the session's ledger with its name in place of its path, which nobody knows."""
    try:
        yield
    except RequestError as error:
        if not is_session_ledger(address):
            raise
        message = error.message.replace(f"The ledger {address}", "The ledger of this session")
        raise type(error)(message, hint="Name another ledger for it: `ledger=`.") from None


def find_session_version(frames: Mapping[str, tuple[object, str]]) -> str:
    """Return the data version of frames, each with its digest: the same for the same unchanged objects."""
    return " ".join(_find_version(frame, digest) for frame, digest in frames.values())


def _find_version(frame: object, digest: str) -> str:
    key = id(frame)
    known = SEEN.get(key)
    if known is None or known[0]() is not frame:
        try:
            known = SEEN[key] = weakref.ref(frame, lambda _: SEEN.pop(key, None)), {}
        except TypeError:
            return uuid4().hex  # an object that cannot be followed is a new one each time
    return known[1].setdefault(digest, uuid4().hex)
