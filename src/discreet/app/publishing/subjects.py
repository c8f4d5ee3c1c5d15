"""Resolving the table of a command: a table of the policy, or a file whose columns options describe.

A file needs no policy: options may declare its quasi-identifiers, sensitive columns and hierarchies. For a
table of a policy these options are refused, so that a column is declared in one place only.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import iglob
from pathlib import Path

from discreet.app.addresses import engine_of
from discreet.app.drafting.roles import is_code, likely_role
from discreet.app.policies import engine_address, load
from discreet.app.publishers import Columns, described
from discreet.app.publishing import plain_files
from discreet.core.errors import RequestError
from discreet.core.hierarchies import HierarchyEntry, Missing
from discreet.core.policy import WORD, Column, Kind, Policy, Role, Table
from discreet.engines.schema import Schema, schemas
from discreet.engines.sources import split

OF_BOUNDS = ("widths", "cuts", "dates")
BOUNDED = (Kind.INTEGER, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP)


@dataclass(frozen=True, kw_only=True)
class Wanted:
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
class Named:
    """A table of a policy, which is made up for a file without one; `population` is also a table of it.

    `warnings` are about a file whose columns are not declared.
    """

    name: str
    policy: Policy
    population: str | None = None
    remarks: tuple[str, ...] = ()


def resolve(wanted: Wanted) -> Named:
    """Return the table that the command names."""
    policy = None
    if wanted.policy is not None:
        policy = load(wanted.policy, engine=wanted.engine)
    engine = engine_in(policy, wanted.engine)
    remarks: tuple[str, ...] = ()
    if policy is not None and wanted.table in policy.tables:
        _refuse_options(wanted)
        name = wanted.table
    else:
        _refuse_source(wanted, policy)
        policy, name = _of_file(wanted, policy, engine)
        if engine_of(policy.engine).scheme == "duckdb":
            remarks = plain_files.remarks(
                schema_of(wanted.table), wanted.quasi, policy.hierarchies, wanted.centred
            )
    if wanted.population is None or wanted.population in policy.tables:
        return replace(table_of_policy(policy, name, wanted.population), remarks=remarks)
    roles = dict.fromkeys(_quasi(policy.tables[name]), Role.QUASI)
    people = table_of(wanted.population, roles, engine=engine)
    _require_columns(wanted.population, people, _quasi(policy.tables[name]))
    policy = policy.model_copy(update={"tables": {**policy.tables, "population": people}})
    return Named(name=name, policy=policy, population="population", remarks=remarks)


def table_of_policy(policy: Policy, name: str, population: str | None) -> Named:
    """Return a table of a policy, with the table of its population."""
    for each in (name, *([] if population is None else [population])):
        if each not in policy.tables:
            raise RequestError(
                f"There is no table {each} in the policy.", hint=f"It has {', '.join(policy.tables)}."
            )
    if population is not None:
        _require_columns(population, policy.tables[population], _quasi(policy.tables[name]))
    return Named(name=name, policy=policy, population=population)


def engine_in(policy: Policy | None, named: str | None) -> str:
    """Return the address of the engine: the one that was named, else the policy's, else DuckDB."""
    if named is not None:
        return engine_address(named)
    return "duckdb" if policy is None else policy.engine


def _refuse_options(wanted: Wanted) -> None:
    if wanted.quasi or wanted.sensitive or wanted.hierarchies:
        raise RequestError(
            f"The policy says what the columns of {wanted.table} are; --quasi, --sensitive and --hierarchy "
            "are for files.",
            hint="Change the policy, or name the file.",
        )


def source_of(policy: Policy, file: str) -> str | None:
    """Return the table of the policy that has a file among its sources, in any spelling, or None."""
    path, inner = split(file)
    for name, table in policy.tables.items():
        declared, other = split(table.source)
        files = (declared, *iglob(declared, recursive=True))
        if inner in ("", other or name) and any(_is_same(path, each) for each in files):
            return name
    return None


def require_no_source(policy: Policy, output: str | Path, *, command: str = "") -> None:
    """Raise if the output is a source of any table of the policy."""
    lost = source_of(policy, str(output))
    if lost is not None:
        told = f"{command}: {output}" if command else f"{output}"
        raise RequestError(f"{told} is the table {lost} of the policy.", hint="Write to another file.")


def _is_same(path: str, other: str) -> bool:
    """Return whether two paths lead to one file, also through links."""
    if Path(path).resolve() == Path(other).resolve():
        return True
    return os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)


def _refuse_source(wanted: Wanted, policy: Policy | None) -> None:
    """Raise for a file of the policy's table: it would be published without its promise and ledger."""
    name = None if policy is None else source_of(policy, wanted.table)
    if name is not None:
        raise RequestError(
            f"{wanted.table} is the table {name} of the policy.", hint="Name the table, not its file."
        )


