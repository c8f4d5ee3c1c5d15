"""Acceptances of data: which tables the custodian has accepted for answers, as links of the ledger's chain.

An acceptance is bound to what the custodian was shown: the data version, a digest of the source's contents,
and a digest of how the policy reads them. Tables of a live database have no digest of their contents, and
their acceptance is for the data version alone. Acceptances are never taken back: data that changes needs
another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from discreet.accounting.entries import LedgerTransaction
from discreet.accounting.hash_chain import LinkKind, format_current_time


@dataclass(frozen=True, kw_only=True)
class TableState:
    """One table as it was checked: its data version, the digest of its contents or None, and its reading."""

    version: str
    digest: str | None
    reading: str


@dataclass(frozen=True, kw_only=True)
class DataAcceptance:
    """The custodian's acceptance of tables; `despite` says that they went past the policy's `at_most`."""

    time: datetime
    tables: Mapping[str, TableState]
    despite: bool


def record_acceptance(
    transaction: LedgerTransaction, tables: Mapping[str, TableState], *, despite: bool
) -> None:
    """Append a link that accepts tables in their present state."""
    listed = {name: vars(state) for name, state in tables.items()}
    body = {"tables": listed, "despite": despite, "time": format_current_time()}
    transaction.chain.append(LinkKind.ACCEPTANCE, body)


def list_acceptances(transaction: LedgerTransaction) -> list[DataAcceptance]:
    """Return all acceptances, in order."""
    return [_parse_acceptance(link.body) for link in transaction.chain.list_links(LinkKind.ACCEPTANCE)]


def _parse_acceptance(body: Mapping[str, Any]) -> DataAcceptance:
    return DataAcceptance(
        time=datetime.fromisoformat(body["time"]),
        tables={name: TableState(**state) for name, state in body["tables"].items()},
        despite=bool(body["despite"]),
    )
