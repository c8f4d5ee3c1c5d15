"""Blanks of a policy file: the entries that `discreet init` leaves open with a `?`.

A policy with a `?` in it is refused with the list of entries to fill in. A ? that is itself a category value
must be in quotes.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from discreet.core.errors import RequestError
from discreet.services.policy_scalars import is_category_values_path
from discreet.services.yaml_reader import (
    KeyPath,
    Scalar,
    YamlDocument,
    YamlTree,
    format_key_path,
    format_located_error,
    read_yaml,
)

BLANK_DESCRIPTIONS = {
    "person": "row, if every row is a different person; or the column that identifies the person",
    "through": "the column whose link leads to the row that names the person",
    "rows_per_person": "the most rows of one person that count",
    "low": "a public lower bound",
    "high": "a public upper bound",
    "resolution": "the step to round its numbers to, such as 0.01",
    "values": 'the public list of its values; quote "?" if it is one of them',
    "dates": "the format that is meant, such as %d/%m/%Y or %m/%d/%Y: days may be read either way",
    "timestamps": "the format that is meant, such as %d/%m/%Y %H:%M: days may be read either way",
    "decimal": 'the decimal mark, "." or ",": numbers such as 1.234 may be read either way; if they are '
    "thousands, declare thousands as well",
    "two_digit_years": "the first of the hundred years that two digits mean: 1930 reads 30 as 1930",
}
MAX_LISTED = 30


class Blank(NamedTuple):
    """An entry that a policy leaves open with a `?`."""

    path: str
    line: int
    description: str


def list_blanks(path: Path) -> list[Blank]:
    """Return the open entries of a policy file, in file order."""
    return _find_blanks(read_yaml(path))


def raise_blanks(document: YamlDocument) -> None:
    """Refuse a policy that leaves entries open, with each of them and what it asks for."""
    left = _find_blanks(document)
    if left:
        lines = (
            format_located_error(document.path, blank.line, f"{blank.path}: {blank.description}")
            for blank in left
        )
        told = f"{document.path} is not filled in. Delete columns that nobody needs to ask about, and replace"
        shown = [f"{told} each ? by:", *islice(lines, MAX_LISTED)]
        if len(left) > MAX_LISTED:
            shown.append(f"… and {len(left) - MAX_LISTED} more.")
        raise RequestError("\n".join(shown))


def drop_open_bounds(tree: dict[str, YamlTree]) -> None:
    """Remove the bounds, resolutions and values of columns that are left open."""
    opened = Scalar("?", is_quoted=False)
    tables = tree.get("tables")
    for table in tables.values() if isinstance(tables, dict) else ():
        columns = table.get("columns") if isinstance(table, dict) else None
        for column in columns.values() if isinstance(columns, dict) else ():
            if not isinstance(column, dict):
                continue
            for together in (("low", "high"), ("resolution",), ("values",)):
                if any(column.get(name) in (opened, [opened]) for name in together):
                    for name in together:
                        column.pop(name, None)


def _find_blanks(document: YamlDocument) -> list[Blank]:
    found = [
        place
        for place, word in document.iterate_scalars()
        if word.text == "?" and not _is_category_value(place, word, document)
    ]
    return [
        Blank(format_key_path(_get_entry_path(place)), document.find_line(place), _describe_blank(place))
        for place in found
    ]


def _get_entry_path(place: KeyPath) -> KeyPath:
    """Return the key path of the entry that a list item belongs to."""
    return _get_entry_path(place[:-1]) if place and isinstance(place[-1], int) else place


def _is_category_value(place: KeyPath, word: Scalar, document: YamlDocument) -> bool:
    """Return whether a ? is a text of the data: quoted, and not the only value of a category."""
    if not (word.is_quoted and is_category_values_path(place)):
        return False
    if "csv" in place[2:3]:
        return True
    around: Any = document.tree
    for part in place[:-1]:
        around = around[part]
    return len(around) > 1


def _describe_blank(place: KeyPath) -> str:
    return BLANK_DESCRIPTIONS.get(str(*_get_entry_path(place)[-1:]), "a value")
