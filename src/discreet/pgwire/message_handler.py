"""The message handler of one client after login: messages in, messages out.

Free        Parse, Bind, Describe and Close plan at most; only Execute and a simple query run a statement.
Run once    A portal runs when its first rows are fetched. Fetching the rest runs nothing.
Cancel      The client gets the error at once. A query whose budget is reserved already is finished and its
            answer is stored, so that every charge buys an answer. A query that has not begun is dropped and
            costs nothing.
Errors      After an error, all messages up to Sync are skipped, as the protocol requires.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any, TypeVar

from discreet.core.errors import DiscreetError
from discreet.pgwire import messages, utility_commands
from discreet.pgwire.backend import Columns, PreparedStatement, Result, Session
from discreet.pgwire.messages import MessageReader, build_malformed_error, expand_formats
from discreet.pgwire.postgres_types import (
    TEXT_FORMAT,
    TYPES_BY_OID,
    PostgresType,
    decode_parameter,
    get_encoder,
)
from discreet.pgwire.session_state import FAILED, FetchedRows, Portal, SessionState
from discreet.pgwire.utility_commands import UtilityCommand
from discreet.pgwire.wire_errors import WireError, build_error_report

T = TypeVar("T")
MAX_QUERY_LENGTH = 100_000
MAX_PARAMETERS = 1_000
ROWS_PER_FLUSH = 1_000
QUIET_LEVELS = ("warning", "error", "fatal", "panic")
REPORTED_SETTINGS = (
    "application_name",
    "client_encoding",
    "DateStyle",
    "TimeZone",
    "standard_conforming_strings",
)
ShouldContinue = Callable[[], bool]


class MessageHandler:
    """Handler of one client's messages; `send` buffers bytes, `flush` waits until they are written."""

    def __init__(
        self,
        session: Session,
        executor: Executor,
        send: Callable[[bytes], None],
        flush: Callable[[], Awaitable[None]],
        log_fault: Callable[[Exception], DiscreetError],
    ) -> None:
        self._state, self._executor, self._send, self._flush = SessionState(session), executor, send, flush
        self._log_fault = log_fault
        self._is_skipping = False
        self._running_task: asyncio.Future[object] | None = None
        self._cancel_future: asyncio.Future[None] | None = None
        self._reported_values: dict[str, str] = {}
        self._extended_handlers: dict[bytes, Callable[[MessageReader], Awaitable[None]]] = {
            b"P": self._handle_parse,
            b"B": self._handle_bind,
            b"D": self._handle_describe,
            b"E": self._handle_execute,
            b"C": self._handle_close,
        }

    async def start(self) -> None:
        """Send the settings that clients rely on, and the first ReadyForQuery."""
        self._send_ready()
        await self._flush()

    async def handle_message(self, message_type: bytes, content: bytes) -> None:
        """Handle one message."""
        if message_type == b"Q":
            await self._handle_query(MessageReader(content))
        elif message_type == b"S":
            self._is_skipping = False
            self._send_ready()
        elif message_type == b"H":
            pass  # Flush: done below, as after every message
        elif message_type not in self._extended_handlers:
            raise build_malformed_error()
        elif not self._is_skipping:
            await self._handle_extended(self._extended_handlers[message_type], MessageReader(content))
        await self._flush()

    def cancel_statement(self) -> None:
        """Stop waiting for the statement that runs, and report it as cancelled."""
        if self._cancel_future is not None and not self._cancel_future.done():
            self._cancel_future.set_result(None)

    # -- Simple query ---------------------------------------------------------------------------------------

    async def _handle_query(self, reader: MessageReader) -> None:
        self._is_skipping = False
        try:
            text = _read_query_text(reader)
            reader.require_end()
            statements = utility_commands.split_statements(text)
            read = [utility_commands.parse_command(each, self._state) for each in statements]
            # Two questions in one text could be charged by halves: the first answered, the second refused.
            if sum(each is None for each in read) > 1:
                raise WireError(
                    "0A000", "The text holds more than one question.", hint="Ask one SELECT at a time."
                )
            if not statements:
                self._send(messages.encode_message(b"I"))
            for each in statements:
                if len(statements) > 1:
                    self._state.begin_implicit_transaction()
                await self._run_simple_statement(each)
            self._state.end_implicit_transaction(commit=True)
        except Exception as error:
            self._send_error(error)
        self._send_ready()

    async def _run_simple_statement(self, statement: str) -> None:
        prepared = await self._prepare_statement(statement, ())
        if prepared.parameters:
            raise WireError("42P02", "A simple query has no parameters.", hint="Bind them: prepare it.")
        columns = await self._run_in_thread(lambda wanted: prepared.plan_columns(()))
        portal = Portal(prepared, (), columns, (TEXT_FORMAT,) * len(columns or ()))
        if columns is not None:
            self._send(messages.encode_row_description(columns, portal.formats))
        await self._send_result(portal, 0)

    # -- Extended query -------------------------------------------------------------------------------------

    async def _handle_extended(
        self, handler: Callable[[MessageReader], Awaitable[None]], reader: MessageReader
    ) -> None:
        try:
            await handler(reader)
        except Exception as error:
            self._is_skipping = True
            self._send_error(error)

    async def _handle_parse(self, reader: MessageReader) -> None:
        name, text, oids = reader.read_text(), _read_query_text(reader), reader.read_numbers("I")
        reader.require_end()
        statements = utility_commands.split_statements(text)
        if len(statements) > 1:
            raise WireError(
                "42601", "A prepared statement is one statement.", hint="Prepare each one separately."
            )
        if len(oids) > MAX_PARAMETERS:
            raise WireError("54000", f"A statement has at most {MAX_PARAMETERS:,} parameters.")
        kinds = tuple(_parse_declared_type(oid) for oid in oids)
        self._state.register(name, await self._prepare_statement(statements[0] if statements else "", kinds))
        self._send(messages.encode_message(b"1"))

    async def _handle_bind(self, reader: MessageReader) -> None:
        binding = messages.parse_bind(reader.read_rest())
        prepared = self._state.get_statement(binding.statement)
        self._require_valid_transaction(prepared)
        if len(binding.values) != len(prepared.parameters):
            raise WireError("08P01", "The number of bound parameters differs from the statement's.")
        pairs = zip(binding.values, prepared.parameters, strict=True)
        values = tuple(decode_parameter(content, kind, form) for (content, form), kind in pairs)
        columns = await self._run_in_thread(lambda wanted: prepared.plan_columns(values))
        forms = expand_formats(binding.result_formats, len(columns or ())) if columns is not None else ()
        self._state.register(binding.portal, Portal(prepared, values, columns, forms))
        self._send(messages.encode_message(b"2"))

    async def _handle_describe(self, reader: MessageReader) -> None:
        which, name = reader.read_bytes(1), reader.read_text()
        reader.require_end()
        if which == b"S":
            prepared = self._state.get_statement(name)
            columns = await self._run_in_thread(lambda wanted: prepared.plan_columns(None))
            self._send(messages.encode_parameter_description([each.oid for each in prepared.parameters]))
            self._send_row_description(columns, (TEXT_FORMAT,) * len(columns or ()))
        elif which == b"P":
            portal = self._state.get_portal(name)
            self._send_row_description(portal.columns, portal.formats)
        else:
            raise build_malformed_error()

    def _send_row_description(self, columns: Columns | None, formats: tuple[int, ...]) -> None:
        if columns is None:
            self._send(messages.encode_message(b"n"))
        else:
            self._send(messages.encode_row_description(columns, formats))

    async def _handle_execute(self, reader: MessageReader) -> None:
        name, most = reader.read_text(), reader.read_number("i")
        reader.require_end()
        portal = self._state.get_portal(name)
        self._require_valid_transaction(portal.prepared)
        await self._send_result(portal, max(0, most))

    async def _handle_close(self, reader: MessageReader) -> None:
        which, name = reader.read_bytes(1), reader.read_text()
        reader.require_end()
        held: dict[bytes, dict[str, PreparedStatement] | dict[str, Portal]]
        held = {b"S": self._state.statements, b"P": self._state.portals}
        if which not in held:
            raise build_malformed_error()
        held[which].pop(name, None)
        self._send(messages.encode_message(b"3"))

    # -- Both -----------------------------------------------------------------------------------------------

    async def _prepare_statement(
        self, statement: str, types: tuple[PostgresType | None, ...]
    ) -> PreparedStatement:
        found: PreparedStatement | None = (
            EMPTY_QUERY if not statement else utility_commands.parse_command(statement, self._state)
        )
        declared = utility_commands.match_declare(statement)
        self._require_valid_transaction(found)
        if found is None:
            text = declared["sql"] if declared else statement
            found = await self._run_in_thread(lambda wanted: self._state.session.prepare(text, types))
        return utility_commands.prepare_cursor(declared, found, self._state) if declared else found

    def _require_valid_transaction(self, prepared: PreparedStatement | None) -> None:
        if self._state.status == FAILED and not (
            isinstance(prepared, UtilityCommand) and prepared.ends_transaction
        ):
            raise WireError(
                "25P02", "The transaction has failed; statements are ignored until it ends.", hint="ROLLBACK."
            )

    async def _send_result(self, portal: Portal, max_rows: int) -> None:
        """Run the portal if it has not run yet, and send its next rows."""
        taken = await self._run_in_thread(lambda wanted: portal.fetch_rows(max_rows, wanted))
        least = self._state.session.get_setting("client_min_messages")
        for warned in taken.warnings if least not in QUIET_LEVELS[1:] else ():
            self._send(messages.encode_warning(warned))
        for said in taken.notices if least not in QUIET_LEVELS else ():
            self._send(messages.encode_notice(said))
        await self._send_rows(portal, taken)
        if portal.prepared is EMPTY_QUERY:
            self._send(messages.encode_message(b"I"))
        else:
            suspended = messages.encode_message(b"s")
            self._send(suspended if taken.has_more else messages.encode_command_complete(taken.tag))

    async def _send_rows(self, portal: Portal, fetched: FetchedRows) -> None:
        pairs = zip(portal.columns or (), portal.formats, strict=True)
        encoders = [get_encoder(column.pg_type, form) for column, form in pairs]
        for start in range(0, len(fetched.rows), ROWS_PER_FLUSH):
            rows = fetched.rows[start : start + ROWS_PER_FLUSH]
            self._send(b"".join(messages.encode_data_row(row, encoders) for row in rows))
            await self._flush()

    async def _run_in_thread(self, task: Callable[[ShouldContinue], T]) -> T:
        """Run a task in a thread and return its result; a client has at most one task at a time."""
        loop = asyncio.get_running_loop()
        cancelled = self._cancel_future = loop.create_future()
        if self._running_task is not None:
            await self._wait_unless_cancelled(self._running_task)
        working = loop.run_in_executor(self._executor, task, lambda: not cancelled.done())
        self._running_task = working  # type: ignore[assignment]
        # Retrieving the exception keeps asyncio from logging it once nobody waits for the task.
        working.add_done_callback(lambda done: done.cancelled() or done.exception())
        await self._wait_unless_cancelled(working)
        self._running_task = self._cancel_future = None
        return working.result()

    async def _wait_unless_cancelled(self, future: asyncio.Future[T]) -> None:
        """Wait for a task; raise if the client cancels it first."""
        assert self._cancel_future is not None
        both: set[asyncio.Future[Any]] = {future, self._cancel_future}
        # not cancelled: a thread cannot be, and a charged statement must be finished
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not future.done():
            self._cancel_future = None
            raise WireError("57014", "The statement was cancelled at your request.")

    async def wait_until_idle(self) -> None:
        """Wait for a cancelled task that still runs."""
        if self._running_task is not None:
            with suppress(Exception):
                await asyncio.wait({self._running_task})

    def _send_error(self, error: Exception) -> None:
        if isinstance(error, WireError) and error.is_fatal:
            raise error
        self._state.mark_failed()
        self._send(messages.encode_error_response(build_error_report(error, self._log_fault)))

    def _send_ready(self) -> None:
        self._state.close_transaction_portals()
        for name in REPORTED_SETTINGS:
            value = self._state.session.get_setting(name) or ""
            if self._reported_values.get(name) != value:
                self._reported_values[name] = value
                self._send(messages.encode_parameter_status(name, value))
        self._send(messages.encode_ready_for_query(self._state.status))


EMPTY_QUERY = UtilityCommand(execute=lambda wanted: Result(tag=""), ends_transaction=True)


def _read_query_text(reader: MessageReader) -> str:
    text = reader.read_text()
    if len(text) > MAX_QUERY_LENGTH:
        raise WireError(
            "54000", f"The text has {len(text):,} characters.", hint=f"Use at most {MAX_QUERY_LENGTH:,}."
        )
    return text


def _parse_declared_type(oid: int) -> PostgresType | None:
    """Return the type that a client declares for a parameter; None if it leaves the type open."""
    if oid in (0, PostgresType.UNKNOWN.oid):
        return None
    if oid not in TYPES_BY_OID or TYPES_BY_OID[oid] in (PostgresType.INTEGER_ARRAY, PostgresType.TEXT_ARRAY):
        raise WireError(
            "0A000",
            "The declared type of a parameter is not supported.",
            hint="Bind numbers, text or dates.",
        )
    return TYPES_BY_OID[oid]
