"""Coarse times: times in seconds or milliseconds, whose 64 bits reach further than those in microseconds.

DuckDB computes in microseconds, and raises where it cannot convert a time, in TRY_CAST too and already while
it reads a Parquet file: one row would keep everybody's from being read. So such a time is NULL, as is a text
that cannot be read as a time. Whether a source is read this way depends on the types of its columns alone.

Parquet    files with times in milliseconds are read by pyarrow, as integers, and then become times.
Frames     are converted by pyarrow.
Tables     of DuckDB files are converted in SQL, from TIMESTAMP_S and TIMESTAMP_MS.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import duckdb
import pyarrow as pa

from discreet.core.sql_quoting import quote_identifier
from discreet.engines.duckdb_connection import quote_path

MICROSECONDS = (-9_223_372_022_400_000_000, 9_223_372_036_854_775_806)
"""The first and last TIMESTAMP of DuckDB that are finite."""
COARSE_TYPES = ("TIMESTAMP_S", "TIMESTAMP_MS")
FIRST_AND_LAST = "290308-01-01 (BC) 00:00:00", "294246-12-31 00:00:00"
MICROSECONDS_PER_UNIT = {"s": 1_000_000, "ms": 1000}


def has_millisecond_columns(files: Collection[Path], connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether a Parquet file has a column of times in milliseconds, by its schema."""
    listed = ", ".join(map(quote_path, files))
    sql = (
        f"SELECT count(*) FROM parquet_schema([{listed}]) WHERE converted_type = 'TIMESTAMP_MILLIS' "
        "OR contains(logical_type, 'MILLIS=MilliSeconds')"
    )
    return connection.execute(sql).fetchall() != [(0,)]


def register_parquet_files(
    files: Collection[Path], declared: Collection[str], connection: duckdb.DuckDBPyConnection, name: str
) -> str:
    """Register Parquet files, as read by pyarrow, under names that begin with `name`; return their relation.

    It has the declared columns of the files, and those that are folders of a partitioned table.
    """
    # most files do not need them, and they take a while to load
    from pyarrow import dataset, parquet

    wanted, parts = {column.lower() for column in declared}, []
    for number, path in enumerate(files):
        fields = list(parquet.read_schema(path))
        used = [field for field in fields if field.name.lower() in wanted] or fields[:1]
        folders = _find_partition_columns(path, {field.name.lower() for field in fields})
        schema = pa.schema(
            [*(pa.field(field.name, _store_as_integer(field.type)) for field in used), *folders]
        )
        partitioning = dataset.partitioning(pa.schema(folders), flavor="hive") if folders else None
        frame = dataset.dataset([str(path)], schema=schema, format="parquet", partitioning=partitioning)
        connection.register(f"{name} {number}", frame)
        columns = ", ".join(map(_select_field, [*used, *folders]))
        parts.append(f"SELECT {columns} FROM {quote_identifier(f'{name} {number}')}")
    return "(" + " UNION ALL BY NAME ".join(parts) + ")"


def convert_frame(frame: pa.Table) -> pa.Table:
    """Return a frame with its times in microseconds.

    >>> far = pa.table({"at": pa.array([0, 10**16], pa.timestamp("ms"))})
    >>> convert_frame(far).column("at").null_count
    1
    """
    for place, field in enumerate(frame.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit in MICROSECONDS_PER_UNIT:
            import pyarrow.compute as pc  # most frames do not need it, and it takes a while to load

            numbers = frame.column(place).cast(pa.int64())
            first, last = _compute_bounds(field.type.unit)
            fits = pc.and_(pc.greater_equal(numbers, first), pc.less_equal(numbers, last))
            kept = pc.if_else(fits, frame.column(place), pa.scalar(None, field.type))
            made = pa.timestamp("us", field.type.tz)
            frame = frame.set_column(place, field.with_type(made), kept.cast(made))
    return frame


def select_microseconds(types: Mapping[str, str]) -> dict[str, str]:
    """Return the SQL of each column with coarse times, by name: a TIMESTAMP."""
    found = {}
    for name, kind in types.items():
        if kind in COARSE_TYPES:
            first, last = (f"{kind} '{each}'" for each in FIRST_AND_LAST)
            value = quote_identifier(name)
            found[name] = f"CASE WHEN {value} BETWEEN {first} AND {last} THEN CAST({value} AS TIMESTAMP) END"
    return found


def _compute_bounds(unit: str) -> tuple[int, int]:
    """Return the first and last time in a unit that are times in microseconds too.

    >>> _compute_bounds("ms")
    (-9223372022400000, 9223372036854775)
    """
    first, last = MICROSECONDS
    return -(-first // MICROSECONDS_PER_UNIT[unit]), last // MICROSECONDS_PER_UNIT[unit]


def _find_partition_columns(path: Path, names: Collection[str]) -> list[pa.Field]:
    """Return the columns that the names of a file's folders give values to, as text."""
    folders = dict.fromkeys(
        each.partition("=")[0] for each in path.parent.parts if not each.startswith("=") and "=" in each
    )
    return [pa.field(name, pa.string()) for name in folders if name.lower() not in names]


def _is_millisecond_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind)) and kind.unit == "ms"


def _store_as_integer(kind: pa.DataType) -> pa.DataType:
    """Return a type with integers in place of times in milliseconds, in lists and structures too."""
    if _is_millisecond_time(kind):
        return pa.int64()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_store_as_integer(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_store_as_integer(field.type)) for field in kind])
    return kind


def _select_field(field: pa.Field) -> str:
    name = quote_identifier(field.name)
    if not _is_millisecond_time(field.type):
        return name
    first, last = _compute_bounds("ms")
    time = f"CASE WHEN {name} BETWEEN {first} AND {last} THEN epoch_ms({name}) END"
    return f"CAST({time} AS {'TIMESTAMP' if field.type.tz is None else 'TIMESTAMPTZ'}) AS {name}"
