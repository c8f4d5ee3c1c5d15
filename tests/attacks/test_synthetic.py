"""Attacks on synthetic tables: distances against brute force, fair baselines, columns found by themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import date

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.simulation.census_records import COLUMN_TYPES, Census, make_leaky_copy
from discreet.anonymity.risk.quasi_identifier_discovery import discover_quasi_identifiers, make_engine_counter
from discreet.attacks.findings import Findings, compute_odds_factor
from discreet.attacks.nearest_records import (
    MISSING,
    UNIT,
    Places,
    compute_joint_distances,
    count_rows_within,
    find_nearest_rows,
    vote_secrets,
)
from discreet.attacks.panel_evaluation import Guesses, compute_beliefs
from discreet.attacks.synthetic_attacks import AttributeInference, Linkability, SinglingOut, choose_constant
from discreet.attacks.synthetic_release import build_synthetic_release
from discreet.attacks.synthetic_sweep import find_revealing_column_sets, sweep_attacks
from discreet.core.binomial import clopper_pearson
from discreet.core.column_entry import ColumnType
from discreet.core.errors import RequestError
from tests.attacks.cases.synthetic import PEOPLE, released
from tests.attacks.releases import engine
from tests.statistical import FALSE_ALARM

NUMERIC = np.array([True, True, False, False])


def table_of(rows: int, seed: int) -> Places:
    """Two coarse numbers and two words, so that there are ties; some numbers are missing."""
    draw = np.random.Generator(np.random.PCG64(seed))
    cells = draw.integers(0, 6, (4, rows)).astype(np.int32)
    cells[:2] *= UNIT // 8
    cells[0, ::7] = MISSING
    return cells


def distances(records: Places, table: Places) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Of every column, record and row."""
    apart = np.abs(records[:, :, None].astype(np.int64) - table[:, None, :])
    kinds = NUMERIC[: len(table)]
    return np.asarray(np.where(kinds[:, None, None], np.minimum(apart, UNIT), UNIT * (apart > 0)), np.int64)


def test_nearest_rows_are_those_of_a_full_comparison() -> None:
    records, table = table_of(50, 1), table_of(3_000, 2)
    away = distances(records, table).sum(axis=0)
    assert (find_nearest_rows(records, table, NUMERIC) == away.argmin(axis=1)).all()


