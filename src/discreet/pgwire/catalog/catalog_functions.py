"""Functions of catalog queries: PostgreSQL's own as DuckDB macros, and a few of standard SQL.

This is an allow-list: other functions are refused before anything is run.
"""

from __future__ import annotations

from discreet.pgwire.catalog.catalog_tables import (
    DATABASE_NAME,
    OWNER,
    OWNER_NAME,
    PG_CLASS_OID,
    PG_CONSTRAINT_OID,
)

SERVER_VERSION = "PostgreSQL 15.0 (discreet)"
PRIVILEGE_FUNCTIONS = {
    "has_column_privilege": (3, 4),
    **{
        f"has_{each}_privilege": (2, 3)
        for each in (
            "any_column",
            "database",
            "foreign_data_wrapper",
            "function",
            "language",
            "largeobject",
            "parameter",
            "schema",
            "sequence",
            "server",
            "table",
            "tablespace",
            "type",
        )
    },
    "pg_has_role": (2, 3),
}
"""PostgreSQL's privilege functions, with their number of arguments without and with a user."""
MACROS = (
    f"pg_version() AS '{SERVER_VERSION}'",
    "pg_schema() AS 'public'",
    "divisor(b) AS list_transform([b], lambda v: CASE WHEN v = 0 THEN error('zero') ELSE v END)[1]",
    f"pg_database_name() AS '{DATABASE_NAME}'",
    "pg_schemas(implicit) AS ['pg_catalog', 'public']",
    f"pg_get_userbyid(role) AS '{OWNER_NAME}'",
    "pg_table_is_visible(relation) AS relation IS NOT NULL",
    "pg_type_is_visible(kind) AS kind IS NOT NULL",
    "pg_function_is_visible(f) AS f IS NOT NULL",
    "pg_collation_is_visible(c) AS c IS NOT NULL",
    "format_type(kind, modifier) AS (SELECT any_value(formatted) FROM pg_type WHERE oid = kind)",
    "to_regtype(named) AS (SELECT any_value(oid) FROM pg_type WHERE named IN (typname, formatted))",
    "pg_get_expr(tree, relation) AS CAST(NULL AS VARCHAR), (tree, relation, pretty) AS CAST(NULL AS VARCHAR)",
    "pg_get_constraintdef(c) AS (SELECT any_value(definition) FROM pg_constraint WHERE oid = c),"
    " (c, pretty) AS (SELECT any_value(definition) FROM pg_constraint WHERE oid = c)",
    "pg_get_indexdef(i) AS CAST(NULL AS VARCHAR), (i, place, pretty) AS CAST(NULL AS VARCHAR)",
    "pg_get_serial_sequence(relation, attribute) AS CAST(NULL AS VARCHAR)",
    "pg_get_viewdef(v) AS CAST(NULL AS VARCHAR), (v, pretty) AS CAST(NULL AS VARCHAR)",
    "pg_get_partkeydef(relation) AS CAST(NULL AS VARCHAR)",
    "pg_partition_ancestors(relation) AS CAST(NULL AS BIGINT)",
    "pg_encoding_to_char(encoding) AS 'UTF8'",
    "pg_is_in_recovery() AS false",
    "pg_backend() AS 0",
    "pg_table_size(relation) AS CAST(0 AS BIGINT)",
    "pg_size_pretty(size) AS '0 bytes'",
    "pg_tablespace_location(space) AS ''",
    "pg_relation_is_publishable(relation) AS false",
    "pg_advisory_unlock_all() AS CAST(NULL AS VARCHAR)",
    "json_build_object(name, value) AS CAST(NULL AS VARCHAR)",
    "pg_typeof(value) AS typeof(value)",
    "array_lower(list_, dimension) AS 1",
    "array_upper(list_, dimension) AS len(list_)",
    "quote_ident(name) AS name",
    "col_description(relation, attribute) AS (SELECT any_value(description) FROM pg_description"
    " WHERE objoid = relation AND objsubid = attribute)",
    "obj_description(object_) AS CAST(NULL AS VARCHAR), (object_, catalog_) AS CAST(NULL AS VARCHAR)",
    "has_privilege(a, b) AS true, (a, b, c) AS true, (a, b, c, d) AS true",
    # A user is a member of their own role and of the owner's, and of none that PostgreSQL predefines.
    f"is_member(role, own) AS CAST(role AS VARCHAR) IN ('{OWNER}', '{OWNER_NAME}', own)",
    "relation_named(named) AS coalesce((SELECT any_value(oid) FROM pg_class WHERE relname ="
    " replace(replace(named, 'public.', ''), '\"', '')),"
    f" CASE replace(named, 'pg_catalog.', '') WHEN 'pg_class' THEN {PG_CLASS_OID}"
    f" WHEN 'pg_constraint' THEN {PG_CONSTRAINT_OID} END, TRY_CAST(named AS BIGINT))",
    "name_of_relation(relation) AS coalesce((SELECT any_value(relname) FROM pg_class WHERE oid = relation),"
    " CAST(relation AS VARCHAR))",
    "name_of_schema(s) AS (SELECT any_value(nspname) FROM pg_namespace WHERE oid = s)",
    "places(list_) AS range(1, len(list_) + 1)",
)
MACROS_BY_FUNCTION = {
    "version": "pg_version",
    "current_version": "pg_version",
    "current_schema": "pg_schema",
    "current_database": "pg_database_name",
    "current_catalog": "pg_database_name",
    "current_schemas": "pg_schemas",
    "pg_backend_pid": "pg_backend",
    "pg_relation_size": "pg_table_size",
    "pg_total_relation_size": "pg_table_size",
    "pg_database_size": "pg_table_size",
    "pg_tablespace_size": "pg_table_size",
    "shobj_description": "obj_description",
    "to_regclass": "relation_named",
    **{
        each: each
        for each in (
            "pg_get_userbyid",
            "pg_table_is_visible",
            "pg_type_is_visible",
            "pg_function_is_visible",
            "pg_collation_is_visible",
            "format_type",
            "to_regtype",
            "pg_get_expr",
            "pg_get_constraintdef",
            "pg_get_indexdef",
            "pg_get_serial_sequence",
            "pg_get_viewdef",
            "pg_get_partkeydef",
            "json_build_object",
            "pg_typeof",
            "array_lower",
            "array_upper",
            "quote_ident",
            "pg_partition_ancestors",
            "pg_advisory_unlock_all",
            "pg_encoding_to_char",
            "pg_is_in_recovery",
            "pg_table_size",
            "pg_size_pretty",
            "pg_tablespace_location",
            "pg_relation_is_publishable",
            "col_description",
            "obj_description",
        )
    },
}
"""PostgreSQL's functions, and the macro that implements each."""
STANDARD_FUNCTIONS = frozenset(
    (
        *("and", "any", "array", "array_agg", "array_length", "array_to_string", "case", "cast", "coalesce"),
        *(
            "concat",
            "count",
            "exists",
            "explode",
            "greatest",
            "group_concat",
            "if",
            "least",
            "left",
            "length",
        ),
        *("listagg", "logical_and", "logical_or", "lower", "max", "min", "nullif", "or", "regexp_ilike"),
        *(
            "regexp_like",
            "regexp_replace",
            "replace",
            "right",
            "row_number",
            "split_part",
            "substring",
            "sum",
        ),
        *("str_position", "string_to_array", "translate", "trim", "unnest", "upper", "round", "floor", "abs"),
    )
)
"""Functions that mean the same in DuckDB, and read neither files nor settings."""
