"""Policy tables: the tables of a policy as SQL over an engine's own tables.

Each is a SELECT over the engine's own table, the same that makes a table of DuckDB's prepared store: values
encoded, persons hashed, each person's rows ranked (`clamping`, `row_ranking`). It
replaces the table in every statement, or is written once to the store that the policy names.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.sql_quoting import quote_identifier
from discreet.core.table_entry import Table
from discreet.engines import row_ranking
from discreet.engines.dialects import sql_marks, sql_types
from discreet.engines.dialects.dialect import Dialect
from discreet.engines.dialects.sql_types import SqlType, TypedSql, TypeFamily
from discreet.engines.dialects.statement_verification import StatementTranslator
from discreet.engines.dialects.statement_writer import SqlRelation, TranslatedStatement
from discreet.engines.identifier_types import IdentifierType, require_exact_identifiers
from discreet.engines.published_columns import select_published_column
from discreet.engines.sources import SourceRelation

SOURCE, TABLE = "_discreet_source", "_discreet_table"
KINDS: Mapping[str, SqlType] = {
    "BOOLEAN": sql_types.BOOLEAN,
    "BIGINT": sql_types.INTEGER,
    "DOUBLE": sql_types.DOUBLE,
    "DECIMAL(38,9)": sql_types.DECIMAL,
    "VARCHAR": sql_types.TEXT,
    "DATE": sql_types.DATE,
    "TIMESTAMP": sql_types.TIMESTAMP,
    "TIMESTAMP WITH TIME ZONE": sql_types.ZONED,
}
"""The DuckDB types that an engine's own types are read as; a DECIMAL may have fewer digits."""
LIST, CAST = "[]", re.compile(r" AS [a-z ]+\)", re.I)


@dataclass(frozen=True, kw_only=True)
class EngineTable:
    """An engine's own table: the SQL to select from, and the type of each declared column as read.

    `identifier_types` holds the engine's own types, and whether these can identify people.
    """

    text: str
    table: str
    types: Mapping[str, str]
    identifier_types: Mapping[str, IdentifierType] = field(default_factory=dict)

    @property
    def relation(self) -> SqlRelation:
        """The table as a relation of a translated statement."""
        columns = {name: _find_type(type_name) for name, type_name in self.types.items()}
        return SqlRelation(text=self.text, columns=columns, tables=frozenset({self.table}))


@dataclass(frozen=True, kw_only=True)
class PolicyTables:
    """The policy's tables by name; `definitions` has the SELECT of each name that they refer to."""

    relations: Mapping[str, SqlRelation]
    definitions: Mapping[str, TranslatedStatement]


@dataclass(frozen=True, kw_only=True)
class ColumnSelection:
    """The select list for an engine's own table, and each column's type as read and in the engine."""

    text: str
    types: Mapping[str, str]
    identifier_types: Mapping[str, IdentifierType]


def select_declared_columns(
    name: str,
    source: str,
    forms: Mapping[str, tuple[str, str]],
    declared: Mapping[str, str] | None,
    dialect: Dialect,
    identifier_types: Mapping[str, IdentifierType],
) -> ColumnSelection:
    """Return the declared columns, or all; `forms` has a template and a DuckDB type for each own column.

    `declared` has each column's name in the table, which matches one exactly, or else ignoring case.
    """
    lower = {column.lower(): column for column in forms}
    types, outputs, found = {}, [], {}
    for column, origin in (dict(zip(forms, forms, strict=True)) if declared is None else declared).items():
        own = origin if origin in forms else lower.get(origin.lower())
        if own is None:
            called = column if column == origin else f"{column} from {origin}"
            raise RequestError(
                f"{dialect.name}: table {name} declares the column {called}; {source} does not have it.",
                hint="Correct its name in the policy, or take it out.",
            )
        form, types[column] = forms[own]
        found[column] = identifier_types[own]
        outputs.append(
            f"{form.format(sql_marks.mark_name(own, dialect))} AS {sql_marks.mark_name(column, dialect)}"
        )
    return ColumnSelection(text=", ".join(outputs), types=types, identifier_types=found)


def require_no_csv_options(tables: Mapping[str, Table], dialect: Dialect) -> None:
    """Refuse reading options for a table of a database, which has types of its own."""
    for name, table in tables.items():
        if table.csv is not None:
            raise RequestError(
                f"{dialect.name}: table {name} declares csv, and its source {table.source} is a table.",
                hint="Remove csv from the policy; it is for files of text.",
            )


def make_list_form(form: tuple[str, str], dialect: Dialect) -> tuple[str, str]:
    """Return the read form of a list, from the read form of its items."""
    text, type_name = form
    return CAST.sub(f" AS {dialect.list_type(_find_type(type_name))})", text), f"{type_name}{LIST}"


def map_plain_tables(engine_tables: Mapping[str, EngineTable]) -> PolicyTables:
    """Return the engine's own tables unchanged, for rows that may be counted without a policy."""
    return PolicyTables(
        relations={name: origin.relation for name, origin in engine_tables.items()}, definitions={}
    )


