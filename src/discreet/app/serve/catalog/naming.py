"""Names in questions about the schema: which are of the catalog, and what PostgreSQL calls a column."""

from __future__ import annotations

from sqlglot import exp

SCHEMAS = ("pg_catalog", "information_schema")


def is_catalog(table: exp.Table) -> bool:
    """Whether a table is one of the catalog's, by its name."""
    return table.db in SCHEMAS or (not table.db and table.name.startswith("pg_"))


def place(table: exp.Table) -> str:
    """What a table of the catalog is called in the built-in one."""
    return f"information_schema.{table.name}" if table.db == "information_schema" else table.name


def output_name(node: exp.Expr) -> str:
    """What PostgreSQL calls an output without an alias."""
    if isinstance(node, exp.Alias | exp.Column):
        return node.alias or node.name
    if isinstance(node, exp.Cast | exp.Paren):
        return output_name(node.this)
    if isinstance(node, exp.Dot):
        return output_name(node.expression)
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    if isinstance(node, exp.Func):
        return "version" if isinstance(node, exp.CurrentVersion) else node.sql_name().lower()
    return "?column?"
