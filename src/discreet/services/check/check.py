"""Running a check: the counts, whether the data is accepted, and the acceptance if the custodian asks for it.

Opened      The first time that a policy's data is opened, when its store is prepared or a server starts, the
            check runs too, and a sentence on each table that does not fit goes to the custodian's log. A file
            beside the ledger, readable by its owner only, keeps these sentences, so that the check runs once
            for each state of the data. It never keeps the data from being opened.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from sqlglot import exp

from discreet.accounting.ledger import Ledger
from discreet.accounting.ledger_storage import MEMORY, find_sibling_file
from discreet.core.engine_faults import CUSTODIAN_LOG
from discreet.core.errors import DiscreetError
from discreet.core.output_files import write_output
from discreet.core.policy import Policy
from discreet.services import fault_log
from discreet.services.check.acceptance import (
    accept_data,
    digest_reading,
    find_table_states,
    list_unaccepted,
    mark_accepted,
)
from discreet.services.check.check_report import DataCheck
from discreet.services.check.check_request import CheckFields
from discreet.services.check.data_check import check_data
from discreet.services.check.verdicts import Verdict
from discreet.services.ledgers import open_ledger, open_ledger_readonly
from discreet.services.policies import get_promise
from discreet.services.policy_engines import require_unchanged_sources
from discreet.services.progress import ignore_progress
from discreet.services.session_ledger import is_session_ledger
from discreet.services.source_digests import describe_source_state
from discreet.sql.query_parser import parse_statement

RECORD_SUFFIX = ".check.json"
CHECKED_FRAMES: set[tuple[str, ...]] = set()
"""The versions of the session's frames that were checked already, with how each was read."""
MAX_WARNED = 5


@dataclass(frozen=True, kw_only=True)
class CheckSummary:
    """One table's verdict, and a sentence on it."""

    table: str
    verdict: Verdict
    text: str


def run_check(
    policy: Policy,
    request: CheckFields,
    *,
    frames: Mapping[str, pa.Table] | None = None,
    ledger: Ledger | None = None,
    progress: Callable[[str], None] = ignore_progress,
) -> DataCheck:
    """Check the tables of a request, and accept them if it says so; `ledger` is the policy's, if open."""
    held = frames or {}
    if request.accept:
        get_promise(policy)  # without one there is no ledger, and nobody to be answered
        require_unchanged_sources(policy, held)
    # before the data is read, so that what is accepted is not newer than what was checked
    states = find_table_states(policy, held) if request.accept else {}
    check = check_data(policy, request.tables, frames=held, progress=progress)
    if not held:
        _record_summaries(policy, _summarize(check), is_partial=bool(request.tables))
    if not request.accept:
        return _find_accepted(policy, check, held, ledger)
    if ledger is not None:
        return accept_data(policy, ledger, check, states, despite=request.despite)
    with open_ledger(policy, frames=held) as opened:
        return accept_data(policy, opened, check, states, despite=request.despite)


def _find_accepted(
    policy: Policy, check: DataCheck, frames: Mapping[str, pa.Table], ledger: Ledger | None
) -> DataCheck:
    if policy.promise is None:
        return check
    if ledger is None:
        with open_ledger_readonly(policy) as opened:
            return _find_accepted(policy, check, frames, opened)
    if not ledger.list_acceptances():  # then there is no need to read files for their digests
        return check
    return mark_accepted(check, ledger, find_table_states(policy, frames))


def check_at_opening(policy: Policy, progress: Callable[[str], None] = ignore_progress) -> list[CheckSummary]:
    """Return a summary of each table, from the last check of the same data or from one that runs now.

    What does not fit goes to the custodian's log. A check that fails is logged, and returns nothing.
    """
    place = find_sibling_file(policy.ledger, RECORD_SUFFIX)
    recorded = None if place is None else _read_summaries(place, policy)
    if recorded is not None:
        return recorded
    try:
        found = _summarize(check_data(policy, progress=progress))
        _record_summaries(policy, found)
    except DiscreetError as error:
        with fault_log.log_faults(policy.ledger):
            CUSTODIAN_LOG.warning("the check of the data failed: %s", error)
        return []
    with fault_log.log_faults(policy.ledger):
        for each in found:
            if each.verdict is not Verdict.FITS:
                CUSTODIAN_LOG.warning("check: %s", each.text)
    return found