def _of_file(wanted: Wanted, policy: Policy | None, engine: str) -> tuple[Policy, str]:
    if engine_of(engine).scheme == "duckdb" and not Path(wanted.table).suffix:
        known = f"It has {', '.join(policy.tables)}." if policy is not None else "There is no policy here."
        raise RequestError(
            f"There is no table {wanted.table} in the policy and no such file.",
            hint=f"{known} Name one of its tables, or a CSV, Parquet or DuckDB file.",
        )
    roles = dict.fromkeys(wanted.quasi, Role.QUASI) | dict.fromkeys(wanted.sensitive, Role.SENSITIVE)
    roles = dict.fromkeys(wanted.identifiers, Role.IDENTIFIER) | roles
    both = set(wanted.quasi) & set(wanted.sensitive)
    if both:
        raise RequestError(
            f"{min(both)} is both a quasi-identifier and sensitive.", hint="Name it in one of the two."
        )
    table = table_of(wanted.table, roles, wanted.hierarchies, engine=engine)
    _require_columns(wanted.table, table, [*roles, *wanted.hierarchies])
    if len(wanted.identifiers) == 1:  # its pseudonyms show which rows are one person's
        table = table.model_copy(update={"person": wanted.identifiers[0]})
    entries = {name: {"csv": file} for name, file in wanted.hierarchies.items()}
    declared = {} if policy is None else policy.hierarchies
    made = Policy.model_validate({"tables": {"table": table}, "hierarchies": {**declared, **entries}})
    elsewhere = engine_of(engine).scheme != "duckdb" and engine_of(engine).reads(table.source)
    there = {"engine": engine, "store": None if policy is None else policy.store} if elsewhere else {}
    kept = {} if policy is None else {"ledger": policy.ledger}
    return made.model_copy(update=there | kept), "table"


def require_domains(wanted: Wanted, declared: Mapping[str, HierarchyEntry]) -> None:
    """Raise if a policy's hierarchy takes its bounds from a column, which a file does not declare."""
    for name in wanted.quasi:
        entry = None if name in wanted.hierarchies else declared.get(name)
        if entry is not None and entry.kind in OF_BOUNDS and entry.low is None:
            raise RequestError(
                f"The policy's hierarchy {name} has no bounds of its own, and {wanted.table} declares none.",
                hint=f"Add low and high to that hierarchy, or give --hierarchy {name}=FILE.",
            )


def table_of(
    named: str, roles: Mapping[str, Role], hierarchies: Collection[str] = (), *, engine: str
) -> Table:
    """Return the declaration of a file or of an engine's table, with every column.

    Missing values are a category of their own, except in sensitive columns. Numbers and dates are text,
    because their bounds are not declared, unless they have a hierarchy. A column without a role is an
    identifier if its name suggests one.
    """
    source, found = schema_in(engine, named)
    unnamed = [at for at, (name, _) in enumerate(found, 1) if not WORD.fullmatch(name)]
    if unnamed:
        raise RequestError(
            f"The name of column {unnamed[0]} of {named} must be letters, digits, blanks and . - _.",
            hint="Give the column another name.",
        )
    columns = {
        name: _column(name, _kind(name, kind, listed=name in hierarchies), roles.get(name))
        for name, kind in found
    }
    return Table(source=source, columns=columns)


def schema_in(engine: str, named: str) -> tuple[str, Columns]:
    """Return the source that a name means to an engine, and the names and types of its columns."""
    address = engine_of(engine)
    source = address.named(named)
    if address.scheme != "duckdb" and address.reads(source):
        return source, described(engine, source)
    schema = schema_of(source if address.text.startswith("duckdb:///") else named)
    return schema.source, schema.columns


def _column(name: str, kind: Kind, role: Role | None) -> Column:
    """Return a column with the given role, or as an identifier if its name suggests one."""
    column = Column(type=kind, missing=None if role is Role.SENSITIVE else Missing.CATEGORY)
    said = role or (Role.IDENTIFIER if likely_role(name) is Role.IDENTIFIER else None)
    return column if said is None else column.model_copy(update={"role": said})


def _kind(name: str, kind: Kind | None, *, listed: bool) -> Kind:
    if kind is None or (kind in BOUNDED and (not listed or is_code(name))):
        return Kind.TEXT
    return kind


def schema_of(file: str) -> Schema:
    """Return the schema of a file's only table, or of the one that `shop.duckdb#visits` names."""
    path, inner = split(file)
    found = [each for each in schemas(Path(path).absolute()) if not inner or each.table == inner]
    if len(found) == 1:
        return found[0]
    what = f"no table {inner}" if inner else f"{len(found)} tables"
    raise RequestError(f"{path} has {what}.", hint=f"Name one of its tables: {path}#TABLE.")


def _quasi(table: Table) -> list[str]:
    return [name for name, column in table.columns.items() if column.role is Role.QUASI]


def _require_columns(file: str, table: Table, names: Sequence[str]) -> None:
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise RequestError(f"{file} has no column {missing[0]}.", hint=f"It has {', '.join(table.columns)}.")
