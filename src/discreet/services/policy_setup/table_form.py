"""The form of a table, as a request: what the custodian typed for each entry, and the policy that it makes.

Texts       stay as typed until they are read like the words of a policy file, by `policy_scalars` and the
            models, so form and file accept the same and complain alike.
Problems    are raised together, each with the field that it is about.
Kept        Entries of the policy that the form does not show (links, hierarchies, analysts) stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from discreet.core.column_entry import Column
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.table_entry import Table
from discreet.engines.file_formats import is_text_source
from discreet.services.policies import find_policy_problems, parse_policy_tree
from discreet.services.policy_draft.table_drafts import TableDraft
from discreet.services.policy_setup.form_fields import (
    FieldKind,
    FormField,
    list_column_fields,
    list_csv_fields,
    list_promise_fields,
    list_table_fields,
)
from discreet.services.yaml_reader import KeyPath, Scalar, YamlTree

Texts = dict[str, str]
UNCHANGED_PERSON = "through a link, as it is"
DEFAULT_TERMS = {"prior": "1%", "posterior": "5%", "secret": "value"}
DEFAULT_EPSILON = "0.1"
COLUMN_DEFAULTS = {name: str(Column.model_fields[name].default.value) for name in ("type", "role")}
EMPTY_TEXT = '""'
"""How the form shows an entry that is an empty text; an empty field is one that is not declared."""
BOUND_ENTRIES = ("low", "high", "values", "resolution")


class ColumnForm(BaseModel):
    """One column of the form; it is left out of the policy unless `is_declared`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    is_declared: bool = True
    entries: Texts = {}


