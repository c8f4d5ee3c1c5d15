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

from discreet.accounting.accounts import EVERYBODY
from discreet.accounting.book import Book
from discreet.accounting.chain import Kind
from discreet.accounting.marks import Mark, MarkFile, Marks
from discreet.accounting.source_overlap import DATABASES, overlap
from discreet.accounting.storage import refused
from discreet.core.errors import RequestError

MOST_BACKUPS = 64
RESTORE = "Put the newest ledger back, or charge what is lost by discreet ledger restore."


@dataclass(frozen=True, kw_only=True)
class Unit:
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
    def from_object(cls, table: str, values: Mapping[str, Any]) -> Unit:
        source = str(values["source"])
        if "#" not in source and source.lower().endswith(DATABASES):
            source = f"{source}#{table}"  # earlier versions left out a table of the same name
        return cls(source=source, person=values["person"], elsewhere=tuple(values.get("elsewhere", ())))


@dataclass(frozen=True, kw_only=True)
class Foundation:
    """The data of a ledger, the places of its marks, and whether its promise is separate."""

    marks: Marks = field(default_factory=Marks)
    units: Mapping[str, Unit] = field(default_factory=dict)
    separate: bool = False


def require_marked(place: str, bound: Iterable[tuple[MarkFile, Mark]]) -> None:
    """Raise an error for a new ledger at `place` if another ledger has marked the data."""
    for file, mark in bound:
        raise refused(
            place,
            f"is missing or empty, and the mark {file.path} says that these data have been asked about under "
            f"the ledger {mark.place}",
            "Name that ledger, put it back, or restore a backup by discreet ledger restore; a new promise "
            "beside it takes discreet ledger create --separate-promise.",
        )


def check_marks(book: Book, bound: Iterable[tuple[MarkFile, Mark]], *, separate: bool) -> None:
    """Raise an error for a ledger behind its marks, or a second one over marked data unless `separate`."""
    identity, named = book.accounts.chain.identity, book.separate_ledgers()
    by_file: dict[MarkFile, list[Mark]] = {}
    for file, mark in bound:
        by_file.setdefault(file, []).append(mark)
    for file, marks in by_file.items():
        declared = any(mark.ledger == identity for mark in marks)
        for mark in marks:
            if mark.ledger == identity:
                check_mark(book, file, mark)
            elif not (separate or declared or mark.ledger in named):
                raise refused(
                    book.accounts.storage.place,
                    f"is not the one of these data: the mark {file.path} says that they have been asked "
                    f"about under the ledger {mark.place}",
                    "Name that ledger; a new promise beside it takes discreet ledger create "
                    "--separate-promise.",
                )
    name_others(book, (mark for marks in by_file.values() for mark in marks))


def name_others(book: Book, marks: Iterable[Mark]) -> None:
    """Record the ledgers with a separate promise about the same data, each once."""
    identity, named = book.accounts.chain.identity, book.separate_ledgers()
    for mark in marks:
        if mark.ledger not in (identity, *named):
            book.accounts.chain.append(Kind.SEPARATE, {"other": mark.ledger, "place": mark.place})
            named[mark.ledger] = mark.place


def check_mark(book: Book, file: MarkFile, mark: Mark) -> None:
    """Raise an error for a ledger that lacks the link of one of its marks."""
    if is_known(book, mark):
        return
    place, last = book.accounts.storage.place, book.accounts.chain.last()
    if last is None or last.id < mark.count:
        raise refused(place, f"is behind its mark {file.path}: an older copy is in its place", RESTORE)
    raise refused(place, f"has another history than its mark {file.path}: it is another copy", RESTORE)


def is_known(book: Book, mark: Mark) -> bool:
    """Return whether the ledger has the link of a mark, or was charged for it when restored.

    A ledger that was charged for the whole promise lacks at most names of releases.
    """
    found = book.accounts.chain.at(mark.count)
    if found is not None and found.head == mark.head:
        return True
    return any(
        {*mark.releases} <= {*link.body["releases"]}
        if link.body["whole"]
        else mark.is_covered_by(link.body["accounts"], link.body["releases"])
        for link in book.accounts.chain.of_kind(Kind.RESTORATION)
    )


