"""Servers for attackers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http.served import Server, both_listeners
from tests.pgwire.served import Served, served, write_data
from tests.security.attacked import attacked  # noqa: F401  a fixture


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    write_data(tmp_path)
    with served(tmp_path) as running:
        yield running


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Server]:
    write_data(tmp_path)
    with both_listeners(tmp_path) as running:
        yield running


@pytest.fixture(scope="session")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for whatever may be sent."""
    folder = tmp_path_factory.mktemp("fuzzed")
    write_data(folder)
    with both_listeners(folder) as running:
        yield running
