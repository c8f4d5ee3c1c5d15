"""Options of a command follow from the fields of its request."""

from __future__ import annotations

from typing import Annotated

import pytest
import typer
from pydantic import BaseModel, Field
from typer.testing import CliRunner

from discreet.cli.request_options import build_request, options_from
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.services.anonymize.anonymize_request import AnonymizeRequest
from discreet.services.request_fields import CommandLine, accept_probability


class Order(BaseModel):
    """A request with a field of every kind."""

    dish: Annotated[str, Field(description="What to eat."), CommandLine(is_argument=True)]
    plates: Annotated[int, Field(ge=1, description="How many.")] = 1
    without: Annotated[tuple[str, ...], Field(description="Leave this out.")] = ()
    spices: Annotated[
        dict[str, int],
        Field(description="How much of each."),
        CommandLine(
            typed=list[str],
            parse=lambda texts: {name: int(n) for name, n in (text.split("=") for text in texts)},
            help="SPICE=2.",
        ),
    ] = Field(default_factory=dict)
    doubt: Annotated[float | None, *accept_probability("--doubt"), CommandLine(typed=str)] = None
    seats: Annotated[int, Field(description="At most 8."), CommandLine(least=1, most=8, metavar="SEATS")] = 2
    hot: Annotated[bool, Field(description="Heat it.")] = False
    table: Annotated[int | None, CommandLine(is_option=False)] = None


def run_order(*words: str) -> tuple[str, list[Order]]:
    seen: list[Order] = []
    app = typer.Typer(rich_markup_mode=None)

    @options_from(Order)
    def run(request: Order, *, loud: Annotated[bool, typer.Option("--loud")] = False) -> None:
        """Order a dish."""
        seen.append(request)
        print(loud)

    app.command()(run)
    return CliRunner().invoke(app, words, env={"COLUMNS": "100"}, catch_exceptions=False).output, seen


def test_typed_words_become_typed_values() -> None:
    words = ("soup", "--plates", "2", "--without", "salt", "--without", "oil", "--spices", "chili=3")
    told, [order] = run_order(*words, "--doubt", "5%", "--hot", "--loud")
    assert told.strip() == "True"
    assert order == Order(
        dish="soup", plates=2, without=("salt", "oil"), spices={"chili": 3}, doubt=0.05, hot=True
    )


def test_what_is_not_typed_keeps_the_default_of_the_field() -> None:
    assert run_order("soup")[1] == [Order(dish="soup")]


def test_help_has_every_field_with_its_description() -> None:
    told = run_order("--help")[0]
    assert all(text in told for text in ("What to eat.", "--plates", "How many.", "SPICE=2.", "--loud"))
    assert "--seats SEATS" in told
    assert "1<=x<=8" in told
    assert "--table" not in told
    assert "--no-hot" not in told


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"doubt": "often"}, r"^--doubt must be a probability"),
        ({"plates": 0}, r"^`plates=` must be at least 1; got 0\.$"),
    ],
)
def test_a_wrong_value_is_refused_in_one_sentence(values: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        build_request(Order, {"dish": "soup", **values})


def test_a_request_refuses_names_that_do_not_exist_before_anything_is_read() -> None:
    with pytest.raises(RequestError, match="There is no method magic"):
        build_request(AnonymizeRequest, {"table": "people", "method": "magic"})
