"""What every test may ask for: repeatable randomness, and real data where it is there.

Whatever is given no randomness of its own draws from the system. In a test it draws from a generator that
begins anew with each test, so that a run repeats: what passes here passes elsewhere. Processes that a test
starts draw from the system.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from discreet.app.sample import write, write_policy
from discreet.core.randomness import SYSTEM, Randomness
from tests.engines import servers

settings.register_profile(
    "steady",
    derandomize=True,
    deadline=None,  # no example, and no drawing of one, is too slow on any machine
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    max_examples=100,
)
settings.load_profile("steady")

SHARED = Path(__file__).parents[2] / "shared"


def seeded(seed: int) -> Randomness:
    return Randomness(source=np.random.Generator(np.random.Philox(seed)).bytes)


class Steady:
    """The system's generator, as it is in a test."""

    generator = np.random.Generator(np.random.Philox(0))

    def bytes(self, count: int) -> bytes:
        return self.generator.bytes(count)

    def begin(self, name: str) -> None:
        self.generator = np.random.Generator(np.random.Philox(zlib.crc32(name.encode())))


STEADY = Steady()


def pytest_runtest_setup(item: pytest.Item) -> None:
    Randomness.__init__.__defaults__ = (STEADY.bytes,)
    object.__setattr__(SYSTEM, "source", STEADY.bytes)
    STEADY.begin(item.nodeid)


def pytest_runtest_call(item: pytest.Item) -> None:
    STEADY.begin(item.nodeid)  # whatever its fixtures have drawn: those of a session are made by one test


@pytest.fixture
def random() -> Randomness:
    return seeded(20_240_229)


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample tables and their policy, made once; a test that asks them works on a copy."""
    folder = tmp_path_factory.mktemp("samples")
    write(folder)
    write_policy(folder)
    return folder


@pytest.fixture(scope="session")
def adult() -> Path:
    """The UCI Adult files; tests that compare with the papers skip where they are missing."""
    folder = Path(os.environ.get("DISCREET_ADULT", SHARED / "data" / "adult_uci"))
    if not (folder / "adult.data").exists():
        pytest.skip(f"no Adult data at {folder}: set DISCREET_ADULT to a folder with adult.data")
    return folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[servers.PostgresServer]:
    """A cluster, started once for a run of the tests."""
    with servers.postgres() as server:
        yield server
