"""docs/sql.md says what the allow-lists say."""

from __future__ import annotations

from pathlib import Path

from discreet.sql.allowed_functions import FUNCTIONS
from discreet.sql.sql_reference import GROUPS, format_reference

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == format_reference(), (
        "python -m discreet.sql.sql_reference > docs/sql.md writes it anew"
    )


def test_the_page_lists_every_function_once() -> None:
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == sorted(FUNCTIONS)
