"""Policy files: read, checked, and refused in sentences that name file, line and way out.

Words       an entry is read as what it means: values of a category stay the text that was typed (`no`, `007`,
            `1e3`), bounds become what the column's type says, shares and beliefs may be 1%, 0.01 or 1/100.
Left open   a policy with a `?` in it is refused with the list of what to fill in. Where ? is itself a value
            of a category it stands in quotes.
Files       sources, ledger, store and hierarchies are looked for beside the policy, wherever one works.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from discreet.accounting.ledger_storage import MEMORY
from discreet.app.addresses import engine_of
from discreet.app.complaints import complaints, nearest
from discreet.app.drafting.fitting import misfit
from discreet.app.ledger_addresses import anchored, file_beside
from discreet.app.policy_words import Problems, is_text, meaning
from discreet.app.yaml_lines import Document, Place, Word, dotted, located, read
from discreet.belief import Promise
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.policy import ENGINE, ENGINES, Column, Policy

MOST_PROBLEMS = 10
WHAT = {
    "person": "row, if every row is another person; or the column that names the person",
    "through": "the column whose link leads to the row that knows the person",
    "rows_per_person": "how many rows of one person count at most",
    "low": "a public lower bound",
    "high": "a public upper bound",
    "resolution": "the step that its numbers are rounded to, such as 0.01",
    "values": 'a public list of what it can be, with "?" in quotes where that is one of them',
}


class Blank(NamedTuple):
    """A place that a policy leaves open."""

    path: str
    line: int
    what: str


def load(path: Path, *, engine: str | None = None, ledger: str | None = None) -> Policy:
    """The policy of a file; paths are absolute. `engine` and `ledger` stand in place of what it names."""
    document = read(path)
    if not isinstance(document.tree, dict):
        raise RequestError(
            located(path, 1, "a policy is entries of the form NAME: VALUE"), hint="Begin with tables:"
        )
    _refuse(document, document.problems)
    _refuse_blanks(document)
    values, problems = meaning(document.tree)
    try:
        policy = Policy.model_validate(values)
    except ValidationError as error:
        _refuse(document, problems + complaints(error, values))
        raise AssertionError("a validation error is a problem") from None
    _refuse(document, problems + _loose_ends(policy))
    if engine is not None:
        policy = policy.model_copy(update={"engine": engine_address(engine)})
    if ledger is not None:
        policy = policy.model_copy(update={"ledger": ledger})
    return _anchored(policy, path.absolute().parent)


def engine_address(address: str) -> str:
    """An address that `--engine` was given, if it is one."""
    if not ENGINE.fullmatch(address):
        raise RequestError(f"--engine must be {ENGINES}.", hint="See docs/scale.md.")
    return address


def blanks(path: Path) -> list[Blank]:
    """What a draft leaves open, in the order of the file."""
    return _blanks(read(path))


def policy_version(policy: Policy) -> str:
    """A name for all of a policy that an answer depends on, whatever its order, comments and format.

    Who may ask or see true values, where ledger and store are, the usual epsilon, how many rows are expected
    and the data's version are no part of it.
    Files count by where they are beside the ledger, so that a folder that moves as a whole stays the same.
    """
    meant = policy.model_dump(
        exclude={"analysts", "ledger", "ledger_mark", "store", "epsilon", "data_version", "true_values"}
    )
    for table in meant["tables"].values():
        del table["most_rows"]
    meant["engine"] = engine_of(policy.engine).place
    place = file_beside(policy.ledger, ".db")
    if place is not None and engine_of(policy.engine).reads_files:
        folder = os.path.dirname(place)
        for entry in (*meant["tables"].values(), *meant["hierarchies"].values()):
            for name in ("source", "csv"):
                if entry.get(name) is not None:
                    entry[name] = os.path.relpath(str(entry[name]), folder)
    text = json.dumps(_canonical(meant), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def promise_of(policy: Policy) -> Promise:
    """The promise that a policy makes."""
    if policy.promise is None:
        raise RequestError(
            "The policy makes no promise.",
            hint="Add one, such as promise: {prior: 1%, posterior: 5%}; `discreet promise` explains it.",
        )
    terms = policy.promise
    return Promise(terms.prior, terms.posterior, secret=terms.secret, group=terms.group, tail=terms.tail)


def _refuse(document: Document, problems: Problems) -> None:
    lines = [
        document.at(place, text) for place, text in sorted(problems, key=lambda each: document.line(each[0]))
    ]
    if len(lines) > MOST_PROBLEMS:
        lines[MOST_PROBLEMS:] = [f"… and {len(lines) - MOST_PROBLEMS} more."]
    if lines:
        raise RequestError("\n".join(lines))


def _refuse_blanks(document: Document) -> None:
    left = _blanks(document)
    if left:
        lines = (located(document.path, blank.line, f"{blank.path}: {blank.what}") for blank in left)
        raise RequestError("\n".join((f"{document.path} is not filled in. Replace each ? by:", *lines)))


def _blanks(document: Document) -> list[Blank]:
    found = [
        place for place, word in document.words() if word.text == "?" and not _is_value(place, word, document)
    ]
    return [Blank(dotted(_named(place)), document.line(place), _what(place)) for place in found]


def _named(place: Place) -> Place:
    """The entry that an item of a list belongs to."""
    return _named(place[:-1]) if place and isinstance(place[-1], int) else place


def _is_value(place: Place, word: Word, document: Document) -> bool:
    """Whether a ? is meant as a category's value: in quotes, and not the only one."""
    if not (word.quoted and is_text(place)):
        return False
    around: Any = document.tree
    for part in place[:-1]:
        around = around[part]
    return len(around) > 1


