"""The form of the Publish screen: column roles and hierarchies, privacy models, the recoding.

Roles       A column keeps its role of the policy until another is chosen. An identifier cannot be given
            another role here, so it is never published.
Hierarchies are those of the policy that fit the column; without a choice, the one named after the column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from discreet.app.drafting.fitting import misfit
from discreet.app.hierarchy_view import tree
from discreet.app.publishing.anonymize_options import AnonymizeRequest
from discreet.app.publishing.anonymize_validation import METHODS, OBJECTIVES, PRIVATE
from discreet.app.publishing.model_options import ModelOptions
from discreet.app.publishing.table_request import ResolvedTable
from discreet.app.shown_hierarchy import find
from discreet.core.errors import DiscreetError, RequestError
from discreet.core.policy import Column, Policy, Role, Table

ROLE, HIERARCHY = "role:", "hierarchy:"
DIVERSITIES = ("distinct", "probabilistic", "entropy", "recursive")
DISTANCES = ("equal", "ordered", "hierarchical")
RECODINGS = tuple(each for each in METHODS if each != PRIVATE)
FORMATS = ("csv", "parquet")
USUAL_K = 5
FIELDS = (
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
class Shown:
    """A column on the page: its type, the possible roles and hierarchies, and the hierarchy as a tree."""

    name: str
    kind: str
    role: str
    roles: tuple[str, ...]
    hierarchy: str
    hierarchies: tuple[str, ...]
    tree: object = None
    lacking: str = ""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A table of the policy with the choices of the form."""

    policy: Policy
    name: str
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def table(self) -> Table:
        return self.policy.tables[self.name]

    def said(self, name: str) -> str:
        """Return a field of the form, or an empty text."""
        return self.fields.get(name, "").strip()[:200]

    @property
    def redeclared(self) -> Policy:
        """The policy with the chosen roles and hierarchies."""
        columns = {name: self._column(name, column) for name, column in self.table.columns.items()}
        table = self.table.model_copy(update={"columns": columns})
        return self.policy.model_copy(update={"tables": {**self.policy.tables, self.name: table}})

    def _column(self, name: str, column: Column) -> Column:
        changed: dict[str, object] = {}
        role, hierarchy = self.said(ROLE + name), self.said(HIERARCHY + name)
        if role and role != _role(column):
            if role not in self.roles(name):
                raise RequestError(f"publish: {name} cannot be {role}.", hint="Choose one of its roles.")
            changed["role"] = Role(role)
        if hierarchy and hierarchy != column.hierarchy:
            if hierarchy not in self.hierarchies(column):
                raise RequestError(
                    f"publish: hierarchy {hierarchy} does not fit {name}.", hint="Choose a listed one."
                )
            changed["hierarchy"] = hierarchy
        return column.model_copy(update=changed) if changed else column

    def roles(self, name: str) -> tuple[str, ...]:
        """Return the roles that may be chosen for a column."""
        column = self.table.columns[name]
        if column.role is Role.IDENTIFIER or name == self.table.person_column:
            return (Role.IDENTIFIER.value,)
        unsaid = () if "role" in column.model_fields_set else ("",)
        return (*unsaid, *(role.value for role in Role))

    def hierarchies(self, column: Column) -> tuple[str, ...]:
        entries = self.policy.hierarchies.items()
        return tuple(name for name, entry in entries if misfit(name, entry, column) is None)

    @property
    def columns(self) -> list[Shown]:
        made = self.redeclared
        return [self._shown(made, name) for name in self.table.columns]

    def _shown(self, made: Policy, name: str) -> Shown:
        column = made.tables[self.name].columns[name]
        grown, lacking = None, ""
        if column.role is Role.QUASI:
            try:
                grown = tree(find(made, f"{self.name}.{name}").hierarchy)
            except DiscreetError as error:
                lacking = str(error)
        return Shown(
            name=name,
            kind=column.type.value,
            role=_role(column),
            roles=self.roles(name),
            hierarchy=column.hierarchy or "",
            hierarchies=self.hierarchies(column),
            tree=grown,
            lacking=lacking,
        )

    @property
    def sensitive(self) -> list[str]:
        columns = self.redeclared.tables[self.name].columns
        return [name for name, column in columns.items() if column.role is Role.SENSITIVE]

    def request(self, output: Path | None) -> AnonymizeRequest:
        """Return the request that `discreet anonymize` would make."""
        diversity, closeness = self._diversity, self._closeness
        k = self.said("k")
        if k and not (k.isascii() and k.isdigit() and len(k) < 10):
            raise RequestError("publish: k must be a whole number.", hint="Write 5.")
        posterior = self.said("posterior") or None
        # k-anonymity is the default only when no other model is chosen
        usual = None if diversity or closeness or posterior else USUAL_K
        return AnonymizeRequest(
            table=self.name,
            policy=None,
            models=ModelOptions(k=int(k) if k else usual, l_diversity=diversity, t_closeness=closeness),
            posterior=posterior,
            suppress=self.said("suppress") or "0",
            objective=self._one_of("objective", OBJECTIVES),
            method=self._one_of("method", RECODINGS),
            at_most=self.said("at_most") or None,
            output=None if output is None else str(output),
            force=self.said("force") == "on",
        )

    @property
    def named(self) -> ResolvedTable:
        return ResolvedTable(name=self.name, policy=self.redeclared)

    @property
    def format(self) -> str:
        return self._one_of("format", FORMATS)

    @property
    def _diversity(self) -> list[str]:
        column, l, kind = self.said("l_column"), self.said("l"), self._one_of("l_kind", DIVERSITIES)
        if not column:
            return []
        c = f":{self.said('l_c') or 1}" if kind == "recursive" else ""
        return [f"{column}:{l or 2}:{kind}{c}"]

    @property
    def _closeness(self) -> list[str]:
        column, distance = self.said("t_column"), self._one_of("t_kind", DISTANCES)
        return [f"{column}:{self.said('t') or '0.2'}:{distance}"] if column else []

    def _one_of(self, name: str, known: tuple[str, ...]) -> str:
        said = self.said(name) or known[0]
        if said not in known:
            raise RequestError(f"publish: there is no {name} {said}.", hint=f"There are {', '.join(known)}.")
        return said


def publishable(policy: Policy) -> tuple[str, ...]:
    """Return the tables with a person, or all tables if none has one."""
    about = tuple(name for name, table in policy.tables.items() if table.person != "none")
    return about or tuple(policy.tables)


def _role(column: Column) -> str:
    return column.role.value if "role" in column.model_fields_set else ""
