"""Hierarchies as a custodian meets them: in the policy, by `discreet hierarchy`, in what `init` proposes."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from discreet.anonymity.hierarchies import build_column_spec
from discreet.core.column_entry import ColumnType
from discreet.core.errors import RequestError
from discreet.services.policies import load_policy
from discreet.services.policy_draft.column_roles import (
    HIPAA_IDENTIFIERS,
    identify_by_content,
    identify_by_name,
)
from tests.services.test_promise import discreet

HEAD = """\
tables:
  t:
    source: t.csv
    columns:
      age: {type: integer, low: 0, high: 99, role: quasi}
      job: {type: category, values: [nurse, clerk, cook], role: quasi}
      zip: {type: text, role: quasi}
      born: {type: date, low: 1950-01-01, high: 2019-12-31, role: quasi}
      free: {type: text}
hierarchies:
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def policy(folder: Path, *entries: str) -> Path:
    path = folder / "privacy.yaml"
    path.write_text(HEAD + "".join(f"  {entry}\n" for entry in entries))
    return path


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("h: {widths: [5, 12]}", "h.widths: must each be a multiple of the one before"),
        ("h: {widths: [5, -5]}", "h.widths: must be above 0"),
        ("h: {widths: []}", "h.widths: must be a list of at least one"),
        ("h: {widths: 5}", "h.widths: must be a list such as [a, b]; got 5"),
        ("h: {widths: [wide]}", "h.widths[0]: must be a number; got wide"),
        ("h: {width: [5]}", "h.width: unknown; did you mean widths?"),
        ("h: {cuts: [[10, 20], [15]]}", "h.cuts: must lose some at every level and add none"),
        ("h: {cuts: [20, 10]}", "h.cuts: must rise within a level"),
        ("h: {cuts: []}", "h.cuts: must rise within a level"),
        ("h: {order: []}", "h.order: must be a list of at least one"),
        ("h: {cuts: [ten]}", "h.cuts: must be numbers"),
        ("h: {low: 0, high: 9}", "h: has no kind: give one of csv, mask, tree, dates, order, widths, cuts"),
        ("h: {mask: right, csv: x.csv}", "h.mask: does not go with csv: keep one of them"),
        ("h: {mask: right, low: 1, high: 2}", "h.low: does not go with mask"),
        ("h: {mask: up}", "h.mask: must be right or left; got up"),
        ("h: {mask: right, length: 100}", "h.length: must be at most 64; got 100"),
        ("h: {dates: [year, month]}", "h.dates: must rise, from day, month, quarter, year, decade"),
        ("h: {dates: [week]}", "h.dates[0]: must be day, month, quarter, year or decade; got week"),
        ("h: {widths: [5], low: 9}", "h: low and high go together"),
        ("h: {widths: [5], low: 9, high: 1}", "h.low: must not be above high"),
        ("h: {widths: [5], low: 2020-01-01, high: 2021-01-01}", "h: low and high must be numbers"),
        ("h: {tree: [a, b]}", "h.tree: must be groups of values"),
        ('h: {tree: {"*": {A: [x], B: [x]}}}', "h.tree: must have every value once; x occurs twice"),
        ('h: {tree: {"*": {A: {O: [x]}, B: {O: [y]}}}}', "h.tree: must have different names for groups; O"),
        (
            'h: {tree: {"*": {A: {B: [x]}, C: [B]}}}',
            "h.tree: must have different names for groups and values",
        ),
        ("h: {order: [a, a]}", "h.order: must be a list of different values"),
        ("h: {order: [a, b], cuts: [c]}", "h.cuts: must be values of the order"),
        ("h: {order: [a, b], widths: [1.5]}", "h.widths: must be whole numbers of values"),
        ("h: 5", "h: must be entries of the form NAME: VALUE; got 5"),
    ],
)
def test_a_wrong_entry_is_told_with_its_line_and_way_out(here: Path, entry: str, told: str) -> None:
    with pytest.raises(RequestError) as caught:
        load_policy(policy(here, entry))
    (line,) = str(caught.value).splitlines()
    assert ", line 11: hierarchies." in line
    assert told in line


