"""Numbers as users type them."""

from __future__ import annotations

import pytest

from discreet.core.errors import InvalidParameterError
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import parse_number, parse_probability


@pytest.mark.parametrize(
    ("text", "value"),
    [("1%", 0.01), ("0.05", 0.05), ("1/20", 0.05), (" 5 % ", 0.05), ("1e-6", 1e-6), ("0.1%", 0.001)],
)
def test_a_probability_is_read_in_any_usual_form(text: str, value: float) -> None:
    assert parse_probability("--prior", text) == value


@pytest.mark.parametrize(
    "text",
    [
        "1.5",
        "150%",
        "-1%",
        "nan",
        "inf",
        "",
        "five",
        "1//2",
        "1/0",
        "%",
        "1e999",
        "0.5.5",
        "1e999999999",
        "1/1e-999999999",
    ],
)
def test_what_is_no_probability_gets_one_clear_sentence(text: str) -> None:
    with pytest.raises(InvalidParameterError) as refusal:
        parse_probability("--prior", text)
    assert str(refusal.value) == f"--prior must be a probability such as 5%, 0.05 or 1/20; got {text}."


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "one", ""])
def test_what_is_no_finite_number_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameterError, match=r"^--epsilon must be a finite number such as 0.5; got "):
        parse_number("--epsilon", text)


def test_a_relation_is_known_by_its_secret_and_by_its_neighbours() -> None:
    for name in ("value", "replace-one"):
        assert Relation.parse("Promise", "secret", name) is Relation.VALUE
    for name in ("presence", "add/remove"):
        assert Relation.parse("Promise", "secret", name) is Relation.PRESENCE
    with pytest.raises(InvalidParameterError, match=r"^Promise\.secret must be 'value' .* got 'name'\.$"):
        Relation.parse("Promise", "secret", "name")
