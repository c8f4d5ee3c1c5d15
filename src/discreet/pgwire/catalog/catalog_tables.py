"""The public schema of a policy as tables of PostgreSQL's catalog: names, types, links, declared bounds.

Nothing is read from data, and other users are not listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from discreet.core.column_entry import Column, ColumnType, Role
from discreet.core.policy import Policy
from discreet.core.table_entry import Table

PG_CATALOG = 11
PUBLIC = 2200
INFORMATION_SCHEMA = 13_000
OWNER = 10
DATABASE = 16_383
FIRST_OID = 16_384
PG_CLASS_OID = 1259
PG_CONSTRAINT_OID = 2606
HEAP_ACCESS_METHOD = 2
DEFAULT_TABLESPACE = 1663
OWNER_NAME = DATABASE_NAME = "discreet"
COLUMN_TYPES: Mapping[ColumnType, tuple[int, str]] = {
    ColumnType.INTEGER: (20, "bigint"),
    ColumnType.DECIMAL: (701, "double precision"),
    ColumnType.CATEGORY: (25, "text"),
    ColumnType.TEXT: (25, "text"),
    ColumnType.BOOLEAN: (16, "boolean"),
    ColumnType.DATE: (1082, "date"),
    ColumnType.TIMESTAMP: (1114, "timestamp without time zone"),
}
EMPTY_TABLES = frozenset(
    """
    pg_aggregate pg_amop pg_amproc pg_attrdef pg_auth_members pg_available_extensions pg_cast
    pg_collation pg_conversion pg_cursors pg_db_role_setting pg_default_acl pg_depend pg_enum
    pg_event_trigger pg_extension pg_foreign_data_wrapper pg_foreign_server pg_foreign_table pg_group
    pg_index pg_indexes pg_inherits pg_init_privs pg_language pg_largeobject pg_largeobject_metadata
    pg_locks pg_matviews pg_opclass pg_operator pg_opfamily pg_parameter_acl pg_partitioned_table
    pg_policies pg_policy pg_prepared_statements pg_proc pg_publication pg_publication_namespace
    pg_publication_rel pg_publication_tables pg_range pg_replication_slots pg_rewrite pg_rules
    pg_seclabel pg_sequence pg_sequences pg_shdepend pg_shdescription pg_stat_activity
    pg_stat_user_tables pg_statistic_ext pg_stats pg_subscription pg_subscription_rel pg_timezone_names
    pg_transform pg_trigger pg_ts_config pg_ts_dict pg_ts_parser pg_ts_template pg_user_mapping
    pg_user_mappings pg_views
    """.split()  # noqa: SIM905  (one line for each name otherwise)
)
"""Tables of PostgreSQL's catalog that have no rows here."""
KNOWN_TYPES = (
    (16, "bool", "boolean", 1, "B", 1000),
    (18, "char", '"char"', 1, "Z", 1002),
    (19, "name", "name", 64, "S", 1003),
    (20, "int8", "bigint", 8, "N", 1016),
    (21, "int2", "smallint", 2, "N", 1005),
    (23, "int4", "integer", 4, "N", 1007),
    (25, "text", "text", -1, "S", 1009),
    (26, "oid", "oid", 4, "N", 1028),
    (701, "float8", "double precision", 8, "N", 1022),
    (1043, "varchar", "character varying", -1, "S", 1015),
    (1082, "date", "date", 4, "D", 1182),
    (1114, "timestamp", "timestamp without time zone", 8, "D", 1115),
    (1700, "numeric", "numeric", -1, "N", 1231),
)
Row = dict[str, Any]
ARRAY_COLUMNS = {"conkey", "confkey", "datacl", "relacl", "reloptions", "nspacl", "attacl", "attoptions"}


