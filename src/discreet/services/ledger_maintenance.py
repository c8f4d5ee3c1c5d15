"""Maintenance of a policy's ledger: create, verify, back up, restore, export, and change the privacy unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from discreet.accounting.high_water_marks import HighWaterMarks
from discreet.accounting.ledger_backup import RestoreResult, back_up_ledger, restore_ledger
from discreet.accounting.ledger_database import has_ledger
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.services.ledger_addresses import strip_sibling_path
from discreet.services.ledger_export import WRITERS, export_entries
from discreet.services.ledgers import (
    find_high_water_marks,
    open_ledger,
    open_ledger_readonly,
    open_ledger_unmarked,
)
from discreet.services.privacy_units import find_units


@dataclass(frozen=True, kw_only=True)
class MarkState:
    """The entries that each mark of a ledger holds, by its path, and the places where a mark is missing."""

    entries: Mapping[Path, int]
    missing: tuple[Path, ...]

    @classmethod
    def read(cls, marks: HighWaterMarks, identity: str) -> MarkState:
        there = {file.path: mark.total[3] for file, mark in marks.read() if mark.ledger == identity}
        missing = tuple(file.path for file in marks.files if file.written and file.path not in there)
        return cls(entries=there, missing=missing)


@dataclass(frozen=True, kw_only=True)
class CreatedLedger:
    """The identity of a new ledger, what it says about belief, and its marks."""

    identity: str
    sentence: str
    marks: MarkState


@dataclass(frozen=True, kw_only=True)
class VerifiedLedger:
    """A ledger whose entries, sums and marks agree; `separate` are other ledgers about the same data."""

    identity: str
    entries: int
    links: int
    head: str
    separate: Mapping[str, str]
    marks: MarkState


def create_ledger(policy: Policy, *, separate_promise: bool = False) -> CreatedLedger:
    """Create the ledger of a policy, and write its high-water marks beside the data."""
    if has_ledger(strip_sibling_path(policy.ledger)):
        raise RequestError(
            f"The ledger {format_ledger_address(policy)} exists already.", hint="Use it as it is."
        )
    with open_ledger(policy, separate_promise=separate_promise) as ledger:
        ledger.write_marks()
        identity = ledger.read_mark().ledger
        return CreatedLedger(
            identity=identity,
            sentence=ledger.describe_belief(),
            marks=MarkState.read(ledger.marks, identity),
        )


def verify_ledger(policy: Policy) -> VerifiedLedger:
    """Check every entry, sum and high-water mark; raise if something was changed."""
    if not has_ledger(strip_sibling_path(policy.ledger)):
        open_ledger_readonly(policy).close()  # raises if the data have marks of a ledger
        raise _make_missing_error(policy)
    with open_ledger_readonly(policy) as ledger:
        ledger.verify()
        mark = ledger.read_mark()
        return VerifiedLedger(
            identity=mark.ledger,
            entries=mark.total[3],
            links=mark.count,
            head=mark.head,
            separate=ledger.list_separate_ledgers(),
            marks=MarkState.read(find_high_water_marks(policy), mark.ledger),
        )


def back_up_policy_ledger(policy: Policy, file: Path) -> int:
    """Copy a verified snapshot of the ledger into a new file; return its number of entries."""
    if not has_ledger(strip_sibling_path(policy.ledger)):
        raise _make_missing_error(policy)
    with open_ledger(policy) as ledger:
        ledger.verify()
        back_up_ledger(ledger, file)
        return ledger.read_mark().total[3]


def restore_policy_ledger(policy: Policy, file: Path | None) -> tuple[RestoreResult, str]:
    """Replace the ledger by a backup and charge what was asked since; return that, and the new belief."""
    restored = restore_ledger(
        file,
        strip_sibling_path(policy.ledger),
        find_high_water_marks(policy),
        lambda address: open_ledger_unmarked(policy, address),
    )
    with open_ledger_readonly(policy) as ledger:
        return restored, ledger.describe_belief()


def export_policy_ledger(
    policy: Policy, file: Path, *, analyst: str | None = None, first: int = 1, limit: int | None = None
) -> tuple[int, int | None]:
    """Write entries to a new file; return their number and the id of the next one, as `export_entries`."""
    if file.suffix.lower() not in WRITERS:
        raise RequestError(f"export: {file} has no known ending.", hint=f"Use {', '.join(WRITERS)}.")
    if file.exists():
        raise RequestError(f"export: {file} exists already.", hint="Name a new file.")
    with open_ledger_readonly(policy) as ledger:
        ledger.verify()
        return export_entries(ledger, file, analyst=analyst, first=first, limit=limit)


def change_privacy_units(policy: Policy) -> tuple[list[str], str]:
    """Record changed privacy units; return the tables whose unit changed, and the belief sentence."""
    with open_ledger(policy, check_units=False) as ledger:
        return list(ledger.change_units(find_units(policy))), ledger.describe_belief()


def format_ledger_address(policy: Policy) -> str:
    """Return the address of a policy's ledger without its password and options."""
    return strip_sibling_path(policy.ledger).partition("?")[0].rpartition("@")[2]


def _make_missing_error(policy: Policy) -> RequestError:
    return RequestError(
        f"There is no ledger {format_ledger_address(policy)} yet.", hint="Ask something first."
    )
