"""PostgreSQL's specification: tables and views on a server."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from discreet.engines.engine_spec import (
    PATH_SUFFIXES,
    AddressForm,
    CostModel,
    EngineDriver,
    EngineSpec,
    MakeAbsolute,
    has_suffix,
)


@dataclass(frozen=True)
class PostgreSQLSpec(EngineSpec):
    """An address of PostgreSQL, as libpq reads it.

    >>> PostgreSQLSpec("postgres://ann:secret@db.example/shop").location
    'postgresql://db.example/shop'
    """

    name = "PostgreSQL"
    schemes = ("postgresql", "postgres")
    address_pattern = re.compile(r"postgres(ql)?://.+")
    forms = (
        AddressForm(
            texts=("postgresql://…",),
            examples=("postgresql://user@host/database",),
            rows="on a server",
            sources="tables and views, `visits` or `clinic.visits`",
        ),
    )
    extra = "postgres"
    driver = "adbc_driver_postgresql"
    reads_files = False
    cost_model = CostModel(
        minimum=0.5,
        per_row=2e-6,
        per_group=5e-5,
        per_call=5e-7,
        per_text_character=1e-8,
        per_statement_character=5e-5,
        per_row_in_place=1e-5,
    )
    parameter_marks = ("?", "&")
    store_example = ("discreet", "schema")
    table_hint = "Name a table or view, with its schema where that is not public."
    inexact_identifiers = (
        "`citext`, texts with a collation that is not deterministic, `interval`, `json` and `jsonb`, `money`,"
        " arrays, ranges, composite and geometric types, types of other extensions, and domains over any of"
        " these"
    )
    time_limit = "ten minutes, `statement_timeout`"
    memory_limit = "256 MB a sort or hash, the rest goes to disk"

    @property
    def scheme(self) -> str:
        return "postgresql"

    @property
    def password_place(self) -> str:
        return "~/.pgpass or PGPASSWORD"

    def load_driver(self) -> EngineDriver:
        self.require_driver()
        from discreet.engines import postgres  # optional driver

        return postgres

    def resolve_source(self, text: str, make_absolute: MakeAbsolute) -> str:
        return text

    def can_read(self, source: str) -> bool:
        return not (os.path.isabs(source.partition("#")[0]) and has_suffix(source, PATH_SUFFIXES))

    def source_from_name(self, name: str) -> str:
        return os.path.abspath(name) if has_suffix(name, PATH_SUFFIXES) else name

    def resolve_store(self, text: str, make_absolute: MakeAbsolute) -> str:
        return text

    def qualify_table_name(self, name: str, store: str) -> str:
        return name if "." in name else f"{store}.{name}"

    def suggest_table_hint(self, word: str) -> str:
        if has_suffix(word, PATH_SUFFIXES):
            return "For a file leave out `engine=`; here name a table or view."
        return self.table_hint
