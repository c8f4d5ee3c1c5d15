"""A Spark session and the tables that it reads.

Settings    UTC, without ANSI mode, with the parser's caches bounded, and with those of Spark's readers by
            which a value of one row or the name of one file could change how others are read (`SETTINGS`).
            They are the session's own, so they override a cluster's defaults; they are read back to be sure.
Tables      of the catalog, and Parquet and CSV paths, registered as views of the session; columns are read as
            one of few types. CSV is never read by Spark (`spark_csv`); what its Parquet reader cannot take is
            made harmless (`spark_parquet`).
Statements  are tagged, so that one that takes too long can be stopped with all of its jobs.
Files       of a local session are in a folder of its own that only its owner can enter, and that is removed
            when the process ends, or by the next one if it was killed. So are those to which Spark moves rows
            between its tasks, which everybody on the machine could read in the folder for temporary files.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

from discreet.core.errors import RequestError
from discreet.core.output_files import claim_folder_prefix
from discreet.core.table_entry import Table
from discreet.engines import policy_tables, statement_timeout
from discreet.engines.dialects import sql_marks
from discreet.engines.dialects.spark_dialect import SparkDialect
from discreet.engines.file_formats import TEXT_FORMATS, FileFormat, find_file_format
from discreet.engines.identifier_types import IdentifierType
from discreet.engines.policy_tables import EngineTable
from discreet.engines.reachability import require_reachable
from discreet.engines.spark_csv import convert_csv, require_no_csv
from discreet.engines.spark_parquet import guard_text, guard_timestamps

DIALECT = SparkDialect()
DRIVER_MEMORY = "2g"
WAREHOUSE = "discreet-warehouse-"
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
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    # else ${env:NAME} and ${spark.setting} are replaced by their values before a statement is parsed, in an
    # analyst's text as well: these could be read by comparing them, and a quote mark would end the text
    "spark.sql.variable.substitute": "false",
    # a view is read by these settings too, not by those of the session that created it
    "spark.sql.legacy.useCurrentConfigsForView": "true",
    # else the type of a partition column is inferred from the names of all its folders
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # else the files are read by the schema of one of them; now a type that differs is refused when opening
    "spark.sql.parquet.mergeSchema": "true",
    "spark.sql.parquet.respectSummaryFiles": "false",
    "spark.sql.orc.mergeSchema": "true",
    # the minimum and maximum of a row group leave out NaN and distinguish -0.0 from 0.0: whether a row is
    # found would depend on the rows that are stored beside it
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.parquet.recordLevelFilter.enabled": "false",
    "spark.sql.parquet.aggregatePushdown": "false",
    "spark.sql.orc.filterPushdown": "false",
    "spark.sql.orc.aggregatePushdown": "false",
    "spark.sql.inMemoryColumnarStorage.partitionPruning": "false",
    # a value that cannot be read must not take the rest of its file with it
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # EXCEPTION raises at old dates
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.parquet.int96AsTimestamp": "true",
    "spark.sql.parquet.int96TimestampConversion": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.legacy.parquet.nanosAsLong": "false",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.legacy.charVarcharAsString": "false",
    "spark.sql.readSideCharPadding": "true",
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
ARRAY = "array<"
UNREADABLE_CONDITIONS = {
    "PARQUET_TYPE_ILLEGAL": "has a column of the Parquet type {type}, which Spark cannot read",
    "PARQUET_TYPE_NOT_SUPPORTED": "has a column of the Parquet type {type}, which Spark cannot read",
    "UNSUPPORTED_TIME_TYPE": "has a column of times of day, which Spark cannot read",
    "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION": "has decimals of more digits than Spark can read",
    "CANNOT_MERGE_SCHEMAS": "has files in which the same column has different types",
}
"""Spark's error conditions about schemas, in words; a schema holds no values."""
CONDITION, PARQUET_TYPE = re.compile(r"\[([A-Z][A-Z0-9_]+)"), re.compile(r"Parquet type: (.*?)\. SQLSTATE")
CONNECT_RETRIES = 5
"""How often a call to Spark Connect is tried again: within 17 seconds, at first after 50 milliseconds."""
DEFAULT_PORTS = {"spark": 7077, "sc": 15002}


def drop_views(session: Any, names: Iterable[str]) -> None:
    """Drop temporary views; a session whose machine is gone has none left."""
    with suppress(Exception):  # whatever a driver raises once its connection is lost
        for name in names:
            session.catalog.dropTempView(name)


def start_session(address: str) -> Any:
    """Return a new session, on the running application if there is one."""
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
        _apply_settings(session)
        found = {row["key"]: row["value"] for row in session.sql("SET").collect()}
    refused = [name for name, value in SETTINGS.items() if found.get(name) != value]
    if refused:
        raise RequestError(
            f"Spark: the session does not accept the setting {refused[0]} = {SETTINGS[refused[0]]}.",
            hint="Allow it on the cluster: without it, one row could change how others are read.",
        )
    return session


def _apply_settings(session: Any) -> None:
    from pyspark.errors import PySparkException

    for name, value in SETTINGS.items():
        with suppress(PySparkException):  # one that is not accepted is missing when they are read back
            session.conf.set(name, value)


