"""The fields of a table's form as a page has them: names of inputs to the form, and the form to inputs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from discreet.core.column_entry import ColumnType, Role
from discreet.core.errors import RequestError
from discreet.services.policy_setup.form_fields import (
    MAIN_COLUMN_ENTRIES,
    TYPES_BY_ENTRY,
    FormField,
    list_column_fields,
    list_csv_fields,
    list_promise_fields,
    list_table_fields,
)
from discreet.services.policy_setup.table_form import UNCHANGED_PERSON, ColumnForm, TableForm
from discreet.services.request_fields import make_request

COLUMN_FIELD = re.compile(r"columns\.([0-9]{1,5})\.(\w+)")
SECTION_FIELD = re.compile(r"(entries|csv|promise)\.(\w+)")
PLAIN_FIELDS = ("table", "source", "version", "epsilon")
MAX_COLUMNS = 20_000
BOUND_EXAMPLES = {
    (name, kind.value): example
    for kind in (ColumnType.DATE, ColumnType.TIMESTAMP)
    for name, example in (("low", "2020-01-01"), ("high", "2025-12-31"))
}


def parse_form_fields(fields: Mapping[str, str]) -> TableForm:
    """Return the form that a page was posted with; names of fields that no page has are ignored."""
    sections: dict[str, dict[str, str]] = {"entries": {}, "csv": {}, "promise": {}}
    columns: dict[int, dict[str, str]] = {}
    for name, text in fields.items():
        if match := COLUMN_FIELD.fullmatch(name):
            columns.setdefault(int(match[1]), {})[match[2]] = text
        elif match := SECTION_FIELD.fullmatch(name):
            sections[match[1]][match[2]] = text
    named = {each: fields.get(each, "").strip() for each in PLAIN_FIELDS}
    if len(columns) > MAX_COLUMNS or not all(named[each] for each in ("table", "version")):
        raise RequestError("This form is not complete.", hint="Open the page again.")
    return make_request(
        TableForm,
        **named,
        **sections,
        is_new=fields.get("is_new") == "yes",
        columns=tuple(_parse_column(columns[place]) for place in sorted(columns)),
    )


def _parse_column(texts: dict[str, str]) -> ColumnForm:
    name, is_declared = texts.pop("name", ""), texts.pop("is_declared", "") == "on"
    return ColumnForm(name=name, is_declared=is_declared, entries=texts)


def build_form_context(
    form: TableForm, problems: Mapping[str, str], check: Mapping[str, Any] | None
) -> dict[str, object]:
    """Return what the template of the form shows: each field with its text and what is wrong with it."""
    found = {} if check is None else {each["name"]: _add_departures(each, check) for each in check["columns"]}
    main = [field for field in list_column_fields() if field.name in MAIN_COLUMN_ENTRIES]
    other = [field for field in list_column_fields() if field.name not in MAIN_COLUMN_ENTRIES]
    columns = [
        {
            "place": place,
            "name": column.name,
            "is_declared": column.is_declared,
            "problem": problems.get(f"columns.{place}", ""),
            "main": _fill_fields(f"columns.{place}", main, column.entries, problems),
            "other": _fill_fields(f"columns.{place}", other, column.entries, problems),
            "found": found.get(column.name),
        }
        for place, column in enumerate(form.columns)
    ]
    entries = _fill_fields("entries", list_table_fields(), form.entries, problems)
    people = [("row", "a row: each is another person"), ("none", "nobody: the table is about no person")]
    people += [(column.name, f"in the column {column.name}") for column in form.columns]
    if form.entries.get("person") == UNCHANGED_PERSON:
        people.append((UNCHANGED_PERSON, UNCHANGED_PERSON))
    return {
        "form": form,
        "problems": {name: problems.get(name, "") for name in ("table", "epsilon", "columns")},
        "people": people,
        "entries": {each["entry"]: each for each in entries},
        "has_text": form.is_text,
        "csv": _fill_fields("csv", list_csv_fields(), form.csv, problems),
        "csv_problem": problems.get("csv", ""),
        "promise": _fill_fields("promise", list_promise_fields(), form.promise, problems),
        "columns": columns,
        "check": check,
        "open_columns": [column.name for column in form.columns if _is_open(column)],
    }


def _is_open(column: ColumnForm) -> bool:
    """Return True if a column of a type that goes with bounds or values has none."""
    texts = column.entries
    is_bounded = texts.get("type") in TYPES_BY_ENTRY["low"] + TYPES_BY_ENTRY["values"]
    if not (column.is_declared and is_bounded) or texts.get("role") == Role.IDENTIFIER:
        return False
    return not any(texts.get(name, "").strip() for name in ("low", "high", "values"))


def _add_departures(column: Mapping[str, Any], check: Mapping[str, Any]) -> dict[str, Any]:
    """Return a column's check with the shares that depart from the policy in words."""
    shares = zip(column["shares"], check["headings"], strict=True)
    return {**column, "departures": [f"{share} {heading}" for share, heading in shares if share]}


def _show_example(field: FormField, kind: str) -> str:
    """Return the example of a field, for bounds one of the column's type."""
    return BOUND_EXAMPLES.get((field.name, kind), field.example)


def _fill_fields(
    section: str, fields: Iterable[FormField], texts: Mapping[str, str], problems: Mapping[str, str]
) -> list[dict[str, Any]]:
    return [
        {
            **vars(field),
            "example": _show_example(field, texts.get("type", "")),
            "input": f"{section}.{field.name}",
            "text": texts.get(field.name, ""),
            "problem": problems.get(f"{section}.{field.name}", ""),
        }
        for field in fields
    ]
