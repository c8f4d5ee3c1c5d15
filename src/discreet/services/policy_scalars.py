"""Types of the words in a policy file: each is converted by its position, never by its looks.

Category values stay as typed (`no`, `007`, `1e3`), bounds get the column's type, numbers are exact. Other
text is left for the models of `core.policy` to validate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from discreet.core.column_entry import ColumnType
from discreet.services.yaml_reader import KeyPath, Scalar, YamlTree

NULL_WORDS = ("", "~", "null", "Null", "NULL")
NUMBER = re.compile(r"[-+]?([0-9][0-9_]*)?(\.[0-9_]*)?([eE][-+]?[0-9]{1,2})?")
NUMERIC_ENTRIES = (
    "group",
    "rows_per_person",
    "groups_per_person",
    "rows",
    "most_rows",
    "resolution",
    "epsilon",
    "entry",
)

Problems = list[tuple[KeyPath, str]]


def parse_policy_values(tree: dict[str, YamlTree]) -> tuple[dict[str, Any], Problems]:
    """Return the values of a whole policy, and the problems found."""
    problems: Problems = []
    return _parse_tree(tree, (), problems), problems


def is_category_values_path(place: KeyPath) -> bool:
    """Return whether a key path holds texts of the data, such as category values, which stay as typed."""
    match place:
        case ("tables", _, "columns", _, "values", *_):
            return True
        case ("tables", _, "csv", "nulls" | "names" | "dates" | "timestamps", *_):
            return True
        case ("hierarchies", _, "tree" | "order" | "cuts", *_):
            return True
        case _:
            return False


def _parse_tree(tree: YamlTree, place: KeyPath, problems: Problems) -> Any:
    """Return the values of a subtree; append what cannot be converted to `problems`."""
    if isinstance(tree, Scalar):
        return _parse_scalar(tree, place)
    if isinstance(tree, list):
        return [_parse_item(item, (*place, index), problems) for index, item in enumerate(tree)]
    values = {name: _parse_tree(entry, (*place, name), problems) for name, entry in tree.items()}
    if len(place) == 4 and place[0] == "tables" and place[2] == "columns":
        _parse_bounds(values, tree, place, problems)
    return values


def _parse_item(tree: YamlTree, place: KeyPath, problems: Problems) -> Any:
    if is_category_values_path(place) and place[0] == "tables" and not isinstance(tree, Scalar):
        problems.append((place, "must be one word: put a value that holds a colon or brackets in quotes"))
        return ""
    if is_category_values_path(place) and tree == Scalar("", is_quoted=False):
        problems.append((place, 'is empty: delete it, or write "" for the empty text'))
        return f"empty {place[-1]}"
    return _parse_tree(tree, place, problems)


def _parse_scalar(word: Scalar, place: KeyPath) -> Any:
    if is_category_values_path(place) and isinstance(place[-1], int):
        return word.text
    if word.text in NULL_WORDS and not word.is_quoted:
        return None
    free = place[:1] == ("hierarchies",) and not is_category_values_path(place) and not word.is_quoted
    if free and word.text in ("true", "false"):
        return word.text == "true"
    if free or (place and place[-1] in NUMERIC_ENTRIES):
        number = _parse_number(word.text)
        return word.text if number is None else number
    return word.text


def _parse_number(text: str) -> int | Decimal | None:
    if not NUMBER.fullmatch(text) or not re.search(r"^[-+]?\.?[0-9]", text):
        return None
    number = Decimal(text.replace("_", ""))
    return int(number) if number == number.to_integral_value() else number


def _parse_integer(text: str) -> int | None:
    number = _parse_number(text)
    return number if isinstance(number, int) else None


def _parse_date(text: str) -> date | None:
    return date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else None


def _parse_timestamp(text: str) -> datetime | None:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is None else None


BOUND_PARSERS: Mapping[str, tuple[Callable[[str], object], str]] = {
    ColumnType.INTEGER: (_parse_integer, "a whole number"),
    ColumnType.DECIMAL: (_parse_number, "a number such as 0.5"),
    ColumnType.DATE: (_parse_date, "a date such as 2024-01-31"),
    ColumnType.TIMESTAMP: (_parse_timestamp, "a time without a zone such as 2024-01-31 12:00:00"),
}


def _parse_bounds(
    values: dict[str, Any], tree: dict[str, YamlTree], place: KeyPath, problems: Problems
) -> None:
    """Convert bounds to their column's type; remove both if one is invalid, to avoid follow-up errors."""
    kind = values.get("type", ColumnType.TEXT)
    reading, wanted = (
        BOUND_PARSERS.get(kind, (lambda _: 0, "")) if isinstance(kind, str) else (lambda _: 0, "")
    )
    wrong = []
    for name in ("low", "high"):
        word = tree.get(name)
        if word is None or values[name] is None:
            continue
        try:
            read_bound = reading(word.text) if isinstance(word, Scalar) else None
        except ValueError:
            read_bound = None
        if read_bound is None:
            given = word.text if isinstance(word, Scalar) else "a list or a mapping"
            wrong.append(((*place, name), f"must be {wanted} for type {kind}; got {given}"))
        values[name] = read_bound
    problems.extend(wrong)
    if wrong or not isinstance(kind, str) or kind not in set(ColumnType):
        values.pop("low", None)
        values.pop("high", None)
