"""Policy files: reading, validation, and errors that name file, line and correction.

Typing      an entry is converted by its position: category values stay as typed (`no`, `007`, `1e3`), bounds
            get the column's type, probabilities may be written 1%, 0.01 or 1/100.
Open        a policy with a `?` in it is refused with the list of entries to fill in. A ? that is itself a
            category value must be in quotes.
Files       paths of sources, ledger, store and hierarchies are relative to the policy's folder.
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
    "person": "row, if every row is a different person; or the column that identifies the person",
    "through": "the column whose link leads to the row that names the person",
    "rows_per_person": "the most rows of one person that count",
    "low": "a public lower bound",
    "high": "a public upper bound",
    "resolution": "the step to round its numbers to, such as 0.01",
    "values": 'the public list of its values; quote "?" if it is one of them',
}


class Blank(NamedTuple):
    """An entry that a policy leaves open with a `?`."""

    path: str
    line: int
    what: str


def load(path: Path, *, engine: str | None = None, ledger: str | None = None) -> Policy:
    """Return the policy of a file, with absolute paths; `engine` and `ledger` override its entries."""
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
    """Return the address given by `--engine`, or refuse it."""
    if not ENGINE.fullmatch(address):
        raise RequestError(f"--engine must be {ENGINES}.", hint="See docs/scale.md.")
    return address


def blanks(path: Path) -> list[Blank]:
    """Return the open entries of a policy file, in file order."""
    return _blanks(read(path))


def policy_version(policy: Policy) -> str:
    """Return a digest of everything in a policy that answers depend on, ignoring order, comments and format.

    Analysts, access to true values, the addresses of ledger and store, the default epsilon, `most_rows` and
    the data version are not part of it. Paths are taken relative to the ledger, so that moving the whole
    folder keeps the digest.
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
    """Return the promise of a policy; raise RequestError if it makes none."""
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
    """Return the key path of the entry that a list item belongs to."""
    return _named(place[:-1]) if place and isinstance(place[-1], int) else place


def _is_value(place: Place, word: Word, document: Document) -> bool:
    """Return whether a ? is a category value: quoted, and not the only value."""
    if not (word.quoted and is_text(place)):
        return False
    around: Any = document.tree
    for part in place[:-1]:
        around = around[part]
    return len(around) > 1


def _what(place: Place) -> str:
    return WHAT.get(str(*_named(place)[-1:]), "a value")


def _loose_ends(policy: Policy) -> Problems:
    """Return problems between entries, which no single model sees: promise values, missing hierarchies."""
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
    """Return what is wrong between a column and its hierarchy, or None."""
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
    """Return the policy with absolute paths; table names of a database are left unchanged."""
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