def _what(place: Place) -> str:
    return WHAT.get(str(*_named(place)[-1:]), "what it is meant to be")


def _loose_ends(policy: Policy) -> Problems:
    """What entries say of each other beyond the models: the promise can be made, hierarchies exist."""
    problems: Problems = []
    if policy.promise is not None:
        try:
            promise_of(policy)
        except InvalidParameterError as error:
            name, text = re.fullmatch(r"Promise\.(\w+) (.*)", error.message, re.S).groups()  # type: ignore[union-attr]
            problems.append((("promise", name), text))
    for table, entry in policy.tables.items():
        for column, facts in entry.columns.items():
            text = _hierarchy_problem(column, facts, policy)
            if text is not None:
                place = ("tables", table, "columns", column)
                problems.append((place if facts.hierarchy is None else (*place, "hierarchy"), text))
    return problems


def _hierarchy_problem(name: str, column: Column, policy: Policy) -> str | None:
    """What is wrong between a column and its hierarchy."""
    named = column.hierarchy
    if named is not None and named not in policy.hierarchies:
        meant = nearest(named, policy.hierarchies)
        way_out = (
            f"did you mean {meant}?" if meant else "declare it under hierarchies, at the end of the file"
        )
        return f"there is no hierarchy {named}: {way_out}"
    entry = policy.hierarchies.get(named or name)
    return None if entry is None else misfit(named or name, entry, column)


def _anchored(policy: Policy, folder: Path) -> Policy:
    """The same policy with absolute paths; tables of a database are none."""
    engine = engine_of(policy.engine)

    def absolute(text: str) -> str:
        return (
            text
            if text == MEMORY or "://" in text
            else os.path.normpath(folder / (os.path.expanduser(text) if text.startswith("~/") else text))
        )

    tables = {
        name: table.model_copy(update={"source": engine.source(table.source, absolute)})
        for name, table in policy.tables.items()
    }
    hierarchies = {
        name: entry if entry.csv is None else entry.model_copy(update={"csv": absolute(entry.csv)})
        for name, entry in policy.hierarchies.items()
    }
    store = policy.store if policy.store is None else engine.store(policy.store, absolute)
    return policy.model_copy(
        update={
            "tables": tables,
            "hierarchies": hierarchies,
            "store": store,
            "ledger": anchored(policy.ledger, absolute),
            "ledger_mark": None if policy.ledger_mark is None else absolute(policy.ledger_mark),
        }
    )


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _canonical(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(entry) for entry in value]
    if isinstance(value, Decimal | int) and not isinstance(value, bool):
        return f"number {Fraction(value)}"
    if isinstance(value, date):
        return f"time {value.isoformat()}"
    return value
