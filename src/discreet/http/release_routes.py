"""Routes of releases: every release in the ledger, with its certificate.

Open        Tables that were published without differential privacy. All users read their certificates; only
            the custodian sees where the file is.
Charged     Answers, models, synthetic tables and counts, identified by analyst and by their position among
            that analyst's entries, which reveals nothing about other analysts. An analyst reads only the own
            ones; auditor and custodian read all. A certificate states what is promised about a release, never
            its content; rows are for the charged analyst and the custodian.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Response

from discreet.accounting.accountant import Accountant
from discreet.accounting.amounts import Cost
from discreet.accounting.entries import Entry, EntryState
from discreet.accounting.ledger import Ledger
from discreet.belief import Belief, Promise
from discreet.belief.wording import ATTACKER
from discreet.core.errors import RequestError
from discreet.http.app_context import RELEASES_HINT, AppContext, Context
from discreet.http.authentication import AskingCaller, Caller, CurrentCaller
from discreet.http.http_errors import NotFoundError
from discreet.http.openapi import FILE_RESPONSES, NOT_FOUND_RESPONSE, FormatParameter
from discreet.http.responses import MEDIA_TYPES as KINDS_OF_FILES
from discreet.http.responses import ResponseFormat, to_http_response
from discreet.rendering.ledger_view import (
    belief_to_json,
    entry_to_json,
    open_release_to_json,
)
from discreet.services.release_files import convert_release_file
from discreet.services.users import Role
from discreet.services.users.idempotency_keys import StoredResponse

router = APIRouter(prefix="/api/releases", tags=["reading"])
RELEASE_KINDS = {
    "train": "model",
    "mine": "model",  # the name of `train` in entries of older ledgers
    "synthesize": "synthetic table",
    "anonymize": "generalization",
    "bounds": "bounds",
    "tabulate": "counts",
    "itemsets": "counts",
    "stream": "counts",
    "collect": "randomized answers",
}
"""The kind of a release by the verb that its entry begins with; anything else is the text of a query."""
KINDS_WITH_ROWS = ("synthetic table", "counts")
CERTIFICATE_FIELDS = ("question", "epsilon", "rho", "delta", "guarantee")
DEFAULT_COUNT, MAX_COUNT, BELIEF_CACHE_SIZE = 100, 10_000, 10_000
LastCount = Annotated[int, Query(ge=1, le=MAX_COUNT, description="Return only the last ones.")]


@router.get("")
def list_releases(
    caller: CurrentCaller, context: Context, last: LastCount = DEFAULT_COUNT
) -> dict[str, object]:
    """Return the last releases with their certificates, oldest first, and the number of all."""
    book, for_custodian = context.curators.ledger, caller.user.role is Role.CUSTODIAN
    found: list[tuple[datetime, Callable[[], dict[str, object]]]] = [
        *(
            (each.time, partial(open_release_to_json, each, for_custodian=for_custodian))
            for each in book.list_releases()
        ),
        *(
            (each.time, partial(_charged_release_to_json, book, each, number))
            for number, each in _list_charged_entries(context, caller)
        ),
    ]
    shown = sorted(found, key=lambda each: each[0])[-last:]
    return {"releases": [told() for _, told in shown], "all": len(found)}


@router.get("/{number}", responses=NOT_FOUND_RESPONSE)
def get_release(number: int, caller: CurrentCaller, context: Context) -> dict[str, object]:
    """Return a release without differential privacy, with its certificate."""
    for each in context.curators.ledger.list_releases():
        if each.id == number:
            return open_release_to_json(each, for_custodian=caller.user.role is Role.CUSTODIAN)
    raise NotFoundError("There is no such release.", hint=RELEASES_HINT)


@router.get("/{analyst}/{number}", responses=NOT_FOUND_RESPONSE)
def get_charged_release(
    analyst: str, number: int, caller: CurrentCaller, context: Context
) -> dict[str, object]:
    """Return a release that was charged to an analyst, with its certificate."""
    return _charged_release_to_json(
        context.curators.ledger, _find_charged_entry(context, caller, analyst, number), number
    )


@router.get(
    "/{analyst}/{number}/rows", response_class=Response, responses=FILE_RESPONSES | NOT_FOUND_RESPONSE
)
def get_release_rows(
    analyst: str,
    number: int,
    caller: AskingCaller,
    context: Context,
    response_format: FormatParameter = ResponseFormat.PARQUET,
) -> Response:
    """Return the stored rows of a synthetic table or of counts. Free: they were charged before."""
    entry = _find_charged_entry(context, caller, analyst, number)
    stored = context.curators.ledger.find_stored_answer(analyst, entry.question_key)
    if stored is None or not stored.answer or _classify_release(entry) not in KINDS_WITH_ROWS:
        raise RequestError("This release has no stored rows.", hint="Asking the same question again is free.")
    if response_format is ResponseFormat.JSON:
        raise RequestError("Rows are sent as files.", hint="Give format=csv, arrow or parquet.")
    with tempfile.TemporaryDirectory(prefix="discreet-rows-") as folder:
        file = Path(folder) / "rows.parquet"
        file.write_bytes(stored.answer)
        content = convert_release_file(file, f".{response_format.value}").read_bytes()
    named = {"Content-Disposition": f'attachment; filename="rows.{response_format.value}"'}
    return to_http_response(
        StoredResponse(status=200, media_type=KINDS_OF_FILES[response_format], headers=named, body=content)
    )


def _find_charged_entry(context: AppContext, caller: Caller, analyst: str, number: int) -> Entry:
    for place, each in _list_charged_entries(context, caller):
        if (each.analyst, place) == (analyst, number):
            return each
    raise NotFoundError("There is no such release.", hint=RELEASES_HINT)


def _list_charged_entries(context: AppContext, caller: Caller) -> list[tuple[int, Entry]]:
    """Return the settled entries that the caller may see, with their numbers."""
    book = context.curators.ledger
    own = caller.user.role is Role.ANALYST
    analysts = [caller.analyst] if own else [each.analyst for each in book.list_accounts()]
    return [
        (entry.number, entry)
        for analyst in analysts
        for entry in book.list_entries(analyst)
        if entry.state is EntryState.SETTLED
    ]


def _charged_release_to_json(book: Ledger, entry: Entry, number: int) -> dict[str, object]:
    told = entry_to_json(entry)
    kind = _classify_release(entry)
    alone = _compute_release_belief(entry.analyst, book.promise, entry.charge)
    terms = {name: told[name] for name in CERTIFICATE_FIELDS if name in told}
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
            "belief": belief_to_json(alone, book.promise.posterior),
            "attacker": ATTACKER,
        },
    }


def _classify_release(entry: Entry) -> str:
    """Return the kind of a release from the verb that its entry begins with.

    No query begins with a verb, so what an analyst writes, in a comment or before SELECT, chooses no kind.
    """
    return RELEASE_KINDS.get(entry.question.partition(" ")[0], "answer")


@lru_cache(BELIEF_CACHE_SIZE)
def _compute_release_belief(analyst: str, promise: Promise, charge: Cost) -> Belief:
    """Return the belief after this release alone.

    The cache is keyed by analyst, so a fast response does not reveal that another analyst paid the same cost.
    """
    return Accountant(promise).spend(charge).compute_belief()