@pytest.mark.parametrize(
    ("entry", "kind", "told"),
    [
        ("job: {csv: jobs.csv}", "listing", "from a file"),
        ("job: {tree: {'*': {care: [nurse], other: [clerk, cook]}}}", "tree", "a tree"),
        ("job: {order: [clerk, cook, nurse], cuts: [cook]}", "order", "runs of ordered values"),
        ("age: {widths: [10, 50]}", "intervals", "intervals"),
        ("zip: {mask: right, length: 5}", "mask", "masked codes"),
        ("born: {dates: [year, decade]}", "dates", "periods"),
    ],
)
def test_every_kind_of_hierarchy_is_shown(
    here: Path, entry: str, kind: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "jobs.csv").write_text("nurse,care,*\nclerk,office,*\ncook,care,*\n")
    name = entry.partition(":")[0]
    policy(here, entry)
    assert discreet("hierarchy", name) == 0
    assert f"The hierarchy {name} of t.{name}: {told}" in capsys.readouterr().out
    assert discreet("hierarchy", name, "--json") == 0
    assert json.loads(capsys.readouterr().out)["kind"] == kind


@pytest.mark.parametrize(
    ("entry", "line", "told"),
    [
        (
            "job: {widths: [5], low: 0, high: 9}",
            6,
            "the hierarchy job (widths) needs type integer or decimal",
        ),
        ("age: {dates: [year]}", 5, "the hierarchy age (dates) needs type date or timestamp"),
        ("born: {mask: right}", 8, "the hierarchy born (mask) needs type"),
        ("age: {low: 0, high: 90, widths: [5]}", 5, "goes from 0 to 90, which leaves out some of this"),
        ('job: {tree: {"*": [nurse, clerk]}}', 6, "the hierarchy job lacks the value cook: add it there"),
        ("job: {order: [nurse, cook]}", 6, "the hierarchy job lacks the value clerk: add it there"),
    ],
)
def test_a_hierarchy_that_does_not_fit_its_column_is_told_there(
    here: Path, entry: str, line: int, told: str
) -> None:
    with pytest.raises(RequestError) as caught:
        load_policy(policy(here, entry))
    assert f", line {line}: tables.t.columns." in str(caught.value)
    assert told in str(caught.value)


def test_missing_values_have_a_policy_of_their_column(here: Path) -> None:
    path = policy(here, "age: {widths: [10]}")
    path.write_text(path.read_text().replace("high: 99,", "high: 99, missing: suppress,"))
    missing = load_policy(path).tables["t"].columns["age"].missing
    assert missing is not None
    assert missing.value == "suppress"
    path.write_text(path.read_text().replace("suppress", "drop"))
    with pytest.raises(RequestError, match=r"missing: must be category or suppress; got drop: did you mean"):
        load_policy(path)


def test_values_stay_as_typed_in_orders_and_cuts(here: Path) -> None:
    declared = load_policy(policy(here, "h: {order: [007, no, 1e3], cuts: [[no]]}")).hierarchies["h"]
    assert (declared.order, declared.cuts) == (("007", "no", "1e3"), (("no",),))


