"""What becomes of columns that are no quasi-identifiers, and where a release may be written."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from discreet import Anonymizer
from discreet.anonymity.models import KAnonymity
from discreet.core.errors import DataError
from tests.services.test_anonymize import HEAD, POLICY, ROWS, classes, publish, write_people
from tests.services.test_promise import discreet

QUASI = ("age", "zipcode")
PEOPLE = """\
tables:
  visits:
    source: visits.csv
    person: patient
    rows_per_person: 2
    columns:
      patient: {role: identifier}
      age:     {type: integer, low: 0, high: 99, role: quasi}
      disease: {role: sensitive}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_people(tmp_path, ROWS)
    (tmp_path / "privacy.yaml").write_text(POLICY)
    return tmp_path


def visits(folder: Path) -> None:
    rows = [f"p{i // 2},{20 + i // 2 % 4},{'flu' if i % 2 else 'HIV'}" for i in range(80)]
    (folder / "visits.csv").write_text("patient,age,disease\n" + "\n".join(rows) + "\n")
    (folder / "privacy.yaml").write_text(PEOPLE)


def linked(folder: Path, key: str, *options: str, name: str = "release.csv") -> int:
    words = ("--policy", str(folder / "privacy.yaml"), "-k", "5", "--pseudonym", "patient")
    output = str(folder / name)
    return discreet("anonymize", "visits", *words, "--key", str(folder / key), "-o", output, *options)