def _open_session(address: str) -> Any:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    # their messages may contain the address, and with it a token
    with suppress(PySparkException, Py4JError, RuntimeError, OSError):
        if address.startswith("sc://"):
            return _close_before_exit(_limit_retries(SparkSession.builder.remote(address).create()))
        return _open_classic_session(SparkSession, address).newSession()
    return None


def _limit_retries(session: Any) -> Any:
    """Let a Connect session give up on a server that is gone.

    By itself it goes on for ten minutes with each call, of which a question and its end make several.
    """
    from pyspark.sql.connect.client.retries import DefaultPolicy

    session.client.set_retry_policies([DefaultPolicy(max_retries=CONNECT_RETRIES)])
    return session


def _close_before_exit(session: Any) -> Any:
    """Let a Connect session close its channel before the interpreter ends.

    It closes it itself when it is collected. If that is while the interpreter ends, the threads that it waits
    for are gone, and the process never ends.
    """
    weakref.finalize(session, session.client.close)
    return session


def _open_classic_session(session_class: Any, address: str) -> Any:
    builder = session_class.builder.appName("discreet")
    if address.startswith("spark:local"):
        cores = address.removeprefix("spark:local").strip("[]") or "*"
        builder = builder.master(f"local[{cores}]")
        folder = _make_warehouse_folder()
        places = {"spark.sql.warehouse.dir": folder, "spark.local.dir": os.path.join(folder, "local")}
        for name, value in {**LOCAL_SETTINGS, **places}.items():
            builder = builder.config(name, value)
    else:
        builder = builder.master(address)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


@cache
def _make_warehouse_folder() -> str:
    """Create a folder with an unpredictable name that only we can enter, removed when the process ends."""
    folder = tempfile.mkdtemp(prefix=claim_folder_prefix(WAREHOUSE))  # with mode 0700
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
    table: Table | None = None,
    lists: Collection[str] = (),
) -> EngineTable:
    """Register a table or a path as a view; return it with the SQL that reads the columns of `table`.

    Without a declaration all columns are read, and the types of a CSV file are inferred from its rows. Arrays
    are read as text, except for the columns in `lists`.
    """
    frame = find_frame(session, name, source, table)
    declared = None if table is None else table.source_names
    if declared is not None and find_reader(source) == "csv":
        declared = dict(zip(declared, declared, strict=True))  # the copy has the declared names
    if frame is None:
        raise RequestError(
            f"Spark: the source of table {name} is {source}, and there is no such table or path.",
            hint="Name a table of the catalogue, or a Parquet or CSV path.",
        )
    is_path = find_reader(source) == "parquet"
    frame = guard_timestamps(
        session, name, source, frame, None if declared is None else declared.values(), is_path=is_path
    )
    return register_view(session, name, frame, declared, lists)


def register_view(
    session: Any,
    name: str,
    frame: Any,
    declared: Mapping[str, str] | None = None,
    lists: Collection[str] = (),
) -> EngineTable:
    """Register a frame as a view of the session; return it with the SQL that reads its columns."""
    identities = {field.name: _make_identifier_type(field) for field in frame.schema.fields}
    frame = guard_text(frame)
    forms = {column: _make_read_form(kind, column.lower() in lists) for column, kind in frame.dtypes}
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


def find_frame(session: Any, name: str, source: str, table: Table | None = None) -> Any:
    """Return a table or path as a frame, or None; a CSV file is read as `table` declares it."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    reader = find_reader(source)
    if reader == "csv":
        converted = convert_csv(session, name, source, table, _make_warehouse_folder())
        return None if converted is None else session.read.parquet(str(converted))
    if table is not None:
        policy_tables.require_no_csv_options({name: table}, DIALECT)
    try:
        frame = session.read.parquet(source) if reader else session.table(source)
        frame.dtypes  # noqa: B018  Spark looks a name up only when the frame is used
    except (PySparkException, Py4JJavaError) as error:
        reason = _explain_unreadable(str(error))
    else:
        if not reader:
            require_no_csv(session, name, source, frame)
        return frame
    if reason:
        raise RequestError(
            f"Spark: the source of table {name} is {source}, which {reason}.",
            hint="Write it with types that Spark has, the same in every file.",
        )
    return None


def _explain_unreadable(message: str) -> str:
    """Return in words why Spark cannot read a source that exists; empty for one that does not.

    >>> _explain_unreadable("[PARQUET_TYPE_ILLEGAL] Illegal Parquet type: INT32 (X). SQLSTATE: 42846")
    'has a column of the Parquet type INT32 (X), which Spark cannot read'
    >>> _explain_unreadable("[PATH_NOT_FOUND] Path does not exist: file:/a. SQLSTATE: 42K03")
    ''
    """
    for condition in CONDITION.findall(message):
        if condition in UNREADABLE_CONDITIONS:
            found = PARQUET_TYPE.search(message)
            return UNREADABLE_CONDITIONS[condition].format(type=found[1] if found else "of its file")
    return ""


def find_reader(source: str) -> str:
    """Return the reader of a source: parquet, csv, or empty for a table of the catalog."""
    if find_file_format(Path(source)) in TEXT_FORMATS:
        return "csv"
    return "parquet" if "/" in source or find_file_format(Path(source)) is FileFormat.PARQUET else ""


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
