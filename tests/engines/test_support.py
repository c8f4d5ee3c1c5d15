"""The guide says of each engine what the suite shows."""

from __future__ import annotations

from tests.engines.support import ENGINES, GUIDE, guide, shown


def test_the_guide_has_the_table_of_the_suite() -> None:
    assert guide(GUIDE.read_text()) == GUIDE.read_text(), "python -m tests.engines.support writes it anew"


def test_nothing_is_shown_twice_and_every_engine_is_one_of_ours() -> None:
    found = list(shown())
    assert len({what for what, _ in found}) == len(found) > 10
    assert {engine for _, cannot in found for engine in cannot} <= ENGINES.keys()