def build_catalog_tables(policy: Policy) -> dict[str, pa.Table]:
    """Return all tables of the catalog that are not always empty."""
    return {
        "pg_namespace": _build_table(_pg_namespace_rows()),
        "pg_class": _build_table(
            [
                _pg_class_row(FIRST_OID + place, name, t)
                for place, (name, t) in enumerate(policy.tables.items())
            ]
        ),
        "pg_attribute": _build_table(list(_pg_attribute_rows(policy))),
        "pg_type": _build_table(_pg_type_rows()),
        "pg_database": _build_table([_pg_database_row()]),
        "pg_tablespace": _build_table(
            [{"oid": DEFAULT_TABLESPACE, "spcname": "pg_default", "spcowner": OWNER}]
        ),
        "pg_am": _build_table([{"oid": HEAP_ACCESS_METHOD, "amname": "heap", "amhandler": 3, "amtype": "t"}]),
        "pg_constraint": _build_table(
            [*_pg_constraint_rows(policy)] or [_pg_constraint_row(0, 0, 0, 0, 0, "", "")],
            has_rows=bool([*_pg_constraint_rows(policy)]),
        ),
        "pg_description": _build_table(list(_pg_description_rows(policy))),
        "pg_settings": _build_table([MAX_INDEX_KEYS_ROW]),
        "pg_tables": _build_table([_pg_tables_row(name) for name in policy.tables]),
        "information_schema.schemata": _build_table([PUBLIC_SCHEMA_ROW]),
        "information_schema.tables": _build_table(
            [_information_schema_table_row(name) for name in policy.tables]
        ),
        "information_schema.columns": _build_table(list(_information_schema_column_rows(policy))),
    }


MAX_INDEX_KEYS_ROW: Row = {
    "name": "max_index_keys",
    "setting": "32",
    "unit": None,
    "category": "Preset Options",
    "short_desc": "Shows the maximum number of index keys.",
    "context": "internal",
    "vartype": "integer",
    "source": "default",
    "boot_val": "32",
    "reset_val": "32",
}
"""JDBC drivers read it before they list keys."""
PUBLIC_SCHEMA_ROW: Row = {"catalog_name": DATABASE_NAME, "schema_name": "public", "schema_owner": OWNER_NAME}


def _build_table(rows: list[Row], *, has_rows: bool = True) -> pa.Table:
    columns = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        kind = (
            pa.list_(pa.string())
            if name in ARRAY_COLUMNS and all(value is None for value in values)
            else None
        )
        found = pa.array(values, kind)
        columns[name] = found.cast(pa.string()) if pa.types.is_null(found.type) else found
    table = pa.table(columns)
    return table if has_rows else table.slice(0, 0)


def _pg_namespace_rows() -> list[Row]:
    names = {PG_CATALOG: "pg_catalog", PUBLIC: "public", INFORMATION_SCHEMA: "information_schema"}
    return [{"oid": oid, "nspname": name, "nspowner": OWNER, "nspacl": None} for oid, name in names.items()]


def _pg_class_row(oid: int, name: str, table: Table) -> Row:
    return {
        "oid": oid,
        "relname": name,
        "relnamespace": PUBLIC,
        "reltype": 0,
        "reloftype": 0,
        "relowner": OWNER,
        "relam": HEAP_ACCESS_METHOD,
        "relfilenode": oid,
        "reltablespace": 0,
        "relpages": 0,
        "reltuples": -1.0,
        "reltoastrelid": 0,
        "relhasindex": False,
        "relisshared": False,
        "relpersistence": "p",
        "relkind": "r",
        "relnatts": len(table.columns),
        "relchecks": 0,
        "relhasrules": False,
        "relhastriggers": bool(table.links),
        "relhassubclass": False,
        "relrowsecurity": False,
        "relforcerowsecurity": False,
        "relispopulated": True,
        "relreplident": "d",
        "relispartition": False,
        "relacl": None,
        "reloptions": None,
        "relpartbound": None,
    }


def _iterate_columns(policy: Policy) -> Iterator[tuple[int, str, int, str, Column]]:
    for place, (name, table) in enumerate(policy.tables.items()):
        for number, (column, declared) in enumerate(table.columns.items(), 1):
            yield FIRST_OID + place, name, number, column, declared


def _pg_attribute_rows(policy: Policy) -> Iterator[Row]:
    for oid, _, number, name, column in _iterate_columns(policy):
        yield {
            "attrelid": oid,
            "attname": name,
            "atttypid": COLUMN_TYPES[column.type][0],
            "attstattarget": -1,
            "attlen": -1,
            "attnum": number,
            "attndims": 0,
            "atttypmod": -1,
            "attstorage": "p",
            "attcompression": "",
            "attnotnull": column.nulls is False,
            "atthasdef": False,
            "attidentity": "",
            "attgenerated": "",
            "attisdropped": False,
            "attislocal": True,
            "attinhcount": 0,
            "attcollation": 0,
            "attacl": None,
            "attoptions": None,
        }


