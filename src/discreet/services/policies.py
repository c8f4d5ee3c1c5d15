"""Policy files: reading, validation, and errors that name file, line and correction.

Paths of sources, ledger, store and hierarchies are relative to the policy's folder. `policy_scalars` converts
the words of the file, `policy_blanks` finds the entries that are still open.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from discreet.accounting.ledger import SOLE_ANALYST
from discreet.accounting.ledger_storage import MEMORY, resolve_ledger_address
from discreet.belief import Promise
from discreet.core.column_entry import Column
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.policy import Policy
from discreet.engines.file_formats import find_file_format, is_spreadsheet, is_text_source
from discreet.services.addresses import (
    EXPECTED_ADDRESS,
    is_engine_address,
    parse_engine_address,
    require_engine_address,
)
from discreet.services.policy_blanks import drop_open_bounds, raise_blanks
from discreet.services.policy_errors import (
    EXAMPLES,
    find_hierarchy_misfit,
    find_nearest_name,
    format_validation_errors,
)
from discreet.services.policy_scalars import Problems, parse_policy_values
from discreet.services.yaml_reader import YamlDocument, YamlTree, format_located_error, read_yaml

MAX_PROBLEMS = 10
PLAIN_TEXT_SUFFIXES = (".txt", ".data", ".dat")
"""Ends of names that a policy may have as well as data."""
NO_SHEETS = "{source} is not an Excel file, so it has no sheets: remove it"
NO_TEXT_SOURCE = "{source} is not a CSV or Excel file, so there is no text to read: remove it"


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
    if find_file_format(path) is not None and path.suffix not in PLAIN_TEXT_SUFFIXES:
        raise RequestError(
            f"{path} is data, not a policy.",
            hint=f"Write a policy of it with `discreet init {path}`; in Python, pass it as a frame.",
        )
    document = read_yaml(path)
    if not isinstance(document.tree, dict):
        raise RequestError(
            format_located_error(path, 1, "a policy is entries of the form NAME: VALUE"),
            hint="Begin with tables:",
        )
    _raise_problems(document, document.problems)
    if allow_open_bounds:
        drop_open_bounds(document.tree)
    raise_blanks(document)
    policy, problems = parse_policy_tree(document.tree)
    if policy is None:
        _raise_problems(document, problems)
        raise AssertionError("a validation error is a problem")
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


def parse_policy_tree(tree: dict[str, YamlTree]) -> tuple[Policy | None, Problems]:
    """Return the policy of a file's entries, with its paths as they are there, and what is wrong with it.

    It is None if single entries are wrong; what is wrong between entries is found by `find_policy_problems`.
    """
    values, problems = parse_policy_values(tree)
    problems += _find_engine_problems(values)
    try:
        return Policy.model_validate(values), problems
    except ValidationError as error:
        return None, problems + format_validation_errors(error, values)


def get_promise(policy: Policy) -> Promise:
    """Return the promise of a policy; raise RequestError if it makes none."""
    if policy.promise is None:
        raise RequestError(
            "The policy makes no promise.",
            hint="Add one, such as promise: {prior: 1%, posterior: 5%}; `discreet promise` explains it.",
        )
    terms = policy.promise
    return Promise(terms.prior, terms.posterior, secret=terms.secret, group=terms.group, tail=terms.tail)


def make_empty_policy(folder: Path, *, engine: str | None = None, ledger: str | None = None) -> Policy:
    """Return a policy without tables, whose ledger is where one in this folder has it by default."""
    given = {"engine": engine and require_engine_address(engine), "ledger": ledger}
    empty = Policy(tables={}).model_copy(update={name: each for name, each in given.items() if each})
    return resolve_paths(empty, folder.absolute())


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
        elif entry.csv is not None and entry.csv.sheet is not None and not is_spreadsheet(entry.source):
            problems.append((("tables", table, "csv", "sheet"), NO_SHEETS.format(source=entry.source)))
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
    resolved = policy.model_copy(
        update={
            "tables": tables,
            "hierarchies": hierarchies,
            "store": store,
            "ledger": resolve_ledger_address(policy.ledger, make_absolute),
            "ledger_mark": None if policy.ledger_mark is None else make_absolute(policy.ledger_mark),
        }
    )
    if "ledger" not in policy.model_fields_set:
        resolved.model_fields_set.discard("ledger")  # as the policy has it: it names none
    return resolved
