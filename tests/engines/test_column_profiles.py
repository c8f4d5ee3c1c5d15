"""What a check counts is the same on every engine, and exact: each kind of mess is put in by hand."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.core.column_entry import Column
from discreet.core.policy import Policy
from discreet.core.table_entry import Link, Table
from discreet.services.check.check_report import ColumnCheck, DataCheck
from discreet.services.check.data_check import check_data
from tests.engines.servers import ADDRESS, PostgresServer, Server

ROWS = 100


def declare(**fields: object) -> Column:
    return Column.model_validate(fields)


MESSY: dict[str, pa.Array] = {
    "person": pa.array([str(i // 4) for i in range(ROWS)]),
    "doctor": pa.array([None if i < 10 else f"d{i % 5}" for i in range(ROWS)]),
    # 7 below, 12 above, 5 missing, 3 no numbers
    "age": pa.array(
        ["-1"] * 7 + ["200"] * 12 + [None] * 4 + [" "] + ["old", "12 years", "1_0"] + ["40"] * 73
    ),
    "weight": pa.array([float("nan")] * 2 + [None] * 3 + [1e300, -1e300] + [50.5] * 93),
    # 20 of other spellings, 6 padded, 4 missing
    "sex": pa.array(["male"] * 14 + [" Female", "Male "] * 3 + [None] * 3 + ["  "] + ["Male"] * 76),
    # 9 with two-digit years, 6 in another form, 4 before the bounds
    "day": pa.array(
        ["05/06/24"] * 9 + ["31.12.2024"] * 6 + ["1999-01-01"] * 4 + ["2024-02-03"] * 80 + [None]
    ),
    "smoker": pa.array(["yes"] * 50 + ["no"] * 40 + ["perhaps"] * 10),
    "card": pa.array([f"card {i}" for i in range(ROWS)]),
}
DOCTORS = {"name": pa.array(["d0", "d1", "d2"])}
COLUMNS = {
    "person": declare(role="identifier"),
    "doctor": declare(role="identifier"),
    "age": declare(type="integer", low=0, high=120),
    "weight": declare(type="decimal", low=0, high=200, resolution="0.5"),
    "sex": declare(type="category", values=["Male", "Female"]),
    "day": declare(type="date", low=dt.date(2020, 1, 1), high=dt.date(2024, 12, 31)),
    "smoker": declare(type="boolean"),
    "card": declare(type="text"),
}


def messy_policy(sources: Mapping[str, str], engine: str = "duckdb") -> Policy:
    """A policy over the messy table, in which a person has at most two rows."""
    tables = {
        "visits": Table(
            source=sources["visits"],
            person="person",
            rows_per_person=2,
            links={"doctor": Link(table="doctors", column="name")},
            columns=COLUMNS,
        ),
        "doctors": Table(source=sources["doctors"], person="none", columns={"name": declare()}),
    }
    return Policy(tables=tables, engine=engine, ledger=":memory:")


def by_name(check: DataCheck) -> dict[str, ColumnCheck]:
    return {column.name: column for column in check.tables[0].columns}


def require_exact_counts(check: DataCheck) -> None:
    """Everything that was put in is counted, and nothing else."""
    (visits, doctors), columns = check.tables, by_name(check)
    assert (visits.rows, doctors.rows) == (ROWS, 3)
    found = {
        name: (
            each.profile.missing,
            each.profile.unreadable,
            each.profile.clamped_low,
            each.profile.clamped_high,
            each.profile.undeclared,
        )
        for name, each in columns.items()
    }
    assert found["age"] == (5, 3, 7, 12, 0)
    assert found["weight"] == (5, 0, 1, 1, 0)
    assert found["sex"] == (4, 0, 0, 0, 20)
    assert found["smoker"] == (0, 10, 0, 0, 0)
    assert found["card"] == found["person"] == (0, 0, 0, 0, 0)
    assert found["doctor"] == (10, 0, 0, 0, 0)
    day = columns["day"].profile
    # a year of two digits is unreadable, or read as one of the first century
    assert (day.missing, day.two_digit_years, day.clamped_high) == (1, 9, 0)
    assert day.unreadable + day.clamped_low == 9 + 6 + 4
    assert columns["age"].profile.padded in (0, 1)
    assert sum(columns["age"].profile.bins) == 73
    assert columns["age"].profile.bins[2] == 73  # of 0 to 120 in eight parts
    people = visits.people
    assert people is not None
    assert (people.people, people.over, people.left_out, people.most, people.unnamed) == (25, 25, 50, 4, 0)
    link = columns["doctor"].link
    assert link is not None
    assert (link.keyed, link.unmatched) == (90, 36)
    distinct = columns["card"].profile.distinct
    assert distinct is not None
    assert distinct > 90
    assert "a value of its own" in columns["card"].text
    texts = {each.text: (each.rows, each.nearest) for each in columns["sex"].commonest}
    assert texts["male"] == (14, "Male")
    assert {each.text for each in columns["smoker"].commonest} == {"perhaps"}


def require_exact_bias(check: DataCheck) -> None:
    bias = by_name(check)["age"].bias
    assert bias is not None
    before, after = bias.sum
    assert (bias.count[0], before) == (92, -7 + 12 * 200 + 73 * 40)
    # half of each person's rows are kept, of values clamped to 0 and 120; the 1st to 28th row are mixed
    assert bias.count[1] == pytest.approx(46, abs=0.1)
    assert after == pytest.approx((12 * 120 + 73 * 40) / 2, abs=20)


def test_it_counts_alike_on_every_server(server: Server) -> None:
    sources = server.put({"visits": pa.table(MESSY), "doctors": pa.table(DOCTORS)})
    address = server.url if isinstance(server, PostgresServer) else ADDRESS
    found = check_data(messy_policy(sources, address))
    require_exact_counts(found)
    require_exact_bias(found)
    assert by_name(found)["sex"].profile.padded in (6, 7)


def test_it_counts_alike_in_parquet_files(tmp_path: Path) -> None:
    sources = {"visits": str(tmp_path / "visits.parquet"), "doctors": str(tmp_path / "doctors.parquet")}
    pq.write_table(pa.table(MESSY), sources["visits"])
    pq.write_table(pa.table(DOCTORS), sources["doctors"])
    found = check_data(messy_policy(sources))
    require_exact_counts(found)
    require_exact_bias(found)
    assert by_name(found)["sex"].profile.padded in (6, 7)


def test_it_counts_alike_in_frames() -> None:
    policy = messy_policy({"visits": "nowhere.parquet", "doctors": "nowhere.parquet"})
    require_exact_counts(check_data(policy, frames={"visits": pa.table(MESSY), "doctors": pa.table(DOCTORS)}))


def write_csv(path: Path, table: Mapping[str, pa.Array], *more: str) -> str:
    names = list(table)
    rows = zip(*(table[name].to_pylist() for name in names), strict=True)
    lines = [",".join("" if each is None else str(each) for each in row) for row in rows]
    path.write_text("\n".join([",".join(names), *lines, *more]) + "\n")
    return str(path)


def test_in_a_csv_file_blanks_around_values_are_counted_and_read(tmp_path: Path) -> None:
    sources = {
        "visits": write_csv(tmp_path / "visits.csv", MESSY | {"weight": pa.array([50.5] * ROWS)}),
        "doctors": write_csv(tmp_path / "doctors.csv", DOCTORS),
    }
    found = check_data(messy_policy(sources))
    sex = by_name(found)["sex"].profile
    # blanks are trimmed, so padded values are declared ones
    assert (sex.missing, sex.undeclared) == (4, 14)
    assert sex.padded in (6, 7)
    day = by_name(found)["day"].profile
    assert (day.missing, day.unreadable, day.two_digit_years, day.clamped_low) == (1, 15, 9, 4)


def test_rows_that_are_no_rows_are_counted_with_their_lines(tmp_path: Path) -> None:
    sources = {
        "visits": write_csv(tmp_path / "visits.csv", MESSY, "1,2,3", "1,2,3,4,5,6,7,8,9"),
        "doctors": write_csv(tmp_path / "doctors.csv", DOCTORS),
    }
    visits = check_data(messy_policy(sources)).tables[0]
    assert (visits.rows, visits.unread.count) == (ROWS, 2)
    assert [line for _, line in visits.unread.lines] == [ROWS + 2, ROWS + 3]


def test_a_table_without_rows_or_columns_fits(tmp_path: Path) -> None:
    path = tmp_path / "empty.parquet"
    pq.write_table(pa.table({"age": pa.array([], pa.int64())}), path)
    for columns in ({}, {"age": declare(type="integer", low=0, high=9)}):
        policy = Policy(tables={"empty": Table(source=str(path), columns=columns)}, ledger=":memory:")
        (table,) = check_data(policy).tables
        assert (table.rows, table.verdict.value) == (0, "fits")


def test_thousands_of_columns_are_checked_in_several_statements(tmp_path: Path) -> None:
    path = tmp_path / "wide.parquet"
    names = [f"c{place}" for place in range(450)]
    pq.write_table(pa.table({name: [place, 999] for place, name in enumerate(names)}), path)
    columns = {name: declare(type="integer", low=0, high=500) for name in names}
    policy = Policy(tables={"wide": Table(source=str(path), columns=columns)}, ledger=":memory:")
    (table,) = check_data(policy).tables
    assert {column.profile.clamped_high for column in table.columns} == {1}
    assert [column.profile.total for column in table.columns] == [place + 999 for place in range(450)]


CSV = """\
n;kg;day;at;well;town
1; 2,5 ;05.06.2024;05.06.2024 13:14;yes;Ulm
x;2.5;2024-06-05;5.6.24 13:14;maybe;Bonn
?;;?;;;
70;-3,5;31.12.2030;01.01.0001 00:00;no;ulm
1;2;3
4;5;6;7;8;9;10
"""
READ = {
    "n": {"type": "integer", "low": 0, "high": 9},
    "kg": {"type": "decimal", "low": 0, "high": 9, "resolution": "0.1"},
    "day": {"type": "date", "low": "2024-01-01", "high": "2024-12-31"},
    "at": {"type": "timestamp"},
    "well": {"type": "boolean"},
    "city": {"type": "category", "values": ["Ulm"], "from": "town"},
}


def test_values_are_read_by_the_declared_options_before_they_are_counted(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(CSV)
    options = {"decimal": ",", "nulls": ["?"], "dates": "%d.%m.%Y", "timestamps": "%d.%m.%Y %H:%M"}
    table = {"source": str(tmp_path / "t.csv"), "columns": READ, "csv": options}
    (found,) = check_data(Policy.model_validate({"tables": {"t": table}, "ledger": ":memory:"})).tables
    assert (found.rows, found.unread.count, found.unread.lines) == (4, 2, (("t.csv", 6), ("t.csv", 7)))
    counted = {
        name: (profile.missing, profile.unreadable, profile.clamped_low, profile.clamped_high)
        for name, profile in ((each.name, each.profile) for each in found.columns)
    }
    assert counted["n"] == (1, 1, 0, 1)
    assert counted["kg"] == (1, 1, 1, 0)
    assert counted["day"] == (1, 1, 0, 1)
    assert counted["at"] == (1, 1, 0, 0)
    assert counted["well"] == (1, 1, 0, 0)
    assert found.columns[-1].profile.undeclared == 2
    assert found.columns[1].profile.padded == 1


def test_a_frame_is_checked_by_the_names_that_it_has() -> None:
    table = {"source": "nowhere.csv", "columns": {"city": {"from": "Town", "type": "text"}}}
    policy = Policy.model_validate({"tables": {"t": table}, "ledger": ":memory:"})
    (found,) = check_data(policy, frames={"t": pa.table({"town": ["Ulm", None]})}).tables
    assert (found.rows, found.columns[0].profile.missing, found.is_live) == (2, 1, True)


def test_without_trimming_padded_values_are_other_values(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("sex\n Male\nMale\nMale \n\tMale\n")
    columns = {"sex": {"type": "category", "values": ["Male"]}}
    for trim, undeclared in ((True, 0), (False, 3)):
        table = {"source": str(tmp_path / "t.csv"), "columns": columns, "csv": {"trim": trim}}
        policy = Policy.model_validate({"tables": {"t": table}, "ledger": ":memory:"})
        (column,) = check_data(policy).tables[0].columns
        assert (column.profile.padded, column.profile.undeclared) == (3, undeclared)
        assert ("trim: true" in column.fix) is not trim
