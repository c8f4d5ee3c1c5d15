"""Annotations of a request's field: its command-line form, and a JSON form that is a text.

A request is a pydantic model with typed fields. Where a field's name and type do not say how it is typed on a
command line, `CommandLine` in its annotation does; `cli/request_options.py` reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel, PlainSerializer, PlainValidator, ValidationError, WithJsonSchema
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from discreet.core.errors import DiscreetError, InvalidParameterError
from discreet.core.number_checks import Real, is_real, parse_number, parse_probability
from discreet.services.validation_errors import describe_validation_error

Request = TypeVar("Request", bound=BaseModel)
Schema = dict[str, Any]

MIN_EPSILON = 1e-6
"""A smaller epsilon is refused: its noise, a million times what one person changes, leaves no information.

It also keeps every share of epsilon, and the noise that follows from it, among the numbers that models,
marginals and files can hold; otherwise a request could be charged and then fail.
"""
MAX_TEXT_LENGTH = 1_000
"""Of a value that is parsed: more is refused unread."""
TEXT: Schema = {"type": "string"}


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

    shown_default: str = ""
    """A default that only help shows, where none is typed for the user."""

    panel: str = ""
    """The heading under which help lists the option; a form has a section for it."""

    is_argument: bool = False
    is_option: bool = True
    """Whether the command line has it at all; some fields are for callers in Python."""

    least: int | None = None
    most: int | None = None
    """The bounds of a number, which help shows."""

    metavar: str | None = None
    """The word that stands for the value in help."""


PLAIN = CommandLine()
"""An option of the field's name and type."""
COST_PANEL, POLICY_PANEL, OUTPUT_PANEL = "Cost", "Policy", "Output"
"""Panels that several commands have."""


def get_form(field: FieldInfo) -> CommandLine:
    """Return the command-line form of a field: that of its type, with what the field adds or changes."""
    stated: dict[str, object] = {}
    for each in field.metadata:
        if isinstance(each, CommandLine):
            stated |= {name: value for name, value in vars(each).items() if value != getattr(PLAIN, name)}
    return replace(PLAIN, **stated)  # type: ignore[arg-type]


def make_request(model: type[Request], **fields: object) -> Request:
    """Return the request of a Python call; a wrong argument is refused in one sentence."""
    try:
        return model(**fields)
    except ValidationError as error:
        raise find_refusal(error.errors(), known=model.model_fields) from None


def find_refusal(
    details: Sequence[ErrorDetails],
    *,
    known: Iterable[str] = (),
    skipped: Container[object] = (),
    shows_value: bool = True,
    hint: str = "",
) -> DiscreetError:
    """Return the error that a validator raised, or one sentence on the first wrong field, with the `hint`.

    `skipped` are parts of pydantic's location that are no fields.

    >>> from pydantic import BaseModel
    >>> class Order(BaseModel, extra="forbid"):
    ...     plates: int
    >>> make_request(Order, plates="two")
    Traceback (most recent call last):
    discreet.core.errors.InvalidParameterError: `plates=` must be a whole number; got two.
    """
    first = details[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, DiscreetError):
        return cause
    names = [str(part) for part in first["loc"] if part not in skipped and str(part).isidentifier()]
    place = f"`{names[0]}=`" if names else "The request"
    if cause is not None:
        return InvalidParameterError(f"{place} {cause}.", hint=hint)
    if first["type"] == "missing" and len(names) > 1:
        return InvalidParameterError(f"{place} is not complete.", hint=hint)
    sentence = describe_validation_error(first, place=place, known=known, shows_value=shows_value)
    return InvalidParameterError(sentence, hint=hint)


def accept_text(
    read: Callable[[object], object], *, nullable: bool = False, schema: Sequence[Schema] = (TEXT,)
) -> tuple[Any, ...]:
    """Return annotations of a field that `read` makes of a text or a value; its JSON form is a text.

    `schema` has the JSON schemas of what it accepts.
    """
    accepted = [*schema, *([{"type": "null"}] if nullable else [])]
    return (
        PlainValidator(partial(_read_value, read, nullable)),
        PlainSerializer(_to_text, when_used="json"),
        WithJsonSchema(accepted[0] if len(accepted) == 1 else {"anyOf": accepted}),
    )


def accept_number(name: str, *, nullable: bool = True, **bounds: object) -> tuple[Any, ...]:
    """Return annotations of a number, which may be a text; `bounds` are those of its JSON schema."""
    read = partial(read_number, name)
    accepted = accept_text(read, nullable=nullable, schema=({"type": "number", **bounds},))
    return *accepted, CommandLine(typed=str, metavar="N")


def accept_probability(name: str, *, nullable: bool = True) -> tuple[Any, ...]:
    """Return annotations of a probability: 5%, 0.05 or 1/20."""
    read = partial(_read_probability, name)
    accepted = accept_text(read, nullable=nullable, schema=({"type": "number"}, TEXT))
    return *accepted, CommandLine(typed=str, metavar="SHARE")


def read_number(name: str, value: object) -> Real:
    """Return a number that was given as such or as a text; `name` is for its error."""
    if isinstance(value, int | float | Fraction) and is_real(value):
        return value
    return parse_number(name, str(value)[:MAX_TEXT_LENGTH].strip().lstrip("±"))


def _read_value(read: Callable[[object], object], nullable: bool, value: object) -> object:
    if isinstance(value, str) and len(value) > MAX_TEXT_LENGTH:
        raise ValueError(f"must have at most {MAX_TEXT_LENGTH:,} characters")
    return None if value is None and nullable else read(value)


def _to_text(value: object) -> str | None:
    return None if value is None else str(value)


def _read_probability(name: str, value: object) -> Real:
    if isinstance(value, int | float | Fraction) and is_real(value) and 0 <= value <= 1:
        return value
    return parse_probability(name, str(value)[:MAX_TEXT_LENGTH])


def split_names(text: str | None) -> tuple[str, ...]:
    """Return the names in an option typed as a,b,c.

    >>> split_names("age, sex")
    ('age', 'sex')
    """
    return tuple(name.strip() for name in text.split(",")) if text else ()