def warn_of_misfits(policy: Policy, frames: Mapping[str, pa.Table]) -> None:
    """Warn, once for each version and declaration of the session's frames, if more does not fit than allowed.

    Whoever holds a frame is its custodian, and is not stopped.
    """
    if not frames:
        return
    if is_session_ledger(policy.ledger):
        readings = (digest_reading(policy.tables[name], is_live=True) for name in frames)
        checked = (policy.data_version, *readings)
        if checked in CHECKED_FRAMES:
            return
        CHECKED_FRAMES.add(checked)
    try:
        found = check_data(policy, list(frames), frames=frames)
    except DiscreetError:
        return
    worst = [
        f"{table.name}.{column.name} ({column.text})"
        for table in found.tables
        for column in table.columns
        if column.verdict is Verdict.EXCEEDS
    ]
    if worst:
        shown = f"{', '.join(worst[:MAX_WARNED])}{', …' if len(worst) > MAX_WARNED else ''}"
        told = f"check: not as declared: {shown}. No ± shows that; discreet.check shows it all."
        warnings.warn(told, stacklevel=5)


def warn_at_opening(
    policy: Policy, ledger: Ledger, frames: Mapping[str, pa.Table], progress: Callable[[str], None]
) -> None:
    """Check data that a program opens, and warn where it departs from the policy too far."""
    if policy.is_embedded and policy.ledger != MEMORY and not frames:
        _warn_of_unaccepted_data(policy, ledger, check_at_opening(policy, progress))
    warn_of_misfits(policy, frames)


def _warn_of_unaccepted_data(policy: Policy, ledger: Ledger, found: list[CheckSummary]) -> None:
    """Warn if a table that was not accepted departs from the policy by more than `at_most` allows."""
    beyond = [each for each in found if each.verdict is Verdict.EXCEEDS]
    if not beyond:
        return
    missing = list_unaccepted(ledger, find_table_states(policy))
    told = " ".join(each.text for each in beyond if each.table in missing)
    if told:
        shows = "No ± shows that; discreet.check shows it all, and curator.check accepts it."
        warnings.warn(f"check: not as declared, and not accepted: {told} {shows}", stacklevel=6)


def list_unaccepted_summaries(
    policy: Policy, ledger: Ledger, questions: Iterable[str], frames: Mapping[str, pa.Table]
) -> list[CheckSummary]:
    """Return the summaries of the tables of questions that are not accepted; none for a ledger in memory."""
    if policy.ledger == MEMORY:
        return []
    parsed = [parse_statement(each) for each in questions]
    named = {table.name.lower() for each in parsed for table in each.find_all(exp.Table)}
    missing = list_unaccepted(ledger, find_table_states(policy, frames))
    chosen = {name for name in missing if name.lower() in named and name not in frames}
    return [each for each in check_at_opening(policy) if each.table in chosen] if chosen else []


def _summarize(check: DataCheck) -> list[CheckSummary]:
    return [
        CheckSummary(table=table.name, verdict=table.verdict, text=table.summary) for table in check.tables
    ]


def _record_summaries(policy: Policy, found: list[CheckSummary], *, is_partial: bool = False) -> None:
    """Keep the summaries beside the ledger, with what they depend on."""
    place = find_sibling_file(policy.ledger, RECORD_SUFFIX)
    if place is None or is_partial or not place.parent.is_dir():
        return
    tables = {each.table: {"verdict": each.verdict.value, "text": each.text} for each in found}
    content = {"state": _describe_data(policy), "tables": tables}
    write_output(place, json.dumps(content, indent=1), private=True)


def _read_summaries(place: Path, policy: Policy) -> list[CheckSummary] | None:
    """Return the summaries of the last check, or None if it was of other data or another policy."""
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
        if content["state"] != _describe_data(policy):
            return None
        return [
            CheckSummary(table=name, verdict=Verdict(each["verdict"]), text=str(each["text"]))
            for name, each in content["tables"].items()
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _describe_data(policy: Policy) -> object:
    """Return what a check depends on: the version, the reading of each table and the state of its files."""
    return {
        name: [policy.data_version, digest_reading(table, is_live=True), describe_source_state(policy, name)]
        for name, table in policy.tables.items()
    }
