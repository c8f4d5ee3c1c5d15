"""What every test may ask for: repeatable randomness, and real data where it is there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from discreet.core.randomness import Randomness
from tests.engines import servers

settings.register_profile("steady", derandomize=True, deadline=None, max_examples=100)
settings.load_profile("steady")

SHARED = Path(__file__).parents[2] / "shared"


def seeded(seed: int) -> Randomness:
    return Randomness(source=np.random.Generator(np.random.Philox(seed)).bytes)


@pytest.fixture
def random() -> Randomness:
    return seeded(20_240_229)


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
