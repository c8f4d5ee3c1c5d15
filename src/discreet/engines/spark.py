"""Spark: the engine for tables that are too large for one machine.

Sources     tables of the catalog, Parquet and CSV paths.
Session     one of its own, in UTC, without ANSI mode: `spark:local`, a cluster (`spark://…`), or Spark
            Connect (`sc://…`). Each table of the policy is a view of that session, whose rows are encoded and
            ranked in the cluster.
Statements  our own, written by `dialects.spark_dialect` and verified; only SELECTs, so nothing is written.
            One that takes too long is interrupted.
Store       where the policy names a path (`store: path`), the tables are prepared there once for each version
            of policy and data, as Parquet. Servers may prepare the same version at once: each writes to its
            own path, and one of the complete ones is read. Older versions are left to the custodian.
Key         kept beside the ledger, or in it where servers share one, and passed as the one row of a view,
            never in a statement: texts and parameters of statements, and the plans made of them, appear in
            Spark's event log and web UI.
Files       of a local session are in a folder of its own that only its owner can enter, and that is removed
            when the process ends.
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

from discreet.core.closeable import Closeable
from discreet.core.engine_faults import run_guarded
from discreet.core.errors import RequestError
from discreet.core.exact_values import Exact
from discreet.core.policy import Policy
from discreet.engines import policy_tables, statement_timeout
from discreet.engines.dialects import sql_marks
from discreet.engines.dialects.spark_dialect import SparkDialect
from discreet.engines.dialects.statement_verification import StatementTranslator
from discreet.engines.identifier_types import IdentifierType
from discreet.engines.policy_tables import EngineTable, PolicyTables
from discreet.engines.reachability import require_reachable
from discreet.engines.row_ranking import KEYS

DIALECT = SparkDialect()
DRIVER_MEMORY = "2g"
LOCAL_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": DRIVER_MEMORY,
    "spark.sql.shuffle.partitions": "8",
    # Spark estimates the size of a joined table from all its rows, though few are left by then
    "spark.sql.autoBroadcastJoinThreshold": "64m",
}
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    # its parser caches every way through its grammar, without end: questions of enough forms fill the heap
    "spark.sql.parser.manageParserCaches": "true",
    "spark.sql.parser.parserDfaCacheFlushRatio": "10",
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
EXACT_TYPES = frozenset({*TYPES, "string", "binary"})
"""Types in which equal values have equal text; decimals are exact too."""
DECLARED_TYPE_METADATA = "__CHAR_VARCHAR_TYPE_STRING"
WHOLE, ARRAY = ".whole", "array<"
GLOB_CHARACTERS = re.compile(r"([\\*?\[\]{}])")
"""Glob characters in a path; a backslash escapes them."""
KEY_VIEW = "_discreet_key"
QUOTED_OR_KEY_PARAMETER = re.compile(
    rf"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|:(?P<half>{"|".join(KEYS)})\b""", re.S
)
"""Matches quoted text, which is left unchanged, or a parameter for one half of the key."""
DEFAULT_PORTS = {"spark": 7077, "sc": 15002}
READERS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv", ".txt": "csv"}


class Spark(Closeable):
    """An `Engine` over the tables of a policy."""

    def __init__(
        self, session: Any, tables: PolicyTables, *, seconds: float = statement_timeout.DEFAULT_SECONDS
    ) -> None:
        self._session, self._tables, self._seconds = session, tables, seconds
        self._turn = threading.Lock()
        self._statements = StatementTranslator(dialect=DIALECT, relations=tables.relations)
        self._running: set[Callable[[], object]] = set()

    @classmethod
    def open(
        cls, policy: Policy, address: str, key: bytes, *, seconds: float = statement_timeout.DEFAULT_SECONDS
    ) -> Self:
        """Start a session with a view for each table of the policy, and return the engine over it."""
        session = start_session(address)
        origins = {
            name: find_engine_table(session, name, table.source, list(table.columns))
            for name, table in policy.tables.items()
        }
        tables = policy_tables.build_policy_tables(policy, origins, DIALECT)
        run_guarded(lambda: _create_views(session, policy, tables, key))
        return cls(session, tables, seconds=seconds)

    @classmethod
    def open_tables(cls, sources: Mapping[str, str], address: str) -> Self:
        """Return an engine without a policy, for rows that may be counted as they are."""
        session = start_session(address)
        return cls(
            session,
            policy_tables.map_plain_tables(
                {name: find_engine_table(session, name, source) for name, source in sources.items()}
            ),
        )

    def validate(self, sql: str) -> None:
        """Refuse a statement that cannot be translated for this engine."""
        self._statements(sql)

    def count(self, sql: str) -> Exact[pa.Table]:
        """Return the rows of one SELECT."""
        text = self._statements(sql).text
        with self._turn:
            return run_guarded(lambda: Exact(run_select(self._session, text, self._seconds, self._running)))

    def stop(self) -> None:
        """Stop the running statement."""
        for each in tuple(self._running):
            with suppress(Exception):  # the statement may have ended meanwhile
                each()

    def close(self) -> None:
        """Drop the session's views; the application stays, as others may use it."""
        drop_views(self._session, (*self._tables.definitions, KEY_VIEW))


