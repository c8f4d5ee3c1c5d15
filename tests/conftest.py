"""What every test may ask for: repeatable randomness, and real data where it is there."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from discreet.app.sample import write, write_policy
from discreet.core.randomness import Randomness

settings.register_profile("steady", derandomize=True, deadline=None, max_examples=100)
settings.load_profile("steady")

SHARED = Path(__file__).parents[2] / "shared"


def seeded(seed: int) -> Randomness:
    return Randomness(source=np.random.Generator(np.random.Philox(seed)).bytes)


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
