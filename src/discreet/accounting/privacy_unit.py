"""The privacy unit of each table, and whether two tables can have rows in common.

Unit        A ledger records the privacy unit of each table that was queried. Another person column, or rows
            in place of people, would change the meaning of earlier charges. It is refused, or recorded as a
            change, after which the earlier answers are listed like releases without differential privacy.
Files       overlap by path or pattern: equal, one inside the other's folder, or two patterns that some path
            matches. A pattern is compared with every path that it could match, whether or not such a file
            exists yet: a file that appears later must not give one person two meanings.
Policies    Two policies in one folder have the same ledger unless they name theirs. If their tables have
            nothing in common, the second is refused until it names the ledger that it means to share.
Tables      FILE#TABLE for a table of a DuckDB file, #TABLE for one of a server. Unquoted names are equal in
            any case of letters, and a name without a schema is equal to one with any schema.

Sources are compared as text. `services.privacy_units` resolves symbolic links first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.accounting.hash_chain import LinkKind
from discreet.core.errors import RequestError

if TYPE_CHECKING:
    from discreet.accounting.entries import LedgerTransaction

DATABASES = (".duckdb", ".db", ".ddb")
"""Endings of files that hold several tables."""
DEEP, ANY, ONE = object(), object(), object()
"""Any text; any text within one folder; any one character of it."""
TOKEN = re.compile(r"/\*\*/|\*+|\?|\[[!^]?\]?[^\]]*\]|.", re.S)
PART = re.compile(r'"((?:[^"]|"")*)"|`((?:[^`]|``)*)`|([^."`]+)')


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


def check_units(
    transaction: LedgerTransaction, units: Mapping[str, PrivacyUnit], *, is_named: bool = True
) -> None:
    """Raise an error for another privacy unit than that of earlier charges; record new ones.

    A ledger that is not named by its policy must have been charged for one of the policy's tables.
    """
    recorded = _read_units(transaction)
    if transaction.has_history():
        if not is_named:
            _require_common_table(transaction, units, recorded)
        require_units(transaction, units, recorded)
    _record_units(transaction, units, recorded)


def _require_common_table(
    transaction: LedgerTransaction, units: Mapping[str, PrivacyUnit], recorded: Mapping[str, PrivacyUnit]
) -> None:
    """Refuse the ledger of another policy, none of whose tables this policy has."""
    if not units or not recorded or any(_list_same_units(name, units[name], recorded) for name in units):
        return
    raise RequestError(
        f"The ledger {transaction.storage.place} is charged for answers about {', '.join(recorded)}, which "
        "this policy does not have: it is the ledger of another policy.",
        hint=f"Name one of its own in this policy, such as ledger: {next(iter(units))}.db, or the same one, "
        "ledger: ledger.db, to share its budget.",
    )


def require_units(
    transaction: LedgerTransaction,
    units: Mapping[str, PrivacyUnit],
    recorded: Mapping[str, PrivacyUnit] | None = None,
) -> None:
    """Refuse to charge for another privacy unit than the recorded one.

    Checked with every charge: another server may have recorded its own since this one was opened.
    """
    recorded = _read_units(transaction) if recorded is None else recorded
    for table, unit in units.items():
        before = _find_changed_unit(table, unit, recorded)
        if before is not None:
            raise RequestError(
                f"The ledger {transaction.storage.place} is charged for answers in which a person of "
                f"{table} is {before.person}; the policy here says that it is {unit.person}.",
                hint="Put it back; or enter the change by discreet ledger change-unit, after which the "
                "ledger's sentence names those answers as not covered.",
            )


def change_units(transaction: LedgerTransaction, units: Mapping[str, PrivacyUnit]) -> list[str]:
    """Record another privacy unit, and list earlier answers as releases; return the changed tables."""
    recorded, changed = _read_units(transaction), []
    for table, unit in units.items():
        before = _find_changed_unit(table, unit, recorded)
        if before is not None:
            changed.append(table)
            if transaction.has_history():
                transaction.record_release(
                    f"what was answered about {table} before", f"a person was {before.person}", "{}"
                )
    _record_units(transaction, units, recorded)
    return changed


def _record_units(
    transaction: LedgerTransaction, units: Mapping[str, PrivacyUnit], recorded: Mapping[str, PrivacyUnit]
) -> None:
    """Append a link with the units that are new or changed, if there are any."""
    tables = {table: unit.as_object() for table, unit in units.items() if recorded.get(table) != unit}
    if tables:
        transaction.chain.append(LinkKind.UNIT, {"tables": tables})


def _read_units(transaction: LedgerTransaction) -> dict[str, PrivacyUnit]:
    """Return the units that the ledger was charged under, as they were recorded last."""
    found: dict[str, PrivacyUnit] = {}
    for link in transaction.chain.list_links(LinkKind.UNIT):
        found |= {
            table: PrivacyUnit.from_object(table, values) for table, values in link.body["tables"].items()
        }
    return found


def _find_changed_unit(
    table: str, unit: PrivacyUnit, recorded: Mapping[str, PrivacyUnit]
) -> PrivacyUnit | None:
    """Return the recorded unit, of the same table or overlapping rows, that this one contradicts, or None."""
    if recorded.get(table) == unit:
        return None
    same = _list_same_units(table, unit, recorded)
    return next((each for each in same if each.person != unit.person), None)


def _list_same_units(table: str, unit: PrivacyUnit, recorded: Mapping[str, PrivacyUnit]) -> list[PrivacyUnit]:
    """Return the recorded units of a table's name or of rows that it may have in common."""
    return [
        each
        for name, each in recorded.items()
        if name == table or any(can_overlap(own, other) for own in unit.places for other in each.places)
    ]


