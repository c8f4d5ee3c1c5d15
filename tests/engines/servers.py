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
from tests.patience import PATIENCE

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
OWNER = "discreet"
ATTEMPTS = 5
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
    with cluster(fsync=fsync) as port, ExitStack() as opened:
        yield PostgresServer(url=f"postgresql://{OWNER}@127.0.0.1:{port}/postgres", opened=opened)


@contextmanager
def cluster(*, fsync: bool = False) -> Iterator[int]:
    """The port of a cluster that has one superuser, OWNER, and lets everybody in who is here."""
    programs, user = _programs(), _user()
    folder = Path(tempfile.mkdtemp(prefix="discreet-pg-"))
    data, log = str(folder / "data"), str(folder / "log")
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)

    def run(program: str, *words: str) -> int:
        demoted: dict[str, Any] = (
            {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        )
        return subprocess.run(
            [str(programs / program), "-D", data, *words],
            check=False,
            stdout=subprocess.DEVNULL,  # a pipe would stay open as long as the cluster lives
            cwd=folder,
            env={"LC_ALL": "C", "PATH": os.environ["PATH"]},
            **demoted,
        ).returncode

    try:
        assert run("initdb", "-U", OWNER, "-A", "trust", "--encoding=UTF8", "--no-locale", "-N") == 0
        for _ in range(ATTEMPTS):  # whoever binds a free port first has it
            port = _free_port()
            options = (
                f"-c listen_addresses=127.0.0.1 -p {port} -c unix_socket_directories='' -c fsync={fsync}"
            )
            if run("pg_ctl", "-w", "-t", str(int(PATIENCE)), "-o", options, "-l", log, "start") == 0:
                break
        else:
            pytest.fail(Path(log).read_text())
        try:
            yield port
        finally:
            run("pg_ctl", "-m", "immediate", "stop")
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
