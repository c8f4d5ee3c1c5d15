"""A hierarchy handed to others does what it does here: as ARX's file, as SQL in an engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from discreet.anonymity.hierarchies import (
    Hierarchy,
    add_missing_value,
    hierarchy_from_rows,
    hierarchy_to_csv,
    read_hierarchy_csv,
)
from discreet.anonymity.hierarchies.hierarchy_formats import hierarchy_to_sql
from discreet.core.errors import InvalidParameterError

ODD = add_missing_value(
    hierarchy_from_rows(
        "odd", [("it's", "a\\'b", "*"), ('say "hi"', "a\\'b", "*"), ("x; DROP TABLE t", "--", "*")]
    )
)
NAME = 'na"me'


def recoded(hierarchy: Hierarchy, level: int, values: Sequence[str | None]) -> list[str | None]:
    table = pa.table({NAME: pa.array(values, pa.string())})
    with duckdb.connect() as connection:
        connection.register("t", table)
        label = hierarchy_to_sql(hierarchy, level, NAME)
        rows = connection.execute(f"SELECT {label} FROM t").fetchall()
    return [row[0] for row in rows]


@pytest.mark.parametrize("level", [0, 1, 2])
def test_sql_recodes_in_the_engine_as_the_hierarchy_does(level: int) -> None:
    values = list(ODD.values)
    wanted = [ODD.generalize(value, level) or None for value in values]
    assert recoded(ODD, level, values) == wanted
    assert recoded(ODD, level, [None]) == [ODD.generalize("", level) or None]
    assert recoded(ODD, level, ["not there"]) == [None]


@given(
    st.sets(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1), max_size=6
    )
)
def test_no_value_escapes_its_quotes(values: set[str]) -> None:
    hierarchy = hierarchy_from_rows("h", [(value, f"<{value}>", "*") for value in sorted(values | {"x"})])
    assert recoded(hierarchy, 1, list(hierarchy.values)) == [f"<{value}>" for value in hierarchy.values]


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
def test_sql_is_one_expression_in_every_dialect(dialect: str) -> None:
    parsed = sqlglot.parse(hierarchy_to_sql(ODD, 1, "c", dialect), dialect=dialect)
    assert len(parsed) == 1
    assert isinstance(parsed[0], sqlglot.exp.Case)
    literals = {each.this for each in parsed[0].find_all(sqlglot.exp.Literal)}
    assert {"it's", 'say "hi"', "x; DROP TABLE t", "a\\'b"} <= literals


def test_a_level_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="`level=` must be from 0 to 2; got 3"):
        hierarchy_to_sql(ODD, 3, "c")


def test_arxs_format_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    hierarchy = hierarchy_from_rows("h", [("a;b", "A, B", "*"), ("it's", "A, B", "*"), ('"', "Q", "*")])
    (tmp_path / "h.csv").write_text(hierarchy_to_csv(hierarchy))
    again = read_hierarchy_csv("h", tmp_path / "h.csv").build_hierarchy(())
    assert again.labels == hierarchy.labels
