"""Names in catalog queries: tables of the catalog, and PostgreSQL's names of output columns."""

from __future__ import annotations

from sqlglot import exp

CATALOG_SCHEMAS = ("pg_catalog", "information_schema")


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
