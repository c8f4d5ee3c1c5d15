"""Reproduction of the papers' tables and figures, from UCI's Adult files or else the sample census."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from discreet.core.errors import DataError
from discreet.engines.duckdb_publisher import DuckDBPublisher
from discreet.papers import (
    REPRODUCTIONS,
    Reproduction,
    ReproductionInputs,
    find_reproductions,
    run_reproduction,
)
from discreet.papers.adult_survey import AdultSurvey, count_adult_survey
from discreet.services.progress import ProgressCallback
from discreet.services.sample.census import make_census

FILES = ("adult.data", "adult.test")
NAMES = (
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation",
    "relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country",
    "income",
)  # fmt: skip
USED_COLUMNS = ("age", "workclass", "education_num", "hours_per_week")


def make_inputs(folder: Path, *, required: bool) -> ReproductionInputs:
    """Return the inputs of reproductions; with `required`, raise DataError instead of using the census."""
    there = all((folder / name).is_file() for name in FILES)
    if required and not there:
        raise DataError(
            f"reproduce: {folder} does not have {' and '.join(FILES)}.",
            hint="Name the folder of UCI's Adult files, or leave `adult=` out to use the made-up census.",
        )
    return ReproductionInputs(
        open_engine=lambda tables: DuckDBPublisher({}, tables),
        load_adult=lambda: _load_files(folder) if there else _load_census(),
    )


def reproduce_papers(
    name: str | None, inputs: ReproductionInputs, report_progress: ProgressCallback
) -> list[Reproduction]:
    """Recompute all tables and figures, or those that `name` means: one of them, or those of a document."""
    found = []
    for each in tuple(REPRODUCTIONS) if name is None else find_reproductions(name):
        report_progress(f"recomputing {each}")
        found.append(run_reproduction(each, inputs))
    return found


def _load_files(folder: Path) -> AdultSurvey:
    first, second = (_read_file(folder / name) for name in FILES)
    return _count_survey(first=first, everybody=pa.concat_tables([first, second]), is_real=True)


def _load_census() -> AdultSurvey:
    table = make_census().select(list(USED_COLUMNS))
    return _count_survey(first=table, everybody=table, is_real=False)


def _count_survey(*, first: pa.Table, everybody: pa.Table, is_real: bool) -> AdultSurvey:
    with DuckDBPublisher({}, {"first": first, "everybody": everybody}) as engine:
        return count_adult_survey(engine, full_table="everybody", training_table="first", is_real=is_real)


def _read_file(path: Path) -> pa.Table:
    """Return the columns that the papers use; adult.test has a header line to skip."""
    try:
        table = pa.csv.read_csv(
            path,
            read_options=pa.csv.ReadOptions(
                column_names=list(NAMES), skip_rows=1 if path.name == FILES[1] else 0
            ),
            convert_options=pa.csv.ConvertOptions(
                include_columns=list(USED_COLUMNS), strings_can_be_null=False
            ),
        )
    except (OSError, pa.ArrowInvalid):
        raise DataError(
            f"reproduce: {path} cannot be read as UCI's {path.name}.", hint="Fetch the file anew."
        ) from None
    return table.set_column(1, "workclass", pc.utf8_trim_whitespace(table["workclass"]))
