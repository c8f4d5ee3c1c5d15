"""Questions about the schema: answered from a catalog that holds the policy's public schema and no data.

Clients of PostgreSQL ask for tables, columns and types in its own catalog's words: `catalog` has the built-in
one and the `shadow` of an empty database, the others are what the built-in one is made of.
"""

from __future__ import annotations

from discreet.app.serve.catalog.catalog import BuiltIn, Catalog
from discreet.app.serve.catalog.rewriting import is_about_schema
from discreet.app.serve.catalog.shadow import Shadow

__all__ = ["BuiltIn", "Catalog", "Shadow", "is_about_schema"]
