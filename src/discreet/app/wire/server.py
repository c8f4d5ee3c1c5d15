"""The PostgreSQL listener: startup, login, cancel requests and connection limits.

    SSLRequest → TLS, or refused without a certificate    GSSENCRequest → refused
    CancelRequest → the handler with that key cancels its statement; the sender gets no reply
    startup → SCRAM-SHA-256 → settings, cancel key → message handler

Plain text  is accepted from this machine only: from other machines a login or cancel request without TLS is
            refused before a password is requested.
Limits      At most MAX_CONNECTIONS clients are logged in, and as many others are connected; when another one
            connects, the oldest that has not logged in is evicted.
Guessing    After repeated failed logins of one name or address, further ones are refused for a while.
Log         Nothing about a client or its messages is logged.
"""

from __future__ import annotations

import asyncio
import math
import shlex
import socket
from collections import Counter
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from discreet.app.listening import is_loopback
from discreet.app.tls import Channel
from discreet.app.users.scram_verifier import Verifier
from discreet.app.wire import messages
from discreet.app.wire.conversation import Conversation
from discreet.app.wire.door import Door, Session
from discreet.app.wire.faults import WireError, told
from discreet.app.wire.line import Line
from discreet.app.wire.messages import (
    CANCEL,
    GSS,
    LARGEST,
    PROTOCOL,
    TLS,
    Reader,
    malformed,
)
from discreet.app.wire.scram import Exchange
from discreet.core.randomness import Randomness

MOST_CONNECTIONS = 100
PATIENCE = 30.0
SASL, SASL_CONTINUE, SASL_FINAL = 10, 11, 12
OK = 0
FIXED = {
    "server_version": "15.0 (discreet)",
    "server_encoding": "UTF8",
    "integer_datetimes": "on",
    "IntervalStyle": "postgres",
    "is_superuser": "off",
    "in_hot_standby": "off",
    "default_transaction_read_only": "on",
}
Key = tuple[int, int]


