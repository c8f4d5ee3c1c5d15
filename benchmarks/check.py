"""The check of a table against its policy, beside a raw scan of the same file that counts every column.

A table of twenty columns: whole and decimal numbers, categories, dates, a time, identifiers and text, all of
which fit the policy but for a tenth of the numbers. Both read a file without quote marks by all threads, and
one with quote marks by one. Compared is the time of all processors, which other work on the machine changes
least.
"""

from __future__ import annotations

import datetime as dt
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb

from discreet.core.column_entry import Column
from discreet.core.policy import Policy
from discreet.core.table_entry import Table
from discreet.engines.duckdb_connection import connect_duckdb, quote_path
from discreet.services.check.data_check import check_data

ROWS = 1_000_000
COLORS = ("red", "green", "blue", "yellow", "brown", "white")
BARS = {"table.csv": 3, "quoted.csv": 3, "table.parquet": 8}
"""The most that a check should take, in raw scans, for each file; in quoted.csv each note is quoted."""


def rows() -> list[tuple[str, str, str]]:
    """Return the time of a raw scan and of a check, and how many scans that is, for each format."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        _write_table(Path(folder))
        for file, bar in BARS.items():
            path = Path(folder) / file
            raw = min(_measure_processor_seconds(partial(_scan, path)) for _ in range(3))
            checked = min(_measure_processor_seconds(partial(check_data, _declare(path))) for _ in range(3))
            name = f"check of {ROWS:,} rows × 20 columns, {file}"
            measured = f"{checked:.2f} s, {checked / raw:.1f} × a raw scan ({raw:.2f} s)"
            found.append((name, measured, f"≤ {bar} ×"))
    return found


def _measure_processor_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _scan(path: Path) -> object:
    with connect_duckdb(spill_folder=str(path.with_suffix(".spill"))) as connection:
        reader = f"read_parquet({quote_path(path)})"
        if path.suffix == ".csv":
            reader = (
                f"read_csv({quote_path(path)}, all_varchar = true, header = true{_describe_quotes(path)})"
            )
        columns = ", ".join(f"count({name})" for name in _declare(path).tables["t"].columns)
        return connection.execute(f"SELECT {columns} FROM {reader}").fetchall()


def _describe_quotes(path: Path) -> str:
    return ", parallel = false" if path.stem == "quoted" else ", quote = ''"


def _declare(path: Path) -> Policy:
    declared: dict[str, dict[str, object]] = {
        "id": {"role": "identifier"},
        "code": {"role": "identifier"},
        "note": {"type": "text"},
    }
    declared |= {f"n{place}": {"type": "integer", "low": 0, "high": 89} for place in range(6)}
    amount = {"type": "decimal", "low": 0, "high": 9_000, "resolution": "0.01"}
    declared |= {f"d{place}": amount for place in range(4)}
    declared |= {f"c{place}": {"type": "category", "values": [*COLORS]} for place in range(4)}
    days = {"type": "date", "low": dt.date(2015, 1, 1), "high": dt.date(2023, 12, 31)}
    declared |= {f"t{place}": days for place in range(2)}
    declared["s"] = {"type": "timestamp", "low": dt.datetime(2020, 1, 1), "high": dt.datetime(2024, 1, 1)}
    columns = {name: Column.model_validate(entry) for name, entry in declared.items()}
    return Policy(tables={"t": Table(source=str(path), columns=columns)}, ledger=":memory:")


def _write_table(folder: Path) -> None:
    whole = [f"CAST(floor(random() * 100) AS BIGINT) AS n{place}" for place in range(6)]
    parts = [f"CAST(round(random() * 10000, 2) AS DECIMAL(9, 2)) AS d{place}" for place in range(4)]
    named = ", ".join(f"'{color}'" for color in COLORS)
    words = [f"[{named}][1 + CAST(floor(random() * 6) AS INT)] AS c{place}" for place in range(4)]
    days = [f"DATE '2015-01-01' + CAST(floor(random() * 3000) AS INT) AS t{place}" for place in range(2)]
    moment = "TIMESTAMP '2020-01-01' + INTERVAL 1 SECOND * CAST(floor(random() * 1e8) AS BIGINT) AS s"
    texts = ["range AS id", "'k' || range AS code", "'note ' || md5(CAST(range AS VARCHAR)) AS note"]
    listed = ", ".join([*texts, *whole, *parts, *words, *days, moment])
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS SELECT {listed} FROM range({ROWS})")
        connection.execute(f"COPY t TO {quote_path(folder / 'table.csv')} (HEADER)")
        connection.execute(f"COPY t TO {quote_path(folder / 'quoted.csv')} (HEADER, FORCE_QUOTE (note))")
        connection.execute(f"COPY t TO {quote_path(folder / 'table.parquet')} (FORMAT parquet)")
