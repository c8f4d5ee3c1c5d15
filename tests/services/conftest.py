"""The sample tables, written once for a module, and their policy with a ledger of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.services.sample import write_policy, write_samples


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    write_samples(folder)
    return write_policy(folder)


@pytest.fixture
def policy(sample: Path, tmp_path: Path) -> str:
    path = sample.with_name(f"{tmp_path.name}.yaml")
    path.write_text(f"ledger: {tmp_path}/ledger.db\nstore: {sample.parent}/store\n" + sample.read_text())
    return str(path)
