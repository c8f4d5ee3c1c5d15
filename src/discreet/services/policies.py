"""Policy files: reading, validation, and errors that name file, line and correction.

Typing      an entry is converted by its position: category values stay as typed (`no`, `007`, `1e3`), bounds
            get the column's type, probabilities may be written 1%, 0.01 or 1/100. Other
            text is left for the models of `core.policy` to validate.
Open        a policy with a `?` in it is refused with the list of entries to fill in. A ? that is itself a
            category value must be in quotes.
Files       paths of sources, ledger, store and hierarchies are relative to the policy's folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Collection, Mapping
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from discreet.accounting.ledger import SOLE_ANALYST
from discreet.accounting.ledger_storage import MEMORY, find_sibling_file, resolve_ledger_address
from discreet.belief import Promise
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.policy import Column, ColumnType, Policy
from discreet.engines.file_formats import is_text_source
from discreet.services.addresses import (
    EXPECTED_ADDRESS,
    is_engine_address,
    parse_engine_address,
    require_engine_address,
)
from discreet.services.policy_errors import (
    EXAMPLES,
    find_hierarchy_misfit,
    find_nearest_name,
    format_validation_errors,
)
from discreet.services.yaml_reader import (
    KeyPath,
    Scalar,
    YamlDocument,
    YamlTree,
    format_key_path,
    format_located_error,
    read_yaml,
)

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


MAX_PROBLEMS = 10
NO_TEXT_SOURCE = "{source} is not a CSV or Excel file, so there is no text to read: remove it"
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
    "two_digit_years": "the first of the hundred years that two digits mean: 1930 reads 30 as 1930",
}


class Blank(NamedTuple):
    """An entry that a policy leaves open with a `?`."""

    path: str
    line: int
    description: str


def load_policy(
    path: Path,
    *,
    engine: str | None = None,
    ledger: str | None = None,
    allow_open_bounds: bool = False,
    tables: Collection[str] | None = (),
) -> Policy:
    """Return the policy of a file, with absolute paths; `engine` and `ledger` override its entries.

    With `allow_open_bounds`, columns whose bounds or values are still a ? have none. `tables` are those whose
    rows are given elsewhere, and which need no source; None if all may be.
    """
    document = read_yaml(path)
    if not isinstance(document.tree, dict):
        raise RequestError(
            format_located_error(path, 1, "a policy is entries of the form NAME: VALUE"),
            hint="Begin with tables:",
        )
    _raise_problems(document, document.problems)
    if allow_open_bounds:
        _drop_open_bounds(document.tree)
    _raise_blanks(document)
    values, problems = parse_policy_values(document.tree)
    problems += _find_engine_problems(values)
    try:
        policy = Policy.model_validate(values)
    except ValidationError as error:
        _raise_problems(document, problems + format_validation_errors(error, values))
        raise AssertionError("a validation error is a problem") from None
    problems += [
        (("tables", name), f"source is missing: add {EXAMPLES['source']}")
        for name, table in policy.tables.items()
        if not table.source and tables is not None and name not in tables
    ]
    _raise_problems(document, problems + find_policy_problems(policy, allow_open_bounds=allow_open_bounds))
    if engine is not None:
        policy = policy.model_copy(update={"engine": require_engine_address(engine)})
    if ledger is not None:
        policy = policy.model_copy(update={"ledger": ledger})
    return resolve_paths(policy, path.absolute().parent)


def list_blanks(path: Path) -> list[Blank]:
    """Return the open entries of a policy file, in file order."""
    return _find_blanks(read_yaml(path))


def compute_policy_version(policy: Policy) -> str:
    """Return a digest of everything in a policy that answers depend on, ignoring order, comments and format.

    Analysts, access to true values, the addresses of ledger and store, the default epsilon, `most_rows`,
    `at_most`, where learned bounds come from, and the data version are not part of it. Paths are taken
    relative to the ledger, so that moving the whole folder keeps the digest. Entries that older policies
    could not have are a part of it only where they are set, so that the digest of an older policy stays.
    """
    meant = policy.model_dump(
        exclude={
            "analysts",
            "ledger",
            "ledger_mark",
            "store",
            "epsilon",
            "data_version",
            "true_values",
            "at_most",
        }
    )
    for table in meant["tables"].values():
        del table["most_rows"]
        for column in table["columns"].values():
            del column["learned"]
        for entry, added in ((table, "csv"), *((each, "source_name") for each in table["columns"].values())):
            if entry[added] is None:
                del entry[added]
    meant["engine"] = parse_engine_address(policy.engine).location
    place = find_sibling_file(policy.ledger, ".db")
    if place is not None and parse_engine_address(policy.engine).reads_files:
        folder = os.path.dirname(place)
        for entries, name in ((meant["tables"], "source"), (meant["hierarchies"], "csv")):
            for entry in entries.values():
                if entry[name]:
                    entry[name] = os.path.relpath(str(entry[name]), folder)
    text = json.dumps(_to_canonical(meant), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def get_promise(policy: Policy) -> Promise:
    """Return the promise of a policy; raise RequestError if it makes none."""
    if policy.promise is None:
        raise RequestError(
            "The policy makes no promise.",
            hint="Add one, such as promise: {prior: 1%, posterior: 5%}; `discreet promise` explains it.",
        )
    terms = policy.promise
    return Promise(terms.prior, terms.posterior, secret=terms.secret, group=terms.group, tail=terms.tail)


def resolve_analyst(policy: Policy, analyst: str | None) -> str:
    """Return the analyst to charge: the one named, or the only one that the policy declares."""
    known = list(policy.analysts)
    who = analyst or (known[0] if len(known) == 1 else None if known else SOLE_ANALYST)
    if who is None or (known and who not in known):
        raise RequestError(
            f"The policy declares the analysts {', '.join(known)}; got {who or 'none'}.",
            hint="Name the analyst: `analyst=NAME`.",
        )
    return who


def _raise_problems(document: YamlDocument, problems: Problems) -> None:
    lines = [
        document.format_problem(place, text)
        for place, text in sorted(problems, key=lambda each: document.find_line(each[0]))
    ]
    if len(lines) > MAX_PROBLEMS:
        lines[MAX_PROBLEMS:] = [f"… and {len(lines) - MAX_PROBLEMS} more."]
    if lines:
        raise RequestError("\n".join(lines))


def _raise_blanks(document: YamlDocument) -> None:
    left = _find_blanks(document)
    if left:
        lines = (
            format_located_error(document.path, blank.line, f"{blank.path}: {blank.description}")
            for blank in left
        )
        raise RequestError("\n".join((f"{document.path} is not filled in. Replace each ? by:", *lines)))


def _drop_open_bounds(tree: dict[str, YamlTree]) -> None:
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


def _find_engine_problems(values: Any) -> Problems:
    """Return the problem of an unknown engine; it never shows the part that may hold a password."""
    address = values.get("engine") if isinstance(values, dict) else None
    if not isinstance(address, str) or is_engine_address(address):
        return []
    return [(("engine",), f"must be {EXPECTED_ADDRESS}; got {address.partition('://')[0]}")]


def find_policy_problems(policy: Policy, *, allow_open_bounds: bool = False) -> Problems:
    """Return problems between entries, which no single model sees: promise values, missing hierarchies."""
    problems: Problems = []
    if policy.promise is not None:
        try:
            get_promise(policy)
        except InvalidParameterError as error:
            name, text = re.fullmatch(r"Promise\.(\w+) (.*)", error.message, re.S).groups()  # type: ignore[union-attr]
            problems.append((("promise", name), text))
    for table, entry in policy.tables.items():
        if entry.csv is not None and not is_text_source(entry.source):
            problems.append((("tables", table, "csv"), NO_TEXT_SOURCE.format(source=entry.source)))
        for column, facts in entry.columns.items():
            if allow_open_bounds and facts.low is None and facts.values is None:
                continue  # its hierarchy may need the bounds that are still open
            text = _find_hierarchy_problem(column, facts, policy)
            if text is not None:
                place = ("tables", table, "columns", column)
                problems.append((place if facts.hierarchy is None else (*place, "hierarchy"), text))
    return problems


def _find_hierarchy_problem(name: str, column: Column, policy: Policy) -> str | None:
    named = column.hierarchy
    if named is not None and named not in policy.hierarchies:
        meant = find_nearest_name(named, policy.hierarchies)
        way_out = (
            f"did you mean {meant}?" if meant else "declare it under hierarchies, at the end of the file"
        )
        return f"there is no hierarchy {named}: {way_out}"
    entry = policy.hierarchies.get(named or name)
    return None if entry is None else find_hierarchy_misfit(named or name, entry, column)


def resolve_paths(policy: Policy, folder: Path) -> Policy:
    """Return the policy with absolute paths; table names of a database are left unchanged."""
    engine = parse_engine_address(policy.engine)

    def make_absolute(text: str) -> str:
        return (
            text
            if text == MEMORY or "://" in text
            else os.path.normpath(folder / (os.path.expanduser(text) if text.startswith("~/") else text))
        )

    tables = {
        name: table.model_copy(update={"source": engine.resolve_source(table.source, make_absolute)})
        if table.source
        else table
        for name, table in policy.tables.items()
    }
    hierarchies = {
        name: entry if entry.csv is None else entry.model_copy(update={"csv": make_absolute(entry.csv)})
        for name, entry in policy.hierarchies.items()
    }
    store = policy.store if policy.store is None else engine.resolve_store(policy.store, make_absolute)
    return policy.model_copy(
        update={
            "tables": tables,
            "hierarchies": hierarchies,
            "store": store,
            "ledger": resolve_ledger_address(policy.ledger, make_absolute),
            "ledger_mark": None if policy.ledger_mark is None else make_absolute(policy.ledger_mark),
        }
    )


def _to_canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _to_canonical(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_to_canonical(entry) for entry in value]
    if isinstance(value, Decimal | int) and not isinstance(value, bool):
        return f"number {Fraction(value)}"
    if isinstance(value, date):
        return f"time {value.isoformat()}"
    return value
