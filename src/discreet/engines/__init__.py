"""Engines: run SQL where the rows are and return exact counts; they contain no privacy logic.

An engine encodes a policy's tables, ranks each person's rows, locks its connection down, and counts. Database
drivers are imported here and nowhere else; other packages use the protocols of `core.engine`.

To register an engine, add its specification to `ENGINES`: addresses, help texts, the reference page and the
conformance suites (tests/conformance/test_engines.py, tests/engines) then know it.
"""

from discreet.engines.duckdb_spec import DuckDBSpec
from discreet.engines.engine_spec import EngineSpec
from discreet.engines.postgres_spec import PostgreSQLSpec
from discreet.engines.spark_spec import SparkSpec

ENGINES: tuple[type[EngineSpec], ...] = (DuckDBSpec, PostgreSQLSpec, SparkSpec)
"""The registered engines."""
