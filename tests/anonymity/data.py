"""Where the published microdata is: DISCREET_DATA, else ../shared/data beside the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import SHARED

DATA = Path(os.environ.get("DISCREET_DATA", SHARED / "data"))

needs_data = pytest.mark.skipif(
    not (DATA / "adult_arx").is_dir(), reason=f"no microdata at {DATA}: set DISCREET_DATA"
)
