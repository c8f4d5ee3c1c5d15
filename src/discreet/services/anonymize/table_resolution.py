"""Resolving the table of a command: a table of the policy, or a file whose columns options describe.

A file needs no policy: options may declare its quasi-identifiers, sensitive columns and hierarchies. For a
table of a policy these options are refused, so that a column is declared in one place only.

Of a file, only columns that an option names are published: a column that nobody named was not considered by
anybody. Where a column seems to name the person and several rows share its values, the custodian says whether
it does, since k rows may be one person.

A file declares no bounds of a number, so without a hierarchy its characters are masked, 34 to 3*, which is
safe and seldom useful. A column of numbers that contains a word, or numbers that begin with 0, is read as
text. Warnings say so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from discreet.core.column_entry import ColumnType, Role
from discreet.core.errors import RequestError
from discreet.core.hierarchy_entry import HierarchyEntry
from discreet.core.policy import Policy
from discreet.core.table_entry import Table
from discreet.engines.inventory import Schema, compute_file_pattern_shares
from discreet.services.addresses import parse_engine_address
from discreet.services.anonymize.anonymize_request import MICROAGGREGATE, AnonymizeRequest
from discreet.services.policies import load_policy
from discreet.services.policy_draft.column_roles import is_code, is_person_key
from discreet.services.source_tables import (
    assign_roles,
    build_file_table,
    choose_engine,
    find_source_table,
    read_file_schema,
)

OF_BOUNDS = ("widths", "cuts", "dates")
AMOUNTS = (ColumnType.INTEGER, ColumnType.DECIMAL)
TIMES = (ColumnType.DATE, ColumnType.TIMESTAMP)
NUMBER = {"number": r"[-+]?\d+([.,]\d+)?"}
MOSTLY = 0.5
WAY_OUT = 'Give `hierarchy="{name}=FILE"`, or a policy with its bounds.'


@dataclass(frozen=True, kw_only=True)
class ResolvedTable:
    """A table of a policy, which is made up for a file without one; `population` is also a table of it.

    `warnings` are about a file whose columns are not declared.
    """

    name: str
    policy: Policy
    population: str | None = None
    warnings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Columns of a file that no option names."""

    likely_person: str | None = None
    """A column of a file that seems to name the person, if the request does not say who that is."""


def resolve_table(request: AnonymizeRequest) -> ResolvedTable:
    """Return the table that the command names."""
    policy = None
    if request.policy is not None:
        policy = load_policy(request.policy, engine=request.engine)
    engine = choose_engine(policy, request.engine)
    if policy is not None and request.table in policy.tables:
        _refuse_options(request)
        resolved = ResolvedTable(name=request.table, policy=policy)
    else:
        _refuse_source(request, policy)
        resolved = _resolve_file(request, policy, engine)
    return resolve_population(resolved, request.population, engine=engine)


def resolve_population(
    resolved: ResolvedTable, population: str | None, *, engine: str | None = None
) -> ResolvedTable:
    """Return a table with that of its population: a table of the policy, or a file, which becomes one."""
    policy, name = resolved.policy, resolved.name
    if population is None or population in policy.tables:
        return replace(resolved, population=resolve_policy_table(policy, name, population).population)
    quasi = _list_quasi_identifiers(policy.tables[name])
    people = build_file_table(population, dict.fromkeys(quasi, Role.QUASI), engine=engine or policy.engine)
    _require_columns(population, people, quasi)
    policy = policy.model_copy(update={"tables": {**policy.tables, "population": people}})
    return replace(resolved, policy=policy, population="population")


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


def _refuse_options(request: AnonymizeRequest) -> None:
    if request.quasi or request.sensitive or request.hierarchy or request.person:
        raise RequestError(
            f"The policy says what the columns of {request.table} are; `quasi=`, `sensitive=`, `person=` and "
            "`hierarchy=` are for files.",
            hint="Change the policy, or name the file.",
        )


def require_keepable(request: AnonymizeRequest, table: Table) -> None:
    """Raise if a column to keep does not exist, or is an identifier, which never leaves."""
    _require_columns(request.table, table, request.keep)
    for name in request.keep:
        if table.columns[name].role is Role.IDENTIFIER or name == table.person:
            raise RequestError(
                f"The policy says that {name} of {request.table} is an identifier, which is never published.",
                hint=f"Omit it, or give {name} another role in the policy.",
            )


def _refuse_source(request: AnonymizeRequest, policy: Policy | None) -> None:
    """Raise for a file of the policy's table: it would be published without its promise and ledger."""
    name = None if policy is None else find_source_table(policy, request.table)
    if name is not None:
        raise RequestError(
            f"{request.table} is the table {name} of the policy.", hint="Name the table, not its file."
        )


