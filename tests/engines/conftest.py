"""The engines beside DuckDB, each started once for a run of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.engines import servers
from tests.engines.servers import Server
from tests.engines.support import FIXTURES, expect_failures


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    expect_failures(items)


@pytest.fixture(scope="session")
def spark() -> Iterator[servers.SparkServer]:
    with servers.spark() as server:
        yield server


@pytest.fixture(params=FIXTURES)
def server(request: pytest.FixtureRequest) -> Server:
    """One after the other."""
    found: Any = request.getfixturevalue(request.param)
    return found  # type: ignore[no-any-return]
