"""Errors of pydantic as one sentence each: of a request, an HTTP body, an option or an entry of a policy.

Pydantic's own sentences ("Input should be a valid integer, unable to parse string as an integer") do not name
the field, nor what to write. Every frontend that shows one takes it from here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic_core import ErrorDetails

from discreet.core.errors import shorten_value

EXPECTED_BY_TYPE = {
    "int": "a whole number",
    "float": "a number",
    "decimal": "a number",
    "bool": "true or false",
    "string": "a text",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "iterable": "a list",
    "is": "a list",
    "dict": "an object of names and values",
    "mapping": "an object of names and values",
    "model": "an object of names and values",
    "path": "a file name",
    "date": "a date such as 2024-12-31",
    "finite": "a finite number",
}
"""What is expected, by the first word of the type of pydantic's error."""

EXPECTED_BY_LIMIT = {
    "ge": "at least {}",
    "gt": "above {}",
    "le": "at most {}",
    "lt": "below {}",
    "multiple_of": "a multiple of {}",
    "pattern": "a text of the form {}",
}
"""What is expected, by the limit that the context of pydantic's error states."""


def describe_validation_error(
    detail: ErrorDetails, *, place: str, known: Iterable[str] = (), shows_value: bool = True
) -> str:
    """Return what is wrong with the field `place`, in one sentence.

    `known` are the fields that there are. Without `shows_value` the sentence does not repeat what was given:
    it may be a password.
    """
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "missing":
        return f"{place} is missing."
    if kind == "extra_forbidden":
        return _describe_unknown_field(place, known)
    if kind == "json_invalid":
        return "The body must be valid JSON."
    if kind.startswith("union_tag"):
        field = str(context.get("discriminator", "")).strip("'")
        if kind == "union_tag_not_found":
            return f"`{field}=` is missing."
        return f"`{field}=` must be {list_choices(split_choices(str(context['expected_tags'])))}."
    given = f"; got {_shorten_value(detail['input'])}" if shows_value and _is_plain(detail["input"]) else ""
    return f"{place} must be {describe_expected(kind, context)}{given}."


def describe_expected(
    kind: str, context: Mapping[str, Any], expected: Mapping[str, str] = EXPECTED_BY_TYPE
) -> str:
    """Return what is expected where pydantic reports an error of this type.

    >>> describe_expected("int_parsing", {}), describe_expected("greater_than_equal", {"ge": 1})
    ('a whole number', 'at least 1')
    >>> describe_expected("literal_error", {"expected": "'tree', 'forest' or 'bayes'"})
    'tree, forest or bayes'
    """
    if kind in ("literal_error", "enum"):
        return list_choices(split_choices(str(context["expected"])))
    for limit, words in EXPECTED_BY_LIMIT.items():
        if limit in context:
            return words.format(context[limit])
    if "min_length" in context or "max_length" in context:
        return _describe_length(kind, context)
    return expected.get(kind.split("_", maxsplit=1)[0], "a usable value")


def split_choices(quoted: str) -> list[str]:
    """Return the choices that pydantic lists in quotes."""
    return re.findall(r"'([^']*)'", quoted) or [quoted]


def list_choices(words: Sequence[str]) -> str:
    """Return choices as a sentence lists them: a, b or c."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _describe_length(kind: str, context: Mapping[str, Any]) -> str:
    what = "characters" if kind.startswith("string") else "values"
    if "min_length" in context:
        least = context["min_length"]
        return "given" if least == 1 else f"at least {least:,} {what}"
    return f"at most {context['max_length']:,} {what}"


def _describe_unknown_field(place: str, known: Iterable[str]) -> str:
    names = list(known)
    meant = difflib.get_close_matches(place.strip("`="), names, n=1, cutoff=0.6)
    if meant:
        return f"There is no field {place.strip('`=')}; did you mean `{meant[0]}=`?"
    listed = f"; the fields are {', '.join(names)}" if names else ""
    return f"There is no field {place.strip('`=')}{listed}."


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float) or value is None


def _shorten_value(value: object) -> str:
    return "nothing" if value is None else shorten_value(value)
