"""Real engines, started for a while on loopback, for the tests and the benchmarks.

PostgreSQL      a temporary cluster of the server that Debian installs.
Spark Connect   a server of its own, which runs the queries that come over gRPC.
Spark           a standalone cluster: a master and one worker, each a process.

What cannot be had here is `NotInstalledError`, which says what to install.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

LOOPBACK = "127.0.0.1"
FORMER = Path("/usr/lib/postgresql")
STARTING = 600.0
OWNER = "discreet"
ATTEMPTS = 5
CONNECT_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
DEPLOY = "org.apache.spark.deploy"
QUIET = "rootLogger.level = off\n"


class NotInstalledError(Exception):
    """An engine that is not installed here."""


# -- PostgreSQL ---------------------------------------------------------------------------------------------


@contextmanager
def postgres(*, fsync: bool = False) -> Iterator[str]:
    """The address of a cluster that is gone afterwards; it lets everybody in who is here."""
    programs, user = _programs(), _user()
    folder = Path(tempfile.mkdtemp(prefix="discreet-pg-"))
    data, log = str(folder / "data"), str(folder / "log")
    demoted: dict[str, Any] = {}
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
        demoted = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}

    def run(program: str, *words: str) -> int:
        return subprocess.run(
            [str(programs / program), "-D", data, *words],
            check=False,
            stdout=subprocess.DEVNULL,  # a pipe would stay open as long as the cluster lives
            cwd=folder,
            env={"LC_ALL": "C", "PATH": os.environ["PATH"]},
            **demoted,
        ).returncode

    try:
        if run("initdb", "-U", OWNER, "-A", "trust", "--encoding=UTF8", "--no-locale", "-N") != 0:
            raise RuntimeError("PostgreSQL makes no cluster")
        for _ in range(ATTEMPTS):  # whoever binds a free port first has it
            port = free_port()
            options = (
                f"-c listen_addresses={LOOPBACK} -p {port} -c unix_socket_directories='' -c fsync={fsync}"
            )
            if run("pg_ctl", "-w", "-t", f"{STARTING:.0f}", "-o", options, "-l", log, "start") == 0:
                break
        else:
            raise RuntimeError(Path(log).read_text())
        try:
            yield f"postgresql://{OWNER}@{LOOPBACK}:{port}/postgres"
        finally:
            run("pg_ctl", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path:
    found = shutil.which("initdb")
    versions = sorted(FORMER.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found is None and not versions:
        raise NotInstalledError("PostgreSQL's server is not installed (apt-get install postgresql)")
    return Path(found).parent if found else versions[-1].parent


def _user() -> pwd.struct_passwd | None:
    """PostgreSQL does not run as root."""
    return pwd.getpwnam("postgres") if os.geteuid() == 0 else None


# -- Spark --------------------------------------------------------------------------------------------------


def require_spark() -> None:
    if shutil.which("java") is None:
        raise NotInstalledError("there is no Java for Spark (apt-get install openjdk-17-jre-headless)")
    if find_spec("pyspark") is None:
        raise NotInstalledError("there is no Spark (pip install 'pyspark[connect]')")


@contextmanager
def spark_connect(own: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """The address of a Spark Connect server, with settings of its own."""
    require_spark()
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.host": LOOPBACK,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        **own,
    }
    options = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    with _workshop() as folder:
        command = ["spark-submit", "--master", "local[2]", "--class", CONNECT_SERVER, *options]
        with _running(folder, *command, port=port):
            yield f"sc://{LOOPBACK}:{port}"


@contextmanager
def spark_cluster() -> Iterator[str]:
    """The address of the master of a cluster with one worker."""
    require_spark()
    port, other = free_port(), free_port()
    here = ("--host", LOOPBACK, "--webui-port", "0")
    master = ("spark-class", f"{DEPLOY}.master.Master", *here, "--port", str(port))
    address = f"spark://{LOOPBACK}:{port}"
    worker = ("spark-class", f"{DEPLOY}.worker.Worker", *here, "--port", str(other))
    with _workshop() as folder, _running(folder, *master, port=port):
        limits = ("--cores", "2", "--memory", "1g", "--work-dir", str(folder))
        with _running(folder, *worker, *limits, address, port=other):
            yield address


@contextmanager
def _workshop() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="discreet-spark-"))
    (folder / "log4j2.properties").write_text(QUIET)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _running(folder: Path, program: str, *arguments: str, port: int) -> Iterator[None]:
    """One of Spark's programs, from when it listens until it is stopped."""
    import pyspark

    home = Path(pyspark.__file__).parent
    env = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_CONF_DIR": str(folder),
        "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
    }
    with (folder / f"{port}.log").open("wb") as log:
        command = [str(home / "bin" / program), *arguments]
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=env)
    try:
        _wait_for(port, process)
        yield
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + STARTING
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex((LOOPBACK, port)) == 0:
                return
        time.sleep(0.1)
    raise NotInstalledError("Spark's server did not start")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
