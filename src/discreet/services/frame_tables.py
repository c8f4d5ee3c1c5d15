"""Frames that no policy declares: their columns and types, and the policy under which one is published.

Types come from the frame's schema, as those of a file do, and are a proposal: a library chooses them from all
values. What is published without differential privacy may depend on them; what is answered never does, as its
columns are declared (`policy_values`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.core.column_entry import Column, ColumnType, Role
from discreet.core.errors import RequestError
from discreet.core.output_files import make_spill_folder
from discreet.core.policy import Policy
from discreet.core.sql_quoting import quote_identifier
from discreet.engines.duckdb_publisher import DuckDBPublisher
from discreet.engines.inventory import MAX_INSPECTED_ROWS, compute_pattern_shares, find_kind
from discreet.services.frames import Frame, find_library, is_frame, is_spark_frame, list_columns, read_columns
from discreet.services.policy_draft.column_roles import HIPAA_PATTERNS, is_person_key
from discreet.services.policy_errors import find_nearest_name
from discreet.services.policy_values import expand_column, validate_policy
from discreet.services.source_tables import assign_roles, build_column, choose_kind

SPARK_KINDS = {
    "boolean": ColumnType.BOOLEAN,
    "date": ColumnType.DATE,
    "string": ColumnType.TEXT,
    "float": ColumnType.DECIMAL,
    "double": ColumnType.DECIMAL,
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), ColumnType.INTEGER),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), ColumnType.TIMESTAMP),
}


def describe_frame(frame: Frame) -> list[tuple[str, ColumnType | None]]:
    """Return the names and kinds of a frame's columns; the kind is None if a policy has none for the type.

    >>> describe_frame(pa.table({"age": [34], "zip": ["13053"], "tags": [["a"]]}))
    [('age', <ColumnType.INTEGER: 'integer'>), ('zip', <ColumnType.TEXT: 'text'>), ('tags', None)]
    """
    names = list_columns(frame)
    return list(zip(names, _list_kinds(frame), strict=True))


def _list_kinds(frame: Any) -> list[ColumnType | None]:
    library = find_library(frame)
    if library == "duckdb":
        return [find_kind(str(kind)) for kind in frame.types]
    if is_spark_frame(frame):
        return [_find_spark_kind(kind) for _, kind in frame.dtypes]
    if library == "pandas":
        return [_find_pandas_kind(frame.iloc[:0, place]) for place in range(len(frame.columns))]
    if library == "polars":
        return list(map(_find_arrow_kind, frame.lazy().limit(0).collect().to_arrow().schema.types))
    schema = frame.schema if hasattr(frame, "schema") else pa.RecordBatchReader.from_stream(frame).schema
    return list(map(_find_arrow_kind, schema.types))


def _find_spark_kind(kind: str) -> ColumnType | None:
    if kind.startswith("decimal"):
        return ColumnType.INTEGER if kind.endswith(",0)") else ColumnType.DECIMAL
    return SPARK_KINDS.get(kind)


def _find_pandas_kind(series: Any) -> ColumnType | None:
    if hasattr(series, "cat"):
        return ColumnType.CATEGORY
    if series.dtype == object:
        return ColumnType.TEXT
    try:
        return _find_arrow_kind(pa.array(series, from_pandas=True).type)
    except (pa.ArrowException, TypeError, ValueError):
        return None


def _find_arrow_kind(kind: pa.DataType) -> ColumnType | None:
    """Return the kind of an Arrow type, or None."""
    tests = {
        ColumnType.CATEGORY: pa.types.is_dictionary(kind),
        ColumnType.BOOLEAN: pa.types.is_boolean(kind),
        ColumnType.INTEGER: pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale <= 0),
        ColumnType.DECIMAL: pa.types.is_floating(kind) or pa.types.is_decimal(kind),
        ColumnType.DATE: pa.types.is_date(kind),
        ColumnType.TIMESTAMP: pa.types.is_timestamp(kind),
        ColumnType.TEXT: any(
            is_text(kind)
            for is_text in (
                pa.types.is_string,
                pa.types.is_large_string,
                pa.types.is_string_view,
                pa.types.is_time,
            )
        )
        or pa.types.is_null(kind),
    }
    return next((found for found, fits in tests.items() if fits), None)


def match_frame_patterns(frame: Any, columns: Sequence[str]) -> Mapping[str, Mapping[str, float]]:
    """Return the share of a frame's first values that match each pattern of an identifier, per column."""
    if not columns:
        return {}
    library, first = find_library(frame), frame
    if library in ("pandas", "polars"):
        first = frame.head(MAX_INSPECTED_ROWS)
    elif library in ("duckdb", "pyspark"):
        first = frame.limit(MAX_INSPECTED_ROWS)
    elif isinstance(frame, pa.Table):
        first = frame.slice(0, MAX_INSPECTED_ROWS)
    rows = read_columns(first, "frame", dict.fromkeys(columns, Column()))
    with DuckDBPublisher({}, {"frame": rows}) as engine:
        return compute_pattern_shares(engine.count, "frame", columns, HIPAA_PATTERNS)


