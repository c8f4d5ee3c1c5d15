"""The guide says of each engine what the suite shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines.support import GUIDE, SHOWN, guide


def test_the_guide_has_the_table_of_the_suite() -> None:
    assert guide(GUIDE.read_text()) == GUIDE.read_text(), "python -m tests.engines.support writes it anew"


@pytest.mark.parametrize("test", [test for test, _ in SHOWN.values() if test])
def test_what_is_said_of_an_engine_is_shown_by_a_test_that_exists(test: str) -> None:
    file, _, name = test.partition("::")
    assert f"\ndef {name}(" in (Path(__file__).parent / file).read_text()
