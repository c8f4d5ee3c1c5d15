"""Acceptance: analysts are answered only about data that the custodian has accepted, in the version they ask.

Bound       to the data version, to the digest of the source's contents, and to how the policy reads them:
            the options of its reader, types, bounds, values, person and links. When one of them changes, the
            table needs another acceptance. Live tables of a database, frames and tables without people have
            no digest: their acceptance is for the data version alone.
Limits      Data past the policy's `at_most` is accepted only `despite` that.
Analysts    meanwhile see one constant sentence, which is free. Whether data is accepted depends on what the
            custodian does, and on nothing else; the act may reflect the data (docs/threat-model.md).
Custodian   Whoever opens the policy's file, on the command line or in Python, is the custodian, and is not
            stopped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from discreet.accounting.data_acceptance import TableState
from discreet.accounting.ledger import Ledger
from discreet.core.engine_faults import CUSTODIAN_LOG
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.table_entry import Table
from discreet.engines.content_digests import have_changed
from discreet.services import fault_log
from discreet.services.check.check_report import DataCheck
from discreet.services.check.verdicts import Verdict
from discreet.services.source_digests import digest_source

TABLE_FIELDS = {"person", "rows_per_person", "links", "csv"}
COLUMN_FIELDS = {"source_name", "type", "low", "high", "resolution", "values", "nulls"}
"""What a policy says of how values are read and bounded."""


class NotAcceptedError(RequestError):
    """A question about data that the custodian has not accepted yet."""

    code = "not-accepted"

    def __init__(self) -> None:
        super().__init__(
            "ask: the custodian has not accepted this version of the data yet; nothing was charged.",
            hint="Ask again when the custodian has.",
        )


def digest_reading(table: Table, *, is_live: bool) -> str:
    """Return a digest of how a table is read; for a live table, also of its name in the database."""
    meant: dict[str, Any] = table.model_dump(
        mode="json", include=TABLE_FIELDS, exclude_defaults=True, exclude_none=True
    )
    meant["columns"] = {
        name: column.model_dump(mode="json", include=COLUMN_FIELDS, exclude_defaults=True, exclude_none=True)
        for name, column in table.columns.items()
    }
    if is_live:
        meant["source"] = table.source
    text = json.dumps(meant, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def find_table_state(policy: Policy, name: str, frames: Collection[str] = ()) -> TableState:
    """Return the present state of a table, which an acceptance is bound to."""
    digest = digest_source(policy, name, frames)
    reading = digest_reading(policy.tables[name], is_live=digest is None)
    return TableState(version=policy.data_version, digest=digest, reading=reading)


def find_table_states(policy: Policy, frames: Collection[str] = ()) -> dict[str, TableState]:
    """Return the present states of all tables of a policy."""
    return {name: find_table_state(policy, name, frames) for name in policy.tables}


def list_unaccepted(ledger: Ledger, states: Mapping[str, TableState]) -> list[str]:
    """Return the tables whose present state the custodian has not accepted."""
    accepted = [table for each in ledger.list_acceptances() for table in each.tables.items()]
    return [
        name
        for name, state in states.items()
        if not any(own == name and _is_same_state(known, state) for own, known in accepted)
    ]


def _is_same_state(known: TableState, now: TableState) -> bool:
    if (known.version, known.reading) != (now.version, now.reading):
        return False
    if known.digest is None or now.digest is None:
        return known.digest is now.digest
    return not have_changed(known.digest, now.digest)


def mark_accepted(check: DataCheck, ledger: Ledger, states: Mapping[str, TableState]) -> DataCheck:
    """Return the check with the tables marked whose present state is accepted."""
    missing = list_unaccepted(ledger, states)
    return replace(
        check,
        tables=tuple(
            replace(table, accepted=table.name in states and table.name not in missing)
            for table in check.tables
        ),
    )


def accept_data(
    policy: Policy,
    ledger: Ledger,
    check: DataCheck,
    states: Mapping[str, TableState],
    *,
    despite: bool = False,
) -> DataCheck:
    """Record that the custodian accepts the tables of a check; return the check with them marked.

    `states` are those of the tables before they were checked. Past `at_most` it takes `despite`.
    """
    beyond = [table.name for table in check.tables if table.verdict is Verdict.EXCEEDS]
    if beyond and not despite:
        raise RequestError(
            f"check: {', '.join(beyond)} departs from the policy by more than at_most allows; nothing was "
            "accepted.",
            hint="Correct it as the check proposes, or accept it all the same with `despite=`.",
        )
    chosen = {table.name: states[table.name] for table in check.tables}
    changed = [
        name
        for name, state in chosen.items()
        if state.digest is not None and find_table_state(policy, name) != state
    ]
    if changed:
        raise RequestError(
            f"check: the data of table {changed[0]} changed while it was checked; nothing was accepted.",
            hint="Check it again when nothing writes to it.",
        )
    ledger.accept_data(chosen, despite=bool(beyond))
    with fault_log.log_faults(policy.ledger):
        for table in check.tables:
            CUSTODIAN_LOG.warning(
                "the custodian accepted data version %s: %s", policy.data_version, table.summary
            )
    return mark_accepted(check, ledger, states)
