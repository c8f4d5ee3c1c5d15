"""The answer cache: what was released is stored in the ledger under a key, and replayed for free.

Key      A hash of the plan or the request, the policy that bounds the data, and the version of the data. It
         is the same as in ledgers of earlier versions: what was paid for is never charged again.
Scope    One analyst. Others pay for the same question: a free answer would show them that it was asked.
         Where analysts share answers, all of them.
Content  A SQL answer is stored as an Arrow stream with its intervals, any other table as a Parquet file.

Post-processing of a stored answer is free; nothing that was not released is stored.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.accounting.entries import Entry, StoredAnswer, build_damaged_ledger_error
from discreet.accounting.ledger import Ledger
from discreet.core.guarantees import Guarantee
from discreet.core.number_checks import is_real
from discreet.core.policy import Policy
from discreet.services.policy_version import compute_policy_version
from discreet.sql.error_plan import PER_ROW
from discreet.sql.releases import IntervalBounds


@dataclass(frozen=True, kw_only=True)
class AnswerCache:
    """The stored answers of one analyst, or of all who share them, under one policy and data version."""

    ledger: Ledger
    analyst: str
    policy_version: str
    data_version: str
    is_shared: bool = False

    @classmethod
    def for_analyst(cls, ledger: Ledger, policy: Policy, analyst: str) -> AnswerCache:
        return cls(
            ledger=ledger,
            analyst=analyst,
            policy_version=compute_policy_version(policy),
            data_version=str(policy.data_version),
            is_shared=policy.share_answers,
        )

    def compute_question_key(self, release_key: str) -> str:
        """Return the key of the answer to a planned question."""
        return _hash_text(f"{release_key}:{self.policy_version}:{self.data_version}")

    def compute_release_key(self, verb: str, terms: Mapping[str, object]) -> str:
        """Return the key of another release, from the fields of its request."""
        # numbers by their value: 0.5, 0.50 and 1/2 are the same request
        exact = {
            name: str(Fraction(str(value))) if is_real(value) else value for name, value in terms.items()
        }
        return _hash_text(json.dumps([verb, exact, self.policy_version, self.data_version], sort_keys=True))

    def find(self, key: str) -> StoredAnswer | None:
        """Return what is stored under a key, which is free, or None."""
        return self.ledger.find_stored_answer(None if self.is_shared else self.analyst, key)

    def find_or_reserve(self, key: str, text: str, guarantee: Guarantee) -> StoredAnswer | Entry:
        """Return what is stored under a key, or a new reservation to settle."""
        return self.find(key) or self.ledger.reserve_or_replay(
            self.analyst, key, text, guarantee, is_shared=self.is_shared
        )


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def answer_to_bytes(
    table: pa.Table, intervals: Mapping[str, IntervalBounds], interval_kinds: Mapping[str, str] | None = None
) -> bytes:
    """Return table and intervals as the bytes that the ledger stores; by default these hold per row."""
    sink = io.BytesIO()
    noted = table.replace_schema_metadata(
        {"intervals": json.dumps(dict(intervals)), "interval_kinds": json.dumps(dict(interval_kinds or {}))}
    )
    with pa.ipc.new_stream(sink, noted.schema) as writer:
        writer.write_table(noted)
    return sink.getvalue()


def answer_from_bytes(content: bytes) -> tuple[pa.Table, dict[str, IntervalBounds], dict[str, str]]:
    """Return table, intervals and their kinds from bytes made by `answer_to_bytes`."""
    try:
        table = pa.ipc.open_stream(io.BytesIO(content)).read_all()
        metadata = table.schema.metadata or {}
        kept, kinds = (json.loads(metadata.get(name, b"{}")) for name in (b"intervals", b"interval_kinds"))
        intervals = {name: (low, high) for name, (low, high) in kept.items()}
        interval_kinds = {name: str(kinds.get(name, PER_ROW)) for name in intervals}
    except (pa.ArrowException, ValueError, TypeError, AttributeError, OSError):
        raise build_damaged_ledger_error() from None
    return table.replace_schema_metadata(None), intervals, interval_kinds


def table_to_bytes(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def table_from_bytes(content: bytes) -> pa.Table:
    try:
        return pq.read_table(io.BytesIO(content))
    except (pa.ArrowException, ValueError, OSError):
        raise build_damaged_ledger_error() from None
