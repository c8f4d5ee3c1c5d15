"""Arguments of the Python verbs: names of columns, choices, and refusals in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import wraps
from typing import ParamSpec, TypeVar

from pydantic import ValidationError

from discreet.core.errors import InvalidParameterError
from discreet.services.request_fields import find_refusal, split_names

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Choice = TypeVar("Choice", bound=Enum)

Names = Sequence[str] | str
"""Names of columns; a text is one of them, or several with commas between."""


def list_names(names: Names) -> tuple[str, ...]:
    """Return names as a tuple; a text is one name, or several with commas between, as on the command line.

    >>> list_names("age"), list_names("age,zip"), list_names(["age", "zip"])
    (('age',), ('age', 'zip'), ('age', 'zip'))
    """
    if isinstance(names, str):
        return split_names(names)
    listed = tuple(names) if isinstance(names, Iterable) else (names,)
    if not all(isinstance(name, str) for name in listed):
        raise InvalidParameterError(f"Columns must be given by name, such as ['age', 'zip']; got {names!r}.")
    return listed


def parse_choice(verb: str, name: str, choices: type[Choice], value: Choice | str) -> Choice:
    """Return the member that a value names, or refuse it with the values there are."""
    try:
        return choices(value)
    except ValueError:
        listed = ", ".join(str(each.value) for each in choices)
        raise InvalidParameterError(f"{verb}: {name} must be one of {listed}; got {value!r}.") from None


def refuse_invalid_arguments(verb: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return the verb with arguments of a wrong type refused in one sentence, as frontends refuse them."""

    @wraps(verb)
    def refuse_or_run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return verb(*args, **kwargs)
        except ValidationError as error:
            raise find_refusal(error.errors()) from None

    return refuse_or_run