def test_votes_are_those_of_all_rows_that_are_equally_near() -> None:
    records, table = table_of(40, 3), table_of(3_000, 4)
    apart, known = distances(records, table), np.array([True, True, True, False])
    said, far = vote_secrets(records, table, NUMERIC, known, np.arange(4))
    for secret in range(4):
        away = sum(apart[j] for j in range(3) if j != secret)
        assert (far[secret] == away.min(axis=1)).all()
        for person in range(40):
            nearest = np.sort(table[secret, away[person] == far[secret, person]])
            middle, often = nearest[(len(nearest) - 1) // 2], Counter(nearest.tolist())
            commonest = min(often, key=lambda value: (-often[value], value))
            assert said[secret, person] == (middle if NUMERIC[secret] else commonest)


def test_two_parts_are_as_near_as_the_row_that_is_nearest_to_both() -> None:
    records, table = table_of(20, 5), table_of(2_500, 6)
    apart = distances(records, table)
    first, second = apart[[0, 2]].sum(axis=0), apart[[1, 3]].sum(axis=0)
    found = compute_joint_distances(records, table, NUMERIC, np.array([0, 2]), np.array([1, 3]))
    for i in range(20):
        for j in range(20):
            assert found[i, j] == (first[i] + second[j]).min()


def test_those_inside_a_condition_are_counted() -> None:
    records, table = table_of(50, 7), table_of(3_000, 8)
    apart = distances(records, table)
    inside = (apart[:2] <= UNIT // 8).all(axis=0) & (apart[2:] == 0).all(axis=0)
    assert (count_rows_within(records, table, NUMERIC, UNIT // 8) == inside.sum(axis=1)).all()


def wide(column: str, cells: pa.Array, kind: ColumnType) -> tuple[pa.Table, Mapping[str, ColumnType]]:
    return pa.table({column: cells, "sex": ["f"] * len(cells)}), {column: kind, "sex": ColumnType.CATEGORY}


def test_a_number_stands_where_it_stands_among_the_synthetic_ones() -> None:
    synthetic, kinds = wide("age", pa.array([10, 20, 20, 30]), ColumnType.INTEGER)
    people, _ = wide("age", pa.array([5, 10, 15, 20, 99, None] * 10), ColumnType.INTEGER)
    found = build_synthetic_release(synthetic, people, people, kinds).original[0, :6]
    assert found.tolist() == [UNIT // 8, UNIT // 8, UNIT // 4, UNIT // 2, UNIT * 7 // 8, MISSING]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (pa.array([date(2020, 1, day) for day in (1, 2, 9)] * 20), ColumnType.DATE),
        (pa.array(["1.5", "2.5", None] * 20), ColumnType.DECIMAL),
        (pa.array(["a", "b", None] * 20).dictionary_encode(), ColumnType.CATEGORY),
        (pa.array([True, False, None] * 20), ColumnType.BOOLEAN),
    ],
)
def test_every_kind_of_column_can_be_compared(cells: pa.Array, kind: ColumnType) -> None:
    table, kinds = wide("it", cells, kind)
    places = build_synthetic_release(table, table, table, kinds).original[0]
    assert len(set(places.tolist())) == 3


def test_the_best_single_guess_is_the_best() -> None:
    draw = np.random.Generator(np.random.PCG64(1))
    places = draw.integers(0, UNIT, 300).astype(np.int32)
    guess, share = choose_constant(places, True, 0.05)
    tried = np.arange(0, UNIT, UNIT // 4_000)
    fitting = (np.abs(places[:, None] - tried) <= 0.05 * UNIT).mean(axis=0)
    assert (np.abs(places - guess) <= 0.05 * UNIT).mean() == share >= fitting.max()
    assert choose_constant(np.array([2, 1, 2], np.int32), False, 0.05) == (2, 2 / 3)


def test_what_most_people_have_is_the_baseline_however_little_the_table_tells() -> None:
    """A secret that goes with nothing, one of whose values is common: the nearest rows do worse."""
    draw = np.random.Generator(np.random.PCG64(4))

    def people(size: int) -> pa.Table:
        usual = draw.random(size) < 0.615
        return pa.table({"x": draw.random(size), "y": np.where(usual, 0, draw.integers(1, 60, size))})

    kinds = {"x": ColumnType.DECIMAL, "y": ColumnType.CATEGORY}
    found = AttributeInference(secret="y").run(
        build_synthetic_release(people(2_000), people(2_000), people(2_000), kinds)
    )
    assert found.baseline == pytest.approx(0.615, abs=0.06)
    assert found.figures["panel"] < 0.5
    assert found.success < found.baseline


# -- columns that find themselves ----------------------------------------------------------------------------


def beats_the_panel(found: Findings) -> bool:
    """Surely: the intervals of both, with a false-alarm rate of 1e-9, do not meet."""
    people = found.attempts
    least = clopper_pearson(round(found.success * people), people, alpha=FALSE_ALARM)[0]
    return least > clopper_pearson(round(found.baseline * people), people, alpha=FALSE_ALARM)[1]


def test_a_sweep_finds_what_a_copy_gives_away() -> None:
    for found in sweep_attacks(released(honest=False)):
        assert found.gain > 0.7
        assert found.figures["precision"] > 0.7
        assert found.victims[0].posterior > 0.9
        assert beats_the_panel(found)


def test_a_sweep_finds_nothing_where_nobody_was_copied() -> None:
    """Though it looks for the worst columns: those were chosen on other people than it is judged on."""
    for found in sweep_attacks(released(honest=True)):
        assert not beats_the_panel(found)


def test_a_few_who_were_copied_are_found_by_how_near_they_are() -> None:
    """One in ten was copied. Of all people little is learned, of the nearest everything."""
    data, panel, others = (Census(people=PEOPLE, seed=seed).sample() for seed in (1, 2, 3))
    tenth = pa.concat_tables(
        [make_leaky_copy(data, changed_share=0).slice(0, PEOPLE // 10), others.slice(PEOPLE // 10)]
    )
    found = AttributeInference(secret="income").run(build_synthetic_release(tenth, data, panel, COLUMN_TYPES))
    curve = found.series["right by nearness"]
    assert curve[0][1] > 0.9
    assert curve[-1][1] == pytest.approx(found.success)
    assert found.success < 0.25
    assert all(one.truth for one in found.victims)
    assert found.victims[0].posterior > 0.9
    assert found.interval[0] > found.baseline


def nearness(right: list[int], size: int = 400) -> Guesses:
    """Of every hundred from the nearest on, so many guesses are right, evenly over them."""
    rights = np.concatenate([np.arange(100) * each % 100 < each for each in right])
    return Guesses(right=rights, claimed=np.ones(size, bool), distance=np.arange(size, dtype=float))


def test_people_who_are_near_are_believed_no_more_than_others_who_are_as_near() -> None:
    """Seven of ten of the nearest are guessed, and as many of the panel: their data did not tell."""
    found = compute_beliefs(nearness([70, 20, 10, 10]), nearness([68, 20, 10, 9]), constant=0.05)
    assert not found.has_gained.any()
    assert found.factor == 1
    assert found.posterior[0] > 0.5 > found.posterior[-1]


def test_what_is_believed_of_the_nearest_is_told_beside_others_who_are_as_near() -> None:
    found = compute_beliefs(nearness([90, 20, 10, 10]), nearness([30, 20, 10, 10]), constant=0.05)
    assert found.has_gained[:40].all()
    assert not found.has_gained[200:].any()
    assert found.prior[0] == pytest.approx(0.3, abs=0.05)
    assert found.posterior[0] == pytest.approx(0.9, abs=0.05)
    assert 1 < found.factor < compute_odds_factor(0.3, 0.9)


def test_where_nobody_of_the_panel_is_as_near_the_nearest_of_them_stand_for_that() -> None:
    copied_, panel = nearness([100, 100, 100, 100]), nearness([5, 5, 5, 5])
    found = compute_beliefs(copied_, replace(panel, distance=panel.distance + 1_000), constant=0.001)
    assert found.prior == pytest.approx(np.full(400, 0.05), abs=0.03)
    assert (found.posterior == 1).all()


def test_only_secrets_that_are_named_are_inferred() -> None:
    found = sweep_attacks(released(honest=False), secrets=["marital"])[2]
    assert found.note.startswith("marital from ")


def test_people_beyond_the_end_are_singled_out_by_it() -> None:
    """The richest is twice as rich in the data as the synthetic table says, and still meets the condition."""
    incomes = [*range(1_000, 1_050), 5_000]
    data, kinds = wide("income", pa.array([*incomes[:-1], 10_000]), ColumnType.INTEGER)
    synthetic, _ = wide("income", pa.array([1_000] * 50 + [5_000]), ColumnType.INTEGER)
    panel, _ = wide("income", pa.array(incomes[:-1]), ColumnType.INTEGER)
    found = SinglingOut(columns=("income",), width=0.0).run(
        build_synthetic_release(synthetic, data, panel, kinds)
    )
    assert found.success == pytest.approx(1 / 51)
    assert found.victims[0].claim == "nobody else has income about 5000"
    assert found.victims[0].victim == "row 51 of the data"


def test_an_engine_counts_which_columns_tell_rows_apart() -> None:
    rows = Census(people=3_000, seed=1).sample()
    data = pa.table({name: rows[name] for name in ("sex", "zip", "occupation", "marital")})
    kinds = dict.fromkeys(data.column_names, ColumnType.CATEGORY)
    release = build_synthetic_release(data, data, data, kinds)
    with engine(data=data) as opened:
        count = make_engine_counter(opened, "data")
        assert find_revealing_column_sets(release, count) == find_revealing_column_sets(release)
        pair = next(one for one in discover_quasi_identifiers(["sex", "zip"], count) if len(one.columns) == 2)
    assert pair.distinction == len({(r["sex"], r["zip"]) for r in data.to_pylist()}) / 3_000


# -- what is not possible ------------------------------------------------------------------------------------


def test_tables_that_do_not_fit_get_one_sentence() -> None:
    table, kinds = wide("age", pa.array(range(100)), ColumnType.INTEGER)
    lacking = table.drop_columns(["age"])
    for tables, said in (
        ((lacking, table, table), r"the synthetic table has no column age\. It has sex\."),
        ((table, table, lacking), r"the panel has no column age\."),
        ((table.slice(0, 0), table, table), r"the synthetic table has too few rows\. Give at least 1\."),
        ((table, table, table.slice(0, 7)), r"the panel has too few rows\. Give at least 40\."),
    ):
        with pytest.raises(RequestError, match=said):
            build_synthetic_release(*tables, kinds)
    with pytest.raises(RequestError, match=r"at least 2 and at most"):
        build_synthetic_release(table, table, table, {"age": ColumnType.INTEGER})
    words, _ = wide("age", pa.array(["old", "young"] * 50), ColumnType.INTEGER)
    with pytest.raises(RequestError, match=r"column age is declared a number, but a table has other values"):
        build_synthetic_release(words, table, table, kinds)


@pytest.mark.parametrize(
    ("attack", "said"),
    [
        (lambda: AttributeInference(secret="sex", known=("sex",)), "sex is both known and secret"),
        (lambda: AttributeInference(secret="age", within=2), r"AttributeInference\.within must be a share"),
        (lambda: Linkability(first=("age",), second=("age",)), "two nonempty sets of columns"),
        (lambda: SinglingOut(columns=()), "a condition needs a column"),
        (lambda: SinglingOut(columns=("height",)).run(released(honest=True)), "there is no column height"),
        (
            lambda: Linkability(first=tuple(COLUMN_TYPES)).run(released(honest=True)),
            "second source has no column",
        ),
    ],
)
def test_attacks_that_make_no_sense_get_one_sentence(attack: object, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        attack()  # type: ignore[operator]
