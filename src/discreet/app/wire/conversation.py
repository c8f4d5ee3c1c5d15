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

from discreet.app.wire import commands, messages
from discreet.app.wire.commands import Command
from discreet.app.wire.door import Columns, Prepared, Result, Session
from discreet.app.wire.faults import WireError, told
from discreet.app.wire.kinds import BY_OID, TEXT_FORM, Kind, decoded, encoder
from discreet.app.wire.messages import Reader, malformed, spread
from discreet.app.wire.talk import FAILED, Portal, Taken, Talk
from discreet.core.errors import DiscreetError

T = TypeVar("T")
LONGEST = 100_000
MOST_PARAMETERS = 1_000
BATCH = 1_000
QUIET = ("warning", "error", "fatal", "panic")
REPORTED = ("application_name", "client_encoding", "DateStyle", "TimeZone", "standard_conforming_strings")
Wanted = Callable[[], bool]


class Conversation:
    """Handler of one client's messages; `send` buffers bytes, `flush` waits until they are written."""

    def __init__(
        self,
        session: Session,
        executor: Executor,
        send: Callable[[bytes], None],
        flush: Callable[[], Awaitable[None]],
        unforeseen: Callable[[Exception], DiscreetError],
    ) -> None:
        self._talk, self._executor, self._send, self._flush = Talk(session), executor, send, flush
        self._unforeseen = unforeseen
        self._skips = False
        self._working: asyncio.Future[object] | None = None
        self._cancelled: asyncio.Future[None] | None = None
        self._reported: dict[str, str] = {}
        self._answers: dict[bytes, Callable[[Reader], Awaitable[None]]] = {
            b"P": self._parse,
            b"B": self._bind,
            b"D": self._describe,
            b"E": self._execute,
            b"C": self._close,
        }

    async def begin(self) -> None:
        """Send the settings that clients rely on, and the first ReadyForQuery."""
        self._ready()
        await self._flush()

    async def answer(self, kind: bytes, content: bytes) -> None:
        """Handle one message."""
        if kind == b"Q":
            await self._query(Reader(content))
        elif kind == b"S":
            self._skips = False
            self._ready()
        elif kind == b"H":
            pass  # Flush: done below, as after every message
        elif kind not in self._answers:
            raise malformed()
        elif not self._skips:
            await self._extended(self._answers[kind], Reader(content))
        await self._flush()

    def cancel(self) -> None:
        """Stop waiting for the statement that runs, and report it as cancelled."""
        if self._cancelled is not None and not self._cancelled.done():
            self._cancelled.set_result(None)

    # -- Simple query ---------------------------------------------------------------------------------------

    async def _query(self, reader: Reader) -> None:
        self._skips = False
        try:
            text = _text(reader)
            reader.end()
            statements = commands.split(text)
            read = [commands.command(each, self._talk) for each in statements]
            # Two questions in one text could be charged by halves: the first answered, the second refused.
            if sum(each is None for each in read) > 1:
                raise WireError(
                    "0A000", "The text holds more than one question.", hint="Ask one SELECT at a time."
                )
            if not statements:
                self._send(messages.message(b"I"))
            for each in statements:
                if len(statements) > 1:
                    self._talk.begin_implicitly()
                await self._one(each)
            self._talk.end_implicitly(commit=True)
        except Exception as error:
            self._fail(error)
        self._ready()

    async def _one(self, statement: str) -> None:
        prepared = await self._prepare(statement, ())
        if prepared.parameters:
            raise WireError("42P02", "A simple query has no parameters.", hint="Bind them: prepare it.")
        columns = await self._work(lambda wanted: prepared.columns(()))
        portal = Portal(prepared, (), columns, (TEXT_FORM,) * len(columns or ()))
        if columns is not None:
            self._send(messages.row_description(columns, portal.forms))
        await self._emit(portal, 0)

    # -- Extended query -------------------------------------------------------------------------------------

    async def _extended(self, answer: Callable[[Reader], Awaitable[None]], reader: Reader) -> None:
        try:
            await answer(reader)
        except Exception as error:
            self._skips = True
            self._fail(error)

    async def _parse(self, reader: Reader) -> None:
        name, text, oids = reader.text(), _text(reader), reader.many("I")
        reader.end()
        statements = commands.split(text)
        if len(statements) > 1:
            raise WireError(
                "42601", "A prepared statement is one statement.", hint="Prepare each one separately."
            )
        if len(oids) > MOST_PARAMETERS:
            raise WireError("54000", f"A statement has at most {MOST_PARAMETERS:,} parameters.")
        kinds = tuple(_kind(oid) for oid in oids)
        self._talk.keep(name, await self._prepare(statements[0] if statements else "", kinds))
        self._send(messages.message(b"1"))

    async def _bind(self, reader: Reader) -> None:
        binding = messages.read_binding(reader.rest())
        prepared = self._talk.statement(binding.statement)
        self._require_open(prepared)
        if len(binding.values) != len(prepared.parameters):
            raise WireError("08P01", "The number of bound parameters differs from the statement's.")
        pairs = zip(binding.values, prepared.parameters, strict=True)
        values = tuple(decoded(content, kind, form) for (content, form), kind in pairs)
        columns = await self._work(lambda wanted: prepared.columns(values))
        forms = spread(binding.forms, len(columns or ())) if columns is not None else ()
        self._talk.keep(binding.portal, Portal(prepared, values, columns, forms))
        self._send(messages.message(b"2"))

    async def _describe(self, reader: Reader) -> None:
        which, name = reader.take(1), reader.text()
        reader.end()
        if which == b"S":
            prepared = self._talk.statement(name)
            columns = await self._work(lambda wanted: prepared.columns(None))
            self._send(messages.parameter_description([each.oid for each in prepared.parameters]))
            self._describe_rows(columns, (TEXT_FORM,) * len(columns or ()))
        elif which == b"P":
            portal = self._talk.portal(name)
            self._describe_rows(portal.columns, portal.forms)
        else:
            raise malformed()

    def _describe_rows(self, columns: Columns | None, forms: tuple[int, ...]) -> None:
        if columns is None:
            self._send(messages.message(b"n"))
        else:
            self._send(messages.row_description(columns, forms))

    async def _execute(self, reader: Reader) -> None:
        name, most = reader.text(), reader.number("i")
        reader.end()
        portal = self._talk.portal(name)
        self._require_open(portal.prepared)
        await self._emit(portal, max(0, most))

    async def _close(self, reader: Reader) -> None:
        which, name = reader.take(1), reader.text()
        reader.end()
        held: dict[bytes, dict[str, Prepared] | dict[str, Portal]]
        held = {b"S": self._talk.statements, b"P": self._talk.portals}
        if which not in held:
            raise malformed()
        held[which].pop(name, None)
        self._send(messages.message(b"3"))

    # -- Both -----------------------------------------------------------------------------------------------

    async def _prepare(self, statement: str, kinds: tuple[Kind | None, ...]) -> Prepared:
        found: Prepared | None = NOTHING if not statement else commands.command(statement, self._talk)
        declared = commands.declared(statement)
        self._require_open(found)
        if found is None:
            text = declared["sql"] if declared else statement
            found = await self._work(lambda wanted: self._talk.session.prepare(text, kinds))
        return commands.cursor(declared, found, self._talk) if declared else found

    def _require_open(self, prepared: Prepared | None) -> None:
        if self._talk.status == FAILED and not (isinstance(prepared, Command) and prepared.ends):
            raise WireError(
                "25P02", "The transaction has failed; statements are ignored until it ends.", hint="ROLLBACK."
            )

    async def _emit(self, portal: Portal, most: int) -> None:
        """Run the portal if it has not run yet, and send its next rows."""
        taken = await self._work(lambda wanted: portal.take(most, wanted))
        least = self._talk.session.setting("client_min_messages")
        for warned in taken.warnings if least not in QUIET[1:] else ():
            self._send(messages.warning(warned))
        for said in taken.notices if least not in QUIET else ():
            self._send(messages.notice(said))
        await self._send_rows(portal, taken)
        if portal.prepared is NOTHING:
            self._send(messages.message(b"I"))
        else:
            suspended = messages.message(b"s")
            self._send(suspended if taken.more else messages.command_complete(taken.tag))

    async def _send_rows(self, portal: Portal, taken: Taken) -> None:
        pairs = zip(portal.columns or (), portal.forms, strict=True)
        encoders = [encoder(column.kind, form) for column, form in pairs]
        for start in range(0, len(taken.rows), BATCH):
            rows = taken.rows[start : start + BATCH]
            self._send(b"".join(messages.data_row(row, encoders) for row in rows))
            await self._flush()

    async def _work(self, job: Callable[[Wanted], T]) -> T:
        """Run a task in a thread and return its result; a client has at most one task at a time."""
        loop = asyncio.get_running_loop()
        cancelled = self._cancelled = loop.create_future()
        if self._working is not None:
            await self._or_cancelled(self._working)
        working = loop.run_in_executor(self._executor, job, lambda: not cancelled.done())
        self._working = working  # type: ignore[assignment]
        # Retrieving the exception keeps asyncio from logging it once nobody waits for the task.
        working.add_done_callback(lambda done: done.cancelled() or done.exception())
        await self._or_cancelled(working)
        self._working = self._cancelled = None
        return working.result()

    async def _or_cancelled(self, future: asyncio.Future[T]) -> None:
        """Wait for a task; raise if the client cancels it first."""
        assert self._cancelled is not None
        both: set[asyncio.Future[Any]] = {future, self._cancelled}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not future.done():
            self._cancelled = None
            raise WireError("57014", "The statement was cancelled at your request.")

    async def settled(self) -> None:
        """Wait for a cancelled task that still runs."""
        if self._working is not None:
            with suppress(Exception):
                await asyncio.wait({self._working})

    def _fail(self, error: Exception) -> None:
        if isinstance(error, WireError) and error.fatal:
            raise error
        self._talk.fail()
        self._send(messages.report(told(error, self._unforeseen)))

    def _ready(self) -> None:
        self._talk.tidy()
        for name in REPORTED:
            value = self._talk.session.setting(name) or ""
            if self._reported.get(name) != value:
                self._reported[name] = value
                self._send(messages.parameter_status(name, value))
        self._send(messages.ready(self._talk.status))


NOTHING = Command(act=lambda wanted: Result(tag=""), ends=True)


def _text(reader: Reader) -> str:
    text = reader.text()
    if len(text) > LONGEST:
        raise WireError("54000", f"The text has {len(text):,} characters.", hint=f"Use at most {LONGEST:,}.")
    return text


def _kind(oid: int) -> Kind | None:
    """Return the type that a client declares for a parameter; None if it leaves the type open."""
    if oid in (0, Kind.UNKNOWN.oid):
        return None
    if oid not in BY_OID or BY_OID[oid] in (Kind.INTEGERS, Kind.TEXTS):
        raise WireError(
            "0A000",
            "The declared type of a parameter is not supported.",
            hint="Bind numbers, text or dates.",
        )
    return BY_OID[oid]
