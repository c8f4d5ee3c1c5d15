"""One server for what is not about its ledger, another for tests that spend."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http.served import Server, both_listeners
from tests.pgwire.served import write_data


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    write_data(tmp_path)
    with both_listeners(tmp_path) as running:
        yield running


@pytest.fixture(scope="session")
def long_lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("http")
    write_data(folder)
    with both_listeners(folder) as running:
        yield running
