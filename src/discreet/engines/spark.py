"""Spark: the engine of a custodian whose tables are too large for one machine.

Sources     tables of the catalogue, Parquet and CSV paths.
Session     one of its own, in UTC, without ANSI mode: `spark:local`, a cluster (`spark://…`), or Spark
            Connect (`sc://…`). Each table of the policy is a view of that session, whose rows are encoded and
            ranked where they are.
Statements  our own, written by `dialects.spark` and checked; only SELECTs, so nothing is written. One that
            takes too long is interrupted.
Store       where the policy names a path (`store: path`), the tables are prepared there once for each version
            of policy and data, as Parquet. Servers may prepare the same at once: each writes to its own
            place, and one of those that are whole is read. What is older is left to the custodian.
Key         kept beside the ledger, or in it where servers share one, and handed over as the one row of a
            view, never in a statement: texts and parameters of statements, and the plans made of them, stand
            in Spark's event log and its pages.
Files       of a session on this machine stand in a folder of its own that only its owner can enter, and
            that goes with the process.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import pyarrow as pa

from discreet.core.closing import Closing
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.values import Exact
from discreet.engines import limits, relations
from discreet.engines.dialects import marks
from discreet.engines.dialects.checking import Statements
from discreet.engines.dialects.spark import SparkSql
from discreet.engines.faults import guarded
from discreet.engines.identities import Identity
from discreet.engines.ranking import KEYS
from discreet.engines.reaching import require_reached
from discreet.engines.relations import Origin, Tables

DIALECT = SparkSql()
MEMORY = "2g"
LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": MEMORY,
    "spark.sql.shuffle.partitions": "8",
    # of what is joined to the groups, estimates are those of all rows; few of which are left by then
    "spark.sql.autoBroadcastJoinThreshold": "64m",
}
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}
TYPES = {
    "boolean": ("{0}", "BOOLEAN"),
    "tinyint": ("CAST({0} AS BIGINT)", "BIGINT"),
    "smallint": ("CAST({0} AS BIGINT)", "BIGINT"),
    "int": ("CAST({0} AS BIGINT)", "BIGINT"),
    "bigint": ("{0}", "BIGINT"),
    "float": ("CAST({0} AS DOUBLE)", "DOUBLE"),
    "double": ("{0}", "DOUBLE"),
    "date": ("{0}", "DATE"),
    "timestamp": ("{0}", "TIMESTAMP"),
    "timestamp_ntz": ("CAST({0} AS TIMESTAMP)", "TIMESTAMP"),
}
EXACT = frozenset({*TYPES, "string", "binary"})
"""Types in which equal values have equal text; decimals are others."""
DECLARED = "__CHAR_VARCHAR_TYPE_STRING"
WHOLE, ARRAY = ".whole", "array<"
GLOB = re.compile(r"([\\*?\[\]{}])")
"""What Spark reads as a pattern in a path; a backslash before it makes it a character."""
KEY_VIEW = "_discreet_key"
PARAMETERS = re.compile(
    rf"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|:(?P<half>{"|".join(KEYS)})\b""", re.S
)
"""What is quoted, which stays as it is, or a parameter for one half of the key."""
PORTS = {"spark": 7077, "sc": 15002}
PATHS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv", ".txt": "csv"}


class Spark(Closing):
    """An `Engine` over the tables of a policy."""

    def __init__(self, session: Any, tables: Tables, *, seconds: float = limits.SECONDS) -> None:
        self._session, self._tables, self._seconds = session, tables, seconds
        self._turn = threading.Lock()
        self._statements = Statements(dialect=DIALECT, relations=tables.relations)
        self._running: set[Callable[[], object]] = set()

    @classmethod
    def open(cls, policy: Policy, address: str, key: bytes, *, seconds: float = limits.SECONDS) -> Self:
        """A session of its own, with a view for each table of the policy."""
        session = started(address)
        origins = {
            name: origin(session, name, table.source, list(table.columns))
            for name, table in policy.tables.items()
        }
        tables = relations.tables(policy, origins, DIALECT)
        guarded(lambda: _define(session, policy, tables, key))
        return cls(session, tables, seconds=seconds)

    @classmethod
    def over(cls, sources: Mapping[str, str], address: str) -> Self:
        """Over tables and paths as they are, without a policy: for rows that may be counted as they stand."""
        session = started(address)
        return cls(
            session,
            relations.plain({name: origin(session, name, source) for name, source in sources.items()}),
        )

    def require(self, sql: str) -> None:
        """Refuse a statement that cannot be written for this engine."""
        self._statements(sql)

    def count(self, sql: str) -> Exact[pa.Table]:
        """The rows of one SELECT."""
        text = self._statements(sql).text
        with self._turn:
            return guarded(lambda: Exact(selected(self._session, text, self._seconds, self._running)))

    def stop(self) -> None:
        """Stop the statement that runs."""
        for each in tuple(self._running):
            with suppress(Exception):  # of a driver's, which may have ended meanwhile
                each()

    def close(self) -> None:
        """Forget the tables; the application stays, as others may use it."""
        drop_views(self._session, (*self._tables.definitions, KEY_VIEW))


