"""Identity of processes: whether the one that made a reservation can still settle it.

A process is identified by its number and its start time, within one boot of the machine, because numbers are
reused. Where that cannot be determined it counts as gone: its reservations are listed as orphaned, and the
same question, asked again, does not wait for it and is charged.
"""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path

PROC = Path("/proc")


def get_process_identity() -> str:
    """Return the identity of the running process."""
    return _format_identity(os.getpid())


@cache
def _format_identity(pid: int) -> str:
    return f"{_identify_machine()} {pid} {_read_start_time(pid)}"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_format_identity.cache_clear)  # process numbers are reused


def is_local_process(identity: str) -> bool:
    """Return whether the process with this identity belongs to this machine and boot."""
    return identity.partition(" ")[0] == _identify_machine()


def is_process_alive(identity: str) -> bool:
    """Return whether the process with this identity still runs, as far as this machine can see."""
    if identity == get_process_identity():
        return True
    pid, _, started = identity.partition(" ")[2].partition(" ")
    if not is_local_process(identity) or not pid.isdigit():
        return False
    if PROC.joinpath("self").exists():
        return bool(started) and _read_start_time(int(pid)) == started
    return os.name == "posix" and _accepts_signal(int(pid))


def _identify_machine() -> str:
    """Return the machine, its boot and its process namespace."""
    try:
        boot = PROC.joinpath("sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink(PROC / 'self/ns/pid')}"
    except OSError:
        return socket.gethostname().replace(" ", "-")


def _read_start_time(pid: int) -> str:
    """Return the start time of a process in ticks, or an empty text where it ended."""
    if not PROC.joinpath("self").exists():
        return "unknown"
    try:
        state, *rest = PROC.joinpath(str(pid), "stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return ""
    # the 22nd field of /proc/PID/stat; the state, the first one after the name, is the third
    return "" if state in "ZX" else rest[18]


def _accepts_signal(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
