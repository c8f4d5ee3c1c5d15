"""The store key of a shared ledger: one secret key for the prepared stores of all its servers.

The key decides how people are hashed and which of a person's rows are kept, and it is part of a store's name.
Servers that share a ledger therefore share the key: the same question then means the same at each of them,
and over one database they build and use one store. The ledger's own server draws the key when the first of
them starts, so that no statement, and no log of statements, contains it. The key is in the ledger's database,
as is the key that signs sessions: a role that can read that database can read both.
"""

from __future__ import annotations

from discreet.accounting.shared_database import DRAWN, SharedDatabase

TABLES = ("store_key",)
SCHEMA = ("CREATE TABLE store_key (one INTEGER PRIMARY KEY CHECK (one = 1), key BYTEA NOT NULL)",)
FIND = "SELECT key FROM store_key"
DRAW = f"INSERT INTO store_key (one, key) VALUES (1, pg_catalog.sha256({DRAWN})) ON CONFLICT (one) DO NOTHING"


def get_shared_store_key(address: str) -> bytes:
    """Return the key in the ledger's database; have one drawn there if there is none."""
    database = SharedDatabase(address)
    try:
        database.create_tables(TABLES, SCHEMA)
        with database.translate_errors(), database.write_transaction("store_key") as rows:
            found = rows.execute(FIND).fetchone()
            if found is None:
                # another server may draw one at the same moment: the first commit wins, for both
                rows.execute(DRAW)
                found = rows.execute(FIND).fetchone()
            return bytes(found[0])
    finally:
        database.close()
