"""Every release that the ledger knows, with its certificate.

Open        Tables that were published without differential privacy: everybody reads their certificates, where
            the file is only the custodian.
Charged     Answers, models, synthetic tables and counts, by the analyst whose they are and their place among
            all that was charged to that analyst, which says nothing about the others. An analyst reads the
            own ones; auditor and custodian read all. A certificate says what is promised of a release, never
            what it holds; rows are for the analyst they were charged to, and the custodian.
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

from discreet.accounting.accountant import Accountant
from discreet.accounting.budget_amounts import Cost
from discreet.accounting.ledger import Ledger
from discreet.accounting.ledger_entries import Entry, EntryState, NonPrivateRelease
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
"""What a certificate says to the custodian alone: where the file is."""
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
Last = Annotated[int, Query(ge=1, le=MOST, description="How many of them.")]
HINT = "GET /api/releases lists them."


@router.get("")
def releases(caller: Entered, door: Door, last: Last = USUAL) -> dict[str, object]:
    """What was released, with certificates, in the order of time; the last ones of all that there are."""
    book, whole = door.curators.ledger, caller.user.role is Role.CUSTODIAN
    found: list[tuple[datetime, Callable[[], dict[str, object]]]] = [
        *((each.time, partial(_open, each, whole=whole)) for each in book.list_releases()),
        *((each.time, partial(_certified, book, each, number)) for number, each in _charged(door, caller)),
    ]
    shown = sorted(found, key=lambda each: each[0])[-last:]
    return {"releases": [told() for _, told in shown], "all": len(found)}


@router.get("/{number}", responses=MISSING)
def release(number: int, caller: Entered, door: Door) -> dict[str, object]:
    """One release that is not differentially private, with its certificate."""
    for each in open_releases(door, caller):
        if each["id"] == number:
            return each
    raise MissingError("There is no such release.", hint=HINT)


@router.get("/{analyst}/{number}", responses=MISSING)
def charged(analyst: str, number: int, caller: Entered, door: Door) -> dict[str, object]:
    """One release that was charged to an analyst, with its certificate."""
    return _certified(door.curators.ledger, _found(door, caller, analyst, number), number)


@router.get("/{analyst}/{number}/rows", response_class=Response, responses=FILES | MISSING)
def rows(analyst: str, number: int, caller: Asking, door: Door, form: Wanted = Form.PARQUET) -> Response:
    """The rows of a synthetic table or of counts, as the ledger keeps them; they were charged already."""
    entry = _found(door, caller, analyst, number)
    stored = door.curators.ledger.find_stored_answer(analyst, entry.question_key)
    if stored is None or _kind(entry) not in KEPT_AS_ROWS:
        raise RequestError("This is not kept as rows.", hint="A question that is asked again is free.")
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
    """What was published without differential privacy."""
    whole = caller.user.role is Role.CUSTODIAN
    return [_open(each, whole=whole) for each in door.curators.ledger.list_releases()]


def release_file(door: HttpDoor, number: int) -> str:
    """Where the file of an open release is; a table of a database is named, too."""
    for each in door.curators.ledger.list_releases():
        target = ReleaseTarget.from_ledger_entry(each.certificate)
        if each.id == number and target is not None and target.file.is_file():
            return target.source
    raise MissingError(f"There is no file of a release {number}.", hint=HINT)


def _open(each: NonPrivateRelease, *, whole: bool) -> dict[str, object]:
    shown = {name: value for name, value in each.certificate.items() if whole or name not in PRIVATE}
    kind = each.certificate.get("kind", "table")
    return {"id": each.id, "private": False, "kind": kind} | release_object(each) | {"certificate": shown}


def _charged(door: HttpDoor, caller: Caller) -> list[tuple[int, Entry]]:
    """What was charged to analysts and released, each by its place among that analyst's own."""
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
    """By its first word; a question may have comments before it."""
    (word,) = re.findall(r"\w*", COMMENTS.sub("", entry.question, count=1))[:1]
    return KINDS.get(word.lower(), "counts")


@lru_cache(KEPT)
def _alone(analyst: str, promise: Promise, charge: Cost) -> Belief:
    """What one release does to a belief; kept for each analyst apart, as it takes longer the first time."""
    return Accountant(promise).spend(charge).compute_belief()