def drop_views(session: Any, names: Iterable[str]) -> None:
    """Drop temporary views; a session whose machine is gone has none left."""
    with suppress(Exception):  # whatever a driver raises once its connection is lost
        for name in names:
            session.catalog.dropTempView(name)


def started(address: str) -> Any:
    """A new session, on an application that runs already if there is one."""
    if find_spec("pyspark") is None:
        raise RequestError(
            "Spark: its driver is not installed.", hint="Install it with pip install 'discreet[spark]'."
        )
    if not address.startswith("sc://") and shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise RequestError(
            "Spark: there is no Java on this machine.", hint="Install Java 17, or name sc://HOST:PORT."
        )
    scheme, _, place = address.partition("://")
    if scheme in PORTS:
        require_reached("Spark", place, PORTS[scheme])
    with warnings.catch_warnings():  # of versions of pandas, which nothing here uses, and of settings
        warnings.simplefilter("ignore")
        session = _session(address)
        if session is None:
            raise RequestError(
                "Spark: no session could be opened.", hint="Check the address, and that Java 17 runs."
            )
        for name, value in SETTINGS.items():
            session.conf.set(name, value)
    return session


def _session(address: str) -> Any:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    # what they say may hold the address
    with suppress(PySparkException, Py4JError, RuntimeError, OSError):
        if address.startswith("sc://"):
            return SparkSession.builder.remote(address).create()
        return _classic(SparkSession, address).newSession()
    return None


def _classic(session_class: Any, address: str) -> Any:
    builder = session_class.builder.appName("discreet")
    if address.startswith("spark:local"):
        cores = address.removeprefix("spark:local").strip("[]") or "*"
        builder = builder.master(f"local[{cores}]")
        for name, value in {**LOCAL, "spark.sql.warehouse.dir": _warehouse()}.items():
            builder = builder.config(name, value)
    else:
        builder = builder.master(address)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


@cache
def _warehouse() -> str:
    """Make a folder that nobody else can foresee or enter; it is removed when the process ends."""
    folder = tempfile.mkdtemp(prefix="discreet-warehouse-")  # of mode 0700
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a forked child leaves it to its parent
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def origin(
    session: Any,
    name: str,
    source: str,
    declared: list[str] | None = None,
    lists: Collection[str] = (),
) -> Origin:
    """A table or a path as a view, and how its declared columns are read.

    Where none are declared, all of them, and of which types those of a CSV file are is read off its rows. An
    array is text, but for those columns that are to be read as `lists`.
    """
    frame = found(session, source, infer=declared is None)
    if frame is None:
        raise RequestError(
            f"Spark: the source of table {name} is {source}, and there is no such table or path.",
            hint="Name a table of the catalogue, or a Parquet or CSV path.",
        )
    return viewed(session, name, frame, declared, lists)


def viewed(
    session: Any, name: str, frame: Any, declared: list[str] | None = None, lists: Collection[str] = ()
) -> Origin:
    """A frame as a view of the session, and how its columns are read."""
    forms = {column: _read_as(kind, column.lower() in lists) for column, kind in frame.dtypes}
    identities = {field.name: _identity(field) for field in frame.schema.fields}
    read = relations.columns(name, "its source", forms, declared, DIALECT, identities)
    view = f"_discreet_origin {name}"
    frame.createOrReplaceTempView(DIALECT.quoted(view))
    return Origin(
        text=f"(SELECT {read.text} FROM {marks.named(view, DIALECT)})",
        table=view,
        types=read.types,
        identities=read.identities,
    )


def _identity(field: Any) -> Identity:
    """Spark pads a char, and compares it padded; a text with a collation says so in the name of its type."""
    kind, declared = field.dataType.simpleString(), (field.metadata or {}).get(DECLARED, "")
    is_exact = (kind in EXACT or kind.startswith("decimal")) and not declared.startswith("char")
    return Identity(type=declared or kind, is_exact=is_exact)


def _read_as(kind: str, as_list: bool = False) -> tuple[str, str]:
    if as_list and kind.startswith(ARRAY):
        return relations.listed(_read_as(kind.removeprefix(ARRAY).removesuffix(">")), DIALECT)
    if kind.startswith("decimal"):
        return "{0}", kind.upper()
    return TYPES.get(kind, ("CAST({0} AS STRING)", "VARCHAR"))


