"""Routes of releases: every release in the ledger, with its certificate.

Open        Tables that were published without differential privacy. All users read their certificates; only
            the custodian sees where the file is.
Charged     Answers, models, synthetic tables and counts, identified by analyst and by their position among
            that analyst's entries, which reveals nothing about other analysts. An analyst reads only the own
            ones; auditor and custodian read all. A certificate states what is promised about a release, never
            its content; rows are for the charged analyst and the custodian.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Response

from discreet.accounting.accountant import Accountant, Cost
from discreet.accounting.entries import Entry, EntryState, NonPrivateRelease
from discreet.accounting.ledger import Ledger
from discreet.app.counts.publication import ATTACKER
from discreet.app.http.describing import FILES, MISSING, Wanted
from discreet.app.http.door import HttpDoor
from discreet.app.http.entering import Asking, Caller, Door, Entered
from discreet.app.http.errors import MissingError
from discreet.app.http.release_files import in_form
from discreet.app.http.replies import KINDS as KINDS_OF_FILES
from discreet.app.http.replies import Form, sent
from discreet.app.ledger_object import belief_object, entry_object, release_object
from discreet.app.users import Role
from discreet.app.users.attempts import Reply
from discreet.belief import Belief, Promise
from discreet.core.errors import RequestError
from discreet.engines.duckdb_publisher import ReleaseTarget

router = APIRouter(prefix="/api/releases", tags=["reading"])
PRIVATE = {"path", "inner"}
"""Certificate entries for the custodian only: where the file is."""
KINDS = {
    "select": "answer",
    "with": "answer",
    "mine": "model",
    "synthesize": "synthetic table",
    "anonymize": "generalization",
}
COMMENTS = re.compile(r"\A(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*", re.DOTALL)
KEPT_AS_ROWS = ("synthetic table", "counts")
STATED = ("question", "epsilon", "rho", "delta", "guarantee")
USUAL, MOST, KEPT = 100, 10_000, 10_000
Last = Annotated[int, Query(ge=1, le=MOST, description="Return only the last ones.")]
HINT = "GET /api/releases lists them."


@router.get("")
def releases(caller: Entered, door: Door, last: Last = USUAL) -> dict[str, object]:
    """Return the last releases with their certificates, oldest first, and the number of all."""
    book, whole = door.curators.ledger, caller.user.role is Role.CUSTODIAN
    found: list[tuple[datetime, Callable[[], dict[str, object]]]] = [
        *((each.time, partial(_open, each, whole=whole)) for each in book.list_releases()),
        *((each.time, partial(_certified, book, each, number)) for number, each in _charged(door, caller)),
    ]
    shown = sorted(found, key=lambda each: each[0])[-last:]
    return {"releases": [told() for _, told in shown], "all": len(found)}


@router.get("/{number}", responses=MISSING)
def release(number: int, caller: Entered, door: Door) -> dict[str, object]:
    """Return a release without differential privacy, with its certificate."""
    for each in open_releases(door, caller):
        if each["id"] == number:
            return each
    raise MissingError("There is no such release.", hint=HINT)


@router.get("/{analyst}/{number}", responses=MISSING)
def charged(analyst: str, number: int, caller: Entered, door: Door) -> dict[str, object]:
    """Return a release that was charged to an analyst, with its certificate."""
    return _certified(door.curators.ledger, _found(door, caller, analyst, number), number)


@router.get("/{analyst}/{number}/rows", response_class=Response, responses=FILES | MISSING)
def rows(analyst: str, number: int, caller: Asking, door: Door, form: Wanted = Form.PARQUET) -> Response:
    """Return the stored rows of a synthetic table or of counts. Free: they were charged before."""
    entry = _found(door, caller, analyst, number)
    stored = door.curators.ledger.find_stored_answer(analyst, entry.question_key)
    if stored is None or _kind(entry) not in KEPT_AS_ROWS:
        raise RequestError("This release has no stored rows.", hint="Asking the same question again is free.")
    if form is Form.JSON:
        raise RequestError("Rows are sent as files.", hint="Give format=csv, arrow or parquet.")
    with tempfile.TemporaryDirectory(prefix="discreet-rows-") as folder:
        file = Path(folder) / "rows.parquet"
        file.write_bytes(stored.answer)
        content = in_form(file, form).read_bytes()
    named = {"Content-Disposition": f'attachment; filename="rows.{form.value}"'}
    return sent(Reply(status=200, kind=KINDS_OF_FILES[form], headers=named, body=content))


def _found(door: HttpDoor, caller: Caller, analyst: str, number: int) -> Entry:
    for place, each in _charged(door, caller):
        if (each.analyst, place) == (analyst, number):
            return each
    raise MissingError("There is no such release.", hint=HINT)


def open_releases(door: HttpDoor, caller: Caller) -> list[dict[str, object]]:
    """Return the releases without differential privacy, as JSON objects."""
    whole = caller.user.role is Role.CUSTODIAN
    return [_open(each, whole=whole) for each in door.curators.ledger.list_releases()]


def release_file(door: HttpDoor, number: int) -> str:
    """Return the path of an open release's file, with the table's name if it is a database."""
    for each in door.curators.ledger.list_releases():
        target = ReleaseTarget.from_ledger_entry(each.certificate)
        if each.id == number and target is not None and target.file.is_file():
            return target.source
    raise MissingError(f"Release {number} has no file here.", hint=HINT)


def _open(each: NonPrivateRelease, *, whole: bool) -> dict[str, object]:
    shown = {name: value for name, value in each.certificate.items() if whole or name not in PRIVATE}
    kind = each.certificate.get("kind", "table")
    return {"id": each.id, "private": False, "kind": kind} | release_object(each) | {"certificate": shown}


def _charged(door: HttpDoor, caller: Caller) -> list[tuple[int, Entry]]:
    """Return the settled entries that the caller may see, numbered per analyst."""
    book = door.curators.ledger
    own = caller.user.role is Role.ANALYST
    analysts = [caller.asks_as] if own else [each.analyst for each in book.list_accounts()]
    return [
        (number, entry)
        for analyst in analysts
        for number, entry in enumerate(book.list_entries(analyst), 1)
        if entry.state is EntryState.SETTLED
    ]


def _certified(book: Ledger, entry: Entry, number: int) -> dict[str, object]:
    told = entry_object(entry)
    kind = _kind(entry)
    alone = _alone(entry.analyst, book.promise, entry.charge)
    terms = {name: told[name] for name in STATED if name in told}
    return {
        "id": number,
        "analyst": entry.analyst,
        "private": True,
        "kind": kind,
        "name": entry.question,
        "time": told["time"],
        "certificate": {
            "kind": f"differentially private {kind}",
            **terms,
            "relation": entry.guarantee.relation.value,
            "belief": belief_object(alone, book.promise.posterior),
            "attacker": ATTACKER,
        },
    }


def _kind(entry: Entry) -> str:
    """Return the kind of a release from the first word of its question, after leading comments."""
    (word,) = re.findall(r"\w*", COMMENTS.sub("", entry.question, count=1))[:1]
    return KINDS.get(word.lower(), "counts")


@lru_cache(KEPT)
def _alone(analyst: str, promise: Promise, charge: Cost) -> Belief:
    """Return the belief after this release alone.

    The cache is keyed by analyst, so a fast response does not reveal that another analyst paid the same cost.
    """
    return Accountant(promise).spend(charge).compute_belief()
