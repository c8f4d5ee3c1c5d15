"""Resolving the table of a command: a table of the policy, or a file whose columns options describe.

A file needs no policy: options may declare its quasi-identifiers, sensitive columns and hierarchies. For a
table of a policy these options are refused, so that a column is declared in one place only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from discreet.core.errors import RequestError
from discreet.core.hierarchy_entry import HierarchyEntry
from discreet.core.policy import Policy, Role, Table
from discreet.services.addresses import parse_engine_address
from discreet.services.anonymize import undeclared_files
from discreet.services.policies import load_policy
from discreet.services.source_tables import (
    build_file_table,
    choose_engine,
    find_source_table,
    read_file_schema,
)

OF_BOUNDS = ("widths", "cuts", "dates")


@dataclass(frozen=True, kw_only=True)
class TableRequest:
    """A table as named on the command line; columns of `centred` show numbers, not labels."""

    table: str
    policy: Path | None = None
    quasi: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    identifiers: Sequence[str] = ()
    hierarchies: Mapping[str, str] = field(default_factory=dict)
    population: str | None = None
    centred: Collection[str] = ()
    engine: str | None = None


@dataclass(frozen=True, kw_only=True)
class ResolvedTable:
    """A table of a policy, which is made up for a file without one; `population` is also a table of it.

    `warnings` are about a file whose columns are not declared.
    """

    name: str
    policy: Policy
    population: str | None = None
    warnings: tuple[str, ...] = ()


def resolve_table(request: TableRequest) -> ResolvedTable:
    """Return the table that the command names."""
    policy = None
    if request.policy is not None:
        policy = load_policy(request.policy, engine=request.engine)
    engine = choose_engine(policy, request.engine)
    remarks: tuple[str, ...] = ()
    if policy is not None and request.table in policy.tables:
        _refuse_options(request)
        name = request.table
    else:
        _refuse_source(request, policy)
        policy, name = _build_file_policy(request, policy, engine)
        if parse_engine_address(policy.engine).is_embedded:
            remarks = undeclared_files.list_file_warnings(
                read_file_schema(request.table), request.quasi, policy.hierarchies, request.centred
            )
    if request.population is None or request.population in policy.tables:
        return replace(resolve_policy_table(policy, name, request.population), warnings=remarks)
    roles = dict.fromkeys(_list_quasi_identifiers(policy.tables[name]), Role.QUASI)
    people = build_file_table(request.population, roles, engine=engine)
    _require_columns(request.population, people, _list_quasi_identifiers(policy.tables[name]))
    policy = policy.model_copy(update={"tables": {**policy.tables, "population": people}})
    return ResolvedTable(name=name, policy=policy, population="population", warnings=remarks)


def resolve_policy_table(policy: Policy, name: str, population: str | None) -> ResolvedTable:
    """Return a table of a policy, with the table of its population."""
    for each in (name, *([] if population is None else [population])):
        if each not in policy.tables:
            raise RequestError(
                f"There is no table {each} in the policy.", hint=f"It has {', '.join(policy.tables)}."
            )
    if population is not None:
        _require_columns(population, policy.tables[population], _list_quasi_identifiers(policy.tables[name]))
    return ResolvedTable(name=name, policy=policy, population=population)


def _refuse_options(request: TableRequest) -> None:
    if request.quasi or request.sensitive or request.hierarchies:
        raise RequestError(
            f"The policy says what the columns of {request.table} are; --quasi, --sensitive and --hierarchy "
            "are for files.",
            hint="Change the policy, or name the file.",
        )


def _refuse_source(request: TableRequest, policy: Policy | None) -> None:
    """Raise for a file of the policy's table: it would be published without its promise and ledger."""
    name = None if policy is None else find_source_table(policy, request.table)
    if name is not None:
        raise RequestError(
            f"{request.table} is the table {name} of the policy.", hint="Name the table, not its file."
        )


def _build_file_policy(request: TableRequest, policy: Policy | None, engine: str) -> tuple[Policy, str]:
    if parse_engine_address(engine).is_embedded and not Path(request.table).suffix:
        known = f"It has {', '.join(policy.tables)}." if policy is not None else "There is no policy here."
        raise RequestError(
            f"There is no table {request.table} in the policy and no such file.",
            hint=f"{known} Name one of its tables, or a CSV, Parquet or DuckDB file.",
        )
    roles = dict.fromkeys(request.quasi, Role.QUASI) | dict.fromkeys(request.sensitive, Role.SENSITIVE)
    roles = dict.fromkeys(request.identifiers, Role.IDENTIFIER) | roles
    both = set(request.quasi) & set(request.sensitive)
    if both:
        raise RequestError(
            f"{min(both)} is both a quasi-identifier and sensitive.", hint="Name it in one of the two."
        )
    table = build_file_table(request.table, roles, request.hierarchies, engine=engine)
    _require_columns(request.table, table, [*roles, *request.hierarchies])
    if len(request.identifiers) == 1:  # its pseudonyms show which rows are one person's
        table = table.model_copy(update={"person": request.identifiers[0]})
    entries = {name: {"csv": file} for name, file in request.hierarchies.items()}
    declared = {} if policy is None else policy.hierarchies
    made = Policy.model_validate({"tables": {"table": table}, "hierarchies": {**declared, **entries}})
    elsewhere = not parse_engine_address(engine).is_embedded and parse_engine_address(engine).can_read(
        table.source
    )
    there = {"engine": engine, "store": None if policy is None else policy.store} if elsewhere else {}
    kept = {} if policy is None else {"ledger": policy.ledger}
    return made.model_copy(update=there | kept), "table"


def require_domains(request: TableRequest, declared: Mapping[str, HierarchyEntry]) -> None:
    """Raise if a policy's hierarchy takes its bounds from a column, which a file does not declare."""
    for name in request.quasi:
        entry = None if name in request.hierarchies else declared.get(name)
        if entry is not None and entry.kind in OF_BOUNDS and entry.low is None:
            raise RequestError(
                f"The policy's hierarchy {name} has no bounds of its own, and {request.table} declares none.",
                hint=f"Add low and high to that hierarchy, or give --hierarchy {name}=FILE.",
            )


def _list_quasi_identifiers(table: Table) -> list[str]:
    return [name for name, column in table.columns.items() if column.role is Role.QUASI]


def _require_columns(file: str, table: Table, names: Sequence[str]) -> None:
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise RequestError(f"{file} has no column {missing[0]}.", hint=f"It has {', '.join(table.columns)}.")
