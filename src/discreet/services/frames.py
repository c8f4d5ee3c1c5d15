"""Frames: tables that a program passes in, read as Arrow tables of the columns that a policy declares.

Kinds       pandas, polars (lazy ones too), Arrow tables, batches, datasets and readers, DuckDB relations, and
            whatever else exports an Arrow stream. They are recognized by the module of their type, so that no
            library is imported that the program has not imported. Frames of Spark stay in Spark.
Read        A value is read by the type that the policy declares and by the value alone. Libraries choose the
            type of a column from all of its values: one missing number makes a column of integers one of
            floating-point numbers, one text makes it one of Python objects, and one long fraction sets the
            digits of all decimals. So that one person's value never changes how others' are read, numbers
            that stand for text (categories, identifiers) are written alike whatever type they are stored in:
            7, 7.0 and 7.00 are the text 7.
Objects     A column of Python objects becomes text value by value (`object_columns`).
Missing     None, NaN, NaT and NA are the same.
Refused     by name, from the frame's schema alone: lists, structures, maps, durations, and two columns of one
            name.
Copied      only columns that the policy declares, and of these only the ones whose type must change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import pyarrow as pa

from discreet.core.column_entry import Column, ColumnType
from discreet.core.errors import RequestError
from discreet.core.sql_quoting import quote_identifier
from discreet.core.table_entry import Table
from discreet.services.object_columns import objects_to_text, write_decimals, write_numbers
from discreet.services.policy_errors import find_nearest_name

if TYPE_CHECKING:
    import pandas as pd

EXPECTED_FRAME = "a pandas or polars frame, an Arrow table, a DuckDB relation or a Spark frame"
NUMBERS, TIMES = (ColumnType.INTEGER, ColumnType.DECIMAL), (ColumnType.DATE, ColumnType.TIMESTAMP)
UUID_TYPE, STORED_TYPES = "arrow.uuid", ("arrow.json", "arrow.bool8")
"""Extensions of Arrow that engines read, themselves or as they are stored."""
PLAIN_DUCKDB_TYPES = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
    *("FLOAT", "DOUBLE", "DECIMAL", "VARCHAR", "ENUM", "DATE", "TIME", "TIMESTAMP"),
)
"""Types that Arrow has too; values of others are exported as text."""
LONGEST_DECIMAL = 38
"""Digits of a decimal that engines read."""


class SupportsArrowStream(Protocol):
    """A frame that exports its rows as an Arrow stream: pandas, polars, pyarrow and DuckDB do."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class SupportsSchema(Protocol):
    """A frame that has a schema and rows in an engine: a lazy frame of polars, a frame of Spark."""

    @property
    def columns(self) -> list[str]: ...


Frame = SupportsArrowStream | SupportsSchema
"""What stands for a table in a program, as a type checker sees it."""


def is_frame(value: object) -> TypeGuard[Frame]:
    """Return whether a value is a frame of some library.

    >>> is_frame(pa.table({"age": [34]})), is_frame("people.csv"), is_frame({"age": [34]})
    (True, False, False)
    """
    library = find_library(value)
    if library == "pandas":
        return hasattr(value, "dtypes") and hasattr(value, "columns")
    if library == "polars":
        return hasattr(value, "collect_schema")
    if library == "pyspark":
        return is_spark_frame(value)
    if library == "duckdb":
        return hasattr(value, "project") and hasattr(value, "columns")
    return hasattr(value, "__arrow_c_stream__") or (library == "pyarrow" and hasattr(value, "to_table"))


def is_spark_frame(value: object) -> bool:
    """Return whether a value is a frame of Spark, or one of pandas on Spark."""
    return find_library(value) == "pyspark" and hasattr(value, "columns") and hasattr(value, "dtypes")


def find_library(value: object) -> str:
    """Return the library that a value's class, or a class that it derives from, belongs to; or nothing."""
    known = ("pandas", "polars", "pyspark", "pyarrow", "duckdb")
    roots = [each.__module__.partition(".")[0] for each in type(value).__mro__]
    return next((root.removeprefix("_") for root in roots if root.removeprefix("_") in known), "")


def require_frame(value: object) -> Frame:
    """Return a frame, or refuse another value."""
    if not is_frame(value):
        raise RequestError(
            f"A table is {EXPECTED_FRAME}; got {type(value).__name__}.", hint="Convert it to one of these."
        )
    return value


def read_frame(frame: Frame, name: str, table: Table) -> pa.Table:
    """Return the declared columns of a frame, under their declared names, as an Arrow table."""
    return read_columns(frame, name, table.columns, keys={*table.links, table.person_column})