def build_policy_tables(
    policy: Policy, engine_tables: Mapping[str, EngineTable], dialect: Dialect
) -> PolicyTables:
    """Return every table of the policy over the engine's own tables; their SQL is verified here."""
    require_exact_identifiers(
        dialect.name, policy.tables, {name: origin.identifier_types for name, origin in engine_tables.items()}
    )
    known: dict[str, SqlRelation] = {
        _name_source(name): origin.relation for name, origin in engine_tables.items()
    }
    written = StatementTranslator(dialect=dialect, relations=known)
    found: dict[str, SqlRelation] = {}
    definitions: dict[str, TranslatedStatement] = {}
    for name in row_ranking.order_tables(policy):
        reading = SourceRelation(
            relation=quote_identifier(_name_source(name)), types=dict(engine_tables[name].types)
        )
        forms = {name: row_ranking.write_rows(name, policy, reading)}
        if policy.is_read_only and policy.tables[name].has_person_key:
            forms |= row_ranking.write_in_place_rows(name, policy, reading)
        for form, sql in forms.items():
            called = dialect.shorten_identifier(f"{TABLE} {form}")
            definitions[called] = written(sql)
            found[form] = _reference_definition(called, definitions[called], dialect)
        for column in row_ranking.list_lookup_columns(name, policy):
            owners = written(row_ranking.write_owner_rows(name, column, policy, reading))
            known[f"_discreet_owners {name} {column}"] = SqlRelation(
                text=f"({owners.marked_text})", columns=owners.columns, tables=owners.tables
            )
    return PolicyTables(relations=found, definitions=definitions)


def build_published_relations(
    tables: Mapping[str, Table], engine_tables: Mapping[str, EngineTable], dialect: Dialect
) -> dict[str, SqlRelation]:
    """Return the engine's own tables for a publisher, each value in one form (`duckdb_publisher`)."""
    known = {_name_source(name): origin.relation for name, origin in engine_tables.items()}
    written = StatementTranslator(dialect=dialect, relations=known)
    found = {}
    for name, origin in engine_tables.items():
        columns = ", ".join(
            select_published_column(tables[name], column, kind) for column, kind in origin.types.items()
        )
        statement = written(f"SELECT {columns} FROM {quote_identifier(_name_source(name))}")
        found[name] = SqlRelation(
            text=f"({statement.marked_text})", columns=statement.columns, tables=statement.tables
        )
    return found


def write_row_checksum(engine_table: EngineTable, dialect: Dialect, sum_type: str) -> str:
    """Return the SELECT of the number of rows, and the sum of their hashes in the type `sum_type`."""
    pieces = [
        TypedSql(text=dialect.quote_identifier(name), sql_type=kind)
        for name, kind in engine_table.relation.columns.items()
    ]
    text = dialect.types[TypeFamily.TEXT]
    hashed = f"CAST(sum(CAST({dialect.write_row_hash(pieces)} AS {sum_type})) AS {text})"
    return f"SELECT count(*) AS n, {hashed} AS h FROM {sql_marks.remove_marks(engine_table.text)} AS s"


def order_by_all_columns(statement: TranslatedStatement) -> str:
    """Order a statement's rows by all their values, so that the order shows nothing of the source's."""
    places = ", ".join(f"{place + 1} NULLS LAST" for place in range(len(statement.columns)))
    return f"SELECT * FROM ({statement.text}) AS o ORDER BY {places}"


def decode_dictionaries(table: pa.Table) -> pa.Table:
    """Replace dictionary columns by plain ones, as engines do not accept dictionaries."""
    for place, column in enumerate(table.schema):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(place, column.name, table.column(place).cast(column.type.value_type))
    return table


def compute_store_version(policy: Policy, tables: PolicyTables, key: bytes, *, reading: int = 0) -> str:
    """Return the version of a prepared store: it changes with the data version and the tables' SQL.

    `reading` changes with how an engine reads its sources, where the SQL does not show it.
    """
    state: dict[str, object] = {
        "data": policy.data_version,
        "tables": {name: each.text for name, each in tables.definitions.items()},
        **({"reading": reading} if reading else {}),
    }
    return hmac.digest(key, json.dumps(state, sort_keys=True).encode(), "sha256").hex()[:16]


def _reference_definition(name: str, statement: TranslatedStatement, dialect: Dialect) -> SqlRelation:
    return SqlRelation(
        text=sql_marks.mark_name(name, dialect), columns=statement.columns, tables=frozenset({name})
    )


def _find_type(type_name: str) -> SqlType:
    """Return the SQL type of a DuckDB type name.

    >>> _find_type("DECIMAL(9,2)").largest, _find_type("BIGINT[]").is_list
    (10000000.0, True)
    """
    if type_name.endswith(LIST):
        return replace(_find_type(type_name.removesuffix(LIST)), is_list=True)
    narrow = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", type_name)
    if type_name in KINDS or narrow is None:
        return KINDS[type_name]
    digits, scale = map(int, narrow.groups())
    return sql_types.make_decimal_type(digits, scale)


def _name_source(name: str) -> str:
    return f"{SOURCE} {name}"
