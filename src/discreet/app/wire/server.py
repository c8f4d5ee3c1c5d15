"""The listener: what happens before a client has logged in, and how many may be there.

    SSLRequest → TLS    or refused, where there is no certificate    GSSENCRequest → refused
    CancelRequest → the conversation that holds the key is told; the asker hears nothing
    startup → SCRAM-SHA-256 → settings, key → conversation

Plain text  is taken from this machine alone: from elsewhere a login or a cancel request without TLS is
            refused before a password is asked for.
Strangers   who have not logged in are as many as clients may be; the oldest gives way to who comes.
Guessing    After some logins that failed, by name and place, the next is not looked at for a while.
Log         Nothing is logged of a client, of what it sends or of what it is sent.
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
SASL, SASL_CONTINUE, SASL_FINAL, OK = 10, 11, 12, 0
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
    """Serves a door to any number of clients."""

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
        """Take clients while inside; at the end, work that has begun is finished."""
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
            pass  # the client is gone, or the server goes
        except Exception as error:
            await line.tell(messages.report(told(error, self.door.unforeseen)))
        finally:
            self._connected.discard(task)
            self._strangers.pop(task, None)
            writer.close()
            with suppress(Exception, asyncio.CancelledError):
                await writer.wait_closed()

    async def _meet(self, line: Line, task: asyncio.Task[None]) -> None:
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
            await asyncio.shield(talk.settled())

    def _require_place(self, user: str) -> None:
        """Half of the places are for others than any one user."""
        if self._places[user] >= MOST_CONNECTIONS // 2:
            raise WireError("53300", "Too many connections of one user.", hint="Close some.", fatal=True)
        if len(self._talking) >= MOST_CONNECTIONS:
            raise WireError("53300", "Too many clients.", hint="Try again later.", fatal=True)

    async def _startup(self, line: Line) -> dict[str, str] | None:
        """What the client says of itself; None for one that came to cancel."""
        for _ in range(3):
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
        among = await loop.run_in_executor(self._threads, self.door.iterations)  # read for every name alike
        binding = self.channel.binding if self.channel is not None and line.secure else b""
        exchange = Exchange(verifier or Verifier.nobody(user, self.door.secret, among), binding)
        offered = b"".join(map(messages.text, exchange.mechanisms))
        await line.tell(messages.authentication(SASL, offered + b"\x00"))
        reader = Reader(await line.password())
        challenge = exchange.first(reader.text(), reader.value() or b"")
        reader.end()
        await line.tell(messages.authentication(SASL_CONTINUE, challenge))
        answer = await line.password()
        # looked at now, and not when the login began: many of them may have been begun together
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
        """A key that cannot be guessed, of a process number that nobody else has."""
        taken = {process for process, _ in self._talking}
        while (process := Randomness().draw_bits(31)) in taken:
            pass
        return process, Randomness().draw_bits(32)


def _require_encryption(line: Line) -> None:
    """Refuse plain text from other machines: questions, answers and cancel keys could be read on the way."""
    if not line.secure and not is_loopback(line.place):
        raise WireError(
            "28000",
            "Connections from other machines must use TLS.",
            hint="Connect with sslmode=verify-full.",
            fatal=True,
        )


def _read_startup(version: int, reader: Reader, line: Line) -> dict[str, str]:
    if version >> 16 != PROTOCOL >> 16:
        raise WireError("0A000", "Only version 3 of the protocol is spoken.", fatal=True)
    startup = messages.read_startup(reader.rest())
    unknown = [name for name in startup if name.startswith("_pq_.")]
    if version != PROTOCOL or unknown:
        line.send(messages.negotiate_version(unknown))
    return {name: value for name, value in startup.items() if name not in unknown}


def _wished(startup: dict[str, str]) -> dict[str, str | None]:
    """The settings of a startup message: its own names, and `-c name=value` of its options."""
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
