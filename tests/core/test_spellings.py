"""The declared value that a text probably means, at a cost that does not grow with what is declared."""

from __future__ import annotations

from discreet.core.spellings import LONGEST_COMPARED, MOST_COMPARED, list_nearest

FEW = ["Anderson", "Bergmann", "Carlsson"]
MANY = [f"{place:0{LONGEST_COMPARED}}" for place in range(MOST_COMPARED // LONGEST_COMPARED + 1)]


def test_a_typing_error_is_found_among_few_values_and_not_looked_for_among_many() -> None:
    assert list_nearest("Andersen", FEW) == ["Anderson"]
    assert list_nearest("Andersen", [*FEW, *MANY]) == []


def test_spellings_and_beginnings_are_found_among_any_number() -> None:
    assert list_nearest(" ANDERSON", [*FEW, *MANY]) == ["Anderson"]
    assert list_nearest("berg", [*FEW, *MANY]) == ["Bergmann"]
