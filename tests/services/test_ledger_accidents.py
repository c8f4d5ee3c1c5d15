"""What a custodian does to a ledger by accident: none of it gives the promise again."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.accounting.privacy_unit import can_overlap
from discreet.core.errors import BudgetError, RequestError
from discreet.services.curator import Curator
from tests.services.test_promise import discreet

POLICY = """
promise: {prior: 1%, posterior: 5%}
tables:
  visits:
    source: data/visits.csv
    person: patient
    rows_per_person: 50
    columns:
      patient: {type: integer, low: 1, high: 100}
      ward: {type: category, values: [a, b]}
"""
SQL = "SELECT COUNT(*) AS n FROM visits"
Shown = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A policy whose data are in another folder than its ledger."""
    return make_folder(tmp_path)


def make_folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    rows = "".join(f"{number % 20 + 1},{'ab'[number % 2]}\n" for number in range(200))
    (tmp_path / "data" / "visits.csv").write_text(f"patient,ward\n{rows}")
    (tmp_path / "privacy.yaml").write_text(POLICY)
    return tmp_path


def ask(folder: Path, epsilon: float, *more: str, sql: str = SQL) -> int:
    return discreet("ask", sql, "--policy", str(folder / "privacy.yaml"), "--epsilon", str(epsilon), *more)


def upkeep(folder: Path, verb: str, *more: str) -> int:
    return discreet("ledger", verb, *more, "--policy", str(folder / "privacy.yaml"))


def identify(folder: Path, capsys: Shown, *more: str) -> str:
    """The digits by which a ledger is named."""
    assert upkeep(folder, "verify", *more, "--json") == 0
    return str(json.loads(capsys.readouterr().out)["ledger"])[:8]


def ask_and_verify(folder: Path) -> list[Callable[[], int]]:
    return [lambda: ask(folder, 0.1), lambda: upkeep(folder, "verify")]


@pytest.mark.parametrize("named", ["ledger.db", "wards.db"])
def test_a_policy_of_other_tables_does_not_share_a_ledger_unless_it_says_so(
    tmp_path: Path, named: str
) -> None:
    folder = make_folder(tmp_path)
    assert ask(folder, 0.1) == 0
    other = folder / "wards.yaml"
    text = POLICY.replace("visits:", "wards:").replace("visits.csv", "wards.csv")
    (folder / "data" / "wards.csv").write_text("patient,ward\n1,a\n2,b\n")
    other.write_text(text)
    words = ["ask", SQL.replace("visits", "wards"), "--policy", str(other), "--epsilon", "0.1"]
    assert discreet(*words) == 2
    other.write_text(f"ledger: {named}\n{text}")
    assert discreet(*words) == 0
    with Curator.open(other) as curator:
        assert len(curator.ledger.list_entries()) == (2 if named == "ledger.db" else 1)