def can_overlap(one: str, other: str) -> bool:
    """Return whether two sources, by absolute path, pattern or table, can have a row in common.

    >>> can_overlap("/data/*.csv", "/data/2024.csv"), can_overlap("/data/a.csv", "/data/b.csv")
    (True, False)
    >>> can_overlap("/shop.duckdb#visits", "/shop.duckdb#orders")
    False
    >>> can_overlap("/data/people", "/data/people/1.csv")
    True
    """
    (file, table), (other_file, other_table) = (
        _split_recorded_source(one, other),
        _split_recorded_source(other, one),
    )
    if table and other_table and not _is_same_table(table, other_table):
        return False
    return (
        _can_match_both(_tokenize_pattern(file), _tokenize_pattern(other_file))
        or _can_be_inside(file, other_file)
        or _can_be_inside(other_file, file)
    )


def _can_be_inside(file: str, folder: str) -> bool:
    """Return whether a file can be in a folder; what has an ending is one only if the file says so."""
    if file.startswith(f"{folder}/"):
        return True
    has_ending = "." in folder.rpartition("/")[2]
    return (
        bool(folder)
        and not has_ending
        and _can_match_both(_tokenize_pattern(file), [*_tokenize_pattern(folder), "/", DEEP])
    )


def split_source(source: str) -> tuple[str, str]:
    """Return the file and the table that a source names; either may be empty.

    >>> split_source("/shop.duckdb#visits"), split_source("#public.visits"), split_source("/data/#1.csv")
    (('/shop.duckdb', 'visits'), ('', 'public.visits'), ('/data/#1.csv', ''))
    """
    if source.startswith("#"):
        return "", source[1:]
    file, _, table = source.rpartition("#")
    return (file, table) if file.lower().endswith(DATABASES) else (source, "")


def _split_recorded_source(source: str, other: str) -> tuple[str, str]:
    # a server's table was recorded without the # by earlier versions
    is_table = other.startswith("#") and "#" not in source and "/" not in source
    return ("", source) if is_table else split_source(source)


def _tokenize_pattern(pattern: str) -> list[object]:
    """Return the characters and wildcards of a pattern; a set of characters counts as any one."""
    tokens: list[object] = []
    for each in TOKEN.findall(pattern):
        if each == "/**/":  # which also stands for no folder at all
            tokens += ["/", DEEP]
        elif each.startswith("*"):
            tokens.append(ANY if each == "*" else DEEP)
        else:
            tokens.append(ONE if each == "?" or len(each) > 1 else each)
    return tokens


def _can_match_both(one: Sequence[object], other: Sequence[object]) -> bool:
    """Return whether some text matches both patterns: a walk over pairs of positions in them."""
    seen, ahead = {(0, 0)}, [(0, 0)]
    while ahead:
        i, j = ahead.pop()
        if i == len(one) and j == len(other):
            return True
        left, right = (one[i] if i < len(one) else None), (other[j] if j < len(other) else None)
        following: list[tuple[int, int]] = []
        if left in (ANY, DEEP):
            following += [(i + 1, j), *([(i, j + 1)] if _can_wildcard_match(left, right) else [])]
        if right in (ANY, DEEP):
            following += [(i, j + 1), *([(i + 1, j)] if _can_wildcard_match(right, left) else [])]
        if _is_one(left) and _is_one(right) and _is_same(left, right):
            following.append((i + 1, j + 1))
        ahead += [each for each in following if each not in seen]
        seen.update(following)
    return False


def _can_wildcard_match(wildcard: object, other: object) -> bool:
    """Return whether a wildcard of any length can stand for one more token of another pattern."""
    return other is not None and (wildcard is DEEP or (other is not DEEP and other != "/"))


def _is_one(token: object) -> bool:
    return token is ONE or isinstance(token, str)


def _is_same(one: object, other: object) -> bool:
    return one == other or (ONE in (one, other) and "/" not in (one, other))


def _is_same_table(one: str, other: str) -> bool:
    """Return whether two names can mean one table."""
    parts, others = _parse_name(one), _parse_name(other)
    shorter = min(len(parts), len(others))
    return parts[-shorter:] == others[-shorter:]


def _parse_name(name: str) -> list[str]:
    """Return the parts of a name, folded unless double quotes keep their case.

    >>> _parse_name('Clinic."Old Visits"')
    ['clinic', 'Old Visits']
    """
    return [
        quoted.replace('""', '"') if quoted else (ticked.replace("``", "`") or plain.strip()).casefold()
        for quoted, ticked, plain in PART.findall(name)
    ] or [name]
