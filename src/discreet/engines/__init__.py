"""Engines: run SQL where the rows are and return exact counts; they contain no privacy logic.

An engine encodes a policy's tables, ranks each person's rows, locks its connection down, and counts. Database
drivers are imported here and nowhere else; other packages use the protocols of `core.engine`.

Being listed in `ENGINES` makes an engine known to addresses, help texts, the reference page and the
conformance suites (tests/conformance/test_engines.py, tests/engines).
"""

from discreet.engines.duckdb_spec import DuckDBSpec
from discreet.engines.engine_spec import EngineSpec
from discreet.engines.postgres_spec import PostgreSQLSpec
from discreet.engines.spark_spec import SparkSpec

ENGINES: tuple[type[EngineSpec], ...] = (DuckDBSpec, PostgreSQLSpec, SparkSpec)