def _pg_type_rows() -> list[Row]:
    return [
        {
            "oid": oid,
            "typname": name,
            "typnamespace": PG_CATALOG,
            "typowner": OWNER,
            "typlen": size,
            "typtype": "b",
            "typcategory": category,
            "typdelim": ",",
            "typrelid": 0,
            "typelem": 0,
            "typarray": array,
            "typnotnull": False,
            "typbasetype": 0,
            "typtypmod": -1,
            "typcollation": 0,
            "typdefault": None,
            "typinput": f"{name}in",
            "formatted": formatted,
        }
        for oid, name, formatted, size, category, array in KNOWN_TYPES
    ]


def _pg_database_row() -> Row:
    return {
        "oid": DATABASE,
        "datname": DATABASE_NAME,
        "datdba": OWNER,
        "encoding": 6,
        "datlocprovider": "c",
        "datistemplate": False,
        "datallowconn": True,
        "datconnlimit": -1,
        "dattablespace": DEFAULT_TABLESPACE,
        "datcollate": "C",
        "datctype": "C",
        "daticulocale": None,
        "datacl": None,
    }


def _pg_constraint_rows(policy: Policy) -> Iterator[Row]:
    oids = {name: FIRST_OID + place for place, name in enumerate(policy.tables)}
    links = [(name, column, link) for name, t in policy.tables.items() for column, link in t.links.items()]
    for place, (name, column, link) in enumerate(links):
        number = [*policy.tables[name].columns].index(column) + 1
        target = [*policy.tables[link.table].columns].index(link.column) + 1
        references = f"{_quote_identifier(link.table)}({_quote_identifier(link.column)})"
        definition = f"FOREIGN KEY ({_quote_identifier(column)}) REFERENCES {references}"
        oid = FIRST_OID + len(oids) + place
        yield _pg_constraint_row(
            oid, oids[name], number, oids[link.table], target, f"{name}_{column}_fkey", definition
        )


def _pg_constraint_row(
    oid: int, table: int, number: int, other: int, target: int, name: str, definition: str
) -> Row:
    return {
        "oid": oid,
        "conname": name,
        "connamespace": PUBLIC,
        "contype": "f",
        "condeferrable": False,
        "condeferred": False,
        "convalidated": True,
        "conrelid": table,
        "contypid": 0,
        "conindid": 0,
        "conparentid": 0,
        "confrelid": other,
        "confupdtype": "a",
        "confdeltype": "a",
        "confmatchtype": "s",
        "conislocal": True,
        "conkey": [number],
        "confkey": [target],
        "definition": definition,
    }


def _pg_description_rows(policy: Policy) -> Iterator[Row]:
    for oid, _, number, _, column in _iterate_columns(policy):
        yield {
            "objoid": oid,
            "classoid": PG_CLASS_OID,
            "objsubid": number,
            "description": describe_column(column),
        }


def describe_column(column: Column) -> str:
    """Return the declared bounds or values of a column, as shown by `\\d+`.

    >>> describe_column(Column(type="integer", low=17, high=90))
    'from 17 to 90'
    """
    if column.role is Role.IDENTIFIER:
        return "an identifier: never shown"
    if column.values is not None:
        return "one of " + ", ".join(column.values)
    if column.low is not None:
        return f"from {column.low} to {column.high}"
    return (
        "no bounds declared"
        if column.type in (ColumnType.INTEGER, ColumnType.DECIMAL)
        else "no values declared"
    )


def _pg_tables_row(name: str) -> Row:
    return {"schemaname": "public", "tablename": name, "tableowner": OWNER_NAME, "hasindexes": False}


def _information_schema_table_row(name: str) -> Row:
    return {
        "table_catalog": DATABASE_NAME,
        "table_schema": "public",
        "table_name": name,
        "table_type": "BASE TABLE",
        "is_insertable_into": "NO",
    }


def _information_schema_column_rows(policy: Policy) -> Iterator[Row]:
    for _, table, number, name, column in _iterate_columns(policy):
        oid, formatted = COLUMN_TYPES[column.type]
        yield {
            "table_catalog": DATABASE_NAME,
            "table_schema": "public",
            "table_name": table,
            "column_name": name,
            "ordinal_position": number,
            "column_default": None,
            "is_nullable": "NO" if column.nulls is False else "YES",
            "data_type": formatted,
            "character_maximum_length": None,
            "numeric_precision": None,
            "numeric_scale": None,
            "udt_name": next(each[1] for each in KNOWN_TYPES if each[0] == oid),
            "is_updatable": "NO",
        }


def _quote_identifier(name: str) -> str:
    plain = name.isascii() and name.isidentifier() and name == name.lower()
    return name if plain else '"' + name.replace('"', '""') + '"'
