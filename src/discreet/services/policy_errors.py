"""Errors of a policy as sentences: what is wrong, and what to write instead.

They are pydantic's, of single entries, or about a hierarchy that does not fit its column.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from discreet.core.column_entry import BinScale, Column, ColumnType, Role
from discreet.core.csv_options import CsvOptions
from discreet.core.hierarchy_entry import (
    HierarchyEntry,
    MaskAlphabet,
    MaskSide,
    MissingValues,
    Period,
    iterate_leaf_paths,
)
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Analyst, Policy, PromiseTerms
from discreet.core.table_entry import Link, Table
from discreet.services.validation_errors import (
    EXPECTED_BY_TYPE,
    describe_expected,
    list_choices,
    split_choices,
)
from discreet.services.yaml_reader import KeyPath

NUMBER_TYPES = (ColumnType.INTEGER, ColumnType.DECIMAL)
DATE_TYPES = (ColumnType.DATE, ColumnType.TIMESTAMP)
TEXT_TYPES = (ColumnType.TEXT, ColumnType.CATEGORY, ColumnType.INTEGER)
HIERARCHY_TYPES: dict[str, tuple[ColumnType, ...]] = {
    "widths": NUMBER_TYPES,
    "cuts": NUMBER_TYPES,
    "dates": DATE_TYPES,
    "mask": TEXT_TYPES,
}
SYNONYMS = {
    "low": ("min", "minimum", "lower", "lower_bound"),
    "high": ("max", "maximum", "upper", "upper_bound"),
    "type": ("kind", "dtype", "datatype"),
    "values": ("categories", "domain", "options", "enum", "levels"),
    "resolution": ("precision", "step", "granularity"),
    "source": ("file", "path", "data"),
    "person": ("user", "id", "key", "privacy_unit", "privacy_id"),
    "rows_per_person": ("max_rows", "max_ids", "rows_per_user", "contributions"),
    "groups_per_person": ("max_groups", "partitions_per_person", "groups_per_user"),
    "links": ("foreign_keys", "references", "joins"),
    "promise": ("budget", "privacy"),
    "missing": ("na", "missing_values", "null_policy"),
    "csv": ("file", "path", "arx"),
    "delimiter": ("sep", "separator", "delim"),
    "decimal": ("decimal_mark", "decimal_separator", "decimal_point"),
    "thousands": ("thousands_separator", "grouping"),
    "encoding": ("charset", "codepage"),
    "quote": ("quotechar", "quote_char"),
    "nulls": ("nullable", "null", "na_values", "null_values", "nullstr"),
    "sheet": ("sheet_name", "worksheet", "tab"),
    "skip": ("skiprows", "skip_rows"),
    "widths": ("width", "bins", "steps", "sizes"),
    "cuts": ("breaks", "edges", "boundaries", "bounds"),
    "mask": ("masking", "redact", "redaction"),
    "tree": ("groups", "taxonomy", "nodes"),
    "dates": ("date", "periods", "time"),
    "order": ("ordered", "ordering", "values"),
    MissingValues.CATEGORY: ("own", "value", "keep"),
    MissingValues.SUPPRESS: ("suppressed", "drop", "remove", "delete"),
    BinScale.LOG: ("logarithmic", "log10", "ln", "exponential"),
    MaskSide.RIGHT: ("end", "suffix", "trailing"),
    MaskSide.LEFT: ("start", "prefix", "leading"),
    ColumnType.INTEGER: ("int", "bigint", "long", "whole", "year", "count"),
    ColumnType.DECIMAL: (
        "float",
        "double",
        "real",
        "numeric",
        "number",
        "money",
        "amount",
        "currency",
        "percent",
    ),
    ColumnType.CATEGORY: ("categorical", "enum", "factor", "nominal", "code", "choice", "label"),
    ColumnType.TEXT: ("str", "string", "varchar"),
    ColumnType.TIMESTAMP: ("datetime", "time", "date-time", "date time"),
    ColumnType.BOOLEAN: ("bool", "binary", "flag"),
    Role.IDENTIFIER: ("id", "direct", "key", "identifying"),
    Role.QUASI: ("quasi-identifier", "quasi_identifier", "qi", "qid", "indirect"),
    Role.SENSITIVE: ("secret", "confidential", "private"),
    Role.OTHER: ("insensitive", "none", "non-sensitive", "nonsensitive"),
    Relation.VALUE: ("replace-one", "replace", "bounded"),
    Relation.PRESENCE: ("add/remove", "unbounded", "membership"),
}
EXAMPLES = {
    "tables": "tables: {NAME: {source: FILE, columns: {…}}}",
    "source": "source: FILE",
    "columns": "columns: {NAME: {type: integer, low: 0, high: 100}, …}",
    "prior": "prior: 1%",
    "posterior": "posterior: 5%",
    "share": "share: 50%",
    "table": "TABLE.COLUMN",
    "column": "TABLE.COLUMN",
    "analysts": "analysts: {NAME: {share: 50%}}",
}
ENTRY_EXAMPLES: dict[type[BaseModel], str] = {
    PromiseTerms: "{prior: 1%, posterior: 5%}",
    Table: "{source: FILE, columns: {…}}",
    Column: "{type: integer, low: 0, high: 100}",
    Analyst: "{share: 50%}",
    CsvOptions: '{delimiter: ";", decimal: ","}',
}
OWNERS: dict[type[BaseModel], str] = {
    PromiseTerms: "promise",
    Table: "a table",
    Column: "a column",
    CsvOptions: "csv of a table",
    Policy: "the top",
    HierarchyEntry: "a hierarchy",
}
ENTRIES: dict[str, type[BaseModel]] = {"tables": Table, "analysts": Analyst, "hierarchies": HierarchyEntry}
CHOICES: dict[str, type[StrEnum]] = {
    "type": ColumnType,
    "role": Role,
    "secret": Relation,
    "missing": MissingValues,
    "scale": BinScale,
    "mask": MaskSide,
    "alphabet": MaskAlphabet,
    "dates": Period,
}
EXPECTED = EXPECTED_BY_TYPE | {
    "string": "one word",
    "tuple": "a list such as [a, b]",
    "dict": "entries of the form NAME: {…}",
    "model": "entries of the form NAME: VALUE",
}


def format_validation_errors(error: ValidationError, values: Mapping[str, Any]) -> list[tuple[KeyPath, str]]:
    """Return the key path in `values` and a sentence for each validation error."""
    found: list[tuple[KeyPath, str]] = []
    branched: set[KeyPath] = set()
    for detail in error.errors():
        place = _trim_location(values, detail["loc"])
        # Pydantic reports an error for every branch of a union; one sentence is enough.
        if len(detail["loc"]) > len(place) and detail["type"] != "missing":
            if place in branched:
                continue
            branched.add(place)
        text = _format_error(place, detail)
        place = _locate_entry(place, text, detail["input"])
        found.append((place, re.sub(rf"^{re.escape(str(*place[-1:]))} (must|does not) ", r"\1 ", text)))
    return found


def find_nearest_name(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant, or None."""
    words = list(known)
    plain = word.lower().strip()
    meant = [each for each in words if plain in SYNONYMS.get(each, ())]
    return next(iter(meant or difflib.get_close_matches(plain, words, n=1, cutoff=0.6)), None)