def read_columns(
    frame: Frame, name: str, declared: Mapping[str, Column], *, keys: Collection[str | None] = ()
) -> pa.Table:
    """Return columns of a frame as they are declared; `keys` identify people or rows."""
    found = match_columns(list_columns(frame), name, declared)
    for each, kind in _list_unreadable_types(frame, found):
        raise make_type_error(name, each, kind)
    arrays = _read_arrays(frame, found, declared)
    return pa.table(
        {
            each: _convert_column(array, name, each, declared[each], is_key=each in keys)
            for each, array in arrays.items()
        }
    )


def list_columns(frame: Frame) -> list[str]:
    """Return the names of a frame's columns, in order."""
    if find_library(frame) == "polars":
        return list(frame.collect_schema().names())  # type: ignore[union-attr]
    columns: Iterable[object]
    columns = frame.columns if hasattr(frame, "columns") else ()
    if find_library(frame) not in ("pandas", "duckdb", "pyspark"):
        columns = _open_stream(frame).schema.names if not hasattr(frame, "schema") else frame.schema.names
    return list(map(str, columns))


def match_columns(names: Sequence[str], table: str, declared: Mapping[str, Column]) -> dict[str, int]:
    """Return the place in a frame of each declared column, which is named as there or in other letters' case.

    >>> match_columns(["Age", "sex"], "people", {"age": Column()})
    {'age': 0}
    """
    found: dict[str, int] = {}
    for column, entry in declared.items():
        own = entry.source_name or column
        exact = [place for place, name in enumerate(names) if name == own]
        places = exact or [place for place, name in enumerate(names) if name.lower() == own.lower()]
        if not places:
            meant = find_nearest_name(own, names)
            raise RequestError(
                f"Table {table} declares the column {own}; the frame does not have it.",
                hint=f"Did you mean {meant}?" if meant else "Correct its name, or remove it.",
            )
        if len(places) > 1:
            raise RequestError(
                f"The frame of table {table} has {len(places)} columns named {own}.",
                hint="Rename all but one of them.",
            )
        found[column] = places[0]
    return found


def _read_arrays(
    frame: Any, found: Mapping[str, int], declared: Mapping[str, Column]
) -> dict[str, pa.ChunkedArray | pa.Array]:
    """Return the columns at these places as arrays, by declared name."""
    library = find_library(frame)
    if library == "pyspark":
        frame, library = (frame.to_spark() if hasattr(frame, "to_spark") else frame).toArrow(), "pyarrow"
    if library == "pandas":
        return {
            name: _read_series(frame.iloc[:, place], declared[name].type) for name, place in found.items()
        }
    names = list_columns(frame)
    wanted = [names[place] for place in found.values()]
    if library == "polars":
        rows = frame.lazy().select(_write_long_integers(frame, wanted)).collect().to_arrow()
    elif library == "duckdb":
        rows = frame.project(
            ", ".join(_select_plain(frame, place) for place in found.values())
        ).to_arrow_table()
    elif hasattr(frame, "to_table"):
        rows = frame.to_table(columns=wanted)
    else:
        rows = frame if isinstance(frame, pa.Table) else _open_stream(frame).read_all()
        rows = rows.select(list(found.values()))
    return dict(zip(found, rows.columns, strict=True))


def _list_unreadable_types(frame: Any, found: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield the columns of types that Arrow has none for, with the library's names of these."""
    library = find_library(frame)
    if library == "polars":
        kinds = list(map(str, frame.collect_schema().dtypes()))
        yield from ((name, kinds[place]) for name, place in found.items() if kinds[place] == "Object")
    if library == "pandas":
        kinds = [str(kind) for kind in frame.dtypes]
        yield from (
            (name, kinds[place]) for name, place in found.items() if kinds[place].startswith("complex")
        )


def _write_long_integers(frame: Any, names: Sequence[str]) -> list[Any]:
    """Return polars' columns of these names; integers of 128 bits, which Arrow does not have, as text."""
    import polars as pl  # the frame is one of its own

    kinds = {name: str(kind) for name, kind in frame.collect_schema().items()}
    return [
        pl.col(name).cast(pl.String) if kinds[name] in ("Int128", "UInt128") else pl.col(name)
        for name in names
    ]


def _open_stream(frame: Any) -> pa.RecordBatchReader:
    if isinstance(frame, pa.RecordBatchReader):
        return frame
    try:
        return pa.RecordBatchReader.from_stream(frame)
    except (pa.ArrowException, TypeError, ValueError):
        pass
    raise RequestError(
        f"A table is {EXPECTED_FRAME}; {type(frame).__name__} has no columns.",
        hint="Convert it to one of these.",
    )


def _select_plain(relation: Any, place: int) -> str:
    """Return the SQL of a relation's column, as text where Arrow has no such type."""
    name, kind = quote_identifier(relation.columns[place]), str(relation.types[place])
    plain = kind.partition("(")[0].strip() in PLAIN_DUCKDB_TYPES or kind.startswith("TIMESTAMP")
    return f"CAST({name} AS VARCHAR) AS {name}" if not plain and not _is_nested_name(kind) else name


def _is_nested_name(kind: str) -> bool:
    return kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION", "INTERVAL"))


def _read_series(series: pd.Series, kind: ColumnType) -> pa.Array | pa.ChunkedArray:
    """Return a column of pandas as an array; whatever Arrow has no type for is read object by object."""
    if hasattr(series, "cat"):
        words = _read_series(series.cat.categories.to_series(), kind)
        words = words.combine_chunks() if isinstance(words, pa.ChunkedArray) else words
        codes = series.cat.codes.to_numpy()
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), words)
    if series.dtype != object:
        try:
            return pa.array(series, from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError):
            pass  # such as texts that are not UTF-8, of which each is then missing by itself
    return objects_to_text(series.to_numpy(dtype=object), kind)


