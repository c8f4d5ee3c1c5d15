"""Questions about the schema: answered from a catalog that holds the policy's public schema and no data."""

from __future__ import annotations

from discreet.app.serve.catalog.catalog import BuiltIn, Catalog
from discreet.app.serve.catalog.rewriting import is_about_schema
from discreet.app.serve.catalog.shadow import Shadow

__all__ = ["BuiltIn", "Catalog", "Shadow", "is_about_schema"]