def _trim_location(values: Any, loc: tuple[str | int, ...]) -> KeyPath:
    """Return the part of a location that exists in the file, without pydantic's names of union branches."""
    for depth, part in enumerate(loc):
        inside = part in values if isinstance(values, dict) else False
        if isinstance(values, list) and isinstance(part, int):
            inside = part < len(values)
        if not inside:
            return loc[:depth]
        values = values[part]
    return loc


def _format_error(place: KeyPath, detail: ErrorDetails) -> str:
    kind, name, given = detail["type"], str(*detail["loc"][-1:]), detail["input"]
    context = detail.get("ctx", {})
    if kind == "value_error":
        return str(context["error"]).removeprefix("it ")
    if kind == "missing":
        return f"{name} is missing: add {EXAMPLES.get(name, name)}"
    if kind == "extra_forbidden":
        return _format_unknown_entry(place)
    if kind in ("enum", "literal_error"):
        entry = next(str(part) for part in reversed(detail["loc"]) if isinstance(part, str))
        return _format_choice_error(entry, given, str(context["expected"]))
    form = _suggest_form(place, kind, given)
    return f"must be {describe_expected(kind, context, EXPECTED)}; got {_describe_given(given)}{form}"


def _suggest_form(place: KeyPath, kind: str, given: object) -> str:
    """Return how to write a value that should be a mapping; keep a share that is already given."""
    if not place or given is None or not kind.startswith(("dict", "model")):
        return ""
    model, name = _find_model(place), str(place[-1])
    if kind.startswith("dict") and name in EXAMPLES:
        return f": write {EXAMPLES[name]}"
    if model is Analyst and isinstance(given, str | int | float):
        return f": write {name}: {{share: {given}}}"
    return f": write {name}: {ENTRY_EXAMPLES[model]}" if model in ENTRY_EXAMPLES else ""


