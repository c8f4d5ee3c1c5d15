"""The form of the Publish screen: column roles and hierarchies, privacy models, the recoding.

Roles       A column keeps its role of the policy until another is chosen. An identifier cannot be given
            another role here, so it is never published.
Hierarchies are those of the policy that fit the column; without a choice, the one named after the column.
Inputs      follow from `AnonymizeFields`: a section for each panel of fields, labelled by their titles. A
            model of a column has a list of columns, of its variants, and a line for each parameter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from discreet.anonymity.models.model_option import ModelOption, ModelSpec
from discreet.anonymity.models.model_parsing import (
    MODEL_OPTIONS,
    list_variant_names,
    list_variants,
    parse_variant,
)
from discreet.core.column_entry import Column, Role
from discreet.core.errors import DiscreetError, RequestError, rename_arguments
from discreet.core.policy import Policy
from discreet.core.table_entry import Table
from discreet.rendering.hierarchy_view import build_tree
from discreet.services.anonymize.anonymize_request import (
    ATTACKERS,
    METHOD,
    METHODS,
    MODELS,
    OBJECTIVES,
    PRIVATE,
    PUBLISHED,
    AnonymizeFields,
    AnonymizeRequest,
)
from discreet.services.anonymize.table_resolution import ResolvedTable, resolve_policy_table
from discreet.services.hierarchy_preview import preview_hierarchy
from discreet.services.policy_errors import find_hierarchy_misfit
from discreet.services.request_fields import get_form, make_request, split_names

MODEL_OPTIONS_BY_NAME = {option.name: option for option in MODEL_OPTIONS}
COLUMN_MODELS = {
    option.name: option
    for option in MODEL_OPTIONS
    if all(kind.form.startswith("COLUMN:") for kind in list_variants(option))
}
"""The models of a sensitive column, which is chosen from a list."""

ROLE_PREFIX, HIERARCHY_PREFIX = "role:", "hierarchy:"
RECODINGS = tuple(each for each in METHODS if each != PRIVATE)
FORMATS = ("csv", "parquet")
DEFAULT_K = 5
SECTIONS = (MODELS, METHOD, ATTACKERS, PUBLISHED)
"""The panels of the request's fields that the form has; others name files, or are of the method private."""

CHOICES = {"method": RECODINGS, "objective": OBJECTIVES, "unit": ("row",)}
BLANKS = {"unit": "people", "population": "no table"}
USUAL = {"k": str(DEFAULT_K), "posterior": "20%", "suppress": "0%", "at_most": "30%", "seconds": "60"}
USUAL_PARAMETERS = {"l_diversity_l": "2", "l_diversity_c": "1", "t_closeness_t": "0.2"}
"""What an empty parameter of a model means whose column is chosen."""

SHOWN = (
    "k",
    "posterior",
    "l_diversity",
    "t_closeness",
    "method",
    "objective",
    "suppress",
    "at_most",
    "force",
    "keep",
)
"""The fields that are visible at once; the others of a section are folded."""


@dataclass(frozen=True, kw_only=True)
class FormInput:
    """One input: a list if it has choices, a box to check, or a line of text."""

    name: str
    label: str
    value: str = ""
    choices: tuple[str, ...] = ()
    blank: str = ""
    usual: str = ""
    help: str = ""
    is_check: bool = False


@dataclass(frozen=True, kw_only=True)
class FormSection:
    """The inputs under one heading, in rows; `folded` ones are shown if one of them is filled."""

    title: str
    rows: tuple[tuple[FormInput, ...], ...]
    folded: tuple[tuple[FormInput, ...], ...]

    @property
    def is_open(self) -> bool:
        return any(each.value for row in self.folded for each in row)


@dataclass(frozen=True, kw_only=True)
class ColumnChoice:
    """A column on the page: its type, the possible roles and hierarchies, and the hierarchy as a tree."""

    name: str
    kind: str
    role: str
    roles: tuple[str, ...]
    hierarchy: str
    hierarchies: tuple[str, ...]
    tree: object = None
    hierarchy_error: str = ""