def read_whole_frame(frame: Frame, name: str = "frame") -> pa.Table:
    """Return a frame with all of its columns, in their own types, as an Arrow table."""
    kinds = dict(describe_frame(frame))
    return read_columns(
        frame, name, {each: Column(type=kind or ColumnType.TEXT) for each, kind in kinds.items()}
    )


@contextmanager
def write_frames(arguments: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Lend the arguments of a request with frames written to files, which only their owner can read."""
    with make_spill_folder() as folder:
        yield {
            name: _write_frame(value, Path(folder) / f"{name}.parquet") if is_frame(value) else value
            for name, value in arguments.items()
        }


def _write_frame(frame: Frame, path: Path) -> str:
    from pyarrow import parquet  # takes a while to load

    parquet.write_table(read_whole_frame(frame, path.stem), path)
    return str(path)


def build_published_policy(
    frame: Frame,
    name: str,
    *,
    quasi: tuple[str, ...],
    sensitive: tuple[str, ...],
    keep: tuple[str, ...] = (),
    columns: Mapping[str, Any] | None = None,
    person: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
) -> Policy:
    """Return the policy of a frame that is published: the columns that are named, and no others.

    Columns of `columns` are declared as in `ask`; the types of others come from the frame. A number or a date
    without bounds is text, so that its characters are masked.
    """
    known, declared = dict(describe_frame(frame)), dict(columns or {})
    roles = assign_roles(quasi, sensitive)
    if not quasi and not any(_has_role(form, Role.QUASI) for form in declared.values()):
        raise RequestError(
            "anonymize: no column of the frame is named as a quasi-identifier.",
            hint='Name those that others may know, `quasi=["age", "zip"]`, and those that are secret, '
            '`sensitive="disease"`.',
        )
    if person is not None:
        roles = {person: Role.IDENTIFIER} | roles
    made: dict[str, Any] = {}
    for column in dict.fromkeys([*declared, *roles, *keep]):
        own = _find_own_name(column, declared.get(column))
        if own not in known:
            meant = find_nearest_name(own, known)
            raise RequestError(
                f"anonymize: the frame has no column {own}.",
                hint=f"Did you mean {meant}?" if meant else f"It has {', '.join(known)}.",
            )
        made[column] = _build_column(
            column,
            known[own],
            declared.get(column),
            roles.get(column),
            has_hierarchy=column in (hierarchies or {}),
        )
    table: dict[str, Any] = {"columns": made} | ({} if person is None else {"person": person})
    values = {"tables": {name: table}, "hierarchies": dict(hierarchies or {})}
    return validate_policy(values, prefix=("tables", name))


def find_shared_person(frame: Any, named: Collection[str]) -> str | None:
    """Return a column that seems to name the person, if it is not named and rows share a value of it."""
    column = next((name for name in list_columns(frame) if name not in named and is_person_key(name)), None)
    if column is None:
        return None
    if is_spark_frame(frame):
        counted = frame.dropna(subset=[column]).groupBy(column).count()
        return column if counted.filter("count > 1").limit(1).count() else None
    rows = read_columns(frame, "frame", {column: Column()})
    value = f"nullif(CAST({quote_identifier(column)} AS VARCHAR), '')"
    with DuckDBPublisher({}, {"frame": rows}) as engine:
        counts = engine.count(f"SELECT count({value}) - count(DISTINCT {value}) AS shared FROM frame").secret
    return column if counts.to_pylist()[0]["shared"] else None


def _build_column(
    name: str, kind: ColumnType | None, form: Any, role: Role | None, *, has_hierarchy: bool
) -> Any:
    if form is None:
        return build_column(choose_kind(name, kind, has_hierarchy=has_hierarchy), role)
    entries = expand_column(name, form)
    if isinstance(entries, Column):
        return entries if role is None else entries.model_copy(update={"role": role})
    missing = {} if role is Role.SENSITIVE else {"missing": "category"}
    return missing | entries | ({} if role is None else {"role": role})


def _find_own_name(name: str, form: Any) -> str:
    """Return the frame's name of a column."""
    if isinstance(form, Mapping):
        return str(form.get("from") or form.get("source_name") or name)
    return getattr(form, "source_name", None) or name


def _has_role(form: Any, role: Role) -> bool:
    said = form.get("role") if isinstance(form, Mapping) else getattr(form, "role", None)
    return said == role
