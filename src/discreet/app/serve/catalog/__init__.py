"""PostgreSQL's system catalog: queries on the schema, answered from the policy's public schema without data.

Clients list tables, columns and types by queries on `pg_catalog` and `information_schema`. `builtin_catalog`
answers them from tables of its own, `shadow_catalog` from an empty PostgreSQL database.
"""

from __future__ import annotations

from discreet.app.serve.catalog.catalog import BuiltIn, Catalog
from discreet.app.serve.catalog.rewriting import is_about_schema
from discreet.app.serve.catalog.shadow import Shadow

__all__ = ["BuiltIn", "Catalog", "Shadow", "is_about_schema"]