def test_rows_of_a_person_stay_linked_under_a_key_and_not_beyond(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    visits(tmp_path)
    assert linked(tmp_path, "one.key", name="first.csv") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "patient holds keyed pseudonyms" in told
    assert linked(tmp_path, "one.key", name="again.csv") == 0
    assert linked(tmp_path, "two.key", name="other.csv") == 0
    first, again, other = (pacsv.read_csv(tmp_path / f"{n}.csv") for n in ("first", "again", "other"))
    assert first.column_names == ["patient", "age", "disease"]
    pairs = Counter(first.column("patient").to_pylist())
    assert len(pairs) == 40
    assert set(pairs.values()) == {2}
    assert first.equals(again)
    assert not set(pairs) & set(other.column("patient").to_pylist())
    assert (tmp_path / "one.key").stat().st_mode & 0o777 == 0o600


def test_a_pseudonym_is_the_keyed_hash_that_the_certificate_declares(tmp_path: Path) -> None:
    visits(tmp_path)
    assert linked(tmp_path, "one.key") == 0
    key = bytes.fromhex((tmp_path / "one.key").read_text())
    message = (7).to_bytes(8, "big") + b"patient" + b"p3"
    wanted = hmac.new(key, message, hashlib.sha256).hexdigest()[:32]
    assert wanted in pacsv.read_csv(tmp_path / "release.csv").column("patient").to_pylist()
    text = (tmp_path / "release.certificate.json").read_text()
    certificate = json.loads(text)
    assert certificate["columns"]["patient"]["published"] == "as keyed pseudonyms"
    (declared,) = certificate["pseudonyms"]
    assert "HMAC-SHA256" in declared["method"]
    assert key.hex() not in text + (tmp_path / "release.report.html").read_text()
    assert "p3" not in (tmp_path / "release.csv").read_text().split(",")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--pseudonym", "name"), "--key FILE go together"),
        (("--key", "x.key"), "go together"),
        (("--pseudonym", "disease", "--key", "x.key"), "not an identifier"),
        (("--pseudonym", "nobody", "--key", "x.key"), "no column nobody"),
    ],
)
def test_pseudonyms_that_make_no_sense_are_refused(
    folder: Path,
    options: tuple[str, ...],
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    assert publish(folder, "-k", "5", *options) == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_a_column_that_nobody_declared_and_that_names_people_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("email", "ssn", "patient_name", "notes"):
        text = POLICY.replace("      note:    {role: other}", f"      {name}:    {{}}")
        (folder / "privacy.yaml").write_text(text)
        (folder / "people.csv").write_text((folder / "people.csv").read_text().replace("note", name, 1))
        assert publish(folder, "-k", "5", "--suppress", "10%") == 2
        told = " ".join(capsys.readouterr().err.split())
        assert f"{name} of people would be published unchanged" in told
        assert "role: identifier" in told
        assert not (folder / "release.csv").exists()
        write_people(folder, ROWS)


def test_a_column_whose_values_look_like_identifiers_is_refused_unless_it_was_declared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "\n".join(f"{20 + i % 3},ann{i}@example.org" for i in range(30))
    (tmp_path / "people.csv").write_text(f"age,contact\n{rows}\n")
    options = ("--quasi", "age", "--keep", "contact", "-k", "5", "-o", str(tmp_path / "release.csv"))
    assert discreet("anonymize", str(tmp_path / "people.csv"), *options) == 2
    told = capsys.readouterr().err
    assert "contact" in told
    assert "email addresses" in told
    assert "example.org" not in told
    columns = "{age: {role: quasi}, contact: {role: other}}"
    (tmp_path / "privacy.yaml").write_text(f"tables: {{people: {{source: people.csv, columns: {columns}}}}}")
    assert publish(tmp_path, "-k", "5") == 0


@pytest.mark.parametrize("entry", ["{}", "{role: other}"])
def test_a_plain_column_that_others_may_know_is_published_with_a_warning(
    folder: Path, entry: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "privacy.yaml").write_text(POLICY.replace("note:    {role: other}", f"gender:  {entry}"))
    (folder / "people.csv").write_text((folder / "people.csv").read_text().replace("note", "gender", 1))
    assert publish(folder, "-k", "5", "--suppress", "10%", "--json") == 0
    captured = capsys.readouterr()
    assert "warning: gender is published unchanged" in captured.err
    assert any("gender" in each for each in json.loads(captured.out)["warnings"])


def test_rows_that_lack_a_value_are_left_out_and_counted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "privacy.yaml").write_text(POLICY.replace("missing: category", "missing: suppress"))
    write_people(folder, [row if i % 6 else (*row[:2], "", *row[3:]) for i, row in enumerate(ROWS)])
    assert publish(folder, "-k", "3", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["missing"] == 10
    assert told["suppressed"] == 0
    assert pacsv.read_csv(folder / "release.csv").num_rows == 50
    assert publish(folder, "-k", "3") == 0
    assert "10 more rows lack a value" in capsys.readouterr().out


def test_a_release_goes_into_a_database_beside_other_tables(folder: Path) -> None:
    path = folder / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS a")
    for _ in range(2):  # the second time it replaces the first
        assert publish(folder, "-k", "5", "--suppress", "10%", name="shop.duckdb#release") == 0
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.execute("SELECT a FROM kept").fetchall() == [(1,)]
        published = connection.sql("SELECT * FROM release").to_arrow_table()
    assert all(len(rows) >= 5 for rows in classes(published, QUASI).values())
    certificate = json.loads((folder / "shop.release.certificate.json").read_text())
    assert (certificate["file"], certificate["table_of_file"]) == ("shop.duckdb", "release")
    assert not [each for each in folder.iterdir() if "arriving" in each.name]


def test_a_table_of_a_database_is_published_into_the_same_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "shop.duckdb"
    write_people(tmp_path, ROWS)
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE people AS FROM read_csv('{tmp_path}/people.csv')")
        connection.execute("CREATE TABLE other AS SELECT 1 AS a")
    options = ("--quasi", "age,zipcode", "--sensitive", "disease", "-k", "5", "--suppress", "30%")
    assert discreet("anonymize", str(path), *options) == 2
    assert "has 2 tables" in capsys.readouterr().err
    assert discreet("anonymize", f"{path}#people", *options, "-o", f"{path}#people") == 2
    assert "is the source that is being published" in capsys.readouterr().err
    assert discreet("anonymize", f"{path}#people", *options, "-o", f"{path}#release") == 0
    with duckdb.connect(str(path), read_only=True) as connection:
        names = {name for (name,) in connection.execute("SHOW TABLES").fetchall()}
        columns = [row[0] for row in connection.execute("DESCRIBE release").fetchall()]
    assert names == {"people", "other", "release"}
    assert columns == ["age", "zipcode", "disease"]


def test_the_source_is_never_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / "people.csv").read_bytes()
    (folder / "privacy.yaml").write_text("promise: {prior: 1%, posterior: 5%}\n" + POLICY)
    assert publish(folder, "-k", "5", "--suppress", "10%", name="people.csv") == 2
    assert "is the source that is being published" in capsys.readouterr().err
    assert (folder / "people.csv").read_bytes() == before
    assert discreet("ledger", "--policy", str(folder / "privacy.yaml"), "--json") == 0
    assert not json.loads(capsys.readouterr().out)["releases"]