def drop_views(session: Any, names: Iterable[str]) -> None:
    """Drop temporary views; a session whose machine is gone has none left."""
    with suppress(Exception):  # whatever a driver raises once its connection is lost
        for name in names:
            session.catalog.dropTempView(name)


def start_session(address: str) -> Any:
    """Return a new session, on the running application if there is one."""
    if find_spec("pyspark") is None:
        raise RequestError(
            "Spark: its driver is not installed.", hint="Install it with pip install 'discreet[spark]'."
        )
    if not address.startswith("sc://") and shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise RequestError(
            "Spark: Java is not installed on this machine.", hint="Install Java 17, or name sc://HOST:PORT."
        )
    scheme, _, place = address.partition("://")
    if scheme in DEFAULT_PORTS:
        require_reachable("Spark", place, DEFAULT_PORTS[scheme])
    with warnings.catch_warnings():  # about versions of pandas, which is not used here, and about settings
        warnings.simplefilter("ignore")
        session = _open_session(address)
        if session is None:
            raise RequestError(
                "Spark: no session could be opened.", hint="Check the address, and that Java 17 runs."
            )
        for name, value in SETTINGS.items():
            session.conf.set(name, value)
    return session


def _open_session(address: str) -> Any:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    # their messages may contain the address, and with it a token
    with suppress(PySparkException, Py4JError, RuntimeError, OSError):
        if address.startswith("sc://"):
            return SparkSession.builder.remote(address).create()
        return _open_classic_session(SparkSession, address).newSession()
    return None


def _open_classic_session(session_class: Any, address: str) -> Any:
    builder = session_class.builder.appName("discreet")
    if address.startswith("spark:local"):
        cores = address.removeprefix("spark:local").strip("[]") or "*"
        builder = builder.master(f"local[{cores}]")
        for name, value in {**LOCAL_SETTINGS, "spark.sql.warehouse.dir": _make_warehouse_folder()}.items():
            builder = builder.config(name, value)
    else:
        builder = builder.master(address)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


@cache
def _make_warehouse_folder() -> str:
    """Create a folder with an unpredictable name that only we can enter, removed when the process ends."""
    folder = tempfile.mkdtemp(prefix="discreet-warehouse-")  # with mode 0700
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a forked child leaves it to its parent
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def find_engine_table(
    session: Any,
    name: str,
    source: str,
    declared: list[str] | None = None,
    lists: Collection[str] = (),
) -> EngineTable:
    """Register a table or a path as a view; return it with the SQL that reads its declared columns.

    If none are declared, all columns are read, and the types of a CSV file are inferred from its rows. Arrays
    are read as text, except for the columns in `lists`.
    """
    frame = find_frame(session, source, infer=declared is None)
    if frame is None:
        raise RequestError(
            f"Spark: the source of table {name} is {source}, and there is no such table or path.",
            hint="Name a table of the catalogue, or a Parquet or CSV path.",
        )
    return register_view(session, name, frame, declared, lists)


def register_view(
    session: Any, name: str, frame: Any, declared: list[str] | None = None, lists: Collection[str] = ()
) -> EngineTable:
    """Register a frame as a view of the session; return it with the SQL that reads its columns."""
    forms = {column: _make_read_form(kind, column.lower() in lists) for column, kind in frame.dtypes}
    identities = {field.name: _make_identifier_type(field) for field in frame.schema.fields}
    read = policy_tables.select_declared_columns(name, "its source", forms, declared, DIALECT, identities)
    view = f"_discreet_origin {name}"
    frame.createOrReplaceTempView(DIALECT.quote_identifier(view))
    return EngineTable(
        text=f"(SELECT {read.text} FROM {sql_marks.mark_name(view, DIALECT)})",
        table=view,
        types=read.types,
        identifier_types=read.identifier_types,
    )


