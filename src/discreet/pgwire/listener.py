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
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.core.randomness import Randomness
from discreet.pgwire import messages
from discreet.pgwire.backend import Backend, Session
from discreet.pgwire.connection import Connection
from discreet.pgwire.curator_backend import CuratorBackend
from discreet.pgwire.message_handler import MessageHandler
from discreet.pgwire.messages import (
    CANCEL_REQUEST,
    GSSENC_REQUEST,
    MAX_MESSAGE_SIZE,
    PROTOCOL_VERSION,
    SSL_REQUEST,
    MessageReader,
    build_malformed_error,
)
from discreet.pgwire.scram_exchange import ScramExchange
from discreet.pgwire.wire_errors import WireError, build_error_report
from discreet.services.network_addresses import is_loopback
from discreet.services.serving.tls import TlsCertificate, TlsChannel
from discreet.services.users import UserLookup
from discreet.services.users.login_throttle import LoginThrottle
from discreet.services.users.scram_verifier import Verifier

if TYPE_CHECKING:
    from discreet.pgwire.catalog import Catalog
    from discreet.services.serving.served_policy import ServedPolicy

MAX_CONNECTIONS = 100
LOGIN_TIMEOUT = 30.0
SASL, SASL_CONTINUE, SASL_FINAL = 10, 11, 12
AUTHENTICATION_OK = 0
FIXED_PARAMETERS = {
    "server_version": "15.0 (discreet)",
    "server_encoding": "UTF8",
    "integer_datetimes": "on",
    "IntervalStyle": "postgres",
    "is_superuser": "off",
    "in_hot_standby": "off",
    "default_transaction_read_only": "on",
}
CancelKey = tuple[int, int]