def _convert_column(
    array: pa.Array | pa.ChunkedArray, table: str, name: str, declared: Column, *, is_key: bool
) -> pa.Array | pa.ChunkedArray:
    """Return an array of a type that engines read, as the same value whatever type it is stored in."""
    if getattr(array.type, "extension_name", "") == UUID_TYPE:
        return array
    plain = _decode_array(array)
    if plain is not array:
        return _convert_column(plain, table, name, declared, is_key=is_key)
    _require_plain_type(array.type, table, name)
    if pa.types.is_decimal(array.type) or pa.types.is_floating(array.type):
        if declared.type in NUMBERS and not is_key:
            return _convert_fractions(array, declared)
        return write_decimals(array) if pa.types.is_decimal(array.type) else write_numbers(array)
    return array.cast(_choose_type(array.type, declared))


def _choose_type(kind: pa.DataType, declared: Column) -> pa.DataType:
    """Return the type to read a column as, which mostly is its own."""
    if pa.types.is_date64(kind):
        return pa.timestamp("ms")  # days that are too many for a DATE are missing then
    # no engine reads a number as a time, and no text of one either
    is_text = pa.types.is_integer(kind) and declared.type in TIMES
    return pa.string() if is_text or pa.types.is_null(kind) else kind


def _convert_fractions(array: Any, declared: Column) -> Any:
    """Return fractional numbers as numbers, each of which is rounded as its text would be."""
    if pa.types.is_decimal(array.type):
        if _has_whole_steps(array.type, declared):
            return array
        array = write_decimals(array)
    numbers = array.cast(pa.float64())
    if declared.type is not ColumnType.INTEGER:
        return numbers
    import pyarrow.compute as pc

    return pc.round(numbers, round_mode="half_towards_infinity")


def _has_whole_steps(kind: pa.DataType, declared: Column) -> bool:
    """Return whether every decimal of a type is a whole number of the column's steps, which is exact."""
    if declared.type is ColumnType.DECIMAL and declared.resolution is None:
        return False
    places = max(kind.scale, 0)
    return (
        kind.precision <= LONGEST_DECIMAL and (Fraction(1, 10**places) / declared.grid_step).denominator == 1
    )


def _decode_array(array: Any) -> Any:
    """Return an array without extension, runs or dictionary; one of texts keeps its dictionary."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name in STORED_TYPES:
        if isinstance(array, pa.ChunkedArray):
            return pa.chunked_array([chunk.storage for chunk in array.chunks], kind.storage_type)
        return array.storage
    if pa.types.is_run_end_encoded(kind):
        import pyarrow.compute as pc

        return pc.run_end_decode(array)
    if pa.types.is_dictionary(kind) and kind.value_type not in (pa.string(), pa.large_string()):
        return array.cast(kind.value_type)
    return array


def _require_plain_type(kind: pa.DataType, table: str, name: str) -> None:
    nested = pa.types.is_nested(kind) or pa.types.is_duration(kind) or pa.types.is_interval(kind)
    if nested or isinstance(kind, pa.BaseExtensionType):
        raise make_type_error(table, name, str(kind))


def make_type_error(table: str, name: str, kind: str) -> RequestError:
    """Return the refusal of a column whose type no policy can declare."""
    return RequestError(
        f"The column {name} of table {table} has the type {kind}, which no policy can declare.",
        hint="Make a column of numbers, texts, dates or truth values of it, or leave it out of the columns.",
    )
