"""Refusal of arguments by their annotations: one sentence that names the argument, instead of a raw error.

A public function whose arithmetic would fail on a text or a list is decorated by `refuse_wrong_types`. It
checks the kind of each argument, once and cheaply; ranges, shapes and relations between arguments are checked
by the function itself. Annotations of arrays are not checked here: many kinds of objects are arrays.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.errors import InvalidParameterError, shorten_value

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Check = tuple[Callable[[object], bool], str]
"""Whether a value fits, and what is expected in words."""


def refuse_wrong_types(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return the function with arguments refused that do not fit their annotations.

    >>> @refuse_wrong_types
    ... def double(number: int) -> int:
    ...     return 2 * number
    >>> double("x")  # type: ignore[arg-type]
    Traceback (most recent call last):
    discreet.core.errors.InvalidParameterError: double: `number=` must be an integer; got x.
    """
    owner = function.__qualname__.rpartition("<locals>.")[2]

    @wraps(function)
    def check_and_run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        names, checks = _list_checks(function)
        for name, value in (*zip(names, args, strict=False), *kwargs.items()):
            check = checks.get(name)
            if check is not None and not check[0](value):
                given = shorten_value(value)
                raise InvalidParameterError(f"{owner}: `{name}=` must be {check[1]}; got {given}.")
        return function(*args, **kwargs)

    return check_and_run


def require_floats(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return numbers of any kind as an array of floats; `name` is the argument that they were given as.

    >>> require_floats("prior", ["x"])
    Traceback (most recent call last):
    discreet.core.errors.InvalidParameterError: `prior=` must be numbers; got ['x'].
    """
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameterError(f"`{name}=` must be numbers; got {shorten_value(values)}.") from None


@cache
def _list_checks(function: Callable[..., object]) -> tuple[tuple[str, ...], dict[str, Check]]:
    """Return the names of the parameters in order, and the checks of those that have one."""
    hints = inspect.get_annotations(function, eval_str=True)
    names = tuple(inspect.signature(function).parameters)
    made = {name: _make_check(hints[name]) for name in names if name in hints}
    return names, {name: check for name, check in made.items() if check is not None}


def _make_check(hint: Any) -> Check | None:
    """Return the check of an annotation, or None if anything may fit it."""
    if hint in SIMPLE:
        return SIMPLE[hint]
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        parts = get_args(hint)
        # an integer beyond every float is not a number of int | float, either
        return _join_checks([_make_check(each) for each in parts if each is not int or float not in parts])
    if origin is Sequence:
        return _make_list_check(*get_args(hint))
    return KINDS[origin] if origin in KINDS else _make_class_check(origin or hint)


def _make_class_check(kind: Any) -> Check | None:
    if not isinstance(kind, type) or kind in (object, np.ndarray):
        return None
    if getattr(kind, "_is_protocol", False):
        members = _list_members(kind)
        return (lambda value: all(_has_member(value, name) for name in members)), f"a {kind.__name__}"
    return (lambda value: isinstance(value, kind)), f"a {kind.__name__}"


def _list_members(protocol: type) -> tuple[str, ...]:
    """Return the attributes and methods that a protocol asks for."""
    parts = [each for each in protocol.__mro__ if getattr(each, "_is_protocol", False)]
    names = (name for each in parts for name in (*vars(each), *inspect.get_annotations(each)))
    return tuple(dict.fromkeys(name for name in names if not name.startswith("_")))


def _has_member(value: object, name: str) -> bool:
    """Return whether an object has an attribute; a property is not computed for it."""
    return hasattr(type(value), name) or name in getattr(value, "__dict__", ())


def _make_list_check(hint: Any) -> Check:
    """Return the check of a list and of what is in it; an array is checked by the function itself."""
    inside = _make_check(hint)

    def is_list(value: object) -> bool:
        if isinstance(value, np.ndarray):
            return True
        listed = isinstance(value, Sequence) and not isinstance(value, str)
        return listed and (inside is None or all(map(inside[0], value)))  # type: ignore[call-overload]

    return is_list, "a list" if inside is None else f"a list, each {inside[1]}"


def _join_checks(checks: Sequence[Check | None]) -> Check | None:
    known = [each for each in checks if each is not None]
    if len(known) < len(checks):
        return None
    words = dict.fromkeys(word for _, word in known if word != NOTHING)
    return (lambda value: any(fits(value) for fits, _ in known)), " or ".join(words)


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer) and _is_number(value)


def _is_number(value: object) -> bool:
    """Return whether it is a number that a float can hold; infinity and NaN are refused by who needs it."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | np.number):
        return False
    try:
        float(value)
    except (OverflowError, TypeError):
        return False
    return True


NOTHING, NUMBER = "None", "a number"
SIMPLE: dict[Any, Check] = {
    int: (_is_integer, "an integer"),
    float: (_is_number, NUMBER),
    Fraction: (_is_number, NUMBER),
    str: (lambda value: isinstance(value, str), "a text"),
    bool: (lambda value: isinstance(value, bool | np.bool_), "True or False"),
    type(None): (lambda value: value is None, NOTHING),
}
KINDS: dict[Any, Check] = {
    Mapping: (lambda value: isinstance(value, Mapping), "a dict"),
    Callable: (callable, "a function"),
}
