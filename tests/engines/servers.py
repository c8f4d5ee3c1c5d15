"""Real engines for the tests: a temporary PostgreSQL cluster on loopback, and a local Spark.

Where one cannot be had its tests skip and say why; not where DISCREET_ENGINES=required, as in CI.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NoReturn, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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
FORMER = Path("/usr/lib/postgresql")
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
def postgres() -> Iterator[PostgresServer]:
    programs = _programs()
    folder = Path(tempfile.mkdtemp(prefix="discreet-pg-"))
    user = _user()
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)

    def run(*command: str) -> None:
        demoted: dict[str, Any] = (
            {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        )
        subprocess.run(
            command,
            check=True,
            capture_output=True,
            cwd=folder,
            env={"LC_ALL": "C", "PATH": os.environ["PATH"]},
            **demoted,
        )

    data, port = folder / "data", _free_port()
    options = f"-c listen_addresses=127.0.0.1 -p {port} -c unix_socket_directories='' -c fsync=off"
    try:
        run(
            str(programs / "initdb"),
            "-D",
            str(data),
            "-U",
            "discreet",
            "-A",
            "trust",
            "--encoding=UTF8",
            "--no-locale",
            "-N",
        )
        run(
            str(programs / "pg_ctl"),
            "-D",
            str(data),
            "-w",
            "-t",
            "120",
            "-o",
            options,
            "-l",
            str(folder / "log"),
            "start",
        )
        try:
            with ExitStack() as opened:
                yield PostgresServer(url=f"postgresql://discreet@127.0.0.1:{port}/postgres", opened=opened)
        finally:
            run(str(programs / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path:
    found = shutil.which("initdb")
    versions = sorted(FORMER.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found is None and not versions:
        cannot("PostgreSQL's server is not installed (apt-get install postgresql)")
    return Path(found).parent if found else versions[-1].parent


def _user() -> pwd.struct_passwd | None:
    """PostgreSQL does not run as root."""
    return pwd.getpwnam("postgres") if os.geteuid() == 0 else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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
    if shutil.which("java") is None:
        cannot("there is no Java for Spark (apt-get install openjdk-17-jre-headless)")
    pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    from discreet.engines.spark import LOCAL

    folder = Path(tempfile.mkdtemp(prefix="discreet-spark-"))
    builder = SparkSession.builder.master("local[2]")
    for name, value in {**LOCAL, **SMALL, "spark.sql.warehouse.dir": str(folder / "warehouse")}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        with ExitStack() as opened:
            yield SparkServer(folder=folder, opened=opened)
    finally:
        session.stop()
        shutil.rmtree(folder, ignore_errors=True)
