"""A file that nobody may open: the kernel tells whoever does, also where no time of access is kept."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

OPENED_OR_CHANGED = 0x20 | 0x02
"""IN_OPEN and IN_MODIFY of Linux's inotify(7)."""


@contextmanager
def canary(path: Path, content: str) -> Iterator[Callable[[], bool]]:
    """The file, and whether anybody has touched it since it was written."""
    path.write_text(content)
    kernel = ctypes.CDLL(None, use_errno=True)
    watch = kernel.inotify_init1(os.O_NONBLOCK)
    assert kernel.inotify_add_watch(watch, os.fsencode(path), OPENED_OR_CHANGED) >= 0, ctypes.get_errno()
    try:
        yield lambda: _told(watch)
    finally:
        os.close(watch)


def _told(watch: int) -> bool:
    try:
        return bool(os.read(watch, 4096))
    except BlockingIOError:
        return False
