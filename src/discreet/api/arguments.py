"""Arguments of the Python verbs: names of columns, and refusals in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import ParamSpec, TypeVar

from pydantic import ValidationError

from discreet.core.errors import InvalidParameterError, shorten_value
from discreet.services.request_fields import find_refusal, split_names

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

Names = Sequence[str] | str
"""Names of columns; a text is one of them, or several with commas between."""


def list_names(argument: str, names: Names) -> tuple[str, ...]:
    """Return names as a tuple; a text is one name, or several with commas between, as on the command line.

    >>> list_names("columns", "age"), list_names("columns", "age,zip"), list_names("columns", ["age", "zip"])
    (('age',), ('age', 'zip'), ('age', 'zip'))
    """
    if isinstance(names, str):
        return split_names(names)
    listed = tuple(names) if isinstance(names, Iterable) else (names,)
    if not all(isinstance(name, str) for name in listed):
        raise InvalidParameterError(
            f"`{argument}=` must be names of columns, such as ['age', 'zip']; got {shorten_value(names)}."
        )
    return listed


def refuse_invalid_arguments(verb: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return the verb with arguments of a wrong type refused in one sentence, as frontends refuse them."""

    @wraps(verb)
    def refuse_or_run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return verb(*args, **kwargs)
        except ValidationError as error:
            raise find_refusal(error.errors()) from None

    return refuse_or_run
