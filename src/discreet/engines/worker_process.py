"""Worker processes: a process of its own for SQL of a client, which the operating system limits.

A worker receives requests over its standard input and answers over its standard output; messages are bytes
after their length. One that takes too much time or memory ends; the next request starts another. A database
within the server could be limited in neither: text functions are not interrupted, and their memory counts
against no limit.
"""

from __future__ import annotations

import resource
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import pyarrow as pa

MAX_WORKERS = 4
LENGTH = struct.Struct(">q")


# -- Messages -----------------------------------------------------------------------------------------------


def send_message(pipe: IO[bytes], content: bytes) -> None:
    """Send one message: its length, then its bytes."""
    pipe.write(LENGTH.pack(len(content)))
    pipe.write(content)
    pipe.flush()


def receive_message(pipe: IO[bytes]) -> bytes | None:
    """Return the next message, or None if the other side has closed the pipe."""
    head = pipe.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (size,) = LENGTH.unpack(head)
    content = pipe.read(size)
    return content if len(content) == size else None


def table_to_bytes(table: pa.Table) -> bytes:
    """Return a table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def table_from_bytes(content: bytes) -> pa.Table:
    """Return the table of an Arrow IPC stream."""
    with pa.ipc.open_stream(content) as reader:
        return reader.read_all()


# -- Within the worker --------------------------------------------------------------------------------------


def limit_memory(bytes_above_now: int) -> None:
    """Limit memory relative to the present use; without /proc, only time is limited."""
    taken = Path("/proc/self/statm")
    if taken.exists():
        most = int(taken.read_text().split()[0]) * resource.getpagesize() + bytes_above_now
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def limit_processor_time(seconds: float) -> None:
    """End this process after so many seconds of processor time; 0 takes the limit away.

    Processor time, so that a busy machine does not use it up. Nothing handles the signal, so that it ends the
    process whatever runs.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds)


# -- Within the server --------------------------------------------------------------------------------------


class WorkerProcess:
    """A process that runs a module and answers one request at a time."""

    def __init__(self, module: str, arguments: Sequence[str], setup_messages: Sequence[bytes] = ()) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        if setup_messages:
            self.exchange(*setup_messages)

    def exchange(self, *messages: bytes) -> bytes | None:
        """Return the worker's answer, or None if the process ended instead."""
        try:
            for each in messages:
                send_message(_require_pipe(self._process.stdin), each)
            return receive_message(_require_pipe(self._process.stdout))
        except OSError:
            return None

    def terminate(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def _require_pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


class WorkerPool:
    """A few workers of one kind, started when they are needed and used again; any thread may use it."""

    def __init__(self, module: str, arguments: Sequence[str], setup_messages: Sequence[bytes] = ()) -> None:
        self._module, self._arguments, self._setup_messages = module, arguments, setup_messages
        self._places = threading.BoundedSemaphore(MAX_WORKERS)
        self._idle: list[WorkerProcess] = []

    def exchange(self, *messages: bytes) -> bytes | None:
        """Return a worker's answer, or None if it ended instead."""
        with self._places:
            process = self._take_idle_worker() or WorkerProcess(
                self._module, self._arguments, self._setup_messages
            )
            try:
                answer = process.exchange(*messages)
            except BaseException:  # interrupted in the middle of a message
                process.terminate()
                raise
            if answer is None:
                process.terminate()
            else:
                self._idle.append(process)
        return answer

    def close(self) -> None:
        """End all idle workers."""
        while (process := self._take_idle_worker()) is not None:
            process.terminate()

    def _take_idle_worker(self) -> WorkerProcess | None:
        """Return an idle worker, or None."""
        with suppress(IndexError):
            return self._idle.pop()
        return None
