"""The terms of a ledger beside its promise: its history, the data, and the privacy unit of each table.

Marks       A ledger that is behind one of its marks is an older copy, and one with another history than its
            mark is another copy. Both are refused; `discreet ledger restore` charges the lost entries.
New         Where a ledger has marked data, a second one is not created or used by accident: it has a
            separate promise only if the custodian says so, and then each names the other.
Unit        The privacy unit of each table that was queried. Another person column, or rows in place of
            people, would change the meaning of earlier charges. It is refused, or recorded as a change, after
            which the earlier answers are listed like releases without differential privacy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.accounting.budget_accounts import EVERYBODY
from discreet.accounting.hash_chain import LinkKind
from discreet.accounting.high_water_marks import HighWaterMark, HighWaterMarks, MarkFile
from discreet.accounting.ledger_storage import make_ledger_error
from discreet.accounting.ledger_transaction import LedgerTransaction
from discreet.accounting.source_overlap import DATABASES, overlap
from discreet.core.errors import RequestError

MOST_BACKUPS = 64
RESTORE = "Put the newest ledger back, or charge what is lost by discreet ledger restore."


@dataclass(frozen=True, kw_only=True)
class PrivacyUnit:
    """The privacy unit of one table: the source of its rows, and what one person is in them.

    `elsewhere` lists files that a pattern reaches through links and that do not match it themselves.
    """

    source: str
    person: str
    elsewhere: tuple[str, ...] = ()

    @property
    def places(self) -> tuple[str, ...]:
        return self.source, *self.elsewhere

    def as_object(self) -> dict[str, object]:
        """Return the unit as it is recorded; `elsewhere` only where there is something."""
        recorded: dict[str, object] = {"source": self.source, "person": self.person}
        return recorded | ({"elsewhere": [*self.elsewhere]} if self.elsewhere else {})

    @classmethod
    def from_object(cls, table: str, values: Mapping[str, Any]) -> PrivacyUnit:
        source = str(values["source"])
        if "#" not in source and source.lower().endswith(DATABASES):
            source = f"{source}#{table}"  # earlier versions left out a table of the same name
        return cls(source=source, person=values["person"], elsewhere=tuple(values.get("elsewhere", ())))


@dataclass(frozen=True, kw_only=True)
class LedgerTerms:
    """The data of a ledger, the places of its marks, and whether its promise is separate."""

    marks: HighWaterMarks = field(default_factory=HighWaterMarks)
    units: Mapping[str, PrivacyUnit] = field(default_factory=dict)
    separate: bool = False


def require_unmarked_data(place: str, bound: Iterable[tuple[MarkFile, HighWaterMark]]) -> None:
    """Raise an error for a new ledger at `place` if another ledger has marked the data."""
    for file, mark in bound:
        raise make_ledger_error(
            place,
            f"is missing or empty, and the mark {file.path} says that these data have been asked about under "
            f"the ledger {mark.place}",
            "Name that ledger, put it back, or restore a backup by discreet ledger restore; a new promise "
            "beside it takes discreet ledger create --separate-promise.",
        )


def check_marks(
    book: LedgerTransaction, bound: Iterable[tuple[MarkFile, HighWaterMark]], *, separate: bool
) -> None:
    """Raise an error for a ledger behind its marks, or a second one over marked data unless `separate`."""
    identity, named = book.accounts.chain.identity, book.list_separate_ledgers()
    by_file: dict[MarkFile, list[HighWaterMark]] = {}
    for file, mark in bound:
        by_file.setdefault(file, []).append(mark)
    for file, marks in by_file.items():
        declared = any(mark.ledger == identity for mark in marks)
        for mark in marks:
            if mark.ledger == identity:
                check_mark(book, file, mark)
            elif not (separate or declared or mark.ledger in named):
                raise make_ledger_error(
                    book.accounts.storage.place,
                    f"is not the one of these data: the mark {file.path} says that they have been asked "
                    f"about under the ledger {mark.place}",
                    "Name that ledger; a new promise beside it takes discreet ledger create "
                    "--separate-promise.",
                )
    record_separate_ledgers(book, (mark for marks in by_file.values() for mark in marks))


def record_separate_ledgers(book: LedgerTransaction, marks: Iterable[HighWaterMark]) -> None:
    """Record the ledgers with a separate promise about the same data, each once."""
    identity, named = book.accounts.chain.identity, book.list_separate_ledgers()
    for mark in marks:
        if mark.ledger not in (identity, *named):
            book.accounts.chain.append(LinkKind.SEPARATE, {"other": mark.ledger, "place": mark.place})
            named[mark.ledger] = mark.place


def check_mark(book: LedgerTransaction, file: MarkFile, mark: HighWaterMark) -> None:
    """Raise an error for a ledger that lacks the link of one of its marks."""
    if has_marked_link(book, mark):
        return
    place, last = book.accounts.storage.place, book.accounts.chain.get_last_link()
    if last is None or last.id < mark.count:
        raise make_ledger_error(
            place, f"is behind its mark {file.path}: an older copy is in its place", RESTORE
        )
    raise make_ledger_error(
        place, f"has another history than its mark {file.path}: it is another copy", RESTORE
    )


def has_marked_link(book: LedgerTransaction, mark: HighWaterMark) -> bool:
    """Return whether the ledger has the link of a mark, or was charged for it when restored.

    A ledger that was charged for the whole promise lacks at most names of releases.
    """
    found = book.accounts.chain.get_link(mark.count)
    if found is not None and found.head == mark.head:
        return True
    return any(
        {*mark.releases} <= {*link.body["releases"]}
        if link.body["whole"]
        else mark.is_covered_by(link.body["accounts"], link.body["releases"])
        for link in book.accounts.chain.list_links(LinkKind.RESTORATION)
    )


def check_units(book: LedgerTransaction, units: Mapping[str, PrivacyUnit]) -> None:
    """Raise an error for another privacy unit than that of earlier charges; record new ones."""
    recorded = read_units(book)
    if has_history(book):
        require_units(book, units, recorded)
    new = {table: unit for table, unit in units.items() if recorded.get(table) != unit}
    if new:
        book.accounts.chain.append(
            LinkKind.UNIT, {"tables": {table: unit.as_object() for table, unit in new.items()}}
        )


def require_units(
    book: LedgerTransaction,
    units: Mapping[str, PrivacyUnit],
    recorded: Mapping[str, PrivacyUnit] | None = None,
) -> None:
    """Refuse to charge for another privacy unit than the recorded one.

    Checked with every charge: another server may have recorded its own since this one was opened.
    """
    recorded = read_units(book) if recorded is None else recorded
    for table, unit in units.items():
        before = find_changed_unit(table, unit, recorded)
        if before is not None:
            raise RequestError(
                f"The ledger {book.accounts.storage.place} is charged for answers in which a person of "
                f"{table} is {before.person}; the policy here says that it is {unit.person}.",
                hint="Put it back; or enter the change by discreet ledger change-unit, after which the "
                "ledger's sentence names those answers as not covered.",
            )


def change_units(book: LedgerTransaction, units: Mapping[str, PrivacyUnit]) -> list[str]:
    """Record another privacy unit, and list earlier answers as releases; return the changed tables."""
    recorded, changed = read_units(book), []
    for table, unit in units.items():
        before = find_changed_unit(table, unit, recorded)
        if before is not None:
            changed.append(table)
            if has_history(book):
                book.record_release(
                    f"what was answered about {table} before", f"a person was {before.person}", "{}"
                )
    tables = {table: unit.as_object() for table, unit in units.items() if recorded.get(table) != unit}
    if tables:
        book.accounts.chain.append(LinkKind.UNIT, {"tables": tables})
    return changed


def read_units(book: LedgerTransaction) -> dict[str, PrivacyUnit]:
    """Return the units that the ledger was charged under, as they were recorded last."""
    found: dict[str, PrivacyUnit] = {}
    for link in book.accounts.chain.list_links(LinkKind.UNIT):
        found |= {
            table: PrivacyUnit.from_object(table, values) for table, values in link.body["tables"].items()
        }
    return found


def find_changed_unit(
    table: str, unit: PrivacyUnit, recorded: Mapping[str, PrivacyUnit]
) -> PrivacyUnit | None:
    """Return the recorded unit, of the same table or overlapping rows, that this one contradicts, or None."""
    if recorded.get(table) == unit:
        return None
    same = [
        each
        for name, each in recorded.items()
        if name == table or any(overlap(own, other) for own in unit.places for other in each.places)
    ]
    return next((each for each in same if each.person != unit.person), None)


def has_history(book: LedgerTransaction) -> bool:
    """Return whether anything was ever charged or published."""
    return book.accounts.read_accountant(EVERYBODY).events > 0 or bool(book.list_release_rows())


def read_mark(book: LedgerTransaction) -> HighWaterMark:
    """Return the current high-water mark of the ledger."""
    chain = book.accounts.chain
    last = chain.get_last_link()
    if last is None:
        raise book.accounts.storage.make_damage_error("its founding link is missing")
    return HighWaterMark(
        ledger=chain.identity,
        place=book.accounts.storage.place,
        count=last.id,
        head=last.head,
        total=last.total_sums,
        accounts=book.accounts.read_sums(),
        releases=tuple(f"{row['name']} ({row['description']})" for row in book.list_release_rows()),
        separate=tuple(book.list_separate_ledgers()),
        trail=read_trail(book, last.id),
    )


def read_trail(book: LedgerTransaction, count: int) -> tuple[tuple[int, str], ...]:
    """Return some links that identify an older copy: backups, and ever fewer of the far past."""
    steps = {count - 2**power for power in range(count.bit_length()) if 2**power < count}
    chain = book.accounts.chain
    backups = [link.id for link in chain.list_links(LinkKind.BACKUP)[-MOST_BACKUPS:]]
    return tuple(chain.list_heads({*steps, *backups}))
