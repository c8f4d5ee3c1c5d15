"""Real engines for the tests: a temporary PostgreSQL cluster on loopback, and a local Spark.

Where one cannot be had its tests skip and say why; not where DISCREET_ENGINES=required, as in CI.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import NoReturn, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import clusters
from discreet.core.engine import Engine
from discreet.core.policy import Policy

KEY = bytes(range(32))
ADDRESS = "spark:local[2]"
SMALL = {  # to compile a statement takes seconds, and to run it on so few rows none
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "1g",
}
spark_by_night = pytest.mark.parametrize(
    "server",
    [
        pytest.param("postgres", marks=pytest.mark.xdist_group("postgres")),
        pytest.param("spark", marks=[pytest.mark.xdist_group("spark"), pytest.mark.night]),
    ],
    indirect=True,
)
"""For what takes Spark more than a few seconds."""


class Server(Protocol):
    """An engine that takes tables in, and opens a policy over them."""

    name: str

    def put(self, tables: Mapping[str, pa.Table]) -> dict[str, str]:
        """Keep tables; the source of each as a policy names it."""

    def open(self, policy: Policy) -> Engine: ...


def cannot(reason: str) -> NoReturn:
    if os.environ.get("DISCREET_ENGINES") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


# -- PostgreSQL ---------------------------------------------------------------------------------------------


@dataclass
class PostgresServer:
    """A cluster that lives as long as the tests."""

    url: str
    opened: ExitStack
    name: str = "postgresql"
    _numbers: Iterator[int] = field(default_factory=count)

    def put(self, tables: Mapping[str, pa.Table]) -> dict[str, str]:
        from adbc_driver_postgresql import dbapi

        schema = f"t{next(self._numbers)}"
        with dbapi.connect(self.url) as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE SCHEMA {schema}")
            for name, table in tables.items():
                cursor.adbc_ingest(name, table, mode="create", db_schema_name=schema)
            connection.commit()
        return {name: f"{schema}.{name}" for name in tables}

    def schema(self) -> str:
        """The address of a schema of its own, in which there is nothing yet."""
        name = f"t{next(self._numbers)}"
        self.run(f"CREATE SCHEMA {name}")
        return f"{self.url}?options=-csearch_path%3D{name}"

    def run(self, *statements: str) -> None:
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(self.url) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            connection.commit()

    def open(self, policy: Policy) -> Engine:
        from discreet.engines.postgres import PostgreSQL

        return self.opened.enter_context(PostgreSQL.open(policy, self.url, KEY))


@contextmanager
def postgres(*, fsync: bool = False) -> Iterator[PostgresServer]:
    """A cluster; tests need none that survives a loss of power, and are faster without."""
    with had(clusters.postgres(fsync=fsync)) as url, ExitStack() as opened:
        yield PostgresServer(url=url, opened=opened)


@contextmanager
def had(server: AbstractContextManager[str]) -> Iterator[str]:
    """The address of a server, if it can be had here."""
    with ExitStack() as stack:
        try:
            address = stack.enter_context(server)
        except clusters.NotInstalledError as missing:
            cannot(str(missing))
        yield address


# -- Spark --------------------------------------------------------------------------------------------------


@dataclass
class SparkServer:
    """A local application that lives as long as the tests."""

    folder: Path
    opened: ExitStack
    name: str = "spark"
    _numbers: Iterator[int] = field(default_factory=count)

    def put(self, tables: Mapping[str, pa.Table]) -> dict[str, str]:
        place = self.folder / f"t{next(self._numbers)}"
        place.mkdir()
        for name, table in tables.items():
            pq.write_table(table, place / f"{name}.parquet")
        return {name: str(place / f"{name}.parquet") for name in tables}

    def open(self, policy: Policy) -> Engine:
        from discreet.engines.spark import Spark

        return self.opened.enter_context(Spark.open(policy, ADDRESS, KEY))


@contextmanager
def spark() -> Iterator[SparkServer]:
    try:
        clusters.require_spark()
    except clusters.NotInstalledError as missing:
        cannot(str(missing))
    from pyspark.sql import SparkSession

    from discreet.engines.spark_session import LOCAL_SETTINGS

    folder = Path(tempfile.mkdtemp(prefix="discreet-spark-"))
    builder = SparkSession.builder.master("local[2]")
    for name, value in {
        **LOCAL_SETTINGS,
        **SMALL,
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        with ExitStack() as opened:
            yield SparkServer(folder=folder, opened=opened)
    finally:
        session.stop()
        shutil.rmtree(folder, ignore_errors=True)