def test_a_hierarchy_is_shown_as_a_tree(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy(here, "age: {widths: [10, 50]}", "nation: {tree: {Earth: {Asia: [Japan], America: [US, Peru]}}}")
    assert discreet("hierarchy", "age") == 0
    told = capsys.readouterr().out
    assert "labels by level: 100 → 10 → 2 → 1." in told
    assert "[0, 49]  50%" in told
    assert "[10, 19]  10%  10, 11, 12, … 19" in told
    assert discreet("hierarchy", "nation") == 0
    told = capsys.readouterr().out
    assert told.splitlines()[2:] == [
        "Earth",
        "├── Asia  33.3%  Japan",
        "└── America  66.7%  US, Peru",
    ]


def test_a_long_hierarchy_is_cut_short(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy(here, "born: {dates: [month, year, decade]}")
    assert discreet("hierarchy", "t.born") == 0
    told = capsys.readouterr().out
    assert len(told.splitlines()) < 40
    assert "labels by level: 25,567 → 840 → 70 → 7 → 1." in told
    assert "more" in told


def test_what_is_drafted_or_made_up_is_said(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy(here, "zip: {mask: right, length: 5}")
    assert discreet("hierarchy", "age") == 0
    assert "intervals, a draft." in capsys.readouterr().out
    assert discreet("hierarchy", "zip") == 0
    assert "The codes below are examples." in capsys.readouterr().out


def test_machines_get_rows_and_arx_gets_its_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy(here, "job: {order: [nurse, clerk, cook], widths: [2]}", "zip: {mask: right}")
    assert discreet("hierarchy", "job", "--csv") == 0
    rows = "nurse;nurse to clerk;*\nclerk;nurse to clerk;*\ncook;cook;*\n"
    assert capsys.readouterr().out == rows
    assert discreet("hierarchy", "job", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["labels"] == [3, 2, 1]
    assert ["\n".join(";".join(row) for row in told["rows"])] == [rows.rstrip("\n")]
    assert discreet("hierarchy", "zip", "--csv") == 2
    assert "too many values to list, or they are not declared" in capsys.readouterr().err


def test_the_custodian_can_list_what_a_hierarchy_lacks(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy(here, 'free: {tree: {"*": {A: [x, y]}}}')
    (here / "t.csv").write_text("free,age\nx,1\nz,2\n,3\nx,4\n")
    assert discreet("hierarchy", "free", "--uncovered") == 0
    out, err = capsys.readouterr()
    assert out == "z\n"
    assert "1 of 3 values are not covered; some rows have no value." in err
    assert discreet("hierarchy", "free", "--uncovered", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"uncovered": ["z"], "missing": True}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["agee"], "the policy has no column and no hierarchy agee. Did you mean age?"),
        (["lone", "--uncovered"], "no column of the policy has the hierarchy lone"),
        (["file"], "cannot be read (No such file or directory)"),
        (["age", "-p", "none.yaml"], "There is no policy none.yaml"),
        (["open"], "The hierarchy open has no domain."),
    ],
)
def test_bad_input_gets_one_sentence(
    here: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    policy(here, "lone: {mask: right}", "file: {csv: none.csv}", "open: {widths: [5]}")
    assert discreet("hierarchy", *words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
    assert len(err.splitlines()) == 1


def test_init_proposes_hierarchies_that_work_once_bounds_are_filled_in(here: Path) -> None:
    (here / "t.csv").write_text(
        "age,zip,born,job,race,score\n30,13053,1990-01-02,nurse,A,1\n40,0815x,1980-01-02,cook,B,2\n"
    )
    assert discreet("init", "t.csv") == 0
    text = (here / "privacy.yaml").read_text()
    assert "# Proposals, to check" in text
    assert "  age: {low: 0, high: 120, widths: [5, 10, 20, 40]}\n" in text
    assert "  zip: {mask: right}\n" in text
    assert "  born: {dates: [month, year, decade]}\n" in text
    for found, filling in (
        (" person: ?", " person: row"),
        ("rows_per_person: ?", "rows_per_person: 1"),
        ("type: integer, low: ?, high: ?", "type: integer, low: 0, high: 99"),
        ("type: date, low: ?, high: ?", "type: date, low: 1950-01-01, high: 2019-12-31"),
        ("values: [?]", "values: [a, b]"),
    ):
        text = text.replace(found, filling)
    (here / "privacy.yaml").write_text(text)
    declared = load_policy(here / "privacy.yaml")
    columns = declared.tables["t"].columns
    assert (
        build_column_spec("age", columns["age"], declared).build_hierarchy(["30"]).generalize("30", 1)
        == "[30, 34]"
    )
    assert (
        build_column_spec("zip", columns["zip"], declared).build_hierarchy(["13053"]).generalize("13053", 1)
        == "1305*"
    )
    assert (
        build_column_spec("born", columns["born"], declared)
        .build_hierarchy(["1990-01-02"])
        .generalize("1990-01-02", 1)
        == "1990-01"
    )


def test_columns_of_one_name_and_two_types_get_no_entry(here: Path) -> None:
    (here / "a.csv").write_text("born,x\n1990-01-02,1\n")
    (here / "b.csv").write_text("born,x\n1990,1\n")
    assert discreet("init", "a.csv", "b.csv") == 0
    assert "\n  born:" not in (here / "privacy.yaml").read_text()


@pytest.mark.parametrize(
    ("letter", "names"),
    [
        ("A", "name first_name LastName"),
        ("B", "home_address zip city county"),
        ("C", "birth_date admitted age"),
        ("D", "phone mobile_number"),
        ("E", "fax faxNumber"),
        ("F", "email"),
        ("G", "ssn"),
        ("H", "MRN"),
        ("I", "beneficiary_id"),
        ("J", "account_number iban"),
        ("K", "license_no certificate"),
        ("L", "vin license_plate vehicle"),
        ("M", "device_id serial_number"),
        ("N", "url website"),
        ("O", "ip_address"),
        ("P", "fingerprint"),
        ("Q", "photo"),
        ("R", "patient_id uuid"),
    ],
)
def test_hipaas_identifiers_are_recognized_by_name(letter: str, names: str) -> None:
    found = {name: identify_by_name(name, ColumnType.TEXT) for name in names.split()}
    assert {name: each and each.letter for name, each in found.items()} == dict.fromkeys(
        names.split(), letter
    )
    assert {each.letter for each in HIPAA_IDENTIFIERS} == set("ABCDEFGHIJKLMNOPQR")


def test_a_disease_is_no_name_and_a_cost_is_nothing() -> None:
    assert [
        identify_by_name(name, ColumnType.TEXT) for name in ("disease_name", "cost", "race", "state")
    ] == [None] * 4


@pytest.mark.parametrize(
    ("letter", "values"),
    [
        ("F", ["ada@example.org", "bo.b@mail.example.com"]),
        ("D", ["(607) 555-0199", "+41 44 555 0199"]),
        ("G", ["123-45-6789", "987-65-4321"]),
        ("J", ["DE89 3704 0044 0532 0130 00", "4111 1111 1111 1111"]),
        ("L", ["1HGCM82633A004352", "JH4KA7561PC008269"]),
        ("M", ["00:1B:44:11:3A:B7", "00:1B:44:11:3A:B8"]),
        ("N", ["https://example.org/a", "www.example.org"]),
        ("O", ["10.0.0.1", "2001:db8::ff00:42:8329"]),
        ("B", ["12 Main Street", "4b Elm Rd"]),
        ("R", ["123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174001"]),
    ],
)
def test_identifiers_are_recognized_by_what_values_look_like(
    here: Path, letter: str, values: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "t.csv").write_text("column;n\n" + "".join(f'"{value}";1\n' for value in [*values, "other"]))
    assert discreet("init", "t.csv", "--json") == 0
    told = capsys.readouterr().out + (here / "privacy.yaml").read_text()
    found = json.loads(told.splitlines()[0])["tables"]["t"]["columns"]["column"]
    assert found["role"] == "identifier"
    assert {each.letter for each in HIPAA_IDENTIFIERS if each.label == found["hipaa"]} == {letter}
    assert not any(value in told for value in values)


def test_what_few_values_look_like_decides_nothing(here: Path) -> None:
    assert identify_by_content({"email addresses": 0.49}) is None
    (here / "t.csv").write_text(
        "column;when\nada@example.org;12:30:00\nx y;12:30:01\nHeart Disease;12:30:02\n"
    )
    assert discreet("init", "t.csv") == 0
    assert "identifier}" not in (here / "privacy.yaml").read_text()


def test_the_exported_sql_gives_every_value_its_label(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = policy(here, 'job: {tree: {"*": {care: [nurse], "kitchen\'s": [cook], office: [clerk]}}}')
    assert discreet("hierarchy", "job", "--policy", str(path), "--sql") == 0
    made = capsys.readouterr().out
    query = f"SELECT job, {made} FROM (VALUES ('nurse'), ('cook'), ('other')) t(job)"
    found = duckdb.execute(query).fetchall()
    assert found == [("nurse", "care", "*"), ("cook", "kitchen's", "*"), ("other", None, None)]


def test_a_hierarchy_over_values_that_are_not_declared_has_no_sql(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("hierarchy", "zip", "--policy", str(policy(here, "zip: {mask: right}")), "--sql") == 2
    assert "Declare the column's values" in capsys.readouterr().err
