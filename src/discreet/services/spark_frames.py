"""Frames of Spark: views of the application that they belong to, which Spark's engine then reads.

View        global to the application, as the engine has a session of its own, with settings of its own. Its
            name is random; it is dropped with the frame. The same frame has the same view, so that a question
            about it is repeated for free in one process.
Columns     those that the policy declares. Numbers that stand for text are written as those of other frames
            are (`frames`): 7, 7.0 and 7.00 are the text 7.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import uuid4

from discreet.core.column_entry import Column, ColumnType
from discreet.core.errors import RequestError
from discreet.core.table_entry import Table
from discreet.services.frames import make_type_error, match_columns

ENGINE, DATABASE = "spark:local", "global_temp"
NUMBERS = (ColumnType.INTEGER, ColumnType.DECIMAL)
NESTED = ("array", "map", "struct", "interval", "variant")
VIEWS: dict[tuple[int, str], tuple[weakref.ref[Any], str]] = {}
"""By the frame's id and the columns that are read: the frame, and the name of its view."""


def register_spark_frame(frame: Any, name: str, table: Table) -> str:
    """Return the source of a table whose rows a frame of Spark has: the name of a view."""
    spark = frame.to_spark() if hasattr(frame, "to_spark") else frame
    if not hasattr(spark.sparkSession, "_jsparkSession"):
        raise RequestError(
            f"The frame of table {name} belongs to a session of Spark Connect.",
            hint="Save it as a table, and name that table and the engine in a policy.",
        )
    selected = _select_columns(spark, name, table)
    key = id(frame), "\n".join(selected)
    known = VIEWS.get(key)
    if known is not None and known[0]() is frame:
        return known[1]
    view = f"discreet_{uuid4().hex}"
    spark.selectExpr(*selected).createGlobalTempView(view)
    VIEWS[key] = weakref.ref(frame), f"{DATABASE}.{view}"
    weakref.finalize(frame, _drop_view, spark.sparkSession, view, key).atexit = False
    return f"{DATABASE}.{view}"


def _drop_view(session: Any, view: str, key: tuple[int, str]) -> None:
    VIEWS.pop(key, None)
    with suppress(Exception):  # whatever a driver raises once its application is gone
        session.catalog.dropGlobalTempView(view)


def _select_columns(frame: Any, name: str, table: Table) -> list[str]:
    places, kinds = match_columns(frame.columns, name, table.columns), frame.dtypes
    keys = {*table.links, table.person_column}
    return [
        f"{_write_column(kinds[place], name, table.columns[each], is_key=each in keys)} AS {_quote(each)}"
        for each, place in places.items()
    ]


def _write_column(field: tuple[str, str], table: str, declared: Column, *, is_key: bool) -> str:
    own, kind = field
    if kind.startswith(NESTED):
        raise make_type_error(table, own, kind)
    value = _quote(own)
    if declared.type in NUMBERS and not is_key:
        return value
    if kind.startswith("decimal"):
        return (
            f"trim(TRAILING '.' FROM trim(TRAILING '0' FROM CAST({value} AS STRING)))"
            if not kind.endswith(",0)")
            else value
        )
    if kind not in ("float", "double"):
        return value
    whole = f"try_cast({value} AS DECIMAL(38, 0))"  # a plain cast may raise
    return (
        f"CASE WHEN isnan({value}) THEN NULL WHEN {value} = {whole} THEN CAST({whole} AS STRING) "
        f"ELSE CAST({value} AS STRING) END"
    )


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def list_spark_sources(frames: Mapping[str, Any], tables: Mapping[str, Table]) -> dict[str, Table]:
    """Return the tables of frames of Spark, with their views as sources, which have the declared names."""
    return {
        name: tables[name].model_copy(
            update={
                "source": register_spark_frame(frame, name, tables[name]),
                "columns": {
                    column: entry.model_copy(update={"source_name": None})
                    for column, entry in tables[name].columns.items()
                },
            }
        )
        for name, frame in frames.items()
    }
