"""What stands in a ledger: entries, stored answers, accounts, and releases without differential privacy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fractions import Fraction

from discreet.accounting.amounts import Cost
from discreet.core.guarantees import Guarantee


class State(StrEnum):
    """How far a charged question came. Its charge is the same in all of them."""

    RESERVED = "reserved"
    SETTLED = "settled"
    FAULTED = "faulted"
    ORPHANED = "orphaned"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One question that was charged, and what for.

    `guarantee` is what the release has; `charge` what it counts for under the promise. `id` counts the
    entries of the ledger, `number` those of its analyst, who is shown no other: it tells nothing of others.
    """

    id: int
    number: int
    time: datetime
    analyst: str
    question_key: str
    question: str
    guarantee: Guarantee
    charge: Cost
    state: State
    incident: str | None = None


@dataclass(frozen=True, kw_only=True)
class Stored:
    """A settled answer, as it was released."""

    entry: Entry
    answer: bytes
    metadata: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Account:
    """What one analyst may spend, has spent, and has left; suspended while there is an incident."""

    analyst: str
    share: Fraction
    spent: Cost
    left: Cost
    entries: int
    incident: str | None = None


@dataclass(frozen=True, kw_only=True)
class OpenRelease:
    """Something published that is not differentially private; `after` entries were charged before it."""

    id: int
    time: datetime
    after: int
    name: str
    description: str
    certificate: Mapping[str, object]
