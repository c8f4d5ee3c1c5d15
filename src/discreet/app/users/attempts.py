"""Idempotency keys: a request sent again with the same key gets the stored response and is charged once.

Begun        A key is stored durably before anything is charged, and removed if the request is refused first.
Done         The response is stored, and replayed when the key is sent again.
Running      A request with the key of a running one waits for its response, also at another server of the
             same users.
Interrupted  A server that is killed leaves a key that is begun and not done. The request may be charged, so
             it is not run again with that key. Sent without the key, it is free if its answer was stored.
Mismatch     Another request with the same key is a mistake of the client, and is refused.
Bounded      The last 1,000 keys of each user are stored, so that no client can fill the disk.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from discreet.accounting.ledger import LONGEST_WAIT, MOMENT
from discreet.accounting.process_identity import get_process_identity
from discreet.app.users.storage import UserStorage
from discreet.core.errors import AlreadyRunningError, DiscreetError, RequestError

LONGEST = 200
MOST = 1_000
OWN = 'WHERE "user" = :user AND key = :key'
FIND = f"SELECT digest, status, kind, headers, body, process FROM attempt {OWN}"
BEGIN = 'INSERT INTO attempt ("user", key, digest, process) VALUES (:user, :key, :digest, :process)'
KEEP = f"UPDATE attempt SET status = :status, kind = :kind, headers = :headers, body = :body {OWN}"
CUT_SHORT = f"UPDATE attempt SET process = '' {OWN}"
FORGET = f"DELETE FROM attempt {OWN}"
OLD = (
    'DELETE FROM attempt WHERE "user" = :user AND status IS NOT NULL AND rowid <= (SELECT rowid FROM attempt'
    f' WHERE "user" = :user ORDER BY rowid DESC LIMIT 1 OFFSET {MOST})'
)
Row = tuple[bytes, int | None, str, str, bytes, str]


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A stored response: status, media type, headers, body."""

    status: int
    kind: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes


class Attempts:
    """The idempotency keys of a ledger's users; requests with the same key run one after the other."""

    def __init__(self, file: UserStorage) -> None:
        self._file = file
        self._guard = threading.Condition()
        self._running: set[tuple[str, str]] = set()

    def once(self, user: str, key: str | None, request: object, work: Callable[[], Reply]) -> Reply:
        """Return the stored response for `key`; otherwise run `compute` and store its response."""
        if key is None:
            return work()
        if not key.isprintable() or not 0 < len(key) <= LONGEST:
            raise RequestError(f"Idempotency-Key must be 1 to {LONGEST} printable characters.")
        digest = hashlib.sha256(json.dumps(request, sort_keys=True, default=str).encode()).digest()
        with self._guard:
            self._guard.wait_for(lambda: (user, key) not in self._running)
            self._running.add((user, key))
        try:
            return self._begun(user, key, digest) or self._done(user, key, work)
        finally:
            with self._guard:
                self._running.discard((user, key))
                self._guard.notify_all()

    def _begun(self, user: str, key: str, digest: bytes) -> Reply | None:
        """Return the stored response of the key; None after claiming a new key for this request."""
        until = time.monotonic() + LONGEST_WAIT
        while True:
            found, under_way = self._taken(user, key, digest)
            if found is None:
                return None
            reply = _kept(found, digest, under_way)
            if reply is not None:
                return reply
            if time.monotonic() > until:
                raise AlreadyRunningError(
                    "The request with this Idempotency-Key is still running.",
                    hint="Send it again later.",
                )
            time.sleep(MOMENT)

    def _taken(self, user: str, key: str, digest: bytes) -> tuple[Row | None, bool]:
        """Return the row of the key and whether its request still runs; claim a new key and return None."""
        own = {"user": user, "key": key}
        with self._file.reading() as rows:
            found = rows.execute(FIND, own).fetchone()
            if found is not None:
                return found, self._file.is_alive(rows, found[5])
        with self._file.writing() as rows:
            found = rows.execute(FIND, own).fetchone()
            if found is None:
                rows.execute(BEGIN, own | {"digest": digest, "process": get_process_identity()})
        return found, True

    def _done(self, user: str, key: str, work: Callable[[], Reply]) -> Reply:
        own = {"user": user, "key": key}
        try:
            reply = work()
        except RequestError:  # refused before any charge: the key may be used again
            self._write(FORGET, own)
            raise
        except BaseException:
            with suppress(DiscreetError):
                self._write(CUT_SHORT, own)
            raise
        headers = json.dumps(dict(reply.headers))
        kept = {"status": reply.status, "kind": reply.kind, "headers": headers, "body": reply.body}
        self._write(KEEP, own | kept)
        self._write(OLD, {"user": user})
        return reply

    def _write(self, statement: str, values: Mapping[str, object]) -> None:
        with self._file.writing() as rows:
            rows.execute(statement, values)


def _kept(found: Row, digest: bytes, under_way: bool) -> Reply | None:
    """Return the stored response; None while the request runs."""
    if bytes(found[0]) != digest:
        raise RequestError("This Idempotency-Key was sent with another request.", hint="Send a new key.")
    if found[1] is not None:
        return Reply(status=found[1], kind=found[2], headers=json.loads(found[3]), body=bytes(found[4]))
    if not under_way:
        raise RequestError(
            "The request with this Idempotency-Key was interrupted, and may have been charged.",
            hint="Send it without the key: a stored answer is free.",
        )
    return None
