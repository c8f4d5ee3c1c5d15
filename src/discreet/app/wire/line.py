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

from discreet.app.wire.faults import WireError
from discreet.app.wire.messages import LARGEST_BEFORE_LOGIN, malformed


@dataclass
class Line:
    """One client's connection; `is_encrypted` once it is under TLS."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    secure: bool = False
    _waiting: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        # asyncio sets this itself only for sockets created with an explicit protocol number.
        self.writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @property
    def place(self) -> str:
        """The address of the client."""
        peer = self.writer.get_extra_info("peername")
        return str(peer[0]) if peer else ""

    async def startup(self) -> bytes:
        """Return the body of a startup message, which has no type byte."""
        return await self._body(LARGEST_BEFORE_LOGIN)

    async def message(self, largest: int) -> tuple[bytes, bytes]:
        return await self.reader.readexactly(1), await self._body(largest)

    async def password(self) -> bytes:
        kind, content = await self.message(LARGEST_BEFORE_LOGIN)
        if kind != b"p":
            raise malformed()
        return content

    async def _body(self, largest: int) -> bytes:
        size = int.from_bytes(await self.reader.readexactly(4), "big", signed=True)
        if size < 4:
            raise malformed()
        if size > largest:
            raise WireError("54000", "The message is too long.", fatal=True)
        return await self.reader.readexactly(size - 4)

    async def secured(self, tls: ssl.SSLContext) -> None:
        """Accept an SSLRequest and start TLS."""
        # Reading is paused first: bytes that have arrived by now are plain text, later ones are TLS.
        cast("asyncio.Transport", self.writer.transport).pause_reading()
        early = asyncio.ensure_future(self.reader.read(1))
        await asyncio.sleep(0)
        if early.done():
            raise malformed()
        early.cancel()
        with suppress(asyncio.CancelledError):
            await early
        await self.tell(b"S")
        await self.writer.start_tls(tls)
        self.secure = True

    def send(self, content: bytes) -> None:
        """Buffer bytes until the next `flush`, so that many small messages leave as one."""
        self._waiting.append(content)

    async def flush(self) -> None:
        content = b"".join(self._waiting)
        self._waiting.clear()
        self.writer.write(content)
        await self.writer.drain()

    async def tell(self, content: bytes) -> None:
        """Send at once; ignore that the client is gone."""
        with suppress(OSError, asyncio.CancelledError):
            self.send(content)
            await self.flush()
