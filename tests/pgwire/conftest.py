"""One server for the tests of real clients, another for those that spend."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pgwire.served import Served, served, write_data


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wire")
    write_data(folder)
    return folder


@pytest.fixture
def server(data: Path, tmp_path: Path) -> Iterator[Served]:
    """A server with a ledger of its own."""
    for name in ("people.parquet", "visits.parquet", "privacy.yaml"):
        (tmp_path / name).write_bytes((data / name).read_bytes())
    with served(tmp_path) as running:
        yield running


@pytest.fixture(scope="session")
def long_lived(data: Path) -> Iterator[Served]:
    """A server for whatever is not about its ledger."""
    with served(data) as running:
        yield running
