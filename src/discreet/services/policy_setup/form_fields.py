"""The fields of a table's form, derived from the models of the policy: names, choices, help, examples.

A field that a model gains appears in the form without a change here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from discreet.core.column_entry import BOUNDS, Column, ColumnType
from discreet.core.csv_options import CsvOptions
from discreet.core.policy import PromiseTerms
from discreet.core.table_entry import Table

TABLE_ENTRIES = ("person", "rows_per_person", "groups_per_person", "most_rows")
MAIN_COLUMN_ENTRIES = ("type", "role", "low", "high", "resolution", "values")
OTHER_COLUMN_ENTRIES = tuple(
    name for name in Column.model_fields if name not in (*MAIN_COLUMN_ENTRIES, "learned")
)
PROMISE_ENTRIES = ("prior", "posterior", "secret", "tail")
TYPES_BY_ENTRY: dict[str, tuple[ColumnType, ...]] = {
    "low": tuple(BOUNDS),
    "high": tuple(BOUNDS),
    "resolution": (ColumnType.DECIMAL,),
    "values": (ColumnType.CATEGORY,),
    "scale": (ColumnType.INTEGER, ColumnType.DECIMAL),
}
"""The types of columns that an entry goes with; others go with all."""
LABELS = {
    "low": "lowest",
    "high": "highest",
    "values": "values, one per line",
    "resolution": "rounded to",
    "source_name": "name in the source",
    "rows_per_person": "rows of one person that count",
    "groups_per_person": "groups of one person that count",
    "most_rows": "rows that it will have at most",
    "person": "one person is",
    "prior": "sure beforehand, at most",
    "posterior": "sure afterwards, at most",
    "secret": "what is protected",
    "tail": "chance that it fails",
}


class FieldKind(StrEnum):
    """The control of a field."""

    CHOICE = "choice"
    TEXT = "text"
    LINES = "lines"


@dataclass(frozen=True, kw_only=True)
class FormField:
    """One field of a form: the entry of the policy that it fills in, and how it is shown."""

    name: str
    entry: str
    label: str
    kind: FieldKind
    description: str
    choices: tuple[str, ...] = ()
    example: str = ""
    types: tuple[str, ...] = ()
    is_required: bool = False


@cache
def list_fields(model: type[BaseModel], names: tuple[str, ...]) -> tuple[FormField, ...]:
    """Return the fields of some entries of a model.

    >>> [field.choices for field in list_fields(Column, ("role", "low"))]
    [('identifier', 'quasi', 'sensitive', 'other'), ()]
    """
    return tuple(_make_field(model, name) for name in names)


def list_table_fields() -> tuple[FormField, ...]:
    """Return the fields of a table, apart from its source, its columns and how its text is read."""
    return list_fields(Table, TABLE_ENTRIES)


def list_csv_fields() -> tuple[FormField, ...]:
    """Return the fields of how the text of a table is read."""
    return list_fields(CsvOptions, tuple(CsvOptions.model_fields))


def list_column_fields() -> tuple[FormField, ...]:
    """Return the fields of a column."""
    return list_fields(Column, (*MAIN_COLUMN_ENTRIES, *OTHER_COLUMN_ENTRIES))


def list_promise_fields() -> tuple[FormField, ...]:
    """Return the fields of the promise."""
    return list_fields(PromiseTerms, PROMISE_ENTRIES)


def _make_field(model: type[BaseModel], name: str) -> FormField:
    found = model.model_fields[name]
    kind, choices = _find_control(found.annotation)
    example = found.examples[0] if found.examples else ""
    default = None if found.is_required() else found.default
    shown = default if kind is FieldKind.TEXT and default not in (None, "", ()) else example
    return FormField(
        name=name,
        entry=found.serialization_alias or name,
        label=LABELS.get(name, name.replace("_", " ")),
        kind=kind,
        description=found.description or "",
        choices=choices,
        example=_format_example(shown),
        types=tuple(each.value for each in TYPES_BY_ENTRY.get(name, ())),
        is_required=model is Column and name in ("type", "role"),
    )


def _find_control(annotation: Any) -> tuple[FieldKind, tuple[str, ...]]:
    """Return the control of a type and its choices, looking through annotations and optional types."""
    origin, inner = get_origin(annotation), [each for each in get_args(annotation) if each is not type(None)]
    if origin is Annotated or (origin in (Union, UnionType) and len(inner) == 1):
        return _find_control(inner[0])
    if origin is tuple:
        return FieldKind.LINES, ()
    choices: tuple[str, ...] = ()
    if origin is Literal:
        choices = tuple(map(str, inner))
    elif annotation is bool:
        choices = ("true", "false")
    elif isinstance(annotation, type) and issubclass(annotation, Enum):
        choices = tuple(str(each.value) for each in annotation)
    return (FieldKind.CHOICE if choices else FieldKind.TEXT), choices


def _format_example(value: object) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