def _locate_entry(place: KeyPath, text: str, here: object) -> KeyPath:
    """Return the key path of the entry that a sentence about a whole mapping is really about."""
    if not isinstance(here, dict):
        return place
    if match := re.match(r"the (table|column) name '(.*)' must", text):
        return (*place, f"{match[1]}s", match[2])
    if match := re.match(r"(\w+)\.(.+) links to ", text):
        return (*place, "tables", match[1], "links", match[2])
    if match := re.match(r"(\w+) finds its people through ", text):
        return (*place, "tables", match[1], "person")
    first = re.sub(r"^the (\w+)' ", r"\1 ", text).split(" ")[0].rstrip(",")
    return (*place, first) if first in here and not text.startswith("low and high") else place


def _format_unknown_entry(place: KeyPath) -> str:
    model, name = _find_model(place[:-1]), str(place[-1])
    for other, owner in OWNERS.items():
        if other is not model and name in _list_entries(other):
            return f"unknown here: it belongs to {owner}"
    entries = _list_entries(model)
    meant = find_nearest_name(name, entries)
    if meant:
        return f"unknown; did you mean {meant}?"
    return f"unknown; expected one of: {', '.join(entries)}"


def _list_entries(model: type[BaseModel]) -> list[str]:
    """Return the entries of a model as policies write them."""
    return [field.serialization_alias or name for name, field in model.model_fields.items()]


def _format_choice_error(name: str, given: object, expected: str) -> str:
    words = [each.value for each in CHOICES[name]] if name in CHOICES else split_choices(expected)
    meant = find_nearest_name(str(given), words)
    listed = list_choices(words)
    return f"must be {listed}; got {_describe_given(given)}{f': did you mean {meant}?' if meant else ''}"


def _describe_given(given: object) -> str:
    if given is None:
        return "nothing"
    if isinstance(given, dict | list):
        return "a list" if isinstance(given, list) else "a mapping"
    return str(given)


def _find_model(place: KeyPath) -> type[BaseModel]:
    match place:
        case ("promise",):
            return PromiseTerms
        case (str(part), _) if part in ENTRIES:
            return ENTRIES[part]
        case ("tables", _, "columns", _):
            return Column
        case ("tables", _, "links", _):
            return Link
        case ("tables", _, "csv"):
            return CsvOptions
        case _:
            return Policy


def find_hierarchy_misfit(name: str, entry: HierarchyEntry, column: Column) -> str | None:
    """Return what does not fit (type, domain or uncovered values), or None."""
    allowed = HIERARCHY_TYPES.get(entry.kind, tuple(ColumnType))
    if column.type not in allowed:
        listed = " or ".join(kind.value for kind in allowed)
        return f"the hierarchy {name} ({entry.kind}) needs type {listed}; this has {column.type.value}"
    if entry.kind in ("widths", "cuts", "dates"):
        return _find_domain_misfit(name, entry, column)
    covered = _list_covered_values(entry)
    missing = [value for value in column.values or () if covered is not None and value not in covered]
    if missing:
        return f"the hierarchy {name} lacks the value {missing[0]}: add it there"
    return None


def _find_domain_misfit(name: str, entry: HierarchyEntry, column: Column) -> str | None:
    if entry.low is None and column.low is None:
        return f"the hierarchy {name} needs low and high, here or with the hierarchy"
    if entry.low is None or entry.high is None or column.low is None or column.high is None:
        return None
    low, high = _to_comparable((entry.low, entry.high))
    if not all(low <= bound <= high for bound in _to_comparable((column.low, column.high))):
        return f"the hierarchy {name} goes from {entry.low} to {entry.high}, which leaves out some of this"
    return None


def _to_comparable(bounds: Iterable[int | Decimal | date]) -> tuple[Decimal, ...]:
    return tuple(
        Decimal(bound.toordinal()) if isinstance(bound, date) else Decimal(bound) for bound in bounds
    )


def _list_covered_values(entry: HierarchyEntry) -> frozenset[str] | None:
    """Return the values of a hierarchy that is written out in the policy, or None."""
    if entry.kind == "order":
        return frozenset(entry.order or ())
    return frozenset(path[-1] for path in iterate_leaf_paths(entry.tree)) if entry.kind == "tree" else None