@dataclass
class Server:
    """A server of one backend to many clients."""

    door: Door
    channel: Channel | None = None
    _talking: dict[Key, Conversation] = field(default_factory=dict)
    _places: Counter[str] = field(default_factory=Counter)
    _connected: set[asyncio.Task[None]] = field(default_factory=set)
    _strangers: dict[asyncio.Task[None], None] = field(default_factory=dict)
    _threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(MOST_CONNECTIONS, thread_name_prefix="discreet-wire")
    )

    @asynccontextmanager
    async def listening(self, bound: socket.socket) -> AsyncIterator[None]:
        """Serve clients within the context; at its end, statements that run are finished."""
        server = await asyncio.start_server(self._client, sock=bound, limit=LARGEST)
        try:
            yield
        finally:
            server.close()
            for task in self._connected:
                task.cancel()
            await asyncio.gather(*self._connected, return_exceptions=True)
            self._threads.shutdown()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._strangers) >= MOST_CONNECTIONS:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.cancel()
        self._connected.add(task)
        self._strangers[task] = None
        line = Line(reader, writer)
        try:
            await self._meet(line, task)
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # the client is gone, or the server is shutting down
        except Exception as error:
            await line.tell(messages.report(told(error, self.door.unforeseen)))
        finally:
            self._connected.discard(task)
            self._strangers.pop(task, None)
            writer.close()
            with suppress(Exception, asyncio.CancelledError):
                await writer.wait_closed()

    async def _meet(self, line: Line, task: asyncio.Task[None]) -> None:
        """Log one client in and handle its messages until it leaves."""
        async with asyncio.timeout(PATIENCE):
            startup = await self._startup(line)
            if startup is None:
                return
            user = startup.get("user", "")
            await self._login(line, user)
        self._strangers.pop(task, None)
        self._require_place(user)
        session = await asyncio.get_running_loop().run_in_executor(
            self._threads, self._entered, user, startup
        )
        talk = Conversation(session, self._threads, line.send, line.flush, self.door.unforeseen)
        key = self._key()
        self._talking[key] = talk
        self._places[user] += 1
        try:
            for name, value in {**FIXED, "session_authorization": user}.items():
                line.send(messages.parameter_status(name, value))
            line.send(messages.backend_key(*key))
            await talk.begin()
            await _talked(talk, line)
        finally:
            del self._talking[key]
            self._places[user] -= 1
            # Shielded: a charged statement is finished and stored even if the client is gone.
            await asyncio.shield(talk.settled())

    def _require_place(self, user: str) -> None:
        """Raise if no connection is free; one user has at most half of them."""
        if self._places[user] >= MOST_CONNECTIONS // 2:
            raise WireError("53300", "Too many connections of one user.", hint="Close some.", fatal=True)
        if len(self._talking) >= MOST_CONNECTIONS:
            raise WireError("53300", "Too many clients.", hint="Try again later.", fatal=True)

    async def _startup(self, line: Line) -> dict[str, str] | None:
        """Return the startup parameters; None after a cancel request."""
        for _ in range(3):  # GSSENCRequest, SSLRequest, startup: no client needs more
            reader = Reader(await line.startup())
            version = reader.number("i")
            if version not in (TLS, GSS):
                _require_encryption(line)
            if version == CANCEL:
                process, secret = reader.number("I"), reader.number("I")
                self._cancel((process, secret))
                return None
            if version == TLS and self.channel is not None and not line.secure:
                await line.secured(self.channel.context)
            elif version in (TLS, GSS):
                await line.tell(b"N")
            else:
                return _read_startup(version, reader, line)
        raise malformed()

    def _cancel(self, key: Key) -> None:
        talk = self._talking.get(key)
        if talk is not None:
            talk.cancel()

    async def _login(self, line: Line, user: str) -> None:
        loop = asyncio.get_running_loop()
        verifier = await loop.run_in_executor(self._threads, self.door.verifier, user)
        # Read for known names too: a known and an unknown name must take the same time.
        among = await loop.run_in_executor(self._threads, self.door.iterations)
        binding = self.channel.binding if self.channel is not None and line.secure else b""
        exchange = Exchange(verifier or Verifier.nobody(user, self.door.secret, among), binding)
        offered = b"".join(map(messages.text, exchange.mechanisms))
        await line.tell(messages.authentication(SASL, offered + b"\x00"))
        reader = Reader(await line.password())
        challenge = exchange.first(reader.text(), reader.value() or b"")
        reader.end()
        await line.tell(messages.authentication(SASL_CONTINUE, challenge))
        answer = await line.password()
        # Checked here, not when the login began: otherwise many logins begun together would all be checked.
        seconds = self.door.wait(user, line.place)
        if seconds > 0:
            hint = f"Try again in {math.ceil(seconds)} seconds."
            raise WireError("28000", "Too many logins have failed.", hint=hint, fatal=True)
        proof = exchange.final(answer)
        self.door.tried(user, line.place, admitted=proof is not None and verifier is not None)
        if proof is None or verifier is None:
            raise WireError("28P01", "Name or password is wrong.", fatal=True)
        line.send(messages.authentication(SASL_FINAL, proof) + messages.authentication(OK))

    def _entered(self, user: str, startup: dict[str, str]) -> Session:
        session = self.door.enter(user)
        session.change(_wished(startup))
        return session

    def _key(self) -> Key:
        """Return an unguessable cancel key with a process number that no other connection has."""
        taken = {process for process, _ in self._talking}
        while (process := Randomness().draw_bits(31)) in taken:
            pass
        return process, Randomness().draw_bits(32)


def _require_encryption(line: Line) -> None:
    """Refuse plain text from other machines: questions, answers and cancel keys could be read in transit."""
    if not line.secure and not is_loopback(line.place):
        raise WireError(
            "28000",
            "Connections from other machines must use TLS.",
            hint="Connect with sslmode=verify-full.",
            fatal=True,
        )


def _read_startup(version: int, reader: Reader, line: Line) -> dict[str, str]:
    if version >> 16 != PROTOCOL >> 16:
        raise WireError("0A000", "Only version 3 of the protocol is supported.", fatal=True)
    startup = messages.read_startup(reader.rest())
    unknown = [name for name in startup if name.startswith("_pq_.")]
    if version != PROTOCOL or unknown:
        line.send(messages.negotiate_version(unknown))
    return {name: value for name, value in startup.items() if name not in unknown}


def _wished(startup: dict[str, str]) -> dict[str, str | None]:
    """Return the settings of a startup message: its parameters, and `-c name=value` in its options."""
    found: dict[str, str | None] = {
        name: value.strip("'")
        for name, value in startup.items()
        if name not in ("user", "database", "options", "replication")
    }
    try:
        words = shlex.split(startup.get("options", ""))
    except ValueError:
        raise malformed() from None
    joined = " ".join(words).replace("-c ", "-c").split()
    for word in joined:
        name, sign, value = word.removeprefix("-c").removeprefix("--").partition("=")
        if not sign:
            raise WireError("42601", "Options are written -c name=value.", fatal=True)
        found[name.replace("-", "_")] = value
    return found


async def _talked(talk: Conversation, line: Line) -> None:
    while True:
        kind, content = await line.message(LARGEST)
        if kind == b"X":
            return
        await talk.answer(kind, content)