def _resolve_file(request: AnonymizeRequest, policy: Policy | None, engine: str) -> ResolvedTable:
    table = _build_table(request, policy, engine)
    named = {*request.quasi, *request.sensitive, *request.pseudonym, *request.keep, *request.hierarchy}
    named |= {str(each.parameters["column"]) for each in request.model_specs if "column" in each.parameters}
    likely = None
    if table.person == "row" and request.person is None and request.unit is None:
        likely = next((name for name in table.columns if name not in named and is_person_key(name)), None)
    read = {name: column for name, column in table.columns.items() if name in {*named, table.person, likely}}
    made = _build_file_policy(request, policy, engine, table.model_copy(update={"columns": read}))
    warnings: tuple[str, ...] = ()
    if parse_engine_address(made.engine).is_embedded:
        # columns that show a number for each class need no hierarchy
        centred = request.quasi if request.method == MICROAGGREGATE else tuple(request.centres)
        schema = read_file_schema(request.table)
        warnings = list_file_warnings(schema, request.quasi, made.hierarchies, centred)
    return ResolvedTable(
        name="table",
        policy=made,
        warnings=warnings,
        left_out=tuple(name for name in table.columns if name not in {*named, table.person}),
        likely_person=likely,
    )


def _build_table(request: AnonymizeRequest, policy: Policy | None, engine: str) -> Table:
    if parse_engine_address(engine).is_embedded and not Path(request.table).suffix:
        known = f"It has {', '.join(policy.tables)}." if policy is not None else "There is no policy here."
        raise RequestError(
            f"There is no table {request.table} in the policy and no such file.",
            hint=f"{known} Name one of its tables, or a CSV, Parquet or DuckDB file.",
        )
    roles = dict.fromkeys(request.pseudonym, Role.IDENTIFIER) | assign_roles(request.quasi, request.sensitive)
    table = build_file_table(request.table, roles, request.hierarchy, engine=engine, unreviewed=request.keep)
    _require_columns(request.table, table, [*roles, *request.hierarchy, *request.keep])
    person = request.person
    if person is None and len(request.pseudonym) == 1:  # its pseudonyms show which rows are one person's
        person = request.pseudonym[0]
    if person in (None, "row"):
        return table
    _require_columns(request.table, table, [person])
    return table.model_copy(update={"person": person})


def _build_file_policy(request: AnonymizeRequest, policy: Policy | None, engine: str, table: Table) -> Policy:
    entries = {name: {"csv": file} for name, file in request.hierarchy.items()}
    declared = {} if policy is None else policy.hierarchies
    made = Policy.model_validate({"tables": {"table": table}, "hierarchies": {**declared, **entries}})
    elsewhere = not parse_engine_address(engine).is_embedded and parse_engine_address(engine).can_read(
        table.source
    )
    there = {"engine": engine, "store": None if policy is None else policy.store} if elsewhere else {}
    kept = {} if policy is None else {"ledger": policy.ledger}
    return made.model_copy(update=there | kept)


def require_domains(request: AnonymizeRequest, declared: Mapping[str, HierarchyEntry]) -> None:
    """Raise if a policy's hierarchy takes its bounds from a column, which a file does not declare."""
    for name in request.quasi:
        entry = None if name in request.hierarchy else declared.get(name)
        if entry is not None and entry.kind in OF_BOUNDS and entry.low is None:
            raise RequestError(
                f"The policy's hierarchy {name} has no bounds of its own, and {request.table} declares none.",
                hint=f'Add low and high to that hierarchy, or give `hierarchy="{name}=FILE"`.',
            )


def _list_quasi_identifiers(table: Table) -> list[str]:
    return [name for name, column in table.columns.items() if column.role is Role.QUASI]


def _require_columns(file: str, table: Table, names: Sequence[str]) -> None:
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise RequestError(f"{file} has no column {missing[0]}.", hint=f"It has {', '.join(table.columns)}.")


def list_file_warnings(
    schema: Schema, quasi: Collection[str], hierarchies: Collection[str], centred: Collection[str] = ()
) -> tuple[str, ...]:
    """Return one warning, with a remedy, for each quasi-identifier that should have a hierarchy.

    Columns of `centred` show a number for each class, and need none.
    """
    plain = {name: kind for name, kind in schema.columns if name in quasi and name not in hierarchies}
    return tuple(
        f"{each} {WAY_OUT.format(name=name)}" for name, each in _find_warnings(schema, plain, centred)
    )


def _find_warnings(
    schema: Schema, plain: dict[str, ColumnType | None], centred: Collection[str]
) -> Iterator[tuple[str, str]]:
    texts = [name for name, kind in plain.items() if kind is ColumnType.TEXT and not is_code(name)]
    numbers = {
        name: found["number"] for name, found in compute_file_pattern_shares(schema, texts, NUMBER).items()
    }
    for name, kind in plain.items():
        if kind in AMOUNTS and (is_code(name) or name in centred):
            continue
        if kind in AMOUNTS:
            yield name, f"{name} is a number without bounds, so its digits are masked (34 becomes 3*)."
        elif kind in TIMES:
            yield name, f"{name} is a date without bounds, so its characters are masked."
        # a file that declares the column as text is believed
        elif numbers.get(name, 0) > MOSTLY and (schema.is_guessed or numbers[name] < 1):
            wrong = "values are not numbers" if numbers[name] < 1 else "numbers are written as 05"
            yield name, f"{name} is read as text, because some of its {wrong}."
