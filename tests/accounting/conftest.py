"""The places where a ledger can be kept, each with nothing in it yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines.servers import PostgresServer


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.xdist_group("postgres"))])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """One after the other: what holds of a ledger holds wherever it is kept."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.schema()
