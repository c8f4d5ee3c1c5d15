"""Spark's specification: tables of a catalog and Parquet paths; in a local session CSV files too."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from discreet.engines.engine_spec import (
    LOCAL_FILE_SUFFIXES,
    AddressForm,
    CostModel,
    EngineDriver,
    EngineSpec,
    MakeAbsolute,
    has_suffix,
    looks_like_path,
)


@dataclass(frozen=True)
class SparkSpec(EngineSpec):
    """An address of Spark: a local session (`spark:local[2]` takes two cores), a cluster, or Spark Connect.

    >>> SparkSpec("sc://spark.example:15002/;token=secret;use_ssl=true").remove_secret_parameters()
    'sc://spark.example:15002/;use_ssl=true'
    """

    name = "Spark"
    schemes = ("spark", "sc")
    address_pattern = re.compile(r"spark:local(\[[1-9]\d*\])?|(spark|sc)://.+")
    forms = (
        AddressForm(
            texts=("spark:local", "spark://…"),
            examples=("spark:local", "spark:local[2]", "spark://host:7077"),
            rows="in Spark",
            sources="tables of the catalogue, Parquet paths; with `spark:local` CSV files of this machine",
            requires="Java 17",
        ),
        AddressForm(
            texts=("sc://…",),
            examples=("sc://host:15002",),
            rows="behind Spark Connect",
            sources="tables of the catalogue, Parquet paths",
        ),
    )
    extra = "spark"
    driver = "pyspark"
    cost_model = CostModel(
        minimum=8.0,
        per_row=4e-6,
        per_group=1e-4,
        per_call=4e-7,
        per_text_character=1e-8,
        per_statement_character=1e-4,
        per_row_in_place=1e-5,
    )
    parameter_marks = ("/;", ";")
    table_hint = "Name a table of the catalogue, or a Parquet or CSV path."
    empty_hint = "Name a Parquet or CSV path."
    inexact_identifiers = "strings with a collation, `CHAR(n)`, intervals, arrays, structs, maps, variants"
    time_limit = "ten minutes, then its jobs are cancelled"
    memory_limit = "2 GB for `spark:local`; else as the cluster is set up"

    @property
    def password_place(self) -> str | None:
        return "SPARK_CONNECT_AUTHENTICATE_TOKEN" if self.scheme == "sc" else None

    def load_driver(self) -> EngineDriver:
        self.require_driver()
        from discreet.engines import spark  # optional driver

        return spark

    def resolve_source(self, text: str, make_absolute: MakeAbsolute) -> str:
        return make_absolute(text) if "://" not in text and looks_like_path(text) else text

    def can_read(self, source: str) -> bool:
        return not (os.path.isabs(source.partition("#")[0]) and has_suffix(source, LOCAL_FILE_SUFFIXES))
