"""Whatever the table, the models and the method: what is published keeps its promises, read from its rows."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from discreet import Anonymizer
from discreet.anonymity.models import (
    AlphaKAnonymity,
    BetaLikeness,
    DistinctDiversity,
    EntropyDiversity,
    EqualCloseness,
    KAnonymity,
    Model,
    OrderedCloseness,
    RecursiveDiversity,
    StrictRisk,
)
from discreet.anonymity.models import ProbabilisticDiversity as Probabilistic
from discreet.core.errors import ModelNotMetError
from discreet.core.policy import Policy
from discreet.engines.duckdb_publisher import DuckDBPublisher
from discreet.services.anonymize.release_goal import Method
from tests.anonymity.models.brute import meets

D = "disease"
ROW = st.tuples(
    st.integers(20, 59), st.sampled_from(["13053", "13068", "14850", "14853"]), st.sampled_from("abc")
)
SECOND = st.sampled_from(
    [
        DistinctDiversity(column=D, l=2),
        Probabilistic(column=D, l=Fraction(2)),
        EntropyDiversity(column=D, l=Fraction(3, 2)),
        RecursiveDiversity(column=D, c=Fraction(3), l=2),
        EqualCloseness(column=D, t=Fraction(1, 2)),
        OrderedCloseness(column=D, t=Fraction(1, 3)),
        AlphaKAnonymity(column=D, alpha=Fraction(2, 3), k=2),
        BetaLikeness(column=D, beta=Fraction(2)),
        StrictRisk(risk=Fraction(1, 3)),
    ]
)
MODELS = st.tuples(st.builds(KAnonymity, k=st.integers(1, 4))) | st.tuples(
    st.builds(KAnonymity, k=st.integers(1, 3)), SECOND
)
every_method = pytest.mark.parametrize("method", list(Method))
POLICY = Policy.model_validate(
    {
        "tables": {
            "people": {
                "source": "people.parquet",
                "columns": {
                    "id": {"role": "identifier"},
                    "age": {"type": "integer", "role": "quasi", "low": 20, "high": 59},
                    "zipcode": {"role": "quasi"},
                    "disease": {"role": "sensitive"},
                },
            }
        },
        "hierarchies": {"age": {"widths": [5, 10, 20]}, "zipcode": {"mask": "right"}},
    }
)
Rows = list[tuple[int, str, str]]


def table_of(rows: Rows) -> pa.Table:
    ages, codes, diseases = (list(column) for column in zip(*rows, strict=True))
    ids = [f"person {place}" for place in range(len(rows))]
    return pa.table({"id": ids, "age": ages, "zipcode": codes, "disease": diseases})


def published(rows: Rows, models: tuple[Model, ...], method: str, suppress: str) -> pa.Table | None:
    """The release, or None where there is none."""
    try:
        found = Anonymizer(POLICY, models=models, method=method, suppress=suppress).fit(table_of(rows))
    except ModelNotMetError:
        return None
    return found.release.to_arrow()


def covers_age(label: object, age: int) -> bool:
    if label == "*":
        return True
    low, _, high = str(label).strip("[]").partition(", ")
    return int(low) <= age <= int(high) if high else int(low) == age


def covers_code(label: object, code: str) -> bool:
    return label == "*" or all(mark in ("*", here) for mark, here in zip(str(label), code, strict=True))


def as_classes(release: pa.Table) -> dict[tuple[str, str], Counter[str]]:
    classes = defaultdict[tuple[str, str], Counter[str]](Counter)
    for row in release.to_pylist():
        classes[str(row["age"]), str(row["zipcode"])][row["disease"]] += 1
    return classes


@every_method
@settings(max_examples=20)
@given(
    rows=st.lists(ROW, min_size=4, max_size=25), models=MODELS, suppress=st.sampled_from(["0", "1/4", "1"])
)
def test_a_release_meets_its_models_when_its_rows_are_read(
    method: str, rows: Rows, models: tuple[Model, ...], suppress: str
) -> None:
    release = published(rows, models, method, suppress)
    if release is None:
        return
    assert release.column_names == ["age", "zipcode", "disease"]
    assert len(rows) - release.num_rows <= Fraction(suppress) * len(rows)
    totals = Counter(row[2] for row in rows)
    for here in as_classes(release).values():
        assert all(meets(model, here, totals, sorted(totals)) for model in models)


def covered(rows: Rows, release: pa.Table) -> int:
    """How many published rows can be given a row of the table each, which they cover."""
    shown = release.to_pylist()
    fits = np.array(
        [
            [
                each["disease"] == disease
                and covers_age(each["age"], age)
                and covers_code(each["zipcode"], code)
                for age, code, disease in rows
            ]
            for each in shown
        ],
        np.int8,
    )
    return int((maximum_bipartite_matching(csr_array(fits), perm_type="column") >= 0).sum())


@pytest.mark.parametrize("method", [each for each in Method if each is not Method.MICROAGGREGATE])
@settings(max_examples=20)
@given(rows=st.lists(ROW, min_size=2, max_size=25), suppress=st.sampled_from(["0", "1/2"]))
def test_what_is_published_covers_rows_of_the_table_and_nothing_is_made_up(
    method: str, rows: Rows, suppress: str
) -> None:
    release = published(rows, (KAnonymity(k=2),), method, suppress)
    if release is not None:
        assert covered(rows, release) == release.num_rows


@settings(max_examples=20)
@given(rows=st.lists(ROW, min_size=3, max_size=25))
def test_a_mean_is_of_the_rows_that_show_it(rows: Rows) -> None:
    release = published(rows, (KAnonymity(k=3),), "microaggregate", "0")
    assert release is not None
    assert release.num_rows == len(rows)
    assert release.schema.field("age").type == pa.int64()
    # rounding moves a mean by half at most, and so the mean of all
    for name, place in (("age", 0), ("zipcode", 1)):
        shown, true = (
            sum(map(int, each)) / len(rows)
            for each in (release.column(name).to_pylist(), [r[place] for r in rows])
        )
        assert abs(shown - true) <= 0.5


@every_method
@settings(max_examples=12)
@given(rows=st.lists(ROW, min_size=3, max_size=20), k=st.integers(2, 3))
def test_suppressed_rows_are_gone_and_leave_no_class_behind(method: str, rows: Rows, k: int) -> None:
    found = Anonymizer(POLICY, models=[KAnonymity(k=k)], method=method, suppress="1")
    try:
        release = found.fit(table_of(rows)).release
    except ModelNotMetError:
        return
    shown = release.to_arrow()
    assert shown.num_rows == len(rows) - release.suppressed_count == int(release.classes.sizes.sum())
    assert len(as_classes(shown)) == len(release.classes)
    left = Counter(row[2] for row in rows)
    left.subtract(shown.column("disease").to_pylist())
    assert min(left.values()) >= 0
    assert sum(left.values()) == release.suppressed_count


@every_method
@pytest.mark.parametrize("name", ["release.parquet", "release.duckdb"])
def test_a_file_lists_no_label_that_no_row_shows(method: str, name: str, tmp_path: Path) -> None:
    rows: Rows = [(25, "13053", "a"), (25, "13053", "b")] * 3 + [(58, "14850", "c")]
    found = Anonymizer(POLICY, models=[KAnonymity(k=3)], method=method, suppress="1/2")
    release = found.fit(table_of(rows)).release
    release.write(tmp_path / name)
    kept = release.to_arrow()
    for column in ("age", "zipcode"):
        shown = set(map(str, kept.column(column).to_pylist()))
        if name == "release.parquet":
            assert _words(tmp_path / name, column) <= shown
        else:
            with closing(duckdb.connect(str(tmp_path / name), read_only=True)) as connection:
                kind = connection.sql(f"SELECT typeof({column}) FROM release").fetchall()[0][0]
            assert set(re.findall(r"'([^']*)'", kind)) <= shown


def _words(path: Path, column: str) -> set[str]:
    """The dictionary of a column as the file has it, used or not."""
    read = pq.read_table(path, read_dictionary=[column]).column(column)
    return {str(word) for chunk in read.chunks for word in getattr(chunk, "dictionary", chunk).to_pylist()}


@every_method
@settings(max_examples=10)
@given(rows=st.lists(ROW, min_size=3, max_size=20), data=st.data())
def test_the_order_of_rows_leaves_no_trace(method: str, rows: Rows, data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(rows))
    one, two = (published(each, (KAnonymity(k=2),), method, "1/4") for each in (rows, shuffled))
    assert (one is None) == (two is None)
    if one is not None and two is not None:
        assert one.to_pylist() == two.to_pylist()


def as_pandas(table: pa.Table) -> object:
    return table.to_pandas()


def as_polars(table: pa.Table) -> object:
    import polars as pl

    return pl.from_arrow(table)


@every_method
def test_arrow_pandas_and_polars_go_in_and_come_out_alike(method: str) -> None:
    rows: Rows = [(20 + 7 * i % 40, ("13053", "14850")[i % 2], "abc"[i % 3]) for i in range(30)]
    frames: Sequence[object] = [table_of(rows), as_pandas(table_of(rows)), as_polars(table_of(rows))]
    seen = []
    for frame in frames:
        release = Anonymizer(POLICY, models=[KAnonymity(k=3)], method=method).fit(frame).release
        arrow, pandas, polars = release.to_arrow(), release.to_pandas(), release.to_polars()
        assert pandas.to_dict("records") == polars.to_dicts() == arrow.to_pylist()
        seen.append(arrow.to_pylist())
    assert seen[0] == seen[1] == seen[2]


def test_the_usual_model_is_5_anonymity() -> None:
    rows: Rows = [(20 + i % 40, "13053", "abc"[i % 3]) for i in range(40)]
    release = Anonymizer(POLICY, models=[KAnonymity(k=5)]).fit(table_of(rows)).release
    assert [model.name for model in release.goal.models] == ["5-anonymity"]
    assert min(sum(here.values()) for here in as_classes(release.to_arrow()).values()) >= 5


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("what was there before\n")
    with DuckDBPublisher({}, {"t": pa.table({"a": [1]})}) as engine:
        with pytest.raises(Exception, match="could not finish"):
            engine.write("SELECT error('stop') AS a FROM t", path)
        assert path.read_text() == "what was there before\n"
        engine.write("SELECT a FROM t", path)
    assert path.read_text() == "a\n1\n"
    assert [each.name for each in tmp_path.iterdir()] == ["out.csv"]


def test_published_rows_are_in_the_order_of_their_values() -> None:
    rows: Rows = [(20 + place % 40, "13053", "abc"[place % 3]) for place in range(40)]
    release = published(rows, (KAnonymity(k=5),), "generalize", "0")
    assert release is not None
    order = [(row["zipcode"], row["disease"]) for row in release.to_pylist() if row["age"] == "*"]
    assert all(one <= two for one, two in pairwise(order))


@pytest.mark.parametrize("written", [False, True])
def test_zero_and_minus_zero_are_one_value(written: bool, tmp_path: Path) -> None:
    table = pa.table({"x": ["a"] * 4, "y": [0.0, -0.0, 0.0, -0.0], "d": [-0.0, 0.0, -0.0, 0.0]})
    columns = {
        "x": {"role": "quasi"},
        "y": {"role": "quasi", "type": "decimal"},
        "d": {"role": "sensitive", "type": "decimal"},
    }
    pq.write_table(table, tmp_path / "t.parquet")
    entry = {"source": str(tmp_path / "t.parquet"), "columns": columns}
    policy = Policy.model_validate({"tables": {"t": entry}})
    source = "t" if written else table
    with pytest.raises(ModelNotMetError):
        Anonymizer(policy, models=[DistinctDiversity(column="d", l=2)]).fit(source)
    release = Anonymizer(policy, models=[KAnonymity(k=4)], levels={"y": 0}).fit(source).release
    assert release.to_arrow().column("y").to_pylist() == [0.0] * 4


NAN, MINUS_NAN = np.array([0x7FF8000000000000, 0xFFF8000000000000], np.uint64).view(np.float64).tolist()
NUMBER = {"role": "sensitive", "type": "decimal"}


def policy_over(folder: Path, table: pa.Table, columns: Mapping[str, object]) -> Policy:
    pq.write_table(table, folder / "t.parquet")
    return Policy.model_validate({"tables": {"t": {"source": str(folder / "t.parquet"), "columns": columns}}})


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_nan_and_minus_nan_are_one_value(written: bool, kind: pa.DataType, tmp_path: Path) -> None:
    numbers = pa.array(np.array([NAN, MINUS_NAN] * 2), pa.float64()).cast(kind)
    table = pa.table({"x": ["a"] * 4, "d": numbers})
    policy = policy_over(tmp_path, table, {"x": {"role": "quasi"}, "d": NUMBER})
    source = "t" if written else table
    with pytest.raises(ModelNotMetError):
        Anonymizer(policy, models=[DistinctDiversity(column="d", l=2)]).fit(source)


@pytest.mark.parametrize("written", [False, True])
def test_a_quasi_identifier_of_nan_is_one_class_as_it_is_shown(written: bool, tmp_path: Path) -> None:
    numbers = np.array([NAN] * 2 + [MINUS_NAN] * 5)
    table = pa.table({"y": numbers, "d": ["flu", "hiv", *["hiv"] * 5]})
    columns = {"y": {"role": "quasi", "type": "decimal"}, "d": {"role": "sensitive"}}
    policy = policy_over(tmp_path, table, columns)
    models: list[Model] = [KAnonymity(k=2), AlphaKAnonymity(column="d", alpha=Fraction(1, 2), k=2)]
    found = Anonymizer(policy, models=models, levels={"y": 0}, suppress=1)
    with pytest.raises(ModelNotMetError):  # 6 of the 7 rows that show NaN have the same disease
        found.fit("t" if written else table)


@pytest.mark.parametrize("written", [False, True])
def test_a_missing_value_is_shown_in_one_way(written: bool, tmp_path: Path) -> None:
    table = pa.table({"x": [*"aaaabbbb"], "d": [*[None] * 4, *[""] * 4]})
    columns = {"x": {"role": "quasi"}, "d": {"role": "sensitive", "missing": "category"}}
    policy = policy_over(tmp_path, table, columns)
    models = [EqualCloseness(column="d", t=Fraction(1, 10))]
    release = Anonymizer(policy, models=models, levels={"x": 0}).fit("t" if written else table).release
    shown = release.to_arrow()
    assert set(shown.column("x").to_pylist()) == {"a", "b"}
    assert set(shown.column("d").to_pylist()) == {None}


def test_equal_intervals_of_a_database_are_shown_as_they_are_counted(tmp_path: Path) -> None:
    with closing(duckdb.connect(str(tmp_path / "t.duckdb"))) as connection:
        rows = (
            "('a', INTERVAL 1 MONTH), ('a', INTERVAL 30 DAY), ('a', INTERVAL 1 MONTH), ('a', INTERVAL 30 DAY)"
        )
        connection.execute(f"CREATE TABLE t AS FROM (VALUES {rows}) AS v(x, stay)")
    entry = {
        "source": f"{tmp_path / 't.duckdb'}#t",
        "columns": {"x": {"role": "quasi"}, "stay": {"role": "sensitive"}},
    }
    policy = Policy.model_validate({"tables": {"t": entry}})
    release = Anonymizer(policy, models=[DistinctDiversity(column="stay", l=2)]).fit("t").release
    assert Counter(release.to_arrow().column("stay").to_pylist()) == {"1 month": 2, "30 days": 2}


def test_an_ordered_distance_is_measured_in_numeric_order_though_there_is_nan() -> None:
    """NaN is neither below nor above a number, and comes after all of them."""
    low, high = [*map(float, range(1, 20)), NAN], [*map(float, range(20, 39)), NAN]
    table = pa.table({"x": ["a"] * len(low) + ["b"] * len(high), "d": low + high})
    columns = {"x": {"role": "quasi"}, "d": NUMBER}
    policy = Policy.model_validate({"tables": {"t": {"source": "t.parquet", "columns": columns}}})
    order = [*low[:-1], *high[:-1], NAN]
    gaps = [
        sum(
            (Fraction(each in low, 20) - Fraction(1 + (each is NAN), 40) for each in order[:end]), Fraction(0)
        )
        for end in range(1, len(order))
    ]
    worst = sum(map(abs, gaps), Fraction(0)) / (len(order) - 1)  # the earth mover's distance along the order
    models = [OrderedCloseness(column="d", t=worst)]
    release = Anonymizer(policy, models=models, levels={"x": 0}).fit(table).release
    assert len(release.classes) == 2
    closer = [OrderedCloseness(column="d", t=worst - Fraction(1, 1000))]
    with pytest.raises(ModelNotMetError):
        Anonymizer(policy, models=closer, levels={"x": 0}).fit(table)


@pytest.mark.parametrize(
    "values",
    [("Flu", "flu"), ("flu", "flu "), ("caf\u00e9", "cafe\u0301"), ("7.50", "7.5"), ("flu", "f\u200blu")],
)
def test_values_that_may_mean_the_same_are_warned_of(values: tuple[str, str]) -> None:
    rows: Rows = [(25, "13053", each) for each in [*values, "cold"] * 3]
    release = Anonymizer(POLICY, models=[DistinctDiversity(column=D, l=2)]).fit(table_of(rows)).release
    assert [each for each in release.warnings if "count as different" in each]
    plain: Rows = [(25, "13053", each) for each in ["flu", "cold"] * 3]
    release = Anonymizer(POLICY, models=[DistinctDiversity(column=D, l=2)]).fit(table_of(plain)).release
    assert not [each for each in release.warnings if "count as different" in each]
