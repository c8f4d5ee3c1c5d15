"""Processes: whether the one that made a reservation can still settle it.

A process is known by its number and the moment it started, within one start of the machine, because numbers
are used again. Where that cannot be found out it counts as gone: what it reserved is listed as orphaned, and
the same question, asked again, does not wait for it and is charged.
"""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path

PROC = Path("/proc")


def this_process() -> str:
    """The mark of the running process."""
    return _mark(os.getpid())


@cache
def _mark(pid: int) -> str:
    return f"{_place()} {pid} {_started(pid)}"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_mark.cache_clear)  # numbers are used again


def is_here(mark: str) -> bool:
    """Whether the process with this mark is, or was, one of this machine since it was started."""
    return mark.partition(" ")[0] == _place()


def is_alive(mark: str) -> bool:
    """Whether the process with this mark still runs, as far as can be seen from here."""
    if mark == this_process():
        return True
    pid, _, started = mark.partition(" ")[2].partition(" ")
    if not is_here(mark) or not pid.isdigit():
        return False
    if PROC.joinpath("self").exists():
        return bool(started) and _started(int(pid)) == started
    return os.name == "posix" and _answers(int(pid))


def _place() -> str:
    """The machine since it was started, and the numbering of processes in it."""
    try:
        boot = PROC.joinpath("sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink(PROC / 'self/ns/pid')}"
    except OSError:
        return socket.gethostname().replace(" ", "-")


def _started(pid: int) -> str:
    """When the process started, in ticks; nothing where it ended."""
    if not PROC.joinpath("self").exists():
        return "unknown"
    try:
        state, *rest = PROC.joinpath(str(pid), "stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return ""
    return "" if state in "ZX" else rest[18]


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
