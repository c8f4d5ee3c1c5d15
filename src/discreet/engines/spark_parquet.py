"""Parquet for Spark: values that its reader, Arrow or Python cannot take are made harmless inside Spark.

Milliseconds  a timestamp in milliseconds is multiplied by 1,000 when it is read, and one that does not fit 64
              bits then fails the whole read. Such columns are read as integers and converted where they fit;
              other values are NULL. The unit is known from the files' footers, which a classic session reads
              on the driver; Spark Connect has no way to see them.
Text          Spark takes any bytes as text, those of a BINARY too; Arrow and Python raise at bytes that are
              not UTF-8. They become the replacement character and their hexadecimal digits, and so does text
              that begins with that character: different values stay different, as identifiers require.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from discreet.core.errors import RequestError
from discreet.core.sql_quoting import quote_literal

MILLIS, NESTED = "MILLIS", "nested MILLIS"
FIELD = re.compile(r"  (\w+) int64 (.*) \(TIMESTAMP[_(](MILLIS|MICROS|NANOS)\b.*;")
GROUP = re.compile(r"  \w+ group (.*?)(?: \(\w+\))?(?: = \d+)? \{")
NESTED_MILLIS = re.compile(r"   .* \(TIMESTAMP[_(]MILLIS\b.*;")
FOOTER_THREADS = 8
MAX_MILLISECONDS = (2**63 - 1) // 1_000
REPLACEMENT_CHARACTER = "\ufffd"
ARRAY = "array<"
TYPES_WITHOUT_TEXT = re.compile(
    r"boolean|tinyint|smallint|int|bigint|float|double|date|timestamp|timestamp_ntz|decimal\(\d+,\d+\)"
)


def guard_timestamps(
    session: Any, name: str, source: str, frame: Any, declared: Iterable[str] | None, *, is_path: bool
) -> Any:
    """Return a frame that no timestamp in milliseconds makes raise; refuse one that cannot be read so."""
    wanted = None if declared is None else {column.lower() for column in declared}
    times = [
        field.name
        for field in frame.schema.fields
        if "timestamp" in field.dataType.simpleString() and (wanted is None or field.name.lower() in wanted)
    ]
    if not times or not hasattr(session, "_jsparkSession"):
        return frame
    found = set(_read_timestamp_units(session, frame.inputFiles()))
    units = {column: {unit for own, unit in found if own.lower() == column.lower()} for column in times}
    in_milliseconds = [column for column in times if units[column] & {MILLIS, NESTED}]
    for column in in_milliseconds:
        if not is_path or units[column] != {MILLIS}:
            raise RequestError(
                f"Spark: the source of table {name} is {source}; its column {column} has timestamps in "
                "milliseconds, and Spark cannot read all that a file may hold.",
                hint="Write them in microseconds, or leave the column out of the policy.",
            )
    return _read_as_integers(session, source, frame, in_milliseconds) if in_milliseconds else frame


def guard_text(frame: Any) -> Any:
    """Return a frame whose text is UTF-8; columns of all types that are read as text become text."""
    from pyspark.sql import functions

    changed = {
        column: functions.expr(form.format(_quote_column(column)))
        for column, kind in frame.dtypes
        if (form := _write_text_guard(kind))
    }
    return frame.withColumns(changed) if changed else frame


def _write_text_guard(kind: str) -> str:
    """Return the template of the text of a Spark type, or of a list of it; empty if there is no text in it.

    >>> _write_text_guard("array<int>"), _write_text_guard("array<binary>")[:44]
    ('', 'transform({0}, v -> (CASE WHEN is_valid_utf8')
    """
    if TYPES_WITHOUT_TEXT.fullmatch(kind):
        return ""
    if kind.startswith(ARRAY):
        items = _write_text_guard(kind.removeprefix(ARRAY).removesuffix(">"))
        return f"transform({{0}}, v -> {items.format('v')})" if items else ""
    text = "{0}" if kind == "string" else "CAST({0} AS STRING)"
    mark = quote_literal(REPLACEMENT_CHARACTER)
    return (
        f"(CASE WHEN is_valid_utf8({text}) AND NOT startswith({text}, {mark}) THEN {text} "
        f"ELSE concat({mark}, hex({text})) END)"
    )


def _read_timestamp_units(session: Any, files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each column of timestamps in the files with its unit."""
    settings = session._jsparkSession.sessionState().newHadoopConf()
    with ThreadPoolExecutor(FOOTER_THREADS) as threads:
        for schema in set(threads.map(lambda file: _read_footer_schema(session, settings, file), files)):
            yield from _parse_timestamp_units(schema)


def _parse_timestamp_units(schema: str) -> Iterator[tuple[str, str]]:
    """Yield the columns of timestamps in a Parquet schema, and their units.

    >>> lines = ["message m {", "  optional int64 at (TIMESTAMP(MILLIS,false));"]
    >>> lines += ["  optional group l (LIST) {", "    repeated int64 array (TIMESTAMP(MILLIS,true));"]
    >>> lines += ["  }", "}"]
    >>> list(_parse_timestamp_units("\\n".join(lines)))
    [('at', 'MILLIS'), ('l', 'nested MILLIS')]
    """
    group = ""
    for line in schema.splitlines():
        if found := GROUP.fullmatch(line):
            group = found[1]
        elif found := FIELD.fullmatch(line):
            yield found[2], NESTED if found[1] == "repeated" and found[3] == MILLIS else found[3]
        elif NESTED_MILLIS.fullmatch(line):
            yield group, NESTED


def _read_footer_schema(session: Any, settings: Any, file: str) -> str:
    """Return the schema in a file's footer as text; empty if it is not a Parquet file."""
    from py4j.protocol import Py4JJavaError

    parquet, hadoop = session._jvm.org.apache.parquet.hadoop, session._jvm.org.apache.hadoop.fs
    path = hadoop.Path(session._jvm.java.net.URI(file))
    try:
        opened = parquet.ParquetFileReader.open(parquet.util.HadoopInputFile.fromPath(path, settings))
    except Py4JJavaError:
        return ""
    try:
        return str(opened.getFooter().getFileMetaData().getSchema().toString())
    finally:
        opened.close()


def _read_as_integers(session: Any, source: str, frame: Any, columns: Iterable[str]) -> Any:
    from pyspark.sql import functions
    from pyspark.sql.types import LongType, StructField, StructType

    schema = StructType(
        [
            StructField(field.name, LongType()) if field.name in columns else field
            for field in frame.schema.fields
        ]
    )
    fits = "CASE WHEN {0} BETWEEN -{1} AND {1} THEN timestamp_millis({0}) END"
    return (
        session.read.schema(schema)
        .parquet(source)
        .withColumns(
            {
                column: functions.expr(fits.format(_quote_column(column), MAX_MILLISECONDS))
                for column in columns
            }
        )
    )


def _quote_column(column: str) -> str:
    return "`" + column.replace("`", "``") + "`"
