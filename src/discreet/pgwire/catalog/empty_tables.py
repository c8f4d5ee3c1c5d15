"""Names of catalog tables, those that are always empty here, and their elimination from queries.

A SELECT from an empty table has no rows, whatever its other clauses; columns of an empty table in a LEFT JOIN
are NULL. So those clauses need not be supported, and most client queries about triggers, policies or
partitions are answered by this alone.
"""

from __future__ import annotations

import re
from collections.abc import Set

from sqlglot import exp

from discreet.pgwire.wire_errors import WireError

EMPTY_TABLES = frozenset(
    re.findall(
        r"\w+",
        """
    pg_aggregate pg_amop pg_amproc pg_attrdef pg_auth_members pg_available_extensions pg_cast pg_collation
    pg_conversion pg_cursors pg_db_role_setting pg_default_acl pg_depend pg_enum pg_event_trigger pg_extension
    pg_foreign_data_wrapper pg_foreign_server pg_foreign_table pg_group pg_index pg_indexes pg_inherits
    pg_init_privs pg_language pg_largeobject pg_largeobject_metadata pg_locks pg_matviews pg_opclass
    pg_operator pg_opfamily
    pg_parameter_acl pg_partitioned_table pg_policies pg_policy pg_prepared_statements pg_proc pg_publication
    pg_publication_namespace pg_publication_rel pg_publication_tables pg_range pg_replication_slots pg_rewrite
    pg_rules pg_seclabel pg_sequence pg_sequences pg_shdepend pg_shdescription pg_stat_activity
    pg_stat_user_tables pg_statistic_ext pg_stats pg_subscription pg_subscription_rel
    pg_timezone_names pg_transform pg_trigger pg_ts_config pg_ts_dict pg_ts_parser pg_ts_template
    pg_user_mapping pg_user_mappings pg_views
    """,
    )
)
CATALOG_SCHEMAS = ("pg_catalog", "information_schema")


def eliminate_empty_tables(node: exp.Expr, table_names: Set[str]) -> exp.Expr:
    """Return a SELECT without its empty tables; other nodes unchanged."""
    source = node.args.get("from_") if isinstance(node, exp.Select) else None
    if source is None:
        return node
    joins = node.args.get("joins") or []
    outer = [each for each in joins if each.side == "LEFT" and _is_empty(each.this, table_names)]
    for each in outer:
        _remove_outer_join(node, each)
    inner = [source.this, *(each.this for each in joins if each.side not in ("LEFT", "FULL"))]
    if not any(_is_empty(each, table_names) for each in inner):
        return node
    own = [each for each in node.find_all(exp.AggFunc) if each.find_ancestor(exp.Select) is node]
    if own and node.args.get("group") is None:
        return _aggregate_no_rows(node)
    outputs = [exp.alias_(exp.Null(), find_output_name(each), quoted=True) for each in node.expressions]
    return exp.select(*outputs).where(exp.false())


def _aggregate_no_rows(select: exp.Expr) -> exp.Expr:
    """Return a SELECT of aggregates over no rows, which has one row."""
    for column in list(select.find_all(exp.Column)):
        if column.find_ancestor(exp.Select) is select:
            column.replace(exp.Null())
    nothing = exp.select(exp.Null()).where(exp.false()).subquery("nothing")
    select.set("from_", exp.From(this=nothing))
    for part in ("joins", "where", "order"):
        select.set(part, None)
    return select


def _is_empty(table: exp.Expr, table_names: Set[str]) -> bool:
    if not isinstance(table, exp.Table) or isinstance(table.this, exp.Func) or not is_catalog_table(table):
        return False
    if find_builtin_name(table) in table_names:
        return False
    if table.name in EMPTY_TABLES or table.db == "information_schema":
        return True
    raise WireError("42P01", "There is no such table in the catalog.")


def _remove_outer_join(select: exp.Expr, join: exp.Join) -> None:
    alias = join.this.alias_or_name
    for column in list(select.find_all(exp.Column)):
        if column.table == alias:
            column.replace(exp.alias_(exp.Null(), column.name) if column.parent is select else exp.Null())
    join.pop()


def is_catalog_table(table: exp.Table) -> bool:
    """Return True if a table is one of the catalog, by its name."""
    return table.db in CATALOG_SCHEMAS or (not table.db and table.name.startswith("pg_"))


def find_builtin_name(table: exp.Table) -> str:
    """Return the name of a catalog table in the built-in catalog."""
    return f"information_schema.{table.name}" if table.db == "information_schema" else table.name


def find_output_name(node: exp.Expr) -> str:
    """Return PostgreSQL's name of an output column without an alias."""
    if isinstance(node, exp.Alias | exp.Column):
        return node.alias or node.name
    if isinstance(node, exp.Cast | exp.Paren):
        return find_output_name(node.this)
    if isinstance(node, exp.Dot):
        return find_output_name(node.expression)
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    if isinstance(node, exp.Func):
        return "version" if isinstance(node, exp.CurrentVersion) else node.sql_name().lower()
    return "?column?"