@dataclass(frozen=True, kw_only=True)
class PublishForm:
    """A table of the policy with the choices of the form."""

    policy: Policy
    name: str
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def table(self) -> Table:
        return self.policy.tables[self.name]

    def get_field(self, name: str) -> str:
        """Return a field of the form, or an empty text."""
        return self.fields.get(name, "").strip()[:200]

    @property
    def policy_with_choices(self) -> Policy:
        """The policy with the chosen roles and hierarchies."""
        columns = {
            name: self._apply_column_choice(name, column) for name, column in self.table.columns.items()
        }
        table = self.table.model_copy(update={"columns": columns})
        return self.policy.model_copy(update={"tables": {**self.policy.tables, self.name: table}})

    def _apply_column_choice(self, name: str, column: Column) -> Column:
        changed: dict[str, object] = {}
        role, hierarchy = self.get_field(ROLE_PREFIX + name), self.get_field(HIERARCHY_PREFIX + name)
        if role and role != _get_declared_role(column):
            if role not in self.list_roles(name):
                raise RequestError(f"publish: {name} cannot be {role}.", hint="Choose one of its roles.")
            changed["role"] = Role(role)
        if hierarchy and hierarchy != column.hierarchy:
            if hierarchy not in self.list_hierarchies(column):
                raise RequestError(
                    f"publish: hierarchy {hierarchy} does not fit {name}.", hint="Choose a listed one."
                )
            changed["hierarchy"] = hierarchy
        return column.model_copy(update=changed) if changed else column

    def list_roles(self, name: str) -> tuple[str, ...]:
        """Return the roles that may be chosen for a column."""
        column = self.table.columns[name]
        if column.role is Role.IDENTIFIER or name == self.table.person_column:
            return (Role.IDENTIFIER.value,)
        unsaid = () if "role" in column.model_fields_set else ("",)
        return (*unsaid, *(role.value for role in Role))

    def list_hierarchies(self, column: Column) -> tuple[str, ...]:
        entries = self.policy.hierarchies.items()
        return tuple(name for name, entry in entries if find_hierarchy_misfit(name, entry, column) is None)

    @property
    def column_choices(self) -> list[ColumnChoice]:
        made = self.policy_with_choices
        return [self._build_column_choice(made, name) for name in self.table.columns]

    def _build_column_choice(self, policy: Policy, name: str) -> ColumnChoice:
        column = policy.tables[self.name].columns[name]
        grown, lacking = None, ""
        if column.role is Role.QUASI:
            try:
                grown = build_tree(preview_hierarchy(policy, f"{self.name}.{name}").hierarchy)
            except DiscreetError as error:
                lacking = str(error)
        return ColumnChoice(
            name=name,
            kind=column.type.value,
            role=_get_declared_role(column),
            roles=self.list_roles(name),
            hierarchy=column.hierarchy or "",
            hierarchies=self.list_hierarchies(column),
            tree=grown,
            hierarchy_error=lacking,
        )

    @property
    def sensitive_columns(self) -> list[str]:
        columns = self.policy_with_choices.tables[self.name].columns
        return [name for name, column in columns.items() if column.role is Role.SENSITIVE]

    @property
    def sections(self) -> tuple[FormSection, ...]:
        """The inputs of the form, from the fields of the request and the forms of the models."""
        return tuple(
            FormSection(
                title=title,
                rows=self._build_rows([name for name in _list_fields(title) if name in SHOWN]),
                folded=self._build_rows([name for name in _list_fields(title) if name not in SHOWN]),
            )
            for title in SECTIONS
        )

    def _build_rows(self, names: Sequence[str]) -> tuple[tuple[FormInput, ...], ...]:
        """Return one row of the plain fields, and one for each model of a column."""
        plain = tuple(self._build_input(name) for name in names if name not in COLUMN_MODELS)
        models = (self._build_model_row(COLUMN_MODELS[name]) for name in names if name in COLUMN_MODELS)
        return (*([plain] if plain else []), *models)

    def _build_input(self, name: str) -> FormInput:
        field, option = AnonymizeFields.model_fields[name], MODEL_OPTIONS_BY_NAME.get(name)
        number = f"{option.label}: k" if option is not None and option.is_number else ""
        return FormInput(
            name=name,
            label=number or field.title or (option.label if option else name),
            value=self.get_field(name),
            choices=self._list_choices(name),
            blank=BLANKS.get(name, ""),
            usual=USUAL.get(name, ""),
            help=rename_arguments(field.description or "", lambda name, _: name),
            is_check=field.annotation is bool,
        )

    def _build_model_row(self, option: ModelOption) -> tuple[FormInput, ...]:
        kinds, kind_name = list_variant_names(option), f"{option.name}_kind"
        kind = FormInput(name=kind_name, label="kind", choices=kinds, value=self.get_field(kind_name))
        column = f"{option.name}_column"
        return (
            FormInput(
                name=column,
                label=f"{option.label} of",
                choices=tuple(self.sensitive_columns),
                blank="no column",
                value=self.get_field(column),
                help=option.help,
            ),
            *([kind] if len(kinds) > 1 else []),
            *(
                FormInput(
                    name=name, label=label, value=self.get_field(name), usual=USUAL_PARAMETERS.get(name, "")
                )
                for label, name in _name_parameters(option).items()
            ),
        )

    def _list_choices(self, name: str) -> tuple[str, ...]:
        return tuple(self.policy.tables) if name == "population" else CHOICES.get(name, ())

    def build_request(self, output: Path | None) -> AnonymizeRequest:
        """Return the request that `discreet anonymize` would make."""
        names = [name for title in SECTIONS for name in _list_fields(title)]
        given = {name: value for name in names if (value := self._parse_field(name)) is not None}
        if not any(name in MODEL_OPTIONS_BY_NAME or name == "posterior" for name in given):
            given["k"] = DEFAULT_K  # only when no other model is chosen
        given |= {"table": self.name, "output": None if output is None else str(output)}
        return make_request(AnonymizeRequest, **given)

    def _parse_field(self, name: str) -> object:
        """Return the value of a field as the request takes it, or None if nothing was chosen."""
        if name in COLUMN_MODELS:
            return self._parse_column_model(COLUMN_MODELS[name]) or None
        text, option = self.get_field(name), MODEL_OPTIONS_BY_NAME.get(name)
        if not text:
            return None
        if name in CHOICES:
            return self._choose_option(name, CHOICES[name])
        return _parse_text(name, text) if option is None else _parse_model_text(option, text)

    def _parse_column_model(self, option: ModelOption) -> tuple[ModelSpec, ...]:
        kind = self._choose_option(f"{option.name}_kind", list_variant_names(option))
        texts = {"column": self.get_field(f"{option.name}_column")}
        for parameter, name in _name_parameters(option).items():
            texts[parameter] = self.get_field(name) or USUAL_PARAMETERS.get(name, "")
        return (parse_variant(option, kind, texts),) if texts["column"] else ()

    @property
    def resolved_table(self) -> ResolvedTable:
        return resolve_policy_table(self.policy_with_choices, self.name, self.get_field("population") or None)

    @property
    def file_format(self) -> str:
        return self._choose_option("format", FORMATS)

    def _choose_option(self, name: str, options: tuple[str, ...]) -> str:
        said = self.get_field(name) or options[0]
        if said not in options:
            raise RequestError(
                f"publish: there is no {name} {said}.", hint=f"There are {', '.join(options)}."
            )
        return said