def _make_identifier_type(field: Any) -> IdentifierType:
    """Return a column's type; a char is not exact, as Spark compares it padded, nor is collated text."""
    kind, declared = field.dataType.simpleString(), (field.metadata or {}).get(DECLARED_TYPE_METADATA, "")
    is_exact = (kind in EXACT_TYPES or kind.startswith("decimal")) and not declared.startswith("char")
    return IdentifierType(type=declared or kind, is_exact=is_exact)


def _make_read_form(kind: str, as_list: bool = False) -> tuple[str, str]:
    if as_list and kind.startswith(ARRAY):
        return policy_tables.make_list_form(
            _make_read_form(kind.removeprefix(ARRAY).removesuffix(">")), DIALECT
        )
    if kind.startswith("decimal"):
        return "{0}", kind.upper()
    return TYPES.get(kind, ("CAST({0} AS STRING)", "VARCHAR"))


def find_frame(session: Any, source: str, *, infer: bool) -> Any:
    """Return a table or path as a frame, or None; columns of a CSV file are text unless inferred."""
    from pyspark.errors import PySparkException

    reader = find_reader(source)
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
        frame.dtypes  # noqa: B018  Spark looks a name up only when the frame is used
        return frame
    return None


def find_reader(source: str) -> str:
    """Return the reader of a source: parquet, csv, or empty for a table of the catalog."""
    return READERS.get(Path(source).suffix.lower(), "parquet" if "/" in source else "")


def _create_views(session: Any, policy: Policy, tables: PolicyTables, key: bytes) -> None:
    """Create a view for each table, over its rows in place or over the prepared ones."""
    version = policy_tables.compute_store_version(policy, tables, key)
    halves = (key[: len(key) // 2].hex(), key[len(key) // 2 :].hex())
    columns = ", ".join(f"{name} STRING" for name in KEYS)
    session.createDataFrame([halves], columns).createOrReplaceTempView(KEY_VIEW)
    for name, statement in tables.definitions.items():
        frame = session.sql(_substitute_key(statement.text))
        if policy.store:
            called = name.removeprefix(policy_tables.TABLE).strip()
            place = os.path.join(policy.store, f"discreet-{version}-{called}")
            frame = _prepare_table(session, frame, place)
        frame.createOrReplaceTempView(DIALECT.quote_identifier(name))


def _substitute_key(text: str) -> str:
    """Replace each key parameter of a statement by a subquery on the view that holds the key.

    A literal in its place would be part of the plan, and of everything that shows plans.
    """
    return QUOTED_OR_KEY_PARAMETER.sub(
        lambda found: f"(SELECT {found['half']} FROM {KEY_VIEW})" if found["half"] else found[0], text
    )


def _prepare_table(session: Any, frame: Any, place: str) -> Any:
    """Return the prepared table at a path; write it first if there is none.

    Spark moves its files one by one, so a run that is killed may leave some of them, and two that write to
    one path remove each other's. So every run writes to a path of its own, and then a marker that names it:
    a run with a marker is complete. Of several, everyone reads the first by name.
    """
    from pyspark.errors import PySparkException

    literal = GLOB_CHARACTERS.sub(r"\\\1", place)

    def find_whole() -> list[str]:
        with suppress(PySparkException):  # there is no marker yet
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


def run_select(
    session: Any,
    text: str,
    seconds: float = statement_timeout.DEFAULT_SECONDS,
    running: set[Callable[[], object]] | None = None,
) -> pa.Table:
    """Return a statement's rows within the time limit; `running` holds its stop function meanwhile."""
    with (
        _tag_jobs(session) as stop,
        warnings.catch_warnings(),
        statement_timeout.stop_after_timeout(stop, seconds),
    ):
        warnings.simplefilter("ignore", FutureWarning)  # about versions of pandas, which is not used here
        running = set() if running is None else running
        running.add(stop)
        try:
            return _remove_time_zones(session.sql(text).toArrow())
        finally:
            running.discard(stop)


@contextmanager
def _tag_jobs(session: Any) -> Iterator[Callable[[], object]]:
    """Tag the jobs of this context's body; yield the function that stops all of them.

    In a classic session the jobs are tagged through the Spark context: session tags miss some.
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


def _remove_time_zones(table: pa.Table) -> pa.Table:
    """Convert timestamps to naive ones; their zone is UTC."""
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            table = table.set_column(place, field.name, table.column(place).cast(pa.timestamp("us")))
    return table
