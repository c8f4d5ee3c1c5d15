"""The form of the Publish screen: column roles and hierarchies, privacy models, the recoding.

Roles       A column keeps its role of the policy until another is chosen. An identifier cannot be given
            another role here, so it is never published.
Hierarchies are those of the policy that fit the column; without a choice, the one named after the column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from discreet.anonymity.models.closeness import T_CLOSENESS
from discreet.anonymity.models.model_option import L_DIVERSITY, ModelSpec
from discreet.anonymity.models.model_parsing import list_variant_names, parse_variant
from discreet.core.errors import DiscreetError, RequestError
from discreet.core.policy import Column, Policy, Role, Table
from discreet.rendering.hierarchy_view import build_tree
from discreet.services.anonymize.anonymize_request import METHODS, OBJECTIVES, PRIVATE, AnonymizeRequest
from discreet.services.anonymize.table_request import ResolvedTable
from discreet.services.hierarchy_preview import preview_hierarchy
from discreet.services.policy_errors import find_hierarchy_misfit
from discreet.services.request_fields import find_refusal

ROLE_PREFIX, HIERARCHY_PREFIX = "role:", "hierarchy:"
DIVERSITIES = list_variant_names(L_DIVERSITY)
DISTANCES = list_variant_names(T_CLOSENESS)
RECODINGS = tuple(each for each in METHODS if each != PRIVATE)
FORMATS = ("csv", "parquet")
DEFAULT_K = 5
FORM_FIELDS = (
    "k",
    "l_column",
    "l",
    "l_kind",
    "l_c",
    "t_column",
    "t",
    "t_kind",
    "posterior",
    "at_most",
    "suppress",
    "method",
    "objective",
    "format",
    "force",
)


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

    def build_request(self, output: Path | None) -> AnonymizeRequest:
        """Return the request that `discreet anonymize` would make."""
        diversity, closeness = self._diversity_specs, self._closeness_specs
        k = self.get_field("k")
        if k and not (k.isascii() and k.isdigit() and len(k) < 10):
            raise RequestError("publish: k must be a whole number.", hint="Write 5.")
        posterior = self.get_field("posterior") or None
        # k-anonymity is the default only when no other model is chosen
        usual = None if diversity or closeness or posterior else DEFAULT_K
        given = {
            "table": self.name,
            "k": int(k) if k else usual,
            L_DIVERSITY.name: diversity,
            T_CLOSENESS.name: closeness,
            "posterior": posterior,
            "suppress": self.get_field("suppress") or 0,
            "objective": self._choose_option("objective", OBJECTIVES),
            "method": self._choose_option("method", RECODINGS),
            "at_most": self.get_field("at_most") or None,
            "output": None if output is None else str(output),
            "force": self.get_field("force") == "on",
        }
        try:
            return AnonymizeRequest.model_validate(given)
        except ValidationError as error:
            raise find_refusal(error) from None

    @property
    def resolved_table(self) -> ResolvedTable:
        return ResolvedTable(name=self.name, policy=self.policy_with_choices)

    @property
    def file_format(self) -> str:
        return self._choose_option("format", FORMATS)

    @property
    def _diversity_specs(self) -> tuple[ModelSpec, ...]:
        column, kind = self.get_field("l_column"), self._choose_option("l_kind", DIVERSITIES)
        texts = {"column": column, "l": self.get_field("l") or "2", "c": self.get_field("l_c") or "1"}
        return (parse_variant(L_DIVERSITY, kind, texts),) if column else ()

    @property
    def _closeness_specs(self) -> tuple[ModelSpec, ...]:
        column, distance = self.get_field("t_column"), self._choose_option("t_kind", DISTANCES)
        texts = {"column": column, "t": self.get_field("t") or "0.2"}
        return (parse_variant(T_CLOSENESS, distance, texts),) if column else ()

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


def _get_declared_role(column: Column) -> str:
    return column.role.value if "role" in column.model_fields_set else ""
