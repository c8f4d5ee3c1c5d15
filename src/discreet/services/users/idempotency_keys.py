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
from discreet.core.errors import AlreadyRunningError, DiscreetError, RequestError
from discreet.services.users.user_storage import UserStorage

MAX_KEY_LENGTH = 200
MAX_KEYS_PER_USER = 1_000
KEY_CONDITION = 'WHERE "user" = :user AND key = :key'
SELECT_KEY = f"SELECT digest, status, kind, headers, body, process FROM attempt {KEY_CONDITION}"
INSERT_KEY = 'INSERT INTO attempt ("user", key, digest, process) VALUES (:user, :key, :digest, :process)'
STORE_RESPONSE = (
    f"UPDATE attempt SET status = :status, kind = :kind, headers = :headers, body = :body {KEY_CONDITION}"
)
MARK_INTERRUPTED = f"UPDATE attempt SET process = '' {KEY_CONDITION}"
DELETE_KEY = f"DELETE FROM attempt {KEY_CONDITION}"
DELETE_OLD_KEYS = (
    'DELETE FROM attempt WHERE "user" = :user AND status IS NOT NULL AND rowid <= (SELECT rowid FROM attempt'
    f' WHERE "user" = :user ORDER BY rowid DESC LIMIT 1 OFFSET {MAX_KEYS_PER_USER})'
)
KeyRow = tuple[bytes, int | None, str, str, bytes, str]


@dataclass(frozen=True, kw_only=True)
class StoredResponse:
    """A stored response: status, media type, headers, body."""

    status: int
    media_type: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes


class IdempotencyKeys:
    """The idempotency keys of a ledger's users; requests with the same key run one after the other."""

    def __init__(self, storage: UserStorage) -> None:
        self._storage = storage
        self._condition = threading.Condition()
        self._running: set[tuple[str, str]] = set()

    def run_or_replay(
        self, user: str, key: str | None, request: object, compute: Callable[[], StoredResponse]
    ) -> StoredResponse:
        """Return the stored response for `key`; otherwise run `compute` and store its response."""
        if key is None:
            return compute()
        if not key.isprintable() or not 0 < len(key) <= MAX_KEY_LENGTH:
            raise RequestError(f"Idempotency-Key must be 1 to {MAX_KEY_LENGTH} printable characters.")
        digest = hashlib.sha256(json.dumps(request, sort_keys=True, default=str).encode()).digest()
        with self._condition:
            self._condition.wait_for(lambda: (user, key) not in self._running)
            self._running.add((user, key))
        try:
            return self._wait_or_claim(user, key, digest) or self._compute_and_store(user, key, compute)
        finally:
            with self._condition:
                self._running.discard((user, key))
                self._condition.notify_all()

    def _wait_or_claim(self, user: str, key: str, digest: bytes) -> StoredResponse | None:
        """Return the stored response of the key; None after claiming a new key for this request."""
        until = time.monotonic() + LONGEST_WAIT
        while True:
            found, under_way = self._claim_key(user, key, digest)
            if found is None:
                return None
            reply = _read_stored_response(found, digest, under_way)
            if reply is not None:
                return reply
            if time.monotonic() > until:
                raise AlreadyRunningError(
                    "The request with this Idempotency-Key is still running.",
                    hint="Send it again later.",
                )
            time.sleep(MOMENT)

    def _claim_key(self, user: str, key: str, digest: bytes) -> tuple[KeyRow | None, bool]:
        """Return the row of the key and whether its request still runs; claim a new key and return None."""
        own = {"user": user, "key": key}
        with self._storage.read_transaction() as rows:
            found = rows.execute(SELECT_KEY, own).fetchone()
            if found is not None:
                return found, self._storage.is_process_alive(rows, found[5])
        with self._storage.write_transaction() as rows:
            found = rows.execute(SELECT_KEY, own).fetchone()
            if found is None:
                rows.execute(INSERT_KEY, own | {"digest": digest, "process": get_process_identity()})
        return found, True

    def _compute_and_store(
        self, user: str, key: str, compute: Callable[[], StoredResponse]
    ) -> StoredResponse:
        own = {"user": user, "key": key}
        try:
            reply = compute()
        except RequestError:  # refused before any charge: the key may be used again
            self._execute(DELETE_KEY, own)
            raise
        except BaseException:
            with suppress(DiscreetError):
                self._execute(MARK_INTERRUPTED, own)
            raise
        headers = json.dumps(dict(reply.headers))
        kept = {"status": reply.status, "kind": reply.media_type, "headers": headers, "body": reply.body}
        self._execute(STORE_RESPONSE, own | kept)
        self._execute(DELETE_OLD_KEYS, {"user": user})
        return reply

    def _execute(self, statement: str, values: Mapping[str, object]) -> None:
        with self._storage.write_transaction() as rows:
            rows.execute(statement, values)


def _read_stored_response(row: KeyRow, digest: bytes, is_running: bool) -> StoredResponse | None:
    """Return the stored response; None while the request runs."""
    if bytes(row[0]) != digest:
        raise RequestError("This Idempotency-Key was sent with another request.", hint="Send a new key.")
    if row[1] is not None:
        return StoredResponse(
            status=row[1], media_type=row[2], headers=json.loads(row[3]), body=bytes(row[4])
        )
    if not is_running:
        raise RequestError(
            "The request with this Idempotency-Key was interrupted, and may have been charged.",
            hint="Send it without the key: a stored answer is free.",
        )
    return None
