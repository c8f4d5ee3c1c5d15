"""The sample tables: the same everywhere, within what is declared of them, and interesting."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from discreet.core.errors import RequestError
from discreet.services.sample import SAMPLES, VERSION, write_samples
from discreet.services.sample.census import make_census
from discreet.services.sample.hospital import DISEASE_GROUPS, make_hospital

# A change here is a change of the data: raise `VERSION` with it, or files of the old one stay in use.
PINNED = {
    "census": "eb2a07147b0e5c3d",
    "hospital": "8d3f755c83c6c454",
}
TABLE_1 = {
    "Federal-gov": 41.38, "Local-gov": 40.98, "Never-worked": 28.43, "Private": 40.27, "Self-emp-inc": 48.82,
    "Self-emp-not-inc": 44.42, "State-gov": 39.03, "Without-pay": 32.71, "?": 31.92,
}  # fmt: skip
PAPERS_COUNTS = {
    "Federal-gov": 960, "Local-gov": 2093, "Never-worked": 7, "Private": 22696, "Self-emp-inc": 1116,
    "Self-emp-not-inc": 2541, "State-gov": 1298, "Without-pay": 14, "?": 1836,
}  # fmt: skip


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return make_census()


@pytest.fixture(scope="module")
def visits() -> pa.Table:
    return make_hospital()


def fingerprint(table: pa.Table) -> str:
    values = json.dumps([[name, table[name].cast(pa.string()).to_pylist()] for name in table.column_names])
    return hashlib.sha256(values.encode()).hexdigest()[:16]


def rate(flags: pa.ChunkedArray) -> float:
    return float(pc.mean(pc.cast(flags, pa.int8())).as_py())


def groups(table: pa.Table, *columns: str) -> Counter[tuple[object, ...]]:
    return Counter(zip(*(table[name].to_pylist() for name in columns), strict=True))


def singles(table: pa.Table, *columns: str) -> int:
    return sum(size == 1 for size in groups(table, *columns).values())


@pytest.mark.parametrize(("name", "make"), [("census", make_census), ("hospital", make_hospital)])
def test_content_is_pinned_and_the_same_on_every_call(name: str, make: Callable[[], pa.Table]) -> None:
    assert fingerprint(make()) == fingerprint(make()) == PINNED[name]
    assert VERSION == b"1"


@pytest.mark.parametrize("name", SAMPLES)
def test_columns_are_the_declared_ones_in_type_and_range(name: str) -> None:
    schema, make = SAMPLES[name]
    table = make()
    assert table.column_names == [column.name for column in schema.columns]
    for column in schema.columns:
        values = table[column.name]
        assert values.null_count == 0
        if column.kind == "category":
            assert set(values.unique().to_pylist()) <= set(column.values)
        elif column.kind == "integer" and column.name != "cost":
            assert column.low is not None
            assert column.high is not None
            assert column.low <= pc.min(values).as_py() <= pc.max(values).as_py() <= column.high


# -- census ----------------------------------------------------------------------------------------------


def test_census_has_as_many_people_as_adult_in_the_papers_proportions(people: pa.Table) -> None:
    assert people.num_rows == 48_842
    for (workclass,), size in groups(people, "workclass").items():
        assert size == pytest.approx(PAPERS_COUNTS[str(workclass)] * 48_842 / 32_561, abs=1)


def test_mean_hours_by_workclass_are_those_of_the_egm_papers_table_1(people: pa.Table) -> None:
    means = people.group_by("workclass").aggregate([("hours_per_week", "mean")]).to_pylist()
    assert {row["workclass"] for row in means} == set(TABLE_1)
    for row in means:
        rare = row["workclass"] in ("Without-pay", "Never-worked")
        assert row["hours_per_week_mean"] == pytest.approx(
            TABLE_1[row["workclass"]], abs=0.05 if rare else 0.006
        )


def test_margins_are_those_of_such_a_survey(people: pa.Table) -> None:
    assert int(pc.sum(pc.equal(people["income"], ">50K")).as_py()) == 11_687
    assert rate(pc.equal(people["sex"], "Female")) == pytest.approx(0.33, abs=0.02)
    assert rate(pc.equal(people["hours_per_week"], 40)) == pytest.approx(0.47, abs=0.03)
    assert rate(pc.equal(people["native_country"], "United-States")) == pytest.approx(0.9, abs=0.02)
    assert pc.mean(people["age"]).as_py() == pytest.approx(38.6, abs=0.5)
    assert pc.mean(people["education_num"]).as_py() == pytest.approx(10.1, abs=0.2)


def test_education_label_and_number_say_the_same(people: pa.Table) -> None:
    assert len(groups(people, "education", "education_num")) == 16


def test_occupation_is_unknown_just_where_work_is(people: pa.Table) -> None:
    unknown = pc.is_in(people["workclass"], pa.array(["?", "Never-worked"]))
    assert pc.equal(people["occupation"], "?").to_pylist() == unknown.to_pylist()


@pytest.mark.parametrize(
    ("column", "value", "against", "factor"),
    [
        ("marital_status", "Married-civ-spouse", "Never-married", 5),
        ("education", "Doctorate", "HS-grad", 3),
        ("occupation", "Exec-managerial", "Other-service", 5),
        ("sex", "Male", "Female", 2),
    ],
)
def test_income_hangs_on_the_other_columns(
    people: pa.Table, column: str, value: str, against: str, factor: float
) -> None:
    def rich(of: str) -> float:
        return rate(pc.equal(people.filter(pc.equal(people[column], of))["income"], ">50K"))

    assert rich(value) > factor * rich(against)


def test_young_people_are_single_and_have_not_finished_college(people: pa.Table) -> None:
    young = people.filter(pc.less(people["age"], 22))
    assert rate(pc.equal(young["marital_status"], "Never-married")) > 0.9
    assert pc.max(young.filter(pc.less(young["age"], 19))["education_num"]).as_py() <= 12


def test_a_model_learns_income_well_beyond_the_base_rate(people: pa.Table) -> None:
    """A plain logistic regression, learnt on one fifth of the people and tried on another."""
    x, y = _features(people), people["income"].to_numpy() == ">50K"
    train, test = np.arange(y.size) % 5 == 1, np.arange(y.size) % 5 == 0
    weights = _fit(x[train], y[train])
    accuracy = float((((x[test] @ weights) > 0) == y[test]).mean())
    assert 0.82 < accuracy < 0.88
    assert accuracy > 1 - y[test].mean() + 0.06


def _features(people: pa.Table) -> NDArray[np.float64]:
    numbers = [
        people[name].to_numpy().astype(float) / 20 for name in ("age", "education_num", "hours_per_week")
    ]
    columns = [np.ones(people.num_rows), *numbers, numbers[0] ** 2]
    for name in ("workclass", "marital_status", "occupation", "sex"):
        values = people[name].to_numpy()
        columns += [(values == value).astype(float) for value in sorted(set(values))[1:]]
    return np.column_stack(columns)


def _fit(x: NDArray[np.float64], y: NDArray[np.bool_]) -> NDArray[np.float64]:
    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        score = x @ weights
        value = np.logaddexp(0, score).sum() - score[y].sum() + 0.5 * weights @ weights
        return float(value), x.T @ (expit(score) - y) + weights

    return np.asarray(minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x)


def test_many_people_are_alone_with_their_quasi_identifiers(people: pa.Table) -> None:
    few = singles(people, "age", "sex", "race", "native_country")
    some = singles(people, "age", "sex", "race", "native_country", "marital_status", "education")
    assert 0.02 < few / people.num_rows < 0.06
    assert 0.10 < some / people.num_rows < 0.30


# -- hospital --------------------------------------------------------------------------------------------


def test_hospital_has_several_visits_per_person_with_a_long_tail(visits: pa.Table) -> None:
    sizes = np.array(list(groups(visits, "person_id").values()))
    assert sizes.size == 20_000
    assert 55_000 < visits.num_rows < 65_000
    assert np.median(sizes) == 1
    assert sizes.max() > 50
    assert 0.01 < (sizes > SAMPLES["hospital"][0].rows_per_person).mean() < 0.04


def test_a_person_has_one_age_sex_and_zipcode(visits: pa.Table) -> None:
    assert len(groups(visits, "person_id", "age", "sex", "zipcode")) == 20_000


def test_zipcodes_and_diseases_have_hierarchies(visits: pa.Table) -> None:
    zipcodes = visits["zipcode"].unique().to_pylist()
    assert {len(code) for code in zipcodes} == {5}
    assert {code[:3] for code in zipcodes} == {"130", "131", "132", "148", "149"}
    assert set(visits["disease"].unique().to_pylist()) == set(DISEASE_GROUPS)
    assert DISEASE_GROUPS["HIV"] == DISEASE_GROUPS["Flu"] == "Infection"


def test_cost_has_a_tail_beyond_its_declared_bound(visits: pa.Table) -> None:
    bound = SAMPLES["hospital"][0].get_column("cost").high
    assert 0.001 < rate(pc.greater(visits["cost"], bound)) < 0.02
    assert pc.mean(visits["cost"]).as_py() > 1.5 * pc.approximate_median(visits["cost"]).as_py()


def test_disease_hangs_on_sex_age_and_place(visits: pa.Table) -> None:
    seen = groups(visits, "sex", "disease")
    assert seen["Female", "Prostate cancer"] == 0
    assert seen["Female", "Breast cancer"] > 20 * seen["Male", "Breast cancer"] > 0
    near = pc.starts_with(visits["zipcode"], "130")
    flu = pc.equal(visits["disease"], "Flu")
    assert rate(flu.filter(near)) > 1.4 * rate(flu.filter(pc.invert(near)))


def test_some_people_are_alone_with_age_sex_and_zipcode(visits: pa.Table) -> None:
    persons = groups(visits, "person_id", "age", "sex", "zipcode")
    alone = sum(size == 1 for size in Counter(key[1:] for key in persons).values())
    assert 0.2 < alone / 20_000 < 0.4


# -- files -----------------------------------------------------------------------------------------------


def test_write_makes_parquet_files_that_hold_the_tables(tmp_path: Path, people: pa.Table) -> None:
    files = write_samples(tmp_path / "new" / "folder")
    assert set(files) == set(SAMPLES)
    assert fingerprint(pq.read_table(files["census"])) == fingerprint(people)
    assert sorted(path.name for path in files["census"].parent.iterdir()) == [
        "census.parquet",
        "hospital.parquet",
    ]


def test_write_remakes_only_what_is_missing_or_of_another_version(tmp_path: Path) -> None:
    told: list[str] = []
    files = write_samples(tmp_path, told.append)
    made = len(told)
    stamps = {name: path.stat().st_mtime_ns for name, path in files.items()}
    write_samples(tmp_path, told.append)
    assert len(told) == made
    assert {name: path.stat().st_mtime_ns for name, path in files.items()} == stamps
    pq.write_table(
        pq.read_table(files["census"]).replace_schema_metadata({"discreet.sample": "0"}), files["census"]
    )
    files["hospital"].unlink()
    write_samples(tmp_path, told.append)
    assert len(told) == 2 * made
    assert pq.read_table(files["hospital"]).num_rows > 0


@pytest.mark.parametrize("theirs", [b"not a table", None])
def test_a_file_that_was_not_made_here_is_never_overwritten(tmp_path: Path, theirs: bytes | None) -> None:
    path = tmp_path / "census.parquet"
    if theirs is None:
        pq.write_table(pa.table({"x": [1]}), path)
    else:
        path.write_bytes(theirs)
    before = path.read_bytes()
    with pytest.raises(RequestError, match="not a sample table of discreet"):
        write_samples(tmp_path)
    assert path.read_bytes() == before


def test_an_interrupted_write_leaves_no_file_to_trust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(table: pa.Table, where: Path, **_: object) -> None:
        Path(where).write_text("half a file")
        raise KeyboardInterrupt

    monkeypatch.setattr(pq, "write_table", half)
    with pytest.raises(KeyboardInterrupt):
        write_samples(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_write_refuses_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match="cannot be written"):
        write_samples(tmp_path / "file")