def check_units(book: Book, units: Mapping[str, Unit]) -> None:
    """Raise an error for another privacy unit than that of earlier charges; record new ones."""
    recorded = recorded_units(book)
    if is_used(book):
        require_units(book, units, recorded)
    new = {table: unit for table, unit in units.items() if recorded.get(table) != unit}
    if new:
        book.accounts.chain.append(
            Kind.UNIT, {"tables": {table: unit.as_object() for table, unit in new.items()}}
        )


def require_units(book: Book, units: Mapping[str, Unit], recorded: Mapping[str, Unit] | None = None) -> None:
    """Refuse to charge for another privacy unit than the recorded one.

    Checked with every charge: another server may have recorded its own since this one was opened.
    """
    recorded = recorded_units(book) if recorded is None else recorded
    for table, unit in units.items():
        before = find_changed(table, unit, recorded)
        if before is not None:
            raise RequestError(
                f"The ledger {book.accounts.storage.place} is charged for answers in which a person of "
                f"{table} is {before.person}; the policy here says that it is {unit.person}.",
                hint="Put it back; or enter the change by discreet ledger change-unit, after which the "
                "ledger's sentence names those answers as not covered.",
            )


def change_units(book: Book, units: Mapping[str, Unit]) -> list[str]:
    """Record another privacy unit, and list earlier answers as releases; return the changed tables."""
    recorded, changed = recorded_units(book), []
    for table, unit in units.items():
        before = find_changed(table, unit, recorded)
        if before is not None:
            changed.append(table)
            if is_used(book):
                book.release(f"what was answered about {table} before", f"a person was {before.person}", "{}")
    tables = {table: unit.as_object() for table, unit in units.items() if recorded.get(table) != unit}
    if tables:
        book.accounts.chain.append(Kind.UNIT, {"tables": tables})
    return changed


def recorded_units(book: Book) -> dict[str, Unit]:
    """Return the units that the ledger was charged under, as they were recorded last."""
    found: dict[str, Unit] = {}
    for link in book.accounts.chain.of_kind(Kind.UNIT):
        found |= {table: Unit.from_object(table, values) for table, values in link.body["tables"].items()}
    return found


def find_changed(table: str, unit: Unit, recorded: Mapping[str, Unit]) -> Unit | None:
    """Return the recorded unit, of the same table or overlapping rows, that this one contradicts, or None."""
    if recorded.get(table) == unit:
        return None
    same = [
        each
        for name, each in recorded.items()
        if name == table or any(overlap(own, other) for own in unit.places for other in each.places)
    ]
    return next((each for each in same if each.person != unit.person), None)


def is_used(book: Book) -> bool:
    """Return whether anything was ever charged or published."""
    return book.accounts.spent(EVERYBODY).events > 0 or bool(book.release_rows())


def read_mark(book: Book) -> Mark:
    """Return the current high-water mark of the ledger."""
    chain = book.accounts.chain
    last = chain.last()
    if last is None:
        raise book.accounts.storage.damaged("its founding link is missing")
    return Mark(
        ledger=chain.identity,
        place=book.accounts.storage.place,
        count=last.id,
        head=last.head,
        total=last.total,
        accounts=book.accounts.all_sums(),
        releases=tuple(f"{row['name']} ({row['description']})" for row in book.release_rows()),
        separate=tuple(book.separate_ledgers()),
        trail=read_trail(book, last.id),
    )


def read_trail(book: Book, count: int) -> tuple[tuple[int, str], ...]:
    """Return some links that identify an older copy: backups, and ever fewer of the far past."""
    steps = {count - 2**power for power in range(count.bit_length()) if 2**power < count}
    chain = book.accounts.chain
    backups = [link.id for link in chain.of_kind(Kind.BACKUP)[-MOST_BACKUPS:]]
    return tuple(chain.heads({*steps, *backups}))