@dataclass
class PostgresListener:
    """A server of one backend to many clients."""

    backend: Backend
    channel: TlsChannel | None = None
    _handlers: dict[CancelKey, MessageHandler] = field(default_factory=dict)
    _connections_by_user: Counter[str] = field(default_factory=Counter)
    _connection_tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _unauthenticated_tasks: dict[asyncio.Task[None], None] = field(default_factory=dict)
    _threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(MAX_CONNECTIONS, thread_name_prefix="discreet-wire")
    )

    @asynccontextmanager
    async def listen(self, bound_socket: socket.socket) -> AsyncIterator[None]:
        """Serve clients within the context; at its end, statements that run are finished."""
        server = await asyncio.start_server(self._accept_client, sock=bound_socket, limit=MAX_MESSAGE_SIZE)
        try:
            yield
        finally:
            server.close()
            for task in self._connection_tasks:
                task.cancel()
            await asyncio.gather(*self._connection_tasks, return_exceptions=True)
            self._threads.shutdown()

    async def _accept_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._unauthenticated_tasks) >= MAX_CONNECTIONS:
            oldest = next(iter(self._unauthenticated_tasks))
            del self._unauthenticated_tasks[oldest]
            oldest.cancel()
        self._connection_tasks.add(task)
        self._unauthenticated_tasks[task] = None
        line = Connection(reader, writer)
        try:
            await self._serve_client(line, task)
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # the client is gone, or the server is shutting down
        except Exception as error:
            await line.send_now(
                messages.encode_error_response(build_error_report(error, self.backend.log_fault))
            )
        finally:
            self._connection_tasks.discard(task)
            self._unauthenticated_tasks.pop(task, None)
            writer.close()
            with suppress(Exception, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve_client(self, connection: Connection, task: asyncio.Task[None]) -> None:
        """Log one client in and handle its messages until it leaves."""
        async with asyncio.timeout(LOGIN_TIMEOUT):
            startup = await self._receive_startup(connection)
            if startup is None:
                return
            user = startup.get("user", "")
            await self._authenticate(connection, user)
        self._unauthenticated_tasks.pop(task, None)
        self._require_free_connection(user)
        session = await asyncio.get_running_loop().run_in_executor(
            self._threads, self._open_session, user, startup
        )
        talk = MessageHandler(
            session, self._threads, connection.send, connection.flush, self.backend.log_fault
        )
        key = self._draw_cancel_key()
        self._handlers[key] = talk
        self._connections_by_user[user] += 1
        try:
            for name, value in {**FIXED_PARAMETERS, "session_authorization": user}.items():
                connection.send(messages.encode_parameter_status(name, value))
            connection.send(messages.encode_backend_key(*key))
            await talk.start()
            await _handle_messages(talk, connection)
        finally:
            del self._handlers[key]
            self._connections_by_user[user] -= 1
            # Shielded: a charged statement is finished and stored even if the client is gone.
            await asyncio.shield(talk.wait_until_idle())

    def _require_free_connection(self, user: str) -> None:
        """Raise if no connection is free; one user has at most half of them."""
        if self._connections_by_user[user] >= MAX_CONNECTIONS // 2:
            raise WireError("53300", "Too many connections of one user.", hint="Close some.", is_fatal=True)
        if len(self._handlers) >= MAX_CONNECTIONS:
            raise WireError("53300", "Too many clients.", hint="Try again later.", is_fatal=True)

    async def _receive_startup(self, connection: Connection) -> dict[str, str] | None:
        """Return the startup parameters; None after a cancel request."""
        for _ in range(3):  # GSSENCRequest, SSLRequest, startup: no client needs more
            reader = MessageReader(await connection.read_startup())
            version = reader.read_number("i")
            if version not in (SSL_REQUEST, GSSENC_REQUEST):
                _require_encryption(connection)
            if version == CANCEL_REQUEST:
                process, secret = reader.read_number("I"), reader.read_number("I")
                self._cancel_statement((process, secret))
                return None
            if version == SSL_REQUEST and self.channel is not None and not connection.is_encrypted:
                await connection.start_tls(self.channel.context)
            elif version in (SSL_REQUEST, GSSENC_REQUEST):
                await connection.send_now(b"N")
            else:
                return _parse_startup(version, reader, connection)
        raise build_malformed_error()

    def _cancel_statement(self, key: CancelKey) -> None:
        talk = self._handlers.get(key)
        if talk is not None:
            talk.cancel_statement()

    async def _authenticate(self, connection: Connection, user: str) -> None:
        loop = asyncio.get_running_loop()
        verifier = await loop.run_in_executor(self._threads, self.backend.find_verifier, user)
        # Read for known names too: a known and an unknown name must take the same time.
        among = await loop.run_in_executor(self._threads, self.backend.list_iterations)
        binding = self.channel.binding if self.channel is not None and connection.is_encrypted else b""
        exchange = ScramExchange(
            verifier or Verifier.for_unknown_name(user, self.backend.secret, among), binding
        )
        offered = b"".join(map(messages.encode_text, exchange.mechanisms))
        await connection.send_now(messages.encode_authentication(SASL, offered + b"\x00"))
        reader = MessageReader(await connection.read_password())
        challenge = exchange.answer_first_message(reader.read_text(), reader.read_value() or b"")
        reader.require_end()
        await connection.send_now(messages.encode_authentication(SASL_CONTINUE, challenge))
        answer = await connection.read_password()
        # Checked here, not when the login began: otherwise many logins begun together would all be checked.
        seconds = self.backend.get_login_delay(user, connection.client_address)
        if seconds > 0:
            hint = f"Try again in {math.ceil(seconds)} seconds."
            raise WireError("28000", "Too many logins have failed.", hint=hint, is_fatal=True)
        proof = exchange.verify_final_message(answer)
        self.backend.record_login(
            user, connection.client_address, succeeded=proof is not None and verifier is not None
        )
        if proof is None or verifier is None:
            raise WireError("28P01", "Name or password is wrong.", is_fatal=True)
        connection.send(
            messages.encode_authentication(SASL_FINAL, proof)
            + messages.encode_authentication(AUTHENTICATION_OK)
        )

    def _open_session(self, user: str, startup: dict[str, str]) -> Session:
        session = self.backend.open_session(user)
        session.change_settings(_parse_startup_settings(startup))
        return session

    def _draw_cancel_key(self) -> CancelKey:
        """Return an unguessable cancel key with a process number that no other connection has."""
        taken = {process for process, _ in self._handlers}
        while (process := Randomness().draw_bits(31)) in taken:
            pass
        return process, Randomness().draw_bits(32)


def _require_encryption(connection: Connection) -> None:
    """Refuse plain text from other machines: questions, answers and cancel keys could be read in transit."""
    if not connection.is_encrypted and not is_loopback(connection.client_address):
        raise WireError(
            "28000",
            "Connections from other machines must use TLS.",
            hint="Connect with sslmode=verify-full.",
            is_fatal=True,
        )


def _parse_startup(version: int, reader: MessageReader, connection: Connection) -> dict[str, str]:
    if version >> 16 != PROTOCOL_VERSION >> 16:
        raise WireError("0A000", "Only version 3 of the protocol is supported.", is_fatal=True)
    startup = messages.parse_startup(reader.read_rest())
    unknown = [name for name in startup if name.startswith("_pq_.")]
    if version != PROTOCOL_VERSION or unknown:
        connection.send(messages.encode_negotiate_version(unknown))
    return {name: value for name, value in startup.items() if name not in unknown}


def _parse_startup_settings(startup: dict[str, str]) -> dict[str, str | None]:
    """Return the settings of a startup message: its parameters, and `-c name=value` in its options."""
    found: dict[str, str | None] = {
        name: value.strip("'")
        for name, value in startup.items()
        if name not in ("user", "database", "options", "replication")
    }
    try:
        words = shlex.split(startup.get("options", ""))
    except ValueError:
        raise build_malformed_error() from None
    joined = " ".join(words).replace("-c ", "-c").split()
    for word in joined:
        name, sign, value = word.removeprefix("-c").removeprefix("--").partition("=")
        if not sign:
            raise WireError("42601", "Options are written -c name=value.", is_fatal=True)
        found[name.replace("-", "_")] = value
    return found


async def _handle_messages(handler: MessageHandler, connection: Connection) -> None:
    while True:
        kind, content = await connection.read_message(MAX_MESSAGE_SIZE)
        if kind == b"X":
            return
        await handler.handle_message(kind, content)


async def serve_postgres(
    served: ServedPolicy,
    users: UserLookup,
    catalog: Catalog,
    bound_socket: socket.socket,
    *,
    certificate: TlsCertificate | None = None,
    throttle: LoginThrottle | None = None,
    on_ready: Callable[[], None] = lambda: None,
    stop_event: asyncio.Event,
) -> None:
    """Serve PostgreSQL clients on a socket until `stop_event`; listeners may share a `throttle`."""
    backend = CuratorBackend(
        served=served, users=users, catalog=catalog, throttle=throttle or LoginThrottle()
    )
    channel = None if certificate is None else certificate.load_channel()
    async with PostgresListener(backend, channel).listen(bound_socket):
        on_ready()
        await stop_event.wait()
