"""What every test may ask for: repeatable randomness, and real data where it is there.

Whatever is given no randomness of its own draws from the system. In a test it draws from a generator that
begins anew with each test, so that a run repeats: what passes here passes elsewhere. Processes that a test
starts draw from the system.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from argon2 import PasswordHasher
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling, Scheduling

from discreet.accounting.mark_files import HighWaterMark, MarkFile, MarkStanding
from discreet.core.randomness import SYSTEM, Randomness
from discreet.services.sample import write_policy, write_samples
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

    def begin(self, item: pytest.Item, phase: str = "") -> None:
        name = f"{item.location[0]}::{item.name}{phase}"
        self.generator = np.random.Generator(np.random.Philox(zlib.crc32(name.encode())))


STEADY = Steady()


class Together(LoadScopeScheduling):  # type: ignore[misc]
    """Files go to workers as a whole, those of many tests first; all that needs Spark is one of them."""

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        return "spark" if "spark" in test else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    """The tests of a file share a worker, which makes servers, samples and kernels for them once."""
    return Together(config, log)


def pytest_runtest_setup(item: pytest.Item) -> None:
    Randomness.__init__.__defaults__ = (STEADY.bytes,)
    object.__setattr__(SYSTEM, "source", STEADY.bytes)
    STEADY.begin(item, " setup")


def pytest_runtest_call(item: pytest.Item) -> None:
    STEADY.begin(item)  # whatever its fixtures have drawn: those of a session are made by one test


@pytest.fixture(scope="session", autouse=True)
def quick_hashes() -> Iterator[None]:
    """Hashes of passwords are meant to take their time, and tests make hundreds of them."""
    quick = PasswordHasher(time_cost=1, memory_cost=64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.services.users.user_accounts._get_hasher", lambda: quick)
        yield


@pytest.fixture(autouse=True)
def unasked_data() -> Iterator[None]:
    """Every test begins with data that nobody has asked about: what several share is marked by none of them.

    A test that is about marks has folders of its own, which are its `tmp_path`.
    """
    marked = set[Path]()
    written = MarkFile.advance

    def remembered(
        file: MarkFile, mark: HighWaterMark, classify: Callable[[HighWaterMark], MarkStanding]
    ) -> list[HighWaterMark]:
        marked.add(file.path)
        return written(file, mark, classify)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MarkFile, "advance", remembered)
        yield
    for path in marked:
        with suppress(OSError):
            path.unlink()


@pytest.fixture
def random() -> Randomness:
    return seeded(20_240_229)


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample tables and their policy, made once; a test that asks them works on a copy."""
    folder = tmp_path_factory.mktemp("samples")
    write_samples(folder)
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