@pytest.mark.parametrize("name", ["release.txt", "nowhere/release.csv", "people.csv#table"])
def test_a_place_that_cannot_be_written_to_is_refused(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(folder, "-k", "5", name=name) == 2
    told = capsys.readouterr().err
    assert "Traceback" not in told
    assert "discreet:" in told


def test_a_file_that_is_no_database_is_not_written_to(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "shop.duckdb").write_text("not a database")
    assert publish(folder, "-k", "5", "--suppress", "10%", name="shop.duckdb#release") == 2
    assert "is no .duckdb file, which would be lost" in capsys.readouterr().err
    assert (folder / "shop.duckdb").read_text() == "not a database"


def test_mixed_types_and_missing_columns_of_frames_are_one_sentence(folder: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame([tuple(row) for row in ROWS], columns=HEAD.split(","))
    found = Anonymizer(folder / "privacy.yaml", models=[KAnonymity(k=2)], suppress="1/2")
    with pytest.raises(DataError, match="one type each, and note has several"):
        found.fit(frame.assign(note=[1, "two", 3.0] * 20))
    with pytest.raises(DataError, match="declares the column note, which the frame does not have"):
        found.fit(frame.drop(columns="note"))
    with pytest.raises(DataError, match="does not cover one value"):
        found.fit(frame.assign(age=["old", *frame["age"].astype(str)[1:]]))


def test_a_column_name_that_no_policy_takes_is_told_by_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "odd.csv").write_text("age,a/b\n1,2\n3,4\n")
    assert discreet("anonymize", str(tmp_path / "odd.csv"), "--quasi", "age", "-k", "2") == 2
    assert "column 2" in capsys.readouterr().err


def test_types_survive_where_nothing_was_changed(folder: Path) -> None:
    table = pa.table({"age": [30] * 6, "zipcode": ["13053"] * 6, "disease": ["flu"] * 6, "note": ["n"] * 6})
    release = Anonymizer(folder / "privacy.yaml", models=[KAnonymity(k=6)])
    found = release.fit(table.append_column("name", pa.array(list("abcdef")))).release
    assert found.to_arrow().schema.field("age").type == pa.int64()
    found.write(folder / "out.parquet")
    assert pq.read_schema(folder / "out.parquet").field("age").type == pa.int64()


def test_a_value_that_its_hierarchy_lacks_is_counted_and_not_shown(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_people(folder, [("x", 130, "13053", "flu", "n"), *ROWS[1:]])
    for method in ("generalize", "local", "mondrian", "cells", "microaggregate"):
        assert publish(folder, "-k", "5", "--method", method, "--suppress", "10%") == 2
        told = " ".join(capsys.readouterr().err.split())
        assert "The hierarchy ages does not cover one value in the data" in told
        assert "130" not in told


def test_more_than_all_rows_cannot_be_asked_for_by_any_method(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for method in ("generalize", "local", "mondrian", "mondrian-relaxed", "cells"):
        assert publish(folder, "-k", "61", "--method", method, "--suppress", "10%") == 4
        told = " ".join(capsys.readouterr().err.split())
        assert "61-anonymity" in told
        assert "at most 60" in told
    assert publish(folder, "-k", "61", "--method", "microaggregate") == 2
    assert "fewer than k = 61" in capsys.readouterr().err


def test_a_column_of_a_file_cannot_be_known_and_sensitive(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(folder / "people.csv")
    assert discreet("anonymize", file, "--quasi", "age,disease", "--sensitive", "disease", "-k", "2") == 2
    assert "disease is both a quasi-identifier and sensitive" in capsys.readouterr().err


def test_pseudonyms_never_show_a_class_of_one_person(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"p{i // 3},{20 + i // 3},{('flu', 'HIV', 'cold')[i % 3]}" for i in range(12)]
    (tmp_path / "visits.csv").write_text("patient,age,disease\n" + "\n".join(rows) + "\n")
    linking = (
        "--pseudonym",
        "patient",
        "--key",
        str(tmp_path / "a.key"),
        "-o",
        str(tmp_path / "release.csv"),
    )
    file = ("anonymize", str(tmp_path / "visits.csv"), "--quasi", "age", "--sensitive", "disease", "-k", "3")
    assert discreet(*file, *linking) == 0
    shown = pacsv.read_csv(tmp_path / "release.csv").to_pylist()
    people = {
        age: {row["patient"] for row in shown if row["age"] == age} for age in {row["age"] for row in shown}
    }
    assert all(len(each) >= 3 for each in people.values())
    capsys.readouterr()
    (tmp_path / "privacy.yaml").write_text(
        PEOPLE.replace("    person: patient\n    rows_per_person: 2\n", "")
    )
    assert discreet("anonymize", "visits", "-p", str(tmp_path / "privacy.yaml"), "-k", "3", *linking) == 2
    assert "Declare person: patient" in " ".join(capsys.readouterr().err.split())


def test_a_release_is_not_written_over_another_table_of_the_policy(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = "  others:\n    source: others.csv\n    columns:\n      a: {}\n"
    (folder / "privacy.yaml").write_text(POLICY.replace("tables:\n", f"tables:\n{others}"))
    (folder / "others.csv").write_text("a\n1\n")
    assert publish(folder, "-k", "5", "--suppress", "10%", name="others.csv") == 2
    assert "is the table others of the policy" in " ".join(capsys.readouterr().err.split())
    assert (folder / "others.csv").read_text() == "a\n1\n"


def test_columns_that_nobody_gave_a_role_are_named_before_they_leave(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "privacy.yaml").write_text(POLICY.replace("note:    {role: other}", "message: {}"))
    path = folder / "people.csv"
    path.write_text(path.read_text().replace("note", "message", 1))
    assert publish(folder, "-k", "5", "--suppress", "10%") == 0
    assert "warning: message is published unchanged" in capsys.readouterr().err
    (folder / "privacy.yaml").write_text(POLICY.replace("note: ", "message: "))
    assert publish(folder, "-k", "5", "--suppress", "10%") == 0
    assert "published unchanged" not in capsys.readouterr().err


LACKING = [(f"person {i}", 30, "13053", ("flu", "")[i % 2], "n0") for i in range(20)]
"""One class with one disease, and rows without any."""


@pytest.mark.parametrize("options", [("--l-diversity", "disease:2:distinct"), ("--posterior", "60%")])
def test_a_missing_sensitive_value_counts_as_one_only_where_the_policy_says_so(
    folder: Path, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    write_people(folder, LACKING)
    assert publish(folder, *options) == 2
    assert "no value in the sensitive column disease" in " ".join(capsys.readouterr().err.split())
    declared = POLICY.replace("{role: sensitive}", "{role: sensitive, missing: category}")
    (folder / "privacy.yaml").write_text(declared)
    assert publish(folder, *options) == 0
    (folder / "privacy.yaml").write_text(declared.replace("sensitive, missing: category", "sensitive"))
    assert publish(folder, "-k", "5") == 0, "no model is about the disease"


def test_rows_without_a_sensitive_value_are_left_out_where_the_policy_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_people(folder, [*LACKING, *(("person", 30, "13053", "cancer", "n0") for _ in range(10))])
    declared = POLICY.replace("{role: sensitive}", "{role: sensitive, missing: suppress}")
    (folder / "privacy.yaml").write_text(declared)
    assert publish(folder, "--l-diversity", "disease:2:distinct", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    published = (folder / "release.csv").read_text().splitlines()[1:]
    assert (len(published), told["missing"]) == (20, 10)
    assert {row.split(",")[2] for row in published} == {"flu", "cancer"}
    assert publish(folder, "--l-diversity", "disease:3:distinct") == 4


def test_a_check_says_that_missing_values_are_judged_as_a_value(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_people(folder, LACKING)
    request = ("anonymize", str(folder / "people.csv"), "--quasi", "age,zipcode", "--sensitive", "disease")
    assert discreet(*request, "--check", "--l-diversity", "disease:2:distinct") == 0
    assert "Some rows have no value of disease" in " ".join(capsys.readouterr().err.split())
