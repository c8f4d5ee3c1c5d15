"""Registration of engines: the specifications that there are, one line each.

To register an engine, add its specification to `ENGINES`: addresses, help texts, the reference page and the
conformance suites (tests/conformance/test_engines.py, tests/engines) then know it.
"""

from discreet.engines.duckdb_spec import DuckDBSpec
from discreet.engines.engine_spec import EngineSpec
from discreet.engines.postgres_spec import PostgreSQLSpec
from discreet.engines.spark_spec import SparkSpec

ENGINES: tuple[type[EngineSpec], ...] = (DuckDBSpec, PostgreSQLSpec, SparkSpec)
"""The registered engines."""
