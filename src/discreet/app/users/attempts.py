"""Idempotency keys: a request that is sent again under the same key is answered as it was, and charged once.

Begun       before anything is charged, on the disk. What was refused before a charge is forgotten again.
Done        the bytes that were answered are kept, and sent again.
Under way   The same key, sent again meanwhile to this server or to another one that shares the users, waits
            for what is answered.
Cut short   A server that was killed in between leaves a key that is begun and not done: it may have been
            charged, so it is not asked again under that key. The question itself, asked anew, is free if its
            answer was kept.
Another     request under the same key is a mistake of the client's, and is refused.
Bounded     Of each user the last thousand are kept: whoever draws keys without end fills no disk.
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
    """What was answered: status, media type, headers, bytes."""

    status: int
    kind: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes


class Attempts:
    """The keys of the users of a ledger; two at once under one key are answered one after the other."""

    def __init__(self, file: UserStorage) -> None:
        self._file = file
        self._guard = threading.Condition()
        self._running: set[tuple[str, str]] = set()

    def once(self, user: str, key: str | None, request: object, work: Callable[[], Reply]) -> Reply:
        """What `work` replies, or what it replied when it was first done for this key."""
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
        """What was replied under the key; where nothing was begun, it is now."""
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
                    "What was begun under this Idempotency-Key is still under way.",
                    hint="Send it again later.",
                )
            time.sleep(MOMENT)

    def _taken(self, user: str, key: str, digest: bytes) -> tuple[Row | None, bool]:
        """What is kept under the key, and whether somebody is at it; a key that is new is taken."""
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
        except RequestError:
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
    """What was replied, if it is there yet."""
    if bytes(found[0]) != digest:
        raise RequestError("This Idempotency-Key was sent with another request.", hint="Draw a new one.")
    if found[1] is not None:
        return Reply(status=found[1], kind=found[2], headers=json.loads(found[3]), body=bytes(found[4]))
    if not under_way:
        raise RequestError(
            "What was begun under this Idempotency-Key was cut short, and may have been charged.",
            hint="Ask without it: an answer that was kept is given for nothing.",
        )
    return None