def found(session: Any, source: str, *, infer: bool) -> Any:
    """A table or a path as a frame; None where there is none. Types of a CSV file are texts, or inferred."""
    from pyspark.errors import PySparkException

    reader = reader_of(source)
    with suppress(PySparkException):
        if reader == "parquet":
            frame = session.read.parquet(source)
        elif reader == "csv":
            separator = "\t" if source.lower().endswith(".tsv") else ","
            frame = session.read.csv(
                source, header=True, sep=separator, inferSchema=infer, escape='"', mode="DROPMALFORMED"
            )
        else:
            frame = session.table(source)
        frame.dtypes  # noqa: B018  a name is looked up only when it is used
        return frame
    return None


def reader_of(source: str) -> str:
    """How a source is read: as parquet, as csv, or as a table, which has no reader."""
    return PATHS.get(Path(source).suffix.lower(), "parquet" if "/" in source else "")


def _define(session: Any, policy: Policy, tables: Tables, key: bytes) -> None:
    """A view for each table: of its rows as they are, or of those that were prepared."""
    version = relations.version(policy, tables, key)
    halves = (key[: len(key) // 2].hex(), key[len(key) // 2 :].hex())
    columns = ", ".join(f"{name} STRING" for name in KEYS)
    session.createDataFrame([halves], columns).createOrReplaceTempView(KEY_VIEW)
    for name, statement in tables.definitions.items():
        frame = session.sql(_read_key(statement.text))
        if policy.store:
            called = name.removeprefix(relations.TABLE).strip()
            place = os.path.join(policy.store, f"discreet-{version}-{called}")
            frame = _prepared(session, frame, place)
        frame.createOrReplaceTempView(DIALECT.quoted(name))


def _read_key(text: str) -> str:
    """The same statement, which reads each half of the key from its view where it has a parameter.

    A literal in its place would be part of the plan, and of everything that shows plans.
    """
    return PARAMETERS.sub(
        lambda found: f"(SELECT {found['half']} FROM {KEY_VIEW})" if found["half"] else found[0], text
    )


def _prepared(session: Any, frame: Any, place: str) -> Any:
    """What was prepared there, and now if it was not.

    Spark moves its files one by one, so a run that is killed may leave some of them, and two that write to
    one place remove each other's. So every run writes to a place of its own, and then a mark that names it:
    what has a mark is whole. Of several the first by name is read, by everybody who comes later.
    """
    from pyspark.errors import PySparkException

    literal = GLOB.sub(r"\\\1", place)

    def find_whole() -> list[str]:
        with suppress(PySparkException):  # no mark is there yet
            return sorted(row["run"] for row in session.read.parquet(f"{literal}{WHOLE}-*").collect())
        return []

    whole = find_whole()
    if not whole:
        run = uuid4().hex
        frame.write.parquet(f"{place}-{run}")
        mark = session.sql("SELECT CAST(:run AS STRING) AS run", args={"run": run})
        mark.coalesce(1).write.parquet(f"{place}{WHOLE}-{run}")
        whole = find_whole() or [run]
    return session.read.parquet(f"{literal}-{whole[0]}")


def selected(
    session: Any,
    text: str,
    seconds: float = limits.SECONDS,
    running: set[Callable[[], object]] | None = None,
) -> pa.Table:
    """What a statement finds, if it does so in time; what stops it is among `running` meanwhile."""
    with _stoppable(session) as stop, warnings.catch_warnings(), limits.limited(stop, seconds):
        warnings.simplefilter("ignore", FutureWarning)  # of versions of pandas, which nothing here uses
        running = set() if running is None else running
        running.add(stop)
        try:
            return _naive(session.sql(text).toArrow())
        finally:
            running.discard(stop)


@contextmanager
def _stoppable(session: Any) -> Iterator[Callable[[], object]]:
    """What is run in here bears a tag, by which all jobs that it started can be stopped.

    Of a session on this machine the jobs are tagged: its own tags leave some out.
    """
    tag = f"discreet-{uuid4().hex}"
    if not hasattr(session, "_jsparkSession"):
        session.addTag(tag)
        try:
            yield lambda: session.interruptTag(tag)
        finally:
            session.removeTag(tag)
        return
    context = session.sparkContext
    context.addJobTag(tag)
    context.setInterruptOnCancel(True)
    try:
        yield lambda: context.cancelJobsWithTag(tag)
    finally:
        context.removeJobTag(tag)


def _naive(table: pa.Table) -> pa.Table:
    """Times without the zone, which is UTC."""
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            table = table.set_column(place, field.name, table.column(place).cast(pa.timestamp("us")))
    return table
