"""`discreet init` as a custodian meets it: a draft from names and types, with nothing in it of the rows."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.core.column_entry import ColumnType, Role
from discreet.core.errors import RequestError
from discreet.services.policies import get_promise, load_policy
from discreet.services.policy_draft.column_roles import guess_role, is_key, is_person_key
from discreet.services.sample import SAMPLES, write_samples
from discreet.services.sample.table_schema import TableSchema
from tests.anonymity.data import DATA
from tests.services.test_promise import discreet

REAL = sorted(
    path
    for path in DATA.glob("*/*")
    if path.suffix in (".csv", ".data", ".test") and "hierarchy" not in path.name
)


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_samples(tmp_path_factory.mktemp("samples"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def filled(draft: str) -> str:
    """A draft with something plausible in every open place."""
    for found, filling in (
        (r" person: \?", " person: row"),
        (r"rows_per_person: \?", "rows_per_person: 1"),
        (r"(type: \w+, )low: \?, high: \?(, resolution: \?)?", r"\1low: 0, high: 9, resolution: 1"),
        (
            r"(type: (?:date|timestamp)), low: 0, high: 9, resolution: 1",
            r"\1, low: 2000-01-01, high: 2030-01-01",
        ),
        (r"(type: integer, low: 0, high: 9), resolution: 1", r"\1"),
        (r"values: \[\?\]", "values: [a, b]"),
    ):
        draft = re.sub(found, filling, draft)
    return draft


def as_declared(draft: str, schemas: list[TableSchema]) -> str:
    """A draft filled in from what the sample tables declare of themselves."""
    lines, table = [], schemas[0]
    for line in draft.splitlines():
        if match := re.fullmatch(r"  (\w+):", line):
            table = next(schema for schema in schemas if schema.name == match[1])
        facts = re.match(r"      (\w+): ", line)
        text = line.replace(" person: ?", f" person: {table.person}")
        text = text.replace("rows_per_person: ?", f"rows_per_person: {table.rows_per_person}")
        if facts:
            column = table.get_column(facts[1])
            text = text.replace("values: [?]", f"values: {json.dumps(column.values)}")
            bounds = (column.low, column.high) if column.kind == "integer" else ("2023-01-01", "2023-12-31")
            text = text.replace("low: ?, high: ?", f"low: {bounds[0]}, high: {bounds[1]}")
        lines.append(text)
    return "\n".join(lines)


def test_a_draft_of_the_samples_becomes_their_policy(
    here: Path, samples: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("init", *map(str, samples.values())) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert 'Then: discreet plan "SELECT COUNT(*) FROM census" --share 5%' in err
    path = here / "privacy.yaml"
    with pytest.raises(RequestError, match="not filled in") as caught:
        load_policy(path)
    assert f"{path}, line 26: tables.census.person: row, if" in str(caught.value)

    path.write_text(as_declared(path.read_text(), [schema for schema, _ in SAMPLES.values()]))
    policy = load_policy(path)
    for name, (schema, _) in SAMPLES.items():
        table = policy.tables[name]
        assert Path(table.source).samefile(samples[name])
        assert (table.person, table.rows_per_person) == (schema.person, schema.rows_per_person)
        for column in schema.columns:
            declared = table.columns[column.name]
            assert declared.type.value == column.kind
            if column.kind == "integer" and column.role != "identifier":
                assert declared.grid_bounds == (column.low, column.high)
            assert declared.values == (column.values or None)
    assert get_promise(policy).epsilon == pytest.approx(1.6506809)


def test_the_roles_of_the_samples_are_found_by_name() -> None:
    for schema, _ in SAMPLES.values():
        for column in schema.columns:
            if column.name != "admitted":  # a date of care is a quasi-identifier to HIPAA, nothing here
                assert guess_role(column.name).value == column.role, column.name


def test_the_draft_depends_on_the_schema_alone(here: Path) -> None:
    drafts = set()
    for names, ages, pays in ((["Ada", "Bo"], [17, 88], [1.25, 9e9]), (["Zoë"], [41], [-3.5])):
        pq.write_table(pa.table({"name": names, "age": ages, "pay": pays}), here / "people.parquet")
        (here / "more.csv").write_text(
            "name,age\n" + "".join(f"{n},{a}\n" for n, a in zip(names, ages, strict=True))
        )
        assert discreet("init", "people.parquet", "more.csv", "--force") == 0
        drafts.add((here / "privacy.yaml").read_text())
    assert len(drafts) == 1


def test_the_draft_says_how_answers_leave_sooner(here: Path) -> None:
    (here / "people.csv").write_text("who,age\n1,2\n")
    assert discreet("init", "people.csv") == 0
    assert "# most_rows: 20000 beside rows_per_person" in (here / "privacy.yaml").read_text()


def test_no_value_of_the_data_is_in_the_draft_or_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.csv").write_text("who;town;age\nQuixote;Argamasilla;5077\nPanza;Toboso;4099\n")
    (here / "b.csv").write_text("Quixote;Argamasilla;5077\nPanza;Toboso;4099\n")
    with duckdb.connect(here / "c.duckdb") as connection:
        connection.execute("CREATE TABLE c (mood ENUM ('Quixote', 'Panza'), age INTEGER DEFAULT 5077)")
    assert discreet("init", "a.csv", "b.csv", "c.duckdb", "--json") == 0
    told = "".join(capsys.readouterr()) + (here / "privacy.yaml").read_text()
    for value in ("Quixote", "Argamasilla", "Panza", "Toboso", "5077", "4099"):
        assert value not in told


def test_machines_get_the_policy_its_tables_and_what_to_fill_in(
    here: Path, samples: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("init", str(samples["hospital"]), "-o", "mine.yaml", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["policy"] == "mine.yaml"
    hospital = told["tables"]["hospital"]
    assert hospital["person"] == "person_id"
    assert hospital["columns"]["zipcode"] == {
        "type": "category",
        "role": "quasi",
        "hipaa": "places smaller than a state",
    }
    lines = (here / "mine.yaml").read_text().splitlines()
    assert len(told["fill_in"]) == sum(line.split(" #")[0].count("?") for line in lines if line[:1] != "#")
    for place in told["fill_in"]:
        assert f"{place['path'].split('.')[-1]}: " in lines[place["line"] - 1]
        assert "?" in lines[place["line"] - 1]


def test_the_person_is_proposed_where_one_column_alone_names_it(here: Path) -> None:
    for columns, proposed in (
        (["visit_id", "patient_id", "cost"], "perhaps patient_id"),
        (["id", "cost"], "perhaps id"),
        (["visit_id", "bed_id"], None),
        (["user_id", "patient_id"], None),
        (["name", "cost"], None),
    ):
        pq.write_table(pa.table({name: [1] for name in columns}), here / "t.parquet")
        assert discreet("init", "t.parquet", "--force") == 0
        (line,) = (line for line in (here / "privacy.yaml").read_text().splitlines() if " person: ?" in line)
        assert ("perhaps" in line) == (proposed is not None)
        assert (proposed or "") in line


@pytest.mark.parametrize(
    ("role", "names"),
    [
        (
            Role.QUASI,
            "zip ZIP zip_code postcode birth_date DateOfBirth dob age Age sex GENDER race nationality",
        ),
        (
            Role.IDENTIFIER,
            "name first_name LastName ssn passport_no email e_mail phone faxNumber home_address user_id "
            "userid PatientID patient mrn account_number license_plate vin device_id url ip_address photo",
        ),
        (
            Role.SENSITIVE,
            "disease diagnosis ICD10 income salary-class religion hiv HIV_status disease_name diagnosis_id",
        ),
        (Role.OTHER, "message average usage paid valid days cost hours_per_week statement Q1A visits"),
    ],
)
def test_roles_are_proposed_by_name(role: Role, names: str) -> None:
    assert {name: guess_role(name) for name in names.split()} == dict.fromkeys(names.split(), role)


def test_keys_are_told_from_names_and_people_from_things() -> None:
    assert [
        name for name in ("user_id", "name", "email", "MRN", "visit_id", "paid", "patient") if is_key(name)
    ] == [
        "user_id",
        "MRN",
        "visit_id",
        "patient",
    ]
    assert [
        name for name in ("user_id", "visit_id", "userid", "mrn", "user_name") if is_person_key(name)
    ] == [
        "user_id",
        "userid",
        "mrn",
    ]


def test_a_policy_is_not_overwritten_unless_asked(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.csv").write_text("age\n1\n")
    (here / "privacy.yaml").write_text("kept")
    assert discreet("init", "a.csv") == 2
    assert "privacy.yaml exists already. Add --force" in capsys.readouterr().err
    assert (here / "privacy.yaml").read_text() == "kept"
    assert discreet("init", "a.csv", "--force") == 0
    assert "age:" in (here / "privacy.yaml").read_text()
    assert sorted(path.name for path in here.iterdir()) == [
        ".policy.schema.json",
        "a.csv",
        "privacy.yaml",
    ]


def test_a_data_file_is_never_overwritten(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.csv").write_text("age\n1\n")
    (here / "link.yaml").symlink_to("a.csv")
    for output in ("a.csv", "./a.csv", "link.yaml"):
        for word in ("a.csv", "*.csv"):
            assert discreet("init", word, "-o", output, "--force") == 2
            assert "is one of the data files" in capsys.readouterr().err
    assert (here / "a.csv").read_text() == "age\n1\n"


def test_what_an_engine_reads_is_never_overwritten(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "visits").mkdir()
    for name in ("shop.duckdb", "visits/part-0.parquet"):
        (here / name).write_text("kept")
    for words in (
        ("visits", "--engine", "duckdb:///shop.duckdb", "-o", "shop.duckdb"),
        ("visits", "--engine", "spark:local", "-o", "visits/part-0.parquet"),
        ("visits/*", "--engine", "spark:local", "-o", "visits/part-0.parquet"),
    ):
        assert discreet("init", *words, "--force") == 2
        assert "is one of the data files" in capsys.readouterr().err
        assert (here / words[-1]).read_text() == "kept"
    (here / "a.csv").write_text("age\n1\n")
    (here / "draft.txt").write_text("old")
    assert discreet("init", "a.csv", "-o", "draft.txt", "--force") == 0


def test_sources_are_told_from_where_the_policy_is(here: Path) -> None:
    for folder in ("data", "policies"):
        (here / folder).mkdir()
    names = [
        "a b.csv",
        "it's.csv",
        "x #1.csv",
        "- y.csv",
        "~z.csv",
        "no.csv",
        "🙂: 1.csv",
        "2024.csv",
        "a-b.csv",
    ]
    for name in names:
        (here / "data" / name).write_text("age\n1\n")
    assert discreet("init", *(f"data/{name}" for name in names), "-o", "policies/p.yaml") == 0
    path = here / "policies" / "p.yaml"
    path.write_text(filled(path.read_text()))
    tables = load_policy(path).tables
    assert [Path(table.source) for table in tables.values()] == [here / "data" / name for name in names]
    assert list(tables) == ["a_b", "it_s", "x_1", "y", "z", "no", "t_1", "t_2024", "a_b_2"]


def test_files_that_fit_a_pattern_are_one_table(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("visits", "stays"):
        (here / folder).mkdir()
    pq.write_table(pa.table({"age": [41], "town": ["Rome"]}), here / "visits" / "part-0.parquet")
    pq.write_table(pa.table({"age": [17], "told": ["a@b.example"]}), here / "visits" / "part-1.parquet")
    for year in (2023, 2024):
        (here / "stays" / f"stays_{year}.csv").write_text("who;age\nAda;41\nBo;17\n")
    assert discreet("init", "visits/*.parquet", "stays/stays_*.csv", "-o", "stays/p.yaml") == 0
    path = here / "stays" / "p.yaml"
    path.write_text(filled(path.read_text()))
    found = load_policy(path)
    assert {name: (table.source, list(table.columns)) for name, table in found.tables.items()} == {
        "visits": (str(here / "visits" / "*.parquet"), ["age", "town", "told"]),
        "stays": (str(here / "stays" / "stays_*.csv"), ["who", "age"]),
    }
    assert found.tables["visits"].columns["told"].role is Role.IDENTIFIER
    words = ("SELECT COUNT(*) AS n FROM {}", "--share", "5%", "--policy", str(path))
    assert [discreet("plan", words[0].format(name), *words[1:]) for name in found.tables] == [0, 0]
    capsys.readouterr()
    assert discreet("init", "*/*", "-o", "q.yaml") == 2
    assert "The files that match */* are not all CSV or all Parquet." in capsys.readouterr().err


def test_columns_get_names_that_a_policy_can_declare_and_keep_their_own(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "x\n    evil: {role: other}"
    odd = {
        **{"ok": [1], evil: [1], "größe": [1], "_discreet_person": [1], "many": [[1]], "no": [1]},
        **{"Gewicht/kg": [1], "Time spent (minutes)": [1], "1st": [1], "***": [1], "q" * 2000: [1]},
    }
    pq.write_table(pa.table(odd), here / "t.parquet")
    assert discreet("init", "t.parquet") == 0
    assert "Left out of t.parquet, as a policy has no word for their types: many." in capsys.readouterr().err
    path = here / "privacy.yaml"
    path.write_text(filled(path.read_text()))
    columns = load_policy(path).tables["t"].source_names
    assert columns == {
        **{"ok": "ok", "x_evil_role_other": evil, "größe": "größe", "discreet_person": "_discreet_person"},
        **{"no": "no", "Gewicht_kg": "Gewicht/kg", "Time_spent_minutes": "Time spent (minutes)"},
        **{"c_1st": "1st", "column": "***", "q" * 60: "q" * 2000},
    }


def test_what_is_guessed_of_a_csv_file_is_said(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "bare.csv").write_text("Ada;30\nBo;40\n")
    (here / "texts.csv").write_text("Ada;Rome\nBo;Oslo\n")
    assert discreet("init", "bare.csv", "texts.csv") == 0
    told = capsys.readouterr().err
    assert "The types of bare.csv are guesses from its text: check them." in told
    assert (
        "bare.csv has no header: put the names of its columns (column0, column1 …) under csv, names." in told
    )
    assert "All of texts.csv is text, so its first line was taken for the header" in told
    assert "is its first line a header?" in (here / "privacy.yaml").read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["none.csv"], "none.csv does not exist"),
        (
            ["book.csv"],
            "book.csv is not text: it is an Excel workbook or another archive. Rename it to end in",
        ),
        (["zipped.csv"], "zipped.csv is not text: it is compressed. Rename it to end in .csv.gz"),
        (["noise.csv"], "noise.csv is not text"),
        (["a.pdf"], "not a CSV, Excel, Parquet, Arrow or DuckDB file"),
        (["empty.csv"], "empty.csv is empty"),
        (["a.csv", "-o", "no/such/folder.yaml"], "cannot be written"),
        (["a.csv", "-o", ".", "--force"], "is a folder"),
        (["lists.parquet"], "has no column that a policy can declare"),
        (["bare.duckdb"], "hold no tables"),
        ([], "no table was named"),
    ],
)
def test_bad_input_gets_one_sentence_and_writes_nothing(
    here: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "a.csv").write_text("age\n1\n")
    (here / "empty.csv").write_text("")
    (here / "book.csv").write_bytes(b"PK\x03\x04" + bytes(100))
    (here / "zipped.csv").write_bytes(gzip.compress(b"age\n1\n"))
    (here / "noise.csv").write_bytes(Random(1).randbytes(4000))
    pq.write_table(pa.table({"many": [[1]]}), here / "lists.parquet")
    duckdb.connect(here / "bare.duckdb").close()
    before = sorted(here.iterdir())
    assert discreet("init", *words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
    assert len(err.splitlines()) == 1
    assert discreet("init", *words, "--json") == 2
    answer = json.loads(capsys.readouterr().out)
    assert told in f"{answer['error']} {answer['hint']}"
    assert sorted(here.iterdir()) == before


@pytest.mark.skipif(not REAL, reason=f"no microdata under {DATA}")
def test_real_files_are_drafted_and_load_once_filled_in(here: Path) -> None:
    files = [path for path in REAL if path.suffix != ".test"]
    assert discreet("init", *map(str, files)) == 0
    path = here / "privacy.yaml"
    with pytest.raises(RequestError, match="not filled in"):
        load_policy(path)
    path.write_text(filled(path.read_text()))
    tables = load_policy(path).tables
    assert len(tables) == len(files)
    adult = next(table for table in tables.values() if table.source.endswith("adult_arx/adult.csv"))
    assert {name: (column.type, column.role) for name, column in adult.columns.items()} == {
        "sex": (ColumnType.CATEGORY, Role.QUASI),
        "age": (ColumnType.INTEGER, Role.QUASI),
        "race": (ColumnType.CATEGORY, Role.QUASI),
        "marital-status": (ColumnType.CATEGORY, Role.QUASI),
        "education": (ColumnType.CATEGORY, Role.QUASI),
        "native-country": (ColumnType.CATEGORY, Role.QUASI),
        "workclass": (ColumnType.CATEGORY, Role.QUASI),
        "occupation": (ColumnType.CATEGORY, Role.SENSITIVE),
        "salary-class": (ColumnType.CATEGORY, Role.SENSITIVE),
    }
