"""The privacy unit of each table of a policy: the source of its rows, and what one person is in them.

Source      Files by their path relative to the ledger, symbolic links resolved, so that moving the whole
            folder changes nothing; a pattern keeps its wildcards and lists the files that it reaches by
            links. Tables of a server by their names. Frames of a program that the policy has no source for
            by the table's name: two of different names are different tables.
One unit    Rows shared by two tables of a policy must have the same person in both. Otherwise each answer is
            charged for its own notion of a person, and the two together promise nothing about either.
Comparison  Files are compared by path and by pattern (`accounting.privacy_unit`), and by device and inode,
            which finds hard links too. Copies count as different files, and a view of a server as a
            different table: the threat model states this limit.
"""

from __future__ import annotations

import glob
import itertools
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from discreet.accounting.ledger_storage import find_sibling_file
from discreet.accounting.privacy_unit import DATABASES, PrivacyUnit, can_overlap, split_source
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.table_entry import Table


def find_units(policy: Policy, frames: Collection[str] = ()) -> dict[str, PrivacyUnit]:
    """Return the privacy unit of each table; refuse a policy that declares rows twice with two units."""
    units = {name: _find_unit(name, table, policy) for name, table in policy.tables.items()}
    _require_one_unit(policy, units, frames)
    return units


def _require_one_unit(policy: Policy, units: Mapping[str, PrivacyUnit], frames: Collection[str]) -> None:
    """Refuse a policy in which two tables share rows but define a person differently.

    `frames` are tables whose rows the program passes in, by name or as a mapping to the frames.
    """
    for one, other in itertools.combinations(policy.tables, 2):
        if units[one].person == units[other].person or not _share_rows(one, other, policy, units, frames):
            continue
        is_server = units[one].source.startswith("#")
        raise RequestError(
            f"The tables {one} and {other} of the policy have rows in common; a person of {one} is "
            f"{units[one].person}, and a person of {other} is {units[other].person}.",
            hint="Give both the same person, or leave one of them out"
            + ("; if they are different tables, name each with its schema." if is_server else "."),
        )


def _share_rows(
    one: str, other: str, policy: Policy, units: Mapping[str, PrivacyUnit], frames: Collection[str]
) -> bool:
    if one in frames or other in frames:
        held = frames if isinstance(frames, Mapping) else {}
        return one in held and other in held and held[one] is held[other]
    if policy.is_embedded and not all(_has_files(policy.tables[name]) for name in (one, other)):
        return False  # a program that passes frames in may use any source name
    first, second = units[one].places, units[other].places
    if any(can_overlap(each, another) for each in first for another in second):
        return True
    if any(split_source(each)[1] for each in (*first, *second)):
        return False
    return not _find_inodes(policy.tables[one]).isdisjoint(_find_inodes(policy.tables[other]))


def _find_unit(name: str, table: Table, policy: Policy) -> PrivacyUnit:
    person = describe_person(table)
    if not table.source:
        return PrivacyUnit(source=f"frame:{name}", person=person)
    file, inner = split_source(table.source)
    if not os.path.isabs(file):
        # A source that is a URL is compared as text.
        return PrivacyUnit(
            source=table.source if "://" in table.source else f"#{table.source}", person=person
        )
    beside = find_sibling_file(policy.ledger, ".db")

    def make_relative(path: Path) -> str:
        return str(path) if beside is None else os.path.relpath(path, beside.parent.resolve())

    source = make_relative(resolve_source(file))
    linked = {make_relative(each) for each in _list_files(file)} if glob.has_magic(file) else set()
    if file.lower().endswith(DATABASES):
        source = f"{source}#{inner or name}"
    elsewhere = tuple(sorted(each for each in linked if not can_overlap(each, source)))
    return PrivacyUnit(source=source, person=person, elsewhere=elsewhere)


def describe_person(table: Table) -> str:
    """Describe what one person is in the rows of a table."""
    if table.person_link is not None:
        link = table.links[table.person_link]
        return f"that of {link.table}.{link.column} through {table.person_link}"
    if table.person_column is not None:
        return f"the column {table.person_column}"
    return "nobody" if table.person == "none" else "a row"


def resolve_source(file: str) -> Path:
    """Return an absolute path or pattern with symbolic links resolved up to the first wildcard."""
    if not glob.has_magic(file) or os.path.lexists(file):
        return Path(file).resolve()
    anchor = find_anchor(file)
    return anchor.resolve() / file[len(str(anchor)) :].lstrip("/")


def find_anchor(source: str) -> Path:
    """Return the folder of a file, or the one before the first wildcard of a pattern."""
    folder = Path(split_source(source)[0]).parent
    while glob.has_magic(str(folder)):
        folder = folder.parent
    return folder


def _list_files(file: str) -> Iterator[Path]:
    """Yield the files that a path or pattern matches, links resolved, including all files of its folders."""
    for found in [file] if os.path.lexists(file) else glob.iglob(file, recursive=True):
        if os.path.isdir(found):
            for folder, _, names in os.walk(found):
                yield from (Path(folder, name).resolve() for name in names)
        else:
            yield Path(found).resolve()


def _has_files(table: Table) -> bool:
    file = split_source(table.source)[0]
    return not os.path.isabs(file) or glob.has_magic(file) or os.path.lexists(file)


def _find_inodes(table: Table) -> set[tuple[int, int]]:
    """Return device and inode of each file, which all hard links of a file share."""
    found: set[tuple[int, int]] = set()
    for path in _list_files(table.source):
        try:
            state = path.stat()
        except OSError:
            continue  # opening the source reports a missing file
        found.add((state.st_dev, state.st_ino))
    return found