class TableForm(BaseModel):
    """The form of one table; `version` is of the policy's text that it was made from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    table: Annotated[str, Field(description="The name that questions use.")]
    source: str
    is_new: bool
    version: str
    entries: Texts = {}
    csv: Texts = {}
    promise: Texts = {}
    epsilon: str = ""
    columns: tuple[ColumnForm, ...] = ()

    @property
    def is_text(self) -> bool:
        """True if the source is read as text, by the options of `csv`."""
        return is_text_source(self.source)


class TableFormError(RequestError):
    """A form that cannot be saved: what is wrong, by the name of each field; `general` is about none."""

    def __init__(self, by_field: Mapping[str, str], general: Iterable[str] = ()) -> None:
        self.by_field, self.general = dict(by_field), list(general)
        count = len(self.by_field) + len(self.general)
        told = f"{count} entries are wrong or missing" if count > 1 else "One entry is wrong or missing"
        super().__init__(
            f"{told}; nothing was saved.", hint=" ".join(self.general) or "Each says what it needs."
        )


def make_form_from_draft(draft: TableDraft, version: str, *, has_promise: bool) -> TableForm:
    """Return the form of a table that was drafted: names, types and roles; no bounds and no values."""
    found = draft.source_table.csv
    options = {} if found is None else found.options.model_dump(mode="json", exclude_defaults=True)
    return TableForm(
        table=draft.name,
        source=draft.source_table.source,
        is_new=True,
        version=version,
        csv={name: _format_option(value) for name, value in options.items()},
        promise={} if has_promise else DEFAULT_TERMS,
        epsilon="" if has_promise else DEFAULT_EPSILON,
        columns=tuple(
            ColumnForm(
                name=column.name,
                entries={"type": column.kind.value, "role": column.role.value}
                | ({} if column.source_name is None else {"source_name": column.source_name}),
            )
            for column in draft.columns
        ),
    )


def make_form_from_policy(tree: Mapping[str, YamlTree], name: str, version: str) -> TableForm:
    """Return the form of a table of the policy, with its entries as they are in the file."""
    table = _get_mapping(_get_mapping(tree, "tables"), name)
    entries = _read_texts(table, list_table_fields())
    if isinstance(table.get("person"), dict):
        entries["person"] = UNCHANGED_PERSON
    columns = _get_mapping(table, "columns")
    return TableForm(
        table=name,
        source=_read_text(table.get("source", Scalar("", is_quoted=True))),
        is_new=False,
        version=version,
        entries=entries,
        csv=_read_texts(_get_mapping(table, "csv"), list_csv_fields()),
        columns=tuple(
            ColumnForm(
                name=column,
                entries=COLUMN_DEFAULTS | _read_texts(_get_mapping(columns, column), list_column_fields()),
            )
            for column in columns
        ),
    )


def parse_table_form(form: TableForm, tree: Mapping[str, YamlTree]) -> Policy:
    """Return the policy of a file's entries with the table of a form in it; raise `TableFormError`.

    Paths in it are as the file has them, relative to its folder.
    """
    problems = _find_form_problems(form, tree)
    policy, found = parse_policy_tree(fill_tree(form, tree))
    if policy is not None:
        found = found + find_policy_problems(policy, allow_open_bounds=True)
    by_field, general = _sort_problems(form, found)
    by_field |= problems
    if by_field or general or policy is None:
        raise TableFormError(by_field, general)
    return policy


def fill_tree(form: TableForm, tree: Mapping[str, YamlTree]) -> dict[str, YamlTree]:
    """Return the entries of a file with those of the form in their places."""
    filled = dict(tree)
    if form.promise:
        filled["promise"] = _write_texts({}, form.promise, list_promise_fields())
    if form.epsilon.strip():
        filled["epsilon"] = Scalar(form.epsilon.strip(), is_quoted=False)
    tables = dict(_get_mapping(tree, "tables"))
    known = _get_mapping(tables, form.table)
    person = known.get("person")
    table = _write_texts(known, form.entries, list_table_fields())
    if form.entries.get("person") == UNCHANGED_PERSON and person is not None:
        table["person"] = person
    if form.is_new:
        table = {"source": Scalar(form.source, is_quoted=True), **table}
    options = _write_texts(_get_mapping(known, "csv"), form.csv, list_csv_fields())
    table.pop("csv", None)
    if options:
        table["csv"] = options
    columns = _get_mapping(known, "columns")
    table.pop("columns", None)
    table["columns"] = {
        column.name: _fill_column(_get_mapping(columns, column.name), column)
        for column in form.columns
        if column.is_declared
    }
    tables[form.table] = table
    filled["tables"] = tables
    return filled


def _fill_column(known: Mapping[str, YamlTree], column: ColumnForm) -> dict[str, YamlTree]:
    filled = _write_texts(known, column.entries, list_column_fields())
    for name, default in COLUMN_DEFAULTS.items() if known else ():
        if name not in known and _read_text(filled.get(name)) == default:
            del filled[name]  # the file leaves it to its default, and may go on to
    if any(_read_text(filled.get(name)) != _read_text(known.get(name)) for name in BOUND_ENTRIES):
        filled.pop("learned", None)  # what was typed instead was not learned
    return filled


def _find_form_problems(form: TableForm, tree: Mapping[str, YamlTree]) -> Texts:
    """Return what a file may leave to its defaults, but a person must say here."""
    found: Texts = {}
    if form.is_new and form.table in _get_mapping(tree, "tables"):
        found["table"] = "is the name of a table that the policy has: choose another"
    person = form.entries.get("person", "").strip()
    if not person:
        found["entries.person"] = "say whom a row is about: that is the person whom the promise protects"
    elif (
        form.is_new and person not in ("row", "none") and not form.entries.get("rows_per_person", "").strip()
    ):
        found["entries.rows_per_person"] = "say how many rows of one person count; more take more noise"
    if not any(column.is_declared for column in form.columns):
        found["columns"] = "declare at least one column"
    return found


def _sort_problems(form: TableForm, problems: Iterable[tuple[KeyPath, str]]) -> tuple[Texts, list[str]]:
    """Return the problems by the fields of the form, and those that are about none of them."""
    by_field: Texts = {}
    general: list[str] = []
    places = {column.name: place for place, column in enumerate(form.columns)}
    names = {field.entry: field.name for field in list_column_fields()}
    for path, text in problems:
        match path:
            case ("promise", str(entry), *_):
                name = f"promise.{entry}"
            case ("epsilon", *_):
                name = "epsilon"
            case ("tables", form.table, "columns", str(column), str(entry), *_) if column in places:
                name = f"columns.{places[column]}.{names.get(entry, entry)}"
            case ("tables", form.table, "columns", str(column), *_) if column in places:
                name = f"columns.{places[column]}"
            case ("tables", form.table, "csv", str(entry), *_):
                name = f"csv.{entry}"
            case ("tables", form.table, "csv"):
                name = "csv"
            case ("tables", form.table, str(entry), *_) if entry in Table.model_fields:
                name = f"entries.{entry}"
            case ("tables", form.table, *_):
                name = "table"
            case _:
                general.append(".".join(map(str, path)) + f": {text}.")
                continue
        by_field.setdefault(name, text)
    return by_field, general


def _write_texts(
    known: Mapping[str, YamlTree], texts: Mapping[str, str], fields: Iterable[FormField]
) -> dict[str, YamlTree]:
    """Return the entries with those of the form set; an empty field removes its entry."""
    filled = dict(known)
    for field in fields:
        text = texts.get(field.name, "").replace("\r\n", "\n")
        filled.pop(field.name, None)
        if field.entry in known and _read_text(known[field.entry]) == text:
            filled[field.entry] = known[field.entry]  # as it was written
        elif text == EMPTY_TEXT:
            filled[field.entry] = Scalar("", is_quoted=True)
        elif field.entry == "delimiter" and text:
            filled[field.entry] = Scalar(text, is_quoted=True)  # it may be a tab
        elif not text.strip():
            filled.pop(field.entry, None)
        elif field.kind is FieldKind.LINES:
            lines = [line.strip() for line in text.split("\n")]
            filled[field.entry] = [Scalar(line, is_quoted=True) for line in lines if line]
        else:
            # the mark of a thousand may be a blank
            word = text if field.kind is FieldKind.CHOICE else text.strip()
            filled[field.entry] = Scalar(word, is_quoted=field.name == "source_name")
    return filled


def _read_texts(tree: Mapping[str, YamlTree], fields: Iterable[FormField]) -> Texts:
    return {field.name: _read_text(tree[field.entry]) for field in fields if field.entry in tree}


def _read_text(tree: YamlTree | None) -> str:
    if tree is None or isinstance(tree, dict):
        return ""
    return tree.text if isinstance(tree, Scalar) else "\n".join(map(_read_text, tree))


def _get_mapping(tree: Mapping[str, YamlTree], name: str) -> dict[str, YamlTree]:
    found = tree.get(name, {})
    return found if isinstance(found, dict) else {}


def _format_option(value: object) -> str:
    if isinstance(value, list | tuple):
        return "\n".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value) or EMPTY_TEXT
