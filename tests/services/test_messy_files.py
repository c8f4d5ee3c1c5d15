"""Files as custodians have them, from the file through `init` to the rows that questions count."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import feather

from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.engines.prepared_store import prepare_store
from discreet.services.check.check_report import ColumnCheck
from discreet.services.check.data_check import check_data
from discreet.services.check.verdicts import Verdict
from discreet.services.policies import load_policy
from discreet.services.policy_draft.policy_draft import InitRequest, draft_policy
from tests.engines.stores import rows_of

ROWS = 600
BOUNDS = {
    "integer": "low: -1000000, high: 1000000",
    "decimal": "low: -1000000, high: 1000000, resolution: 0.01",
    "date": "low: 1900-01-01, high: 2099-12-31",
    "timestamp": "low: 1900-01-01, high: 2099-12-31",
}


def draft(path: Path, values: Mapping[str, list[str]] | None = None, **decided: str) -> Policy:
    """Return the policy of a file's draft, filled in: `values` of categories, and what else was left open."""
    policy = path.parent / "privacy.yaml"
    draft_policy(InitRequest(tables=(str(path),), output=policy, force=True))
    lines = [
        _fill_in(line, values or {}, decided) for line in policy.read_text(encoding="utf-8").splitlines()
    ]
    policy.write_text("\n".join(lines), encoding="utf-8")
    return load_policy(policy)


def _fill_in(line: str, values: Mapping[str, list[str]], decided: Mapping[str, str]) -> str:
    text = line.replace("rows_per_person: ?", "rows_per_person: 1").replace("person: ?", "person: row")
    for name, decision in decided.items():
        text = re.sub(rf"(\b{name}: .*?)\?", rf"\g<1>{decision}", text, count=1)
    if kind := re.search(r"type: (\w+)", text):
        text = re.sub(r"low: \?, high: \?(, resolution: \?)?", BOUNDS.get(kind[1], ""), text)
    column = re.match(r'      "?([^:"]+)"?:', text)
    if column is None or column[1] not in values:
        return text.replace("type: category, values: [?]", "type: text")
    return text.replace("[?]", json.dumps(values[column[1]]))


def count(policy: Policy, sql: str, folder: Path | None = None) -> list[tuple[Any, ...]]:
    return rows_of(prepare_store(policy, folder), sql)


def days() -> list[date]:
    return [date(2023, 6, 1) + timedelta(days=place % 700) for place in range(ROWS)]


@pytest.mark.parametrize(
    ("written", "formats"),
    [
        (["%d.%m.%Y", "%Y-%m-%d", "%d/%m/%y"], {"%d.%m.%Y", "%Y-%m-%d", "%d/%m/%y"}),
        (["%d.%m.%Y"], {"%d.%m.%Y"}),
        (["%m/%d/%Y"], {"%m/%d/%Y"}),
        (["%d %b %Y"], {"%d %b %Y"}),
        (["%Y-%m-%d"], set()),
    ],
)
def test_mixed_dates_are_all_read(tmp_path: Path, written: list[str], formats: set[str]) -> None:
    path = tmp_path / "visits.csv"
    texts = [day.strftime(written[place % len(written)]) for place, day in enumerate(days())]
    path.write_text("id;visit\n" + "".join(f"{place};{text}\n" for place, text in enumerate(texts)))
    policy = draft(path, two_digit_years="1930")
    options = policy.tables["visits"].csv
    assert set(options.dates if options else ()) == formats
    years = "SELECT year(visit), count(*) FROM visits GROUP BY 1 ORDER BY 1"
    truth = [day.year for day in days()]
    assert count(policy, years) == [(year, truth.count(year)) for year in (2023, 2024, 2025)]


