"""Files and engine tables that no policy declares: their schema, and whether a file is a policy's source."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from glob import iglob
from pathlib import Path

from discreet.core.column_entry import Column, ColumnType, Role
from discreet.core.csv_options import CsvOptions
from discreet.core.errors import RequestError
from discreet.core.hierarchy_entry import MissingValues
from discreet.core.policy import Policy
from discreet.core.release_target import split_source
from discreet.core.table_entry import WORD, Table
from discreet.engines.inventory import Schema, read_schemas
from discreet.services.addresses import parse_engine_address, require_engine_address
from discreet.services.policy_draft.column_roles import guess_role, is_code
from discreet.services.publishers import Columns, describe_remote_table

BOUNDED = (ColumnType.INTEGER, ColumnType.DECIMAL, ColumnType.DATE, ColumnType.TIMESTAMP)


def choose_engine(policy: Policy | None, name: str | None) -> str:
    """Return the address of the engine: the one that was named, else the policy's, else DuckDB."""
    if name is not None:
        return require_engine_address(name)
    return "duckdb" if policy is None else policy.engine


def find_source_table(policy: Policy, file: str) -> str | None:
    """Return the table of the policy that has a file among its sources, in any spelling, or None."""
    path, inner = split_source(file)
    for name, table in policy.tables.items():
        declared, other = split_source(table.source)
        files = (declared, *iglob(declared, recursive=True))
        if inner in ("", other or name) and any(_is_same_file(path, each) for each in files):
            return name
    return None


def require_not_source(policy: Policy, output: str | Path, *, command: str = "") -> None:
    """Raise if the output is a source of any table of the policy."""
    lost = find_source_table(policy, str(output))
    if lost is not None:
        told = f"{command}: {output}" if command else f"{output}"
        raise RequestError(f"{told} is the table {lost} of the policy.", hint="Write to another file.")


def _is_same_file(path: str, other: str) -> bool:
    """Return whether two paths lead to one file, also through links."""
    if Path(path).resolve() == Path(other).resolve():
        return True
    return os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)


def assign_roles(quasi: Sequence[str], sensitive: Sequence[str]) -> dict[str, Role]:
    """Return the roles of columns that are named as quasi-identifiers or sensitive; raise if one is both."""
    both = set(quasi) & set(sensitive)
    if both:
        raise RequestError(
            f"{min(both)} is both a quasi-identifier and sensitive.", hint="Name it in one of the two."
        )
    return dict.fromkeys(quasi, Role.QUASI) | dict.fromkeys(sensitive, Role.SENSITIVE)


def build_file_table(
    named: str,
    roles: Mapping[str, Role],
    hierarchies: Collection[str] = (),
    *,
    engine: str,
    unreviewed: Collection[str] = (),
) -> Table:
    """Return the declaration of a file or of an engine's table, with every column.

    Missing values are a category of their own, except in sensitive columns. Numbers and dates are text,
    because their bounds are not declared, unless they have a hierarchy. A column without a role is an
    identifier if its name suggests one; those of `unreviewed` have none.
    """
    source, found, options = read_engine_schema(engine, named)
    unnamed = [at for at, (name, _) in enumerate(found, 1) if not WORD.fullmatch(name)]
    if unnamed:
        raise RequestError(
            f"The name of column {unnamed[0]} of {named} must be letters, digits, blanks and . - _.",
            hint="Give the column another name.",
        )
    columns = {
        name: build_column(
            choose_kind(name, kind, has_hierarchy=name in hierarchies),
            roles.get(name) or (None if name in unreviewed else _guess_identifier(name)),
        )
        for name, kind in found
    }
    return Table(source=source, columns=columns, csv=options)


def read_engine_schema(engine: str, name: str) -> tuple[str, Columns, CsvOptions | None]:
    """Return the source that a name means to an engine, its columns, and how its text seems to be read."""
    address = parse_engine_address(engine)
    source = address.source_from_name(name)
    if not address.is_embedded and address.can_read(source):
        return source, describe_remote_table(engine, source), None
    schema = read_file_schema(source if address.text.startswith("duckdb:///") else name)
    return schema.source, schema.columns, None if schema.csv is None else schema.csv.certain_options


def _guess_identifier(name: str) -> Role | None:
    return Role.IDENTIFIER if guess_role(name) is Role.IDENTIFIER else None


def build_column(kind: ColumnType, role: Role | None) -> Column:
    """Return a column, which has a declared role only if one is given."""
    column = Column(type=kind, missing=None if role is Role.SENSITIVE else MissingValues.CATEGORY)
    return column if role is None else column.model_copy(update={"role": role})


def choose_kind(name: str, kind: ColumnType | None, *, has_hierarchy: bool) -> ColumnType:
    """Return the kind of a column whose bounds are not declared: numbers and dates are text then."""
    if kind is None or (kind in BOUNDED and (not has_hierarchy or is_code(name))):
        return ColumnType.TEXT
    return kind


def read_file_schema(file: str) -> Schema:
    """Return the schema of a file's only table, or of the one that `shop.duckdb#visits` names."""
    path, inner = split_source(file)
    found = [each for each in read_schemas(Path(path).absolute()) if not inner or each.table == inner]
    if len(found) == 1:
        return found[0]
    what = f"no table {inner}" if inner else f"{len(found)} tables"
    raise RequestError(f"{path} has {what}.", hint=f"Name one of its tables: {path}#TABLE.")
