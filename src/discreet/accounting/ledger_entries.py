"""The records of a ledger: entries, stored answers, accounts, and releases without differential privacy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fractions import Fraction

from discreet.accounting.budget_amounts import Cost
from discreet.core.guarantees import Guarantee


class EntryState(StrEnum):
    """The progress of a charged question. The charge is the same in all states."""

    RESERVED = "reserved"
    SETTLED = "settled"
    FAULTED = "faulted"
    ORPHANED = "orphaned"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One charged question.

    `guarantee` is that of the release; `charge` is its cost under the promise. `id` counts the entries of the
    ledger, `number` those of its analyst: an analyst sees only `number`, which reveals nothing about others.
    """

    id: int
    number: int
    time: datetime
    analyst: str
    question_key: str
    question: str
    guarantee: Guarantee
    charge: Cost
    state: EntryState
    incident: str | None = None


@dataclass(frozen=True, kw_only=True)
class StoredAnswer:
    """A settled answer, as it was released."""

    entry: Entry
    answer: bytes
    metadata: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class AnalystAccount:
    """The share of one analyst, the total spent and the remaining budget.

    The analyst is suspended while there is an incident.
    """

    analyst: str
    share: Fraction
    spent: Cost
    left: Cost
    entries: int
    incident: str | None = None


@dataclass(frozen=True, kw_only=True)
class NonPrivateRelease:
    """A published result without differential privacy; `after` entries were charged before it."""

    id: int
    time: datetime
    after: int
    name: str
    description: str
    certificate: Mapping[str, object]
