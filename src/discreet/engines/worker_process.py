"""Worker processes: a process of its own for SQL of a client, which the operating system limits.

A worker receives requests and answers over a socket, its standard input. One that takes too much time or
memory ends; the next request starts another. A database within the server could be limited in neither: text
functions are not interrupted, and their memory counts against no limit.

Messages    are bytes, or a table as an Arrow stream, after their length. Large ones are in shared memory, of
            which the socket passes the descriptor: nothing of them is copied on arrival.
Sealed      shared memory cannot shrink or change once it is sent, so that no worker can make the server read
            what is not there.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeAlias

import pyarrow as pa

MAX_WORKERS = 4
FRAME = struct.Struct(">q?")
"""The length of a message, and whether it is in shared memory."""
SHARED_FROM = 1 << 17 if hasattr(os, "memfd_create") else sys.maxsize
SEALS = 0x7
"""What cannot be done with shared memory that is sent: seal it otherwise, shrink it, let it grow."""
WRITE_SEAL = 0x8
Message: TypeAlias = bytes | pa.Table


# -- Messages -----------------------------------------------------------------------------------------------


def send_message(channel: socket.socket, content: Message) -> None:
    """Send one message: bytes, or a table as an Arrow stream."""
    size = len(content) if isinstance(content, bytes) else content.nbytes
    if size < SHARED_FROM:
        plain = content if isinstance(content, bytes) else table_to_bytes(content)
        channel.sendall(FRAME.pack(len(plain), False) + plain)
        return
    with os.fdopen(os.memfd_create("discreet", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "wb") as shared:
        if isinstance(content, bytes):
            shared.write(content)
        else:
            _write_table(shared, content)
        shared.flush()
        fcntl.fcntl(shared, fcntl.F_ADD_SEALS, SEALS | WRITE_SEAL)
        socket.send_fds(channel, [FRAME.pack(shared.tell(), True)], [shared.fileno()])


def receive_message(channel: socket.socket) -> pa.Buffer | None:
    """Return the next message, or None if the other side has closed the channel."""
    head, descriptors, _, _ = socket.recv_fds(channel, FRAME.size, 1)
    head += _receive_bytes(channel, FRAME.size - len(head)) if head else b""
    if len(head) < FRAME.size:
        return None
    size, is_shared = FRAME.unpack(head)
    if is_shared:
        return _map_shared_memory(descriptors[0], size)
    content = _receive_bytes(channel, size)
    return pa.py_buffer(content) if len(content) == size else None


def _receive_bytes(channel: socket.socket, size: int) -> bytes:
    """Return so many bytes, or fewer if the other side has closed the channel."""
    parts, left = [], size
    while left and (part := channel.recv(min(left, SHARED_FROM))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _map_shared_memory(descriptor: int, size: int) -> pa.Buffer:
    """Return the content of shared memory; raise an error if it could still change."""
    try:
        sealed = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & (SEALS | WRITE_SEAL)
        if sealed != SEALS | WRITE_SEAL or os.fstat(descriptor).st_size < size:
            raise OSError("shared memory that is not sealed")
        return pa.py_buffer(mmap.mmap(descriptor, size, access=mmap.ACCESS_READ))
    finally:
        os.close(descriptor)


def table_to_bytes(table: pa.Table) -> bytes:
    """Return a table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    _write_table(sink, table)
    return bytes(sink.getvalue())


def _write_table(sink: IO[bytes] | pa.NativeFile, table: pa.Table) -> None:
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def table_from_bytes(content: bytes | pa.Buffer) -> pa.Table:
    """Return the table of an Arrow IPC stream."""
    with pa.ipc.open_stream(content) as reader:
        return reader.read_all()


# -- Within the worker --------------------------------------------------------------------------------------


def open_channel() -> socket.socket:
    """Return the socket over which the server sends requests: the standard input."""
    return socket.socket(fileno=os.dup(sys.stdin.fileno()))


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

    def __init__(self, module: str, arguments: Sequence[str], setup_messages: Sequence[Message] = ()) -> None:
        self._channel, remote = socket.socketpair()
        with remote:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, *arguments],
                stdin=remote.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        if setup_messages:
            self.exchange(*setup_messages)

    def exchange(self, *messages: Message) -> pa.Buffer | None:
        """Return the worker's answer, or None if the process ended instead."""
        try:
            for each in messages:
                send_message(self._channel, each)
            return receive_message(self._channel)
        except OSError:
            return None

    def terminate(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._channel.close()


class WorkerPool:
    """A few workers of one kind, started when they are needed and used again; any thread may use it."""

    def __init__(self, module: str, arguments: Sequence[str], setup_messages: Sequence[Message] = ()) -> None:
        self._module, self._arguments, self._setup_messages = module, arguments, setup_messages
        self._places = threading.BoundedSemaphore(MAX_WORKERS)
        self._idle: list[WorkerProcess] = []

    def exchange(self, *messages: Message) -> pa.Buffer | None:
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