def test_a_policy_keeps_its_ledger_when_tables_come_and_go(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    assert ask(folder, 0.1) == 0
    (folder / "data" / "wards.csv").write_text("patient,ward\n1,a\n2,b\n")
    more = POLICY + POLICY.partition("tables:")[2].replace("visits", "wards")
    (folder / "privacy.yaml").write_text(more)
    assert ask(folder, 0.1, sql=SQL.replace("visits", "wards")) == 0
    (folder / "privacy.yaml").write_text(POLICY.replace("visits:", "stays:"))  # another name for the rows
    assert ask(folder, 0.1, sql=SQL.replace("visits", "stays")) == 0


def test_one_entry_is_called_an_entry(folder: Path, capsys: Shown) -> None:
    for number, ward, entries in ((1, "a", "1 entry"), (2, "b", "2 entries")):
        assert ask(folder, 0.1, sql=f"{SQL} WHERE ward <> '{ward}'") == 0
        capsys.readouterr()
        assert upkeep(folder, "verify") == 0
        assert f": {entries}, " in capsys.readouterr().out
        assert upkeep(folder, "export", str(folder / f"{number}.csv")) == 0
        assert capsys.readouterr().out.startswith(f"{entries} {'is' if number == 1 else 'are'} in ")


def refused(capsys: Shown, *parts: str) -> None:
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    for part in parts:
        assert part in error


def spend(folder: Path, *epsilons: float) -> None:
    for number, epsilon in enumerate(epsilons):
        assert ask(folder, epsilon, "--fresh", sql=f"SELECT COUNT(*) AS n{number} FROM visits") == 0


def copy_ledger(folder: Path, name: str) -> Path:
    """Copy the file as `cp` does, while nobody has it open."""
    with sqlite3.connect(folder / "ledger.db") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return Path(shutil.copy(folder / "ledger.db", folder / name))


def put_back(folder: Path, copy: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        (folder / f"ledger.db{suffix}").unlink(missing_ok=True)
    shutil.copy(copy, folder / "ledger.db")


def lose_marks(folder: Path) -> None:
    for each in (folder / "ledger.mark", folder / "data" / ".discreet.mark"):
        each.unlink(missing_ok=True)


@pytest.mark.parametrize("accident", ["deleted", "emptied", "mistyped", "in memory"])
def test_a_ledger_that_is_gone_is_not_made_anew(accident: str, folder: Path, capsys: Shown) -> None:
    spend(folder, 0.5)
    more: tuple[str, ...] = ()
    for suffix in ("", "-wal", "-shm") if accident in ("deleted", "emptied") else ():
        (folder / f"ledger.db{suffix}").unlink(missing_ok=True)
    if accident == "emptied":
        (folder / "ledger.db").touch()
    if accident == "mistyped":
        more = ("--ledger", "ledgr.db")
    if accident == "in memory":
        more = ("--ledger", ":memory:")
    capsys.readouterr()
    attempts: list[Callable[[], int]] = [
        lambda: ask(folder, 0.1, *more),
        lambda: upkeep(folder, "verify", *more),
    ]
    for attempt in attempts:
        assert attempt() == 2
        refused(capsys, ".mark says that", "ledger.db", "discreet ledger restore", "--separate-promise")
    assert not (folder / "ledgr.db").exists()
    if accident != "in memory":
        assert discreet("ledger", "--policy", str(folder / "privacy.yaml"), *more) == 2


def test_a_mark_beside_the_sources_is_enough(folder: Path, capsys: Shown) -> None:
    """The whole folder of the ledger is lost, with store and mark; the data are where they were."""
    spend(folder, 0.5)
    for each in folder.glob("ledger.*"):
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    capsys.readouterr()
    assert ask(folder, 0.1) == 2
    refused(capsys, "data/.discreet.mark says that")


def test_an_older_copy_is_refused_until_what_is_lost_is_charged(folder: Path, capsys: Shown) -> None:
    spend(folder, 0.5)
    older = copy_ledger(folder, "older.db")
    assert ask(folder, 0.7) == 0
    put_back(folder, older)
    capsys.readouterr()
    for attempt in ask_and_verify(folder):
        assert attempt() == 2
        refused(capsys, "is behind its mark", "discreet ledger restore")
    assert upkeep(folder, "restore") == 0
    assert "at most 3.25%" in capsys.readouterr().out
    assert ask(folder, 0.5, "--fresh") == 3
    assert ask(folder, 0.45, "--fresh") == 0
    assert upkeep(folder, "verify") == 0


def test_a_recorded_backup_is_charged_for_exactly_what_came_after(folder: Path, capsys: Shown) -> None:
    spend(folder, 0.3, 0.2)
    assert upkeep(folder, "backup", str(folder / "backup.db")) == 0
    assert ask(folder, 0.7) == 0
    (folder / "ledger.db").write_bytes(b"")
    capsys.readouterr()
    assert upkeep(folder, "restore", str(folder / "backup.db"), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["charged"] == ["analyst"]
    assert not told["whole"]
    assert discreet("ledger", "--policy", str(folder / "privacy.yaml"), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["spent"] == pytest.approx(1.2)
    assert [each["question"] for each in found["entries"]][
        -1
    ] == "what was asked after the backup, and is lost"
    assert ask(folder, 0.45, "--fresh") == 0
    assert ask(folder, 0.3, sql="SELECT COUNT(*) AS n0 FROM visits") == 0, "a stored answer is still free"
    assert upkeep(folder, "verify") == 0


def test_without_marks_a_restored_ledger_has_nothing_left(folder: Path, capsys: Shown) -> None:
    spend(folder, 0.1)
    assert upkeep(folder, "backup", str(folder / "backup.db")) == 0
    (folder / "ledger.db").unlink()
    lose_marks(folder)
    capsys.readouterr()
    assert upkeep(folder, "restore", str(folder / "backup.db")) == 0
    assert "all that was left is charged" in capsys.readouterr().out
    assert ask(folder, 0.001, "--fresh") == 3


def test_a_ledger_that_is_whole_is_not_replaced(folder: Path, capsys: Shown) -> None:
    spend(folder, 0.1)
    assert upkeep(folder, "backup", str(folder / "backup.db")) == 0
    assert ask(folder, 0.7) == 0
    capsys.readouterr()
    assert upkeep(folder, "restore", str(folder / "backup.db")) == 2
    refused(capsys, "is intact and the newest")


def test_a_second_ledger_over_marked_data_has_to_be_said_and_each_names_the_other(
    folder: Path, capsys: Shown
) -> None:
    spend(folder, 0.5)
    other = ("--ledger", "other.db")
    capsys.readouterr()
    assert upkeep(folder, "create", *other) == 2
    refused(capsys, "data/.discreet.mark", "--separate-promise")
    assert upkeep(folder, "create", *other, "--separate-promise") == 0
    said = capsys.readouterr().out
    first, second = identify(folder, capsys), identify(folder, capsys, *other)
    assert f"The ledger ledger.db ({first}) keeps a separate promise about the same data" in said
    assert ask(folder, 0.5, *other) == 0
    assert f"ledger.db ({first}) keeps a separate promise" in " ".join(capsys.readouterr().out.split())
    assert ask(folder, 0.1) == 0
    assert f"other.db ({second}) keeps a separate promise" in " ".join(capsys.readouterr().out.split())
    assert discreet("ledger", "--policy", str(folder / "privacy.yaml")) == 0
    assert f"other.db ({second}) keeps a separate promise" in " ".join(capsys.readouterr().out.split())


def test_two_ledgers_of_the_same_name_are_told_apart(folder: Path, capsys: Shown) -> None:
    spend(folder, 0.5)
    (folder / "north").mkdir()
    other = ("--ledger", "north/ledger.db")
    assert upkeep(folder, "create", *other, "--separate-promise") == 0
    capsys.readouterr()
    own, north = identify(folder, capsys), identify(folder, capsys, *other)
    assert own != north
    assert ask(folder, 0.1) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"ledger.db ({north}) keeps a separate promise" in said
    assert str(folder) not in said
    assert upkeep(folder, "verify") == 0
    said = capsys.readouterr().out
    assert f"This ledger is {own}." in said
    assert f"{north} at {folder / 'north' / 'ledger.db'}" in said


def test_other_data_in_the_same_folder_are_not_concerned(folder: Path) -> None:
    spend(folder, 0.5)
    shutil.copy(folder / "data" / "visits.csv", folder / "data" / "others.csv")
    (folder / "privacy.yaml").write_text(POLICY.replace("visits.csv", "others.csv") + "ledger: others.db\n")
    assert ask(folder, 0.5) == 0


@pytest.mark.parametrize("source", ["data/*.csv", "data/vis*", "*/visits.csv", "link/visits.csv"])
def test_the_same_data_by_another_path_are_the_same(source: str, folder: Path, capsys: Shown) -> None:
    spend(folder, 0.5)
    (folder / "link").symlink_to(folder / "data")
    (folder / "privacy.yaml").write_text(
        POLICY.replace("data/visits.csv", f"'{source}'") + "ledger: second.db\n"
    )
    capsys.readouterr()
    assert ask(folder, 0.1) == 2
    refused(capsys, "data/.discreet.mark says that")


@pytest.mark.parametrize(
    ("changed", "person"),
    [
        ("person: row", "a row"),
        ("person: ward\n    rows_per_person: 50", "the column ward"),
    ],
)
def test_another_privacy_unit_is_refused_or_named(
    changed: str, person: str, folder: Path, capsys: Shown
) -> None:
    spend(folder, 0.5)
    text = POLICY.replace("person: patient\n    rows_per_person: 50", changed)
    (folder / "privacy.yaml").write_text(text)
    capsys.readouterr()
    for attempt in ask_and_verify(folder):
        assert attempt() == 2
        refused(capsys, "a person of visits is the column patient", f"it is {person}", "change-unit")
    assert upkeep(folder, "change-unit") == 0
    said = "what was answered about visits before (a person was the column patient) was published too"
    assert said in capsys.readouterr().out
    assert ask(folder, 0.1) == 0
    assert said in " ".join(capsys.readouterr().out.split())


def test_a_table_of_another_name_with_the_same_rows_is_the_same(folder: Path, capsys: Shown) -> None:
    spend(folder, 0.5)
    text = POLICY.replace("visits:", "stays:").replace(
        "person: patient\n    rows_per_person: 50", "person: row"
    )
    (folder / "privacy.yaml").write_text(text)
    capsys.readouterr()
    assert ask(folder, 0.1, sql="SELECT COUNT(*) FROM stays") == 2
    refused(capsys, "a person of stays is the column patient")


ROWS = """
  rows:
    source: {source}
    person: row
    columns:
      ward: {{type: category, values: [a, b]}}
"""
ROWS_ALONE = f"promise: {{{{prior: 1%, posterior: 5%}}}}\ntables:{ROWS}"


@pytest.mark.parametrize("source", ["data/visits.csv", "'data/vis*.csv'"])
def test_a_table_whose_source_becomes_the_rows_of_another_is_the_same(
    source: str, folder: Path, capsys: Shown
) -> None:
    shutil.copy(folder / "data" / "visits.csv", folder / "data" / "others.csv")
    (folder / "privacy.yaml").write_text(POLICY + ROWS.format(source="data/others.csv"))
    spend(folder, 0.5)
    (folder / "privacy.yaml").write_text(ROWS_ALONE.format(source=source))
    capsys.readouterr()
    assert ask(folder, 0.1, sql="SELECT COUNT(*) AS n FROM rows") == 2
    refused(capsys, "a person of rows is the column patient", "it is a row")


def test_a_table_that_is_new_over_a_pattern_with_the_same_rows_is_the_same(
    folder: Path, capsys: Shown
) -> None:
    spend(folder, 0.5)
    (folder / "privacy.yaml").write_text(ROWS_ALONE.format(source="'data/vis*.csv'"))
    capsys.readouterr()
    assert ask(folder, 0.1, sql="SELECT COUNT(*) AS n FROM rows") == 2
    refused(capsys, "a person of rows is the column patient", "it is a row")


def test_a_release_after_a_restoration_without_marks_is_not_forgotten(folder: Path, capsys: Shown) -> None:
    spend(folder, 0.5)
    lose_marks(folder)
    assert upkeep(folder, "restore") == 0
    copy = copy_ledger(folder, "copy.db")
    with Curator.open(folder / "privacy.yaml") as curator:
        curator.ledger.record_release("wards", "k-anonymous")
    put_back(folder, copy)
    capsys.readouterr()
    assert upkeep(folder, "verify") == 2
    refused(capsys, "is behind its mark")


def test_a_table_of_a_database_is_the_same_in_other_letters() -> None:
    assert can_overlap("/shop.duckdb#visits", "/shop.duckdb#Visits")
    assert can_overlap("/shop.duckdb#visits", "/shop.duckdb#main.visits")
    assert not can_overlap("/shop.duckdb#one.visits", "/shop.duckdb#two.visits")


def test_bounds_on_rows_and_new_tables_are_no_other_unit(folder: Path) -> None:
    spend(folder, 0.5)
    shutil.copy(folder / "data" / "visits.csv", folder / "data" / "others.csv")
    more = (
        "  others:\n    source: data/others.csv\n    columns:\n      ward: {type: category, values: [a, b]}\n"
    )
    (folder / "privacy.yaml").write_text(POLICY.replace("_person: 50", "_person: 9") + more)
    assert ask(folder, 0.1, sql="SELECT COUNT(*) AS n FROM others") == 0


def test_a_second_place_is_written_before_data_is_read_and_checked(folder: Path, capsys: Shown) -> None:
    (folder / "safe").mkdir()
    (folder / "privacy.yaml").write_text(f"{POLICY}ledger_mark: safe/study.mark\n")
    spend(folder, 0.5)
    older = copy_ledger(folder, "older.db")
    spend(folder, 0.5, 0.2)
    put_back(folder, older)
    lose_marks(folder)
    capsys.readouterr()
    assert ask(folder, 0.1) == 2
    refused(capsys, "is behind its mark", "safe/study.mark")
    assert upkeep(folder, "restore") == 0
    assert upkeep(folder, "verify") == 0
    assert "safe/study.mark" in capsys.readouterr().out
    shutil.rmtree(folder / "safe")
    assert ask(folder, 0.01, "--fresh") == 2
    refused(capsys, "safe/study.mark cannot be written")


def test_a_copy_that_went_on_elsewhere_is_noticed(folder: Path) -> None:
    spend(folder, 0.2)
    copy_ledger(folder, "copy.db")
    with Curator.open(folder / "privacy.yaml") as curator:
        curator.ask(SQL, epsilon=0.1, fresh=True)
        with pytest.raises(RequestError, match="is behind its mark"):
            Curator.open(folder / "privacy.yaml", ledger="copy.db")


def test_a_mark_that_cannot_be_read_is_refused(folder: Path, capsys: Shown) -> None:
    spend(folder, 0.5)
    (folder / "data" / ".discreet.mark").write_text("{")
    capsys.readouterr()
    assert ask(folder, 0.1) == 2
    refused(capsys, "data/.discreet.mark is damaged", "restore it from a backup")


def test_planning_and_looking_mark_nothing(folder: Path) -> None:
    path = str(folder / "privacy.yaml")
    assert discreet("plan", SQL, "--epsilon", "1", "--policy", path, "--ledger", "ledgr.db") == 0
    assert discreet("ledger", "--policy", path) == 0
    assert not (folder / "data" / ".discreet.mark").exists()
    assert ask(folder, 0.1) == 0


def test_a_ledger_is_created_by_an_act(folder: Path, capsys: Shown) -> None:
    assert upkeep(folder, "create", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [Path(each["file"]).name for each in told["marks"]] == ["ledger.mark", ".discreet.mark"]
    assert upkeep(folder, "create") == 2
    refused(capsys, "exists already")
    assert ask(folder, 0.1, "--ledger", "ledgr.db") == 2
    refused(capsys, "is missing or empty")
    assert ask(folder, 0.1) == 0


def test_edited_sums_are_refused_at_the_command_line(folder: Path, capsys: Shown) -> None:
    spend(folder, 1.5)
    with sqlite3.connect(folder / "ledger.db") as connection:
        connection.execute("UPDATE account SET epsilon = '0'")
    connection.close()
    capsys.readouterr()
    assert ask(folder, 0.5) == 2
    refused(capsys, "what analyst has spent is not the sum of the entries")
    with pytest.raises((RequestError, BudgetError)):
        Curator.open(folder / "privacy.yaml")


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_entries_are_exported_page_by_page(ending: str, folder: Path, capsys: Shown) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    spend(folder, 0.1, 0.2, 0.3)
    path = folder / f"entries.{ending}"
    capsys.readouterr()
    assert upkeep(folder, "export", str(path), "--from", "2", "--limit", "1", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"file": str(path), "entries": 1, "next": 3}
    if ending == "csv":
        rows = pyarrow.csv.read_csv(path).to_pylist()
    elif ending == "json":
        rows = json.loads(path.read_text())["entries"]
    else:
        rows = pyarrow.parquet.read_table(path).to_pylist()
    assert [(each["id"], each["analyst"], each["epsilon"]) for each in rows] == [(2, "analyst", 0.2)]
    assert upkeep(folder, "export", str(path)) == 2
    refused(capsys, "exists already")


def test_no_question_is_a_formula_to_a_spreadsheet_that_opens_the_export(folder: Path) -> None:
    question = "-- =1+1\nSELECT COUNT(*) AS n FROM t"
    with Curator.open(folder / "privacy.yaml") as curator:
        table = next(iter(curator.policy.tables))
        curator.ask(question.replace("FROM t", f"FROM {table}"), epsilon=0.1)
    path = folder / "entries.csv"
    assert upkeep(folder, "export", str(path)) == 0
    assert "'-- =1+1" in path.read_text()


def test_no_mark_is_written_to_a_folder_that_is_read_only(folder: Path) -> None:
    """Root could write there, and a custodian who made it read-only does not expect that."""
    (folder / "data").chmod(0o555)
    try:
        assert ask(folder, 0.1) == 0
        assert [each.name for each in (folder / "data").iterdir()] == ["visits.csv"]
        assert upkeep(folder, "verify") == 0
    finally:
        (folder / "data").chmod(0o755)
    assert (folder / "ledger.mark").exists()