def test_days_that_may_be_months_are_left_to_the_custodian(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text(
        "id,visit\n" + "".join(f"{day},0{day % 9 + 1}/0{day % 7 + 1}/2024\n" for day in range(50))
    )
    with pytest.raises(RequestError, match=r"tables.visits.csv.dates: the format that is meant"):
        draft(path)
    for form, month in (("%d/%m/%Y", 7), ("%m/%d/%Y", 9)):
        policy = draft(path, dates=f'"{form}"')
        assert count(policy, "SELECT max(month(visit)) FROM visits") == [(month,)]


def test_decimal_commas_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "weights.csv"
    path.write_text("who;kg;paid\n" + "".join(f"{n};{60 + n % 30},5;1.{n:03},25\n" for n in range(ROWS)))
    policy = draft(path)
    mean = sum(60.5 + n % 30 for n in range(ROWS)) / ROWS
    assert count(policy, "SELECT count(kg), avg(kg) / 100, count(paid), min(paid) FROM weights") == [
        (ROWS, pytest.approx(mean), ROWS, 100025)
    ]


def test_blanks_after_separators_are_no_part_of_a_value(tmp_path: Path) -> None:
    path = tmp_path / "adult.data"
    classes = ["<=50K", ">50K"]
    path.write_text("".join(f"{17 + n % 70}, State-gov, ?, {classes[n % 3 == 0]}\n" for n in range(ROWS)))
    policy = draft(path, {"column3": classes})
    options = policy.tables["adult"].csv
    assert options is not None
    assert not options.header
    assert "?" in options.nulls
    sql = "SELECT column3, count(*), count(column2) FROM adult GROUP BY 1 ORDER BY 2"
    assert count(policy, sql) == [(">50K", ROWS // 3, 0), ("<=50K", 2 * ROWS // 3, 0)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "latin-1", "utf-16", "utf-16-le"])
def test_a_file_in_any_encoding_loses_no_row(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "towns.csv"
    text = "who;größe;ort\n" + "".join(f"{n};{n};{'Köln' if n % 2 else 'Bonn'}\n" for n in range(ROWS))
    path.write_bytes(text.encode(encoding))
    folder = tmp_path / "store"
    policy = draft(path, {"ort": ["Köln", "Bonn"]})
    sql = "SELECT ort, count(*) FROM towns GROUP BY 1 ORDER BY 1"
    assert count(policy, sql, folder) == [("Köln", ROWS // 2), ("Bonn", ROWS // 2)]
    assert not list(folder.glob("building-*")), "the copy of the text is removed"


def test_a_wrong_encoding_loses_no_row_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "towns.csv"
    path.write_bytes("ort,n\nKöln,1\nBonn,2\n".encode("cp1252"))
    columns = {"ort": {"type": "text"}, "n": {"type": "integer"}}
    table = {"source": str(path), "columns": columns}
    policy = Policy.model_validate({"tables": {"t": table}})
    assert count(policy, "SELECT n FROM t ORDER BY n") == [(1,), (2,)]
    assert "1 rows are in another encoding than declared (lines 2)" in caplog.text


def test_a_stray_quote_loses_no_row(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_text('who,note,n\n1,"5 inch,1\n' + "".join(f"{n},fine,{n}\n" for n in range(2, ROWS)))
    columns = {"who": {"type": "integer"}, "n": {"type": "integer"}}
    table = {"source": str(path), "columns": columns}
    with pytest.raises(RequestError, match=r'line 2 is never closed.*csv: \{quote: ""\}'):
        count(Policy.model_validate({"tables": {"notes": table}}), "SELECT 1")
    policy = draft(path)
    options = policy.tables["notes"].csv
    assert options is not None
    assert options.quote == ""
    assert count(policy, "SELECT count(*), sum(n) FROM notes") == [(ROWS - 1, sum(range(ROWS)))]


@pytest.mark.parametrize("row", ["7;8;9;10", "7", "7;8"])
def test_a_row_that_cannot_be_read_is_counted_with_its_line(
    tmp_path: Path, row: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"a;b;c\n1;2;3\n{row}\n4;5;6\n")
    assert count(draft(path), "SELECT a FROM t ORDER BY a") == [(1,), (4,)]
    assert "1 rows are not read: they have too few or too many fields (lines 3)" in caplog.text


def test_any_header_can_be_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    names = ["Gewicht/kg", "Time spent (minutes)", "", "a", "A", "a", "1st", "größe", "SELECT", "x;y"]
    path.write_text(",".join(f'"{name}"' for name in names) + "\n" + ",".join("0123456789") + "\n")
    policy = draft(path)
    assert list(policy.tables["t"].columns) == [
        *(
            "Gewicht_kg",
            "Time_spent_minutes",
            "column2",
            "a",
            "A_2",
            "a_3",
            "c_1st",
            "größe",
            "SELECT",
            "x_y",
        ),
    ]
    assert count(policy, "SELECT Gewicht_kg / 1, Time_spent_minutes, column2, a_3, x_y FROM t") == [
        (0, 1, 2, 5, 9)
    ]


def test_a_table_may_have_five_thousand_columns(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    header = ",".join(f"gene {place}/x" for place in range(5000))
    path.write_text(f"{header}\n" + "".join(",".join(["1"] * 5000) + "\n" for _ in range(3)))
    policy = draft(path)
    table = policy.tables["wide"]
    assert len(table.columns) == 5000
    last = table.model_copy(update={"columns": {"gene_4999_x": table.columns["gene_4999_x"]}})
    few = policy.model_copy(update={"tables": {"wide": last}})
    assert count(few, "SELECT count(*), sum(gene_4999_x) FROM wide") == [(3, 3)]


@pytest.mark.parametrize("text", ["a,b/c\n", "a,b/c"])
def test_a_table_may_have_no_rows(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert count(draft(path), "SELECT count(*) FROM t") == [(0,)]


def write_xlsx(path: Path, text: str) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for place, line in enumerate(text.splitlines()):
        who, kg, day = line.split(",")
        cells = [int(who), float(kg), datetime.fromisoformat(day)] if place else [who, kg, day]
        book.active.append(cells)
    book.save(path)


def test_the_fullest_sheet_is_drafted_and_named(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Notes"
    book.active.append(["as of 2024"])
    for row in (["Visits"], ["who", "kg"], *([n, n + 0.5] for n in range(ROWS))):
        book["Visits 2024" if "Visits 2024" in book else book.create_sheet("Visits 2024").title].append(row)
    path = tmp_path / "t.xlsx"
    book.save(path)
    policy = draft(path)
    options = policy.tables["t"].csv
    assert options is not None
    assert (options.sheet, options.skip) == ("Visits 2024", 1)
    total = sum(n + 0.5 for n in range(ROWS))
    assert count(policy, "SELECT count(*), sum(kg) / 100 FROM t") == [(ROWS, total)]
    other = policy.tables["t"].model_copy(update={"csv": options.model_copy(update={"sheet": "Visits 2023"})})
    with pytest.raises(RequestError, match=r"no sheet Visits 2023\. It has Notes, Visits 2024"):
        count(policy.model_copy(update={"tables": {"t": other}}), "SELECT 1")


def test_a_sheet_is_for_excel_files_alone(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    draft(path)
    policy = tmp_path / "privacy.yaml"
    policy.write_text(policy.read_text().replace("    person:", '    csv: {sheet: "X"}\n    person:', 1))
    with pytest.raises(RequestError, match=r"t\.csv is not an Excel file, so it has no sheets"):
        load_policy(policy)


@pytest.mark.parametrize("text", ["\n\n\n", "\ufeff", " \n"])
def test_a_file_of_blanks_is_empty(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(RequestError, match=r"t\.csv is empty\. Name a file with columns"):
        draft(path)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("town,2019,2020\n" + "Bonn,1,2\nUlm,3,4\n" * 20, ["town", "c_2019", "c_2020"]),
        ("m,Bonn\nw,Bonn\n" * 20, ["column0", "column1"]),
        ("name\nMoe, Jane\nRoe, Jo\n", ["name"]),
        ("note\nfell, hurt, left\nwell\n", ["note"]),
    ],
)
def test_a_header_is_told_from_values(tmp_path: Path, text: str, names: list[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert list(draft(path).tables["t"].columns) == names


def write_arrow(path: Path, text: str) -> None:
    feather.write_feather(arrow_table(text), str(path))


def write_stream(path: Path, text: str) -> None:
    table = arrow_table(text)
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table)


def arrow_table(text: str) -> pa.Table:
    names, *rows = [line.split(",") for line in text.splitlines()]
    columns = [list(column) for column in zip(*rows, strict=True)]
    arrays = [
        [int(n) for n in columns[0]],
        [float(n) for n in columns[1]],
        [date.fromisoformat(d) for d in columns[2]],
    ]
    return pa.table(dict(zip(names, arrays, strict=True)))


WRITERS: dict[str, Callable[[Path, str], object]] = {
    "t.csv": lambda path, text: path.write_text(text),
    "t.tsv": lambda path, text: path.write_text(text.replace(",", "\t")),
    "t.csv.gz": lambda path, text: path.write_bytes(gzip.compress(text.encode())),
    "t.csv.zst": lambda path, text: path.write_bytes(pa.Codec("zstd").compress(text.encode(), asbytes=True)),
    "t.xlsx": write_xlsx,
    "t.feather": write_arrow,
    "t.arrow": write_stream,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_is_read_alike(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    lines = [f"{n},{60 + n % 30}.5,{day.isoformat()}" for n, day in enumerate(days())]
    WRITERS[name](path, "\n".join(["who,Gewicht/kg,visit", *lines, ""]))
    policy = draft(path)
    sql = "SELECT count(*), sum(Gewicht_kg) / 100, count(visit), min(year(visit)), max(year(visit)) FROM t"
    total = sum(60.5 + n % 30 for n in range(ROWS))
    assert count(policy, sql, tmp_path / "store") == [(ROWS, total, ROWS, 2023, 2025)]


def test_the_draft_says_how_text_is_read_and_the_editor_knows_its_entries(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a;n\nx;1,5\n")
    draft(path)
    text = (tmp_path / "privacy.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=.policy.schema.json\n")
    schema = json.loads((tmp_path / ".policy.schema.json").read_text())
    assert {"csv", "source", "columns"} <= set(schema["$defs"]["Table"]["properties"])
    assert '      delimiter: ";"\n      decimal: ","\n' in text
    assert load_policy(tmp_path / "privacy.yaml").epsilon == 0.1


def check_columns(source: Path, columns: Mapping[str, object], **options: object) -> list[ColumnCheck]:
    table = {"source": str(source), "columns": columns} | ({"csv": options} if options else {})
    (checked,) = check_data(Policy.model_validate({"tables": {"t": table}})).tables
    return list(checked.columns)


def test_a_formula_without_a_value_is_unreadable_and_not_missing(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["who", "kg", "sex"], *([n, f"={60 + n % 30}+0.5", "w"] for n in range(ROWS))):
        book.active.append(row)
    path = tmp_path / "t.xlsx"
    book.save(path)
    decimal = {"type": "decimal", "low": 0, "high": 200, "resolution": 0.5}
    kg, sex = check_columns(path, {"kg": decimal, "sex": {"type": "category", "values": ["w", "m"]}})
    assert (kg.verdict, kg.profile.unreadable, kg.profile.missing) == (Verdict.EXCEEDS, ROWS, 0)
    assert kg.fix == "Open the workbook in a program that computes its formulas, and save it."
    assert sex.verdict is Verdict.FITS


def test_a_column_without_any_value_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("kg,sex\n" + "k.A.,w\n" * ROWS)
    kg, sex = check_columns(path, {"kg": {"type": "integer"}, "sex": {"type": "text"}}, nulls=["", "k.A."])
    assert (kg.verdict, kg.text) == (Verdict.DIFFERS, "no row has a value")
    assert sex.verdict is Verdict.FITS