def list_publishable_tables(policy: Policy) -> tuple[str, ...]:
    """Return the tables with a person, or all tables if none has one."""
    about = tuple(name for name, table in policy.tables.items() if table.person != "none")
    return about or tuple(policy.tables)


def _parse_text(name: str, text: str) -> object:
    field = AnonymizeFields.model_fields[name]
    if field.annotation is bool:
        return text == "on"
    parse = get_form(field).parse
    return text if parse is None else parse(split_names(text))


def _parse_model_text(option: ModelOption, text: str) -> object:
    if not option.is_number:
        return split_names(text) if option.is_repeated else text
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise RequestError(f"publish: {option.name} must be a whole number.", hint="Write 5.")
    return int(text)


def _list_fields(panel: str) -> list[str]:
    """Return the fields of the request under a panel, which every frontend can ask for."""
    fields = AnonymizeFields.model_fields.items()
    return [name for name, field in fields if get_form(field).panel == panel]


def _name_parameters(option: ModelOption) -> dict[str, str]:
    """Return the parameters of a model besides its column, in all its variants, with their inputs' names.

    >>> _name_parameters(MODEL_OPTIONS_BY_NAME["l_diversity"])
    {'l': 'l_diversity_l', 'c': 'l_diversity_c'}
    """
    words = [word for kind in list_variants(option) for word in kind.form.split(":")]
    parameters = [word.lower() for word in words if word.isupper() and word != "COLUMN"]
    return {each: f"{option.name}_{each}" for each in parameters}


def _get_declared_role(column: Column) -> str:
    return column.role.value if "role" in column.model_fields_set else ""
