"""DuckDB's specification: the embedded engine, for files and for the tables of one DuckDB file."""

from __future__ import annotations

import re
from dataclasses import dataclass

from discreet.engines.engine_spec import (
    AddressForm,
    CostModel,
    EngineDriver,
    EngineSpec,
    MakeAbsolute,
    looks_like_path,
)

FILE_ADDRESS = "duckdb:///"


@dataclass(frozen=True)
class DuckDBSpec(EngineSpec):
    """An address of DuckDB: `duckdb`, or `duckdb:///FILE`.

    >>> DuckDBSpec("duckdb:///shop.duckdb").resolve_source("visits", "/data/{}".format)
    '/data/shop.duckdb#visits'
    """

    name = "DuckDB"
    schemes = ("duckdb",)
    address_pattern = re.compile(r"duckdb|duckdb:///.+")
    forms = (
        AddressForm(
            texts=("duckdb",),
            examples=("duckdb",),
            rows="in files (the default)",
            sources="CSV, Excel, Parquet and Arrow files, globs of them, `file.duckdb#table`",
        ),
        AddressForm(
            texts=("duckdb:///FILE",),
            examples=("duckdb:///shop.duckdb",),
            rows="in one DuckDB file",
            sources="its tables",
        ),
    )
    is_embedded = True
    cost_model = CostModel(
        minimum=0.25,
        per_row=2e-7,
        per_group=2e-5,
        per_call=2e-8,
        per_text_character=5e-9,
        per_statement_character=4e-5,
        case_growth=1,
    )
    table_hint = "Name a table of the file, or a CSV, Parquet or DuckDB file."
    inexact_identifiers = (
        "texts with a collation (`COLLATE NOCASE`), `INTERVAL`, `JSON`, lists, structs, maps"
    )
    time_limit = "ten minutes, then interrupted"
    memory_limit = "1 GiB, and 1 MiB a column; the rest goes to disk"

    @property
    def location(self) -> str:
        return "duckdb"

    @property
    def file(self) -> str | None:
        """The DuckDB file of the address, or None."""
        return self.text.removeprefix(FILE_ADDRESS) if self.text.startswith(FILE_ADDRESS) else None

    def load_driver(self) -> EngineDriver:
        from discreet.engines import duckdb  # its driver and pyarrow take a third of a second to load

        return duckdb

    def resolve_source(self, text: str, make_absolute: MakeAbsolute) -> str:
        if "://" in text:
            return text
        if self.file is not None and not looks_like_path(text):
            return f"{make_absolute(self.file)}#{text}"
        return make_absolute(text)

    def can_read(self, source: str) -> bool:
        return True
