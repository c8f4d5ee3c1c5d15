"""Whatever the table, the models and the method: what is published keeps its promises, read from its rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.anonymity.models import DistinctDiversity, EqualCloseness, KAnonymity, Model
from discreet.anonymity.models import ProbabilisticDiversity as Probabilistic
from discreet.app.anonymizer import Anonymizer
from discreet.core.errors import UnmetError
from discreet.core.policy import Policy
from discreet.engines.publishing import DuckDBPublisher

ROW = st.tuples(
    st.integers(20, 59), st.sampled_from(["13053", "13068", "14850", "14853"]), st.sampled_from("abc")
)
MODELS = st.sampled_from(
    [
        (KAnonymity(k=2),),
        (KAnonymity(k=3), DistinctDiversity(column="disease", l=2)),
        (Probabilistic(column="disease", l=Fraction(2)),),
        (EqualCloseness(column="disease", t=Fraction(1, 2)),),
    ]
)
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
    except UnmetError:
        return None
    return found.release.to_arrow()


def holds(model: Model, here: Counter[str], everywhere: Counter[str]) -> bool:
    """A model's definition, in fractions."""
    size, rows = sum(here.values()), sum(everywhere.values())
    if isinstance(model, KAnonymity):
        return size >= model.k
    if isinstance(model, DistinctDiversity):
        return len(here) >= model.l
    if isinstance(model, Probabilistic):
        return max(here.values()) * model.l <= size
    assert isinstance(model, EqualCloseness)
    gaps = (abs(Fraction(here[v], size) - Fraction(everywhere[v], rows)) for v in everywhere)
    return sum(gaps, Fraction(0)) / 2 <= model.t


def covers_age(label: object, age: int) -> bool:
    if label == "*":
        return True
    text = str(label).strip("[]")
    low, _, high = text.partition(", ")
    return int(low) <= age <= int(high) if high else int(text) == age


def covers_code(label: object, code: str) -> bool:
    return label == "*" or all(mark in ("*", here) for mark, here in zip(str(label), code, strict=True))


@pytest.mark.parametrize("method", ["generalize", "local", "mondrian"])
@settings(max_examples=25)
@given(rows=st.lists(ROW, min_size=1, max_size=25), models=MODELS, suppress=st.sampled_from(["0", "1/4"]))
def test_a_release_meets_its_models_when_its_rows_are_read(
    method: str, rows: Rows, models: tuple[Model, ...], suppress: str
) -> None:
    release = published(rows, models, method, suppress)
    if release is None:
        return
    assert release.column_names == ["age", "zipcode", "disease"]
    assert len(rows) - release.num_rows <= Fraction(suppress) * len(rows)
    everywhere, classes = Counter(row[2] for row in rows), defaultdict[tuple[str, str], Counter[str]](Counter)
    for row in release.to_pylist():
        classes[str(row["age"]), str(row["zipcode"])][row["disease"]] += 1
    for here in classes.values():
        assert all(holds(model, here, everywhere) for model in models)


@settings(max_examples=40)
@given(rows=st.lists(ROW, min_size=2, max_size=25))
def test_every_row_is_covered_by_what_is_published_of_it(rows: Rows) -> None:
    release = published(rows, (KAnonymity(k=2),), "generalize", "0")
    assert release is not None
    shown = Counter((str(r["age"]), str(r["zipcode"]), r["disease"]) for r in release.to_pylist())
    for age, code, disease in rows:
        fits = [
            key
            for key, left in shown.items()
            if left and covers_age(key[0], age) and covers_code(key[1], code) and key[2] == disease
        ]
        assert fits
        shown[fits[0]] -= 1
    assert not any(shown.values())


@settings(max_examples=25)
@given(rows=st.lists(ROW, min_size=2, max_size=20), data=st.data())
def test_the_order_of_rows_leaves_no_trace(rows: Rows, data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(rows))
    models = (KAnonymity(k=2),)
    for method in ("generalize", "local", "mondrian"):
        one, two = (published(each, models, method, "1/4") for each in (rows, shuffled))
        assert (one is None) == (two is None)
        if one is not None and two is not None:
            assert one.to_pylist() == two.to_pylist()


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
