"""Idempotency keys: a request that is sent again under the same key is answered as it was, and charged once.

Begun       before anything is charged, on the disk. What was refused before a charge is forgotten again.
Done        the bytes that were answered are kept, and sent again.
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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from discreet.app.users.user_file import UserFile
from discreet.core.errors import RequestError

LONGEST = 200
MOST = 1_000
OLD = (
    "DELETE FROM attempt WHERE user = ? AND status IS NOT NULL AND rowid <= (SELECT rowid FROM attempt"
    f" WHERE user = ? ORDER BY rowid DESC LIMIT 1 OFFSET {MOST})"
)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What was answered: status, media type, headers, bytes."""

    status: int
    kind: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes


class Attempts:
    """The keys of a file of users; two at once under one key are answered one after the other."""

    def __init__(self, file: UserFile) -> None:
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
        query = "SELECT digest, status, kind, headers, body FROM attempt WHERE user = ? AND key = ?"
        with self._file.writing() as rows:
            found = rows.execute(query, (user, key)).fetchone()
            if found is None:
                begun = "INSERT INTO attempt (user, key, digest) VALUES (?, ?, ?)"
                rows.execute(begun, (user, key, digest))
                return None
        if found[0] != digest:
            raise RequestError("This Idempotency-Key was sent with another request.", hint="Draw a new one.")
        if found[1] is None:
            raise RequestError(
                "What was begun under this Idempotency-Key was cut short, and may have been charged.",
                hint="Ask without it: an answer that was kept is given for nothing.",
            )
        return Reply(status=found[1], kind=found[2], headers=json.loads(found[3]), body=found[4])

    def _done(self, user: str, key: str, work: Callable[[], Reply]) -> Reply:
        try:
            reply = work()
        except RequestError:
            self._write("DELETE FROM attempt WHERE user = ? AND key = ?", (user, key))
            raise
        kept = reply.status, reply.kind, json.dumps(dict(reply.headers)), reply.body, user, key
        self._write(
            "UPDATE attempt SET status = ?, kind = ?, headers = ?, body = ? WHERE user = ? AND key = ?", kept
        )
        self._write(OLD, (user, user))
        return reply

    def _write(self, statement: str, values: tuple[object, ...]) -> None:
        with self._file.writing() as rows:
            rows.execute(statement, values)
