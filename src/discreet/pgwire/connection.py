"""The connection of one client: its bytes, message by message.

Injection   Plain text that arrives together with an SSLRequest is refused: otherwise bytes injected before
            TLS would count as bytes received under it.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast

from discreet.pgwire.messages import MAX_LOGIN_MESSAGE_SIZE, build_malformed_error
from discreet.pgwire.wire_errors import WireError


@dataclass
class Connection:
    """One client's connection; `is_encrypted` once it is under TLS."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    is_encrypted: bool = False
    _send_buffer: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        # asyncio sets this itself only for sockets created with an explicit protocol number.
        self.writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @property
    def client_address(self) -> str:
        """The address of the client."""
        peer = self.writer.get_extra_info("peername")
        return str(peer[0]) if peer else ""

    async def read_startup(self) -> bytes:
        """Return the body of a startup message, which has no type byte."""
        return await self._read_body(MAX_LOGIN_MESSAGE_SIZE)

    async def read_message(self, max_size: int) -> tuple[bytes, bytes]:
        return await self.reader.readexactly(1), await self._read_body(max_size)

    async def read_password(self) -> bytes:
        kind, content = await self.read_message(MAX_LOGIN_MESSAGE_SIZE)
        if kind != b"p":
            raise build_malformed_error()
        return content

    async def _read_body(self, max_size: int) -> bytes:
        size = int.from_bytes(await self.reader.readexactly(4), "big", signed=True)
        if size < 4:
            raise build_malformed_error()
        if size > max_size:
            raise WireError("54000", "The message is too long.", is_fatal=True)
        return await self.reader.readexactly(size - 4)

    async def start_tls(self, context: ssl.SSLContext) -> None:
        """Accept an SSLRequest and start TLS."""
        # Reading is paused first: bytes that have arrived by now are plain text, later ones are TLS.
        cast("asyncio.Transport", self.writer.transport).pause_reading()
        early = asyncio.ensure_future(self.reader.read(1))
        await asyncio.sleep(0)
        if early.done():
            raise build_malformed_error()
        early.cancel()
        with suppress(asyncio.CancelledError):
            await early
        await self.send_now(b"S")
        await self.writer.start_tls(context)
        self.is_encrypted = True

    def send(self, content: bytes) -> None:
        """Buffer bytes until the next `flush`, so that many small messages leave as one."""
        self._send_buffer.append(content)

    async def flush(self) -> None:
        content = b"".join(self._send_buffer)
        self._send_buffer.clear()
        self.writer.write(content)
        await self.writer.drain()

    async def send_now(self, content: bytes) -> None:
        """Send at once; ignore that the client is gone."""
        with suppress(OSError, asyncio.CancelledError):
            self.send(content)
            await self.flush()
