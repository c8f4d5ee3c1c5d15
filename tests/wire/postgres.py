"""A PostgreSQL server for tests, in a folder of its own; tests skip where none is installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

OWNER = "postgres"


def programs() -> Path:
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not folders:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    return folders[-1]


@contextmanager
def running() -> Iterator[int]:
    """The port of a server that has one superuser, and lets everybody in who is here."""
    bin_, folder = programs(), Path(tempfile.mkdtemp(prefix="discreet-pg-"))
    as_owner = ["runuser", "-u", OWNER, "--"] if os.geteuid() == 0 else []
    if as_owner:
        shutil.chown(folder, OWNER)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
    control = [*as_owner, str(bin_ / "pg_ctl"), "-D", str(folder / "data"), "-w"]
    initdb = [*as_owner, str(bin_ / "initdb"), "-D", str(folder / "data"), "-A", "trust", "-U", OWNER, "-N"]
    subprocess.run(initdb, check=True, capture_output=True, cwd="/")
    started = [*control, "-o", options, "-l", str(folder / "log"), "start"]
    subprocess.run(started, check=True, stdout=subprocess.DEVNULL, cwd="/")
    try:
        yield port
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=True, capture_output=True, cwd="/")
        shutil.rmtree(folder, ignore_errors=True)
