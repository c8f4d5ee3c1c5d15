"""HTTP connections, with timeouts for slow clients and a limit on their number.

Timeouts    Each wait for the client (for the whole request, for the response to be read, for the next
            request) ends after `TIMEOUT_SECONDS`, unless a response is still being read, or an upload that
            its route has admitted still arrives. No timer runs while the server works.
Eviction    Above `MAX_CONNECTIONS`, the connection that has waited longest is evicted, so a client that
            holds many idle connections keeps nobody out.
Heads       are bounded by h11, so that no other HTTP parser is used, whichever is installed.
Unreadable  Bytes that are not HTTP are refused with the headers of every response.
"""

from __future__ import annotations

import asyncio
import time
from typing import cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet.http.middleware import SECURITY_HEADERS
from discreet.http.streamed_bodies import MAX_BYTES_BY_PATH

TIMEOUT_SECONDS = 30.0
MAX_CONNECTIONS = 500
MIN_UPLOAD_BYTES = 2**20
"""What an upload brings at least within `TIMEOUT_SECONDS`."""
MALFORMED_REQUEST_TEXT = b"The request cannot be read."


class Connection(H11Protocol):
    """One connection, waiting for the client since `waiting_since`, or None while the server works."""

    waiting_since: float | None = None
    _timeout_handle: asyncio.TimerHandle | None = None
    _unread_bytes = 0
    _received_bytes = _former_received_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timeout()
        if len(self.connections) > MAX_CONNECTIONS:
            others = cast("set[Connection]", self.connections)
            waiting = [(each.waiting_since, each) for each in others if each.waiting_since is not None]
            min(waiting, key=lambda pair: pair[0])[1].evict()

    def evict(self) -> None:
        """Close the connection to make room for a new one."""
        self._cancel_timeout()  # connection_lost comes later, and more connections may be made before it
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_timeout()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received_bytes += len(data)
        super().data_received(data)
        self._update_timeout()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._cancel_timeout()
        self._update_timeout()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._update_timeout()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._update_timeout()

    def send_400_response(self, msg: str) -> None:
        """Refuse and close; a client that already has a response gets nothing more."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            told = {
                "Content-Type": "text/plain; charset=utf-8",
                "Content-Length": str(len(MALFORMED_REQUEST_TEXT)),
            }
            head = h11.Response(
                status_code=400, headers=[*(SECURITY_HEADERS | told | {"Connection": "close"}).items()]
            )
            for event in (head, h11.Data(data=MALFORMED_REQUEST_TEXT), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None:
            self.cycle.disconnected = True  # a handler that still runs has no client left
            self.cycle.message_event.set()
        self.transport.close()

    def _update_timeout(self) -> None:
        """Start the timer if the client's turn has begun, and stop it if the server's has."""
        arrives = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        answered = self.cycle is None or self.cycle.response_complete
        if not arrives and not answered and not self.flow.write_paused:
            self._cancel_timeout()
        elif self.waiting_since is None:
            self._start_timeout()

    def _start_timeout(self) -> None:
        self.waiting_since = time.monotonic()
        self._unread_bytes = self.transport.get_write_buffer_size()
        self._timeout_handle = self.loop.call_later(TIMEOUT_SECONDS, self._handle_timeout)

    def _cancel_timeout(self) -> None:
        self.waiting_since = None
        if self._timeout_handle is not None:
            self._timeout_handle.cancel()

    def _handle_timeout(self) -> None:
        """Close the connection, unless the client has read more of the response meanwhile."""
        left = self.transport.get_write_buffer_size()
        if 0 < left < self._unread_bytes or self._has_upload_progress():
            self._unread_bytes, self._timeout_handle = (
                left,
                self.loop.call_later(TIMEOUT_SECONDS, self._handle_timeout),
            )
        else:
            self.transport.abort()

    def _has_upload_progress(self) -> bool:
        """Return True if the body of an admitted upload has grown well since the last time.

        A route that does not admit its client answers at once, and has no progress after that.
        """
        before, self._former_received_bytes = self._former_received_bytes, self._received_bytes
        is_read = self.cycle is not None and not self.cycle.response_complete
        is_upload = is_read and self.scope["path"] in MAX_BYTES_BY_PATH
        return is_upload and self._received_bytes - before >= MIN_UPLOAD_BYTES
