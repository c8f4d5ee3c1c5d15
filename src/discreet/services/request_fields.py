"""What a request's field needs beside its type: its command-line form, and a JSON form that is a text.

A request is a pydantic model with typed fields. Where a field's name and type do not say how it is typed on a
command line, `CommandLine` in its annotation does; `cli/request_options.py` reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import PlainSerializer, PlainValidator, ValidationError, WithJsonSchema

from discreet.core.errors import DiscreetError, InvalidParameterError
from discreet.core.number_checks import parse_probability

MAX_TEXT_LENGTH = 1_000
"""Of a value that is parsed: more is refused unread."""


@dataclass(frozen=True, kw_only=True)
class CommandLine:
    """The command-line form of a field."""

    flags: tuple[str, ...] = ()
    """The option's names, where they are not --field-name."""

    typed: Any = None
    """The type of what is typed, such as list[str], where it is not the type of the field."""

    parse: Callable[[Any], object] | None = None
    """Makes the field's value of what was typed; without it, the field's validators do."""

    help: str = ""
    """The option's help, where it is not the field's description."""

    default: str = ""
    """The default as help shows it, where it is not the text of the field's."""

    is_argument: bool = False
    is_option: bool = True
    """Whether the command line has it at all; some fields are for callers in Python."""

    least: int | None = None
    most: int | None = None
    """The bounds of a number, which help shows."""

    metavar: str | None = None
    """The word that stands for the value in help."""

    panel: str = ""
    """The heading under which help lists the option."""


def find_refusal(error: ValidationError) -> DiscreetError:
    """Return the error that a validator raised, or one sentence on the first wrong field."""
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, DiscreetError):
        return cause
    place = ".".join(str(part) for part in first["loc"])
    return InvalidParameterError(f"{place}: {first['msg']}.")


def accept_text(read: Callable[[object], object], *, nullable: bool = False) -> tuple[Any, ...]:
    """Return annotations of a field that accepts a text: its JSON form stays a text, its value is typed."""
    text = {"type": "string"}
    schema: dict[str, Any] = {"anyOf": [text, {"type": "null"}]} if nullable else text
    return (
        PlainValidator(partial(_read_text, read, nullable)),
        PlainSerializer(_to_text, when_used="json"),
        WithJsonSchema(schema),
    )


def accept_probability(option: str, *, nullable: bool = True) -> tuple[Any, ...]:
    """Return annotations of a probability: 5%, 0.05 or 1/20."""
    return accept_text(partial(_read_probability, option), nullable=nullable)


def _read_text(read: Callable[[object], object], nullable: bool, value: object) -> object:
    if isinstance(value, str) and len(value) > MAX_TEXT_LENGTH:
        raise InvalidParameterError(f"A value must have at most {MAX_TEXT_LENGTH:,} characters.")
    return None if value is None and nullable else read(value)


def _to_text(value: object) -> str | None:
    return None if value is None else str(value)


def _read_probability(option: str, value: object) -> float:
    return parse_probability(option, str(value))


def split_names(text: str | None) -> tuple[str, ...]:
    """Return the names in an option typed as a,b,c.

    >>> split_names("age, sex")
    ('age', 'sex')
    """
    return tuple(name.strip() for name in text.split(",")) if text else ()
