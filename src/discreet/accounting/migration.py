"""Migration of a ledger that was written before entries were chained.

Its entries and releases are chained as they are, in order, and a link records the migration and its time:
changes before it cannot be detected. A ledger whose accounts are not the sums of its entries is refused, as
it was before.
"""

from __future__ import annotations

from discreet.accounting.hash_chain import (
    CHARGE,
    IDENTITY_BYTES,
    NO_SUMS,
    RELEASE,
    HashChain,
    LinkKind,
    RunningSums,
    digest_charge,
    format_current_time,
)
from discreet.accounting.ledger_storage import LedgerStorage, SqlTransaction

EVERYBODY = ""
TERMS = ("prior", "posterior", "secret", "group", "tail", "leak")


def chain_existing_entries(rows: SqlTransaction, storage: LedgerStorage, format_version: int) -> None:
    """Chain the entries and releases of a ledger of an older format, inside the caller's transaction."""
    terms = rows.execute("SELECT prior, posterior, secret, people, tail, leak FROM terms").fetchone()
    if terms is None:
        return
    chain = HashChain(rows, storage)
    first = rows.execute(f"SELECT {', '.join(CHARGE)} FROM entry ORDER BY id LIMIT 1").fetchone()
    if first is None:
        chain.append_terms(dict(zip(TERMS, terms, strict=True)))
    else:
        # older copies of the same ledger get the same identity, so that they are recognized as such
        row = dict(zip(CHARGE, first, strict=True))
        chain.append_terms(
            dict(zip(TERMS, terms, strict=True)),
            identity=digest_charge(row)[: 2 * IDENTITY_BYTES],
            time=row["time"],
        )
    releases = rows.execute(f"SELECT {', '.join(RELEASE)} FROM release ORDER BY id").fetchall()
    pending = [dict(zip(RELEASE, row, strict=True)) for row in releases]
    running: dict[str, RunningSums] = {EVERYBODY: NO_SUMS}
    entries = rows.execute(f"SELECT state, {', '.join(CHARGE)} FROM entry ORDER BY id").fetchall()
    for state, *values in entries:
        row = dict(zip(CHARGE, values, strict=True))
        while pending and pending[0]["after"] < row["id"]:
            chain.append_release(pending.pop(0))
        for owner in (row["analyst"], EVERYBODY):
            running[owner] = chain.add_sums(running.get(owner, NO_SUMS), row)
        chain.append_charge(row, running[row["analyst"]], running[EVERYBODY])
        if state in ("settled", "faulted"):
            chain.append_outcome(row["id"])
    for row in pending:
        chain.append_release(row)
    chain.append(
        LinkKind.MIGRATION, {"format": format_version, "entries": len(entries), "time": format_current_time()}
    )
