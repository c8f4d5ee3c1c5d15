"""PostgreSQL's system catalog: queries on the schema, answered from the policy's public schema without data.

Clients list tables, columns and types by queries on `pg_catalog` and `information_schema`. `builtin_catalog`
answers them from tables of its own, `shadow_catalog` from an empty PostgreSQL database.
"""

from __future__ import annotations

from discreet.pgwire.catalog.builtin_catalog import BuiltinCatalog, Catalog
from discreet.pgwire.catalog.query_rewriter import is_catalog_query
from discreet.pgwire.catalog.served_catalog import ServedCatalog
from discreet.pgwire.catalog.shadow_catalog import ShadowCatalog

__all__ = ["BuiltinCatalog", "Catalog", "ServedCatalog", "ShadowCatalog", "is_catalog_query"]
