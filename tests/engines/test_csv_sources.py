"""CSV files as custodians have them: encodings, marks, date formats, names, comments, blanks."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest
from pydantic import ValidationError

from discreet.core.csv_options import CsvOptions, find_ambiguous_text
from discreet.core.errors import RequestError
from discreet.core.table_entry import Table
from discreet.engines import csv_quotes, sources
from discreet.engines.csv_sources import UNREAD, write_csv_relation
from discreet.engines.sources import (
    Source,
    UnreadRows,
    inspect_texts,
    locate_source,
    make_texts,
)
from discreet.engines.text_files import make_text_file

DAY = {"type": "date"}
TIME = {"type": "timestamp"}
NUMBER = {"type": "decimal"}
TEXT = {"type": "text"}


def read(
    path: Path, text: str | bytes, columns: dict[str, dict[str, Any]], **options: Any
) -> list[tuple[Any, ...]]:
    """Write a file, and read its declared columns."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    table = Table.model_validate({"source": str(path), "columns": columns, "csv": options or None})
    made = make_text_file(path, table.csv or CsvOptions(), path.parent)
    relation = write_csv_relation("t", table, [made]).relation
    with duckdb.connect() as connection:
        return connection.execute(f"SELECT * FROM {relation}").fetchall()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.csv"


def test_values_lose_the_blanks_around_them_and_empty_ones_are_missing(path: Path) -> None:
    text = "name ,size\n Ada\t,  1\n  ,2\n"
    assert read(path, text, {"name": TEXT, "size": NUMBER}) == [("Ada", "1"), (None, "2")]


def test_blanks_can_be_kept(path: Path) -> None:
    assert read(path, "name,size\n Ada ,1\n", {"name": TEXT}, trim=False) == [(" Ada ",)]


def test_a_quoted_value_may_hold_the_delimiter_after_a_blank(path: Path) -> None:
    text = 'name, size\n"Lovelace, Ada", 1\nBob, "2, or 3"\n'
    assert read(path, text, {"name": TEXT, "size": TEXT}) == [("Lovelace, Ada", "1"), ("Bob", "2, or 3")]


@pytest.mark.parametrize(
    "encoding", ["cp1252", "latin-1", "utf-16", "utf-16-le", "cp437", "shift_jis", "mac_roman"]
)
def test_a_file_in_another_encoding_is_read_by_its_declared_one(path: Path, encoding: str) -> None:
    name = "東京" if encoding == "shift_jis" else "Müller"
    text = f"name;größe\n{name};1\n".encode(encoding, errors="replace")
    column = "größe".encode(encoding, errors="replace").decode(encoding)
    columns = {"name": TEXT, "size": {"type": "decimal", "from": column}}
    assert read(path, text, columns, encoding=encoding) == [(name, "1")]


def test_a_long_file_is_transcoded_whole(path: Path) -> None:
    text = "name,size\n" + "Zoë,1\n" * 400_000
    assert len(set(read(path, text.encode("cp1252"), {"name": TEXT}, encoding="cp1252"))) == 1


@pytest.mark.parametrize(
    ("written", "options", "number"),
    [
        ("3,5", {"decimal": ","}, "3.5"),
        ("1.234,5", {"decimal": ",", "thousands": "."}, "1234.5"),
        ("1.234.567", {"decimal": ",", "thousands": "."}, "1234567"),
        ("-1 234,5", {"decimal": ",", "thousands": " "}, "-1234.5"),
        ("1'234.5", {"thousands": "'"}, "1234.5"),
        ("1,234.5", {"thousands": ","}, "1234.5"),
        ("1234", {"thousands": ","}, "1234"),
        ("12,34.5", {"thousands": ","}, None),
        ("3.5", {"decimal": ","}, None),
        ("1.234", {"decimal": ","}, None),
    ],
)
def test_numbers_are_read_by_their_declared_marks(
    path: Path, written: str, options: dict[str, str], number: str | None
) -> None:
    assert read(path, f"a;n\nx;{written}\n", {"a": TEXT, "n": NUMBER}, **options) == [("x", number)]


@pytest.mark.parametrize(
    ("written", "formats", "day"),
    [
        ("31.12.2024", ["%d.%m.%Y"], date(2024, 12, 31)),
        ("1.2.2024", ["%d.%m.%Y"], date(2024, 2, 1)),
        ("01.02.24", ["%d.%m.%Y"], None),
        ("30.02.2024", ["%d.%m.%Y"], None),
        ("2024-02-01", ["%d.%m.%Y"], None),
        ("2024-02-01", ["%d.%m.%Y", "%Y-%m-%d"], date(2024, 2, 1)),
        ("05/06/25", ["%d/%m/%y"], date(2025, 6, 5)),
        ("05/06/30", ["%d/%m/%y"], date(1930, 6, 5)),
        ("05/06/29", ["%d/%m/%y"], date(2029, 6, 5)),
        ("29/02/00", ["%d/%m/%y"], date(2000, 2, 29)),
        ("20240201", ["%Y%m%d"], date(2024, 2, 1)),
        ("1 Feb 2024", ["%d %b %Y"], date(2024, 2, 1)),
        ("February 1, 2024", ["%B %d, %Y"], date(2024, 2, 1)),
        ("05.06.2025 13:14", ["%d.%m.%Y"], None),
    ],
)
def test_dates_are_read_by_their_declared_formats_and_by_no_other(
    path: Path, written: str, formats: list[str], day: date | None
) -> None:
    options: dict[str, Any] = {"two_digit_years": 1930} if "%y" in formats[0] else {}
    assert read(path, f'a;d\nx;"{written}"\n', {"d": DAY}, dates=formats, **options) == [(day,)]


def test_a_leap_day_of_a_century_that_has_none_is_no_day(path: Path) -> None:
    found = read(path, "d;a\n29/02/00;x\n", {"d": DAY}, dates="%d/%m/%y", two_digit_years=1850)
    assert found == [(None,)]


@pytest.mark.parametrize("written", ["05/06/25", "5.6.2025", "05-06-2025", "25-06-05", "June 5"])
def test_without_a_format_only_iso_dates_are_read(path: Path, written: str) -> None:
    assert read(path, f"d;a\n{written};x\n2025-06-05;y\n", {"d": DAY}) == [(None,), ("2025-06-05",)]


def test_times_are_read_by_their_formats_and_offsets_become_utc(path: Path) -> None:
    formats = ["%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M %z", "%d.%m.%Y %I:%M %p"]
    text = "t;a\n5.6.2025 13:14;x\n5.6.2025 13:14 +0200;x\n5.6.2025 01:14 PM;x\n5.6.2025;x\n"
    found = read(path, text, {"t": TIME}, timestamps=formats, dates="%d.%m.%Y")
    assert found == [
        (datetime(2025, 6, 5, hour, minute),) for hour, minute in ((13, 14), (11, 14), (13, 14), (0, 0))
    ]


def test_declared_null_texts_are_missing_in_every_type(path: Path) -> None:
    text = "a,n,d\n?,?,?\nNA,NA,NA\n,,\nx,1,2024-01-01\n"
    columns = {"a": TEXT, "n": NUMBER, "d": DAY}
    assert read(path, text, columns, nulls=["", "?", "NA"]) == [(None,) * 3] * 3 + [("x", "1", "2024-01-01")]


def test_a_file_without_a_header_has_declared_names(path: Path) -> None:
    text = "39, State-gov, 77516\n50, Self-emp, 83311\n"
    columns = {"age": NUMBER, "work": {"type": "text"}}
    assert read(path, text, columns, header=False, names=["age", "work", "weight"]) == [
        ("39", "State-gov"),
        ("50", "Self-emp"),
    ]


def test_names_must_be_as_many_as_the_header_has(path: Path) -> None:
    assert read(path, "a,b\n1,2\n", {"y": TEXT}, names=["x", "y"]) == [("2",)]
    with pytest.raises(RequestError, match=r"names 3 columns, and the header of file.csv has 2"):
        read(path, "a,b\n1,2\n", {"x": TEXT}, names=["x", "y", "z"])


def test_lines_before_the_header_and_comments_are_left_out(path: Path) -> None:
    text = "Export of 5 June\n\n# by ward\na;n\n# a remark\nx;1\n"
    assert read(path, text, {"a": TEXT, "n": NUMBER}, skip=2, comment="#") == [("x", "1")]


def test_any_header_can_be_a_column(path: Path) -> None:
    text = '"Gewicht/kg";"Time spent (minutes)";"a ""b"" c";"1st"\n80;5;x;y\n'
    columns = {
        "weight": {"from": "Gewicht/kg", "type": "decimal"},
        "time": {"from": "Time spent (minutes)", "type": "integer"},
        "quoted": {"from": 'a "b" c', "type": "text"},
        "first": {"from": "1st", "type": "text"},
    }
    assert read(path, text, columns) == [("80", "5", "x", "y")]


def test_a_file_without_quotes_keeps_stray_ones(path: Path) -> None:
    text = 'a,n\n5" pipe,1\n"x,2\n'
    assert read(path, text, {"a": TEXT, "n": NUMBER}, quote="") == [('5" pipe', "1"), ('"x', "2")]


def test_a_column_that_the_file_does_not_have_is_refused_by_both_names(path: Path) -> None:
    with pytest.raises(
        RequestError, match=r"declares the column weight from Gewicht; file.csv does not have it"
    ):
        read(path, "a,b\n1,2\n", {"weight": {"from": "Gewicht", "type": "decimal"}})


def test_a_column_that_the_names_of_a_file_do_not_have_is_refused_with_where_these_are(path: Path) -> None:
    with pytest.raises(RequestError, match=r"Its names are those under csv, names"):
        read(path, "1,2\n", {"age": NUMBER}, header=False, names=["column0", "column1"])


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"dates": ["%d/%m/%Y", "%m/%d/%Y"]}, "is another day by %d/%m/%Y than by %m/%d/%Y"),
        ({"dates": "%d/%m/%y"}, "declare two_digit_years"),
        ({"dates": "%d/%m"}, "one year"),
        ({"dates": "%d/%m/%Y %H:%M"}, "belongs under timestamps"),
        ({"dates": "%x"}, "has %x"),
        ({"dates": "%d/%m/%Y%"}, "has %"),
        ({"encoding": "klingon"}, "there is no encoding 'klingon'"),
        ({"encoding": "base64"}, "not an encoding in which each character stands for itself"),
        ({"encoding": "iso2022_jp"}, "not an encoding in which each character stands for itself"),
        ({"encoding": "utf-7"}, "not an encoding in which each character stands for itself"),
        ({"encoding": "unicode_escape"}, "not an encoding in which each character stands for itself"),
        ({"encoding": "raw_unicode_escape"}, "not an encoding in which each character stands for itself"),
        ({"encoding": "hz"}, "not an encoding in which each character stands for itself"),
        ({"decimal": ",", "thousands": ","}, "different marks"),
        ({"header": False}, "needs names"),
        ({"names": ["a", "A"]}, "must be different"),
        ({"delimeter": ";"}, "Extra inputs"),
        ({"delimiter": "\n"}, "no end of a line"),
        ({"delimiter": "12345"}, "at most four bytes"),
        ({"quote": "«"}, "marks of ASCII"),
        ({"quote": ";", "delimiter": ";"}, "that the delimiter does not have"),
        ({"quote": "#", "comment": "#"}, "different marks"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(options: dict[str, Any], refusal: str) -> None:
    with pytest.raises(ValidationError, match=refusal):
        CsvOptions.model_validate(options)


@pytest.mark.parametrize(
    ("one", "other", "is_ambiguous"),
    [
        ("%d/%m/%Y", "%m/%d/%Y", True),
        ("%d.%m.%Y", "%d/%m/%Y", False),
        ("%d/%m/%Y", "%d/%m/%y", False),
        ("%y-%m-%d", "%d-%m-%y", True),
        ("%Y%m%d", "%d%m%Y", True),
        ("%d %b %Y", "%d %B %Y", False),
    ],
)
def test_formats_are_ambiguous_where_a_text_has_two_days(one: str, other: str, is_ambiguous: bool) -> None:
    assert (find_ambiguous_text(one, other) is not None) is is_ambiguous


@pytest.mark.parametrize(
    "options",
    [
        {"quote": "'"},
        {"quote": ""},
        {"comment": "#"},
        {"comment": "#", "quote": ""},
        {"delimiter": "||"},
        {"skip": 2},
        {"header": False, "names": ["who", "note"], "delimiter": "|"},
    ],
)
def test_no_line_takes_a_row_from_another(
    path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a line holds, the rows after it are read, or the file is refused."""
    monkeypatch.setattr(csv_quotes, "MAX_QUOTED_LINES", 0)
    mark, quote = options.get("delimiter", ","), options.get("quote", '"')
    random, read_files = Random(str(options)), 0
    columns = {"who": TEXT, "note": TEXT}
    for _ in range(150):
        pieces = ["a", '"', "'", "#", mark, mark[0], " ", quote * 2, "\t"]
        noise = ["".join(random.choices(pieces, k=random.randint(0, 8))) for _ in "abc"]
        rows = [f"row{place}{mark}ok" for place in range(3)]
        head = [] if options.get("header") is False else [f"who{mark}note"]
        before = noise[: options.get("skip", 0)]
        lines = [*before, *head, *(line for pair in zip(noise, rows, strict=True) for line in pair), ""]
        path.write_text("\n".join(lines))
        table = Table.model_validate({"source": str(path), "columns": columns, "csv": options})
        source = make_texts(locate_source("t", table), path.parent)
        with duckdb.connect() as connection:
            try:
                unread = inspect_texts(source, connection)
            except RequestError:
                continue
            read_files += 1
            csv = write_csv_relation("t", table, source.texts)
            found = connection.execute(f"SELECT who, note FROM {csv.relation}").fetchall()
            ((left_out,),) = connection.execute(
                f"SELECT count(*) FILTER (WHERE {UNREAD}) FROM {csv.texts}"
            ).fetchall()
        assert [who for who, note in found if note == "ok" and (who or "").startswith("row")] == [
            *("row0", "row1", "row2"),
        ], lines
        # beyond comments and text after a closing quote, lines and rows are judged alike
        if "comment" not in options and (not quote or quote not in "".join(noise)):
            assert len(unread.lines) == left_out, lines
    assert read_files >= 20


def test_passing_over_lines_without_quotes_finds_the_same_open_quotes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_quotes, "MAX_QUOTED_LINES", 2)
    monkeypatch.setattr(csv_quotes, "WINDOW", 20)
    random, refused = Random("quotes"), 0
    for _ in range(2000):
        pieces = ["a", '"', ",", " ", '""', "\n", "\r\n", "a,b\n", '"x\ny",c\n', "long text,b\n"]
        text = "who,note\n" + "".join(random.choices(pieces, k=random.randint(0, 25)))
        path.write_bytes(text.encode())
        found = []
        for only_quoted in (False, True):
            try:
                csv_quotes.inspect_rows("t", path, "x", ",", '"', 2, only_quoted=only_quoted)
                found.append("")
            except RequestError as error:
                found.append(error.message)
        assert found[0] == found[1], text
        refused += found[0] != ""
    assert 200 < refused < 1800


def test_a_comment_is_a_whole_line_and_no_other_line_is_lost(path: Path) -> None:
    path.write_text("# made by hand\na,n\n# one\nx,1\ny,#2\nz, # nothing\n#two\nw\n")
    table = Table.model_validate(
        {"source": str(path), "columns": {"a": TEXT, "n": TEXT}, "csv": {"comment": "#"}}
    )
    source = make_texts(locate_source("t", table), path.parent)
    with duckdb.connect() as connection:
        unread = inspect_texts(source, connection)
        csv = write_csv_relation("t", table, source.texts)
        found = connection.execute(f"SELECT a, n FROM {csv.relation}").fetchall()
    assert found == [("x", "1"), ("y", "#2"), ("z", "# nothing")]
    assert (unread.count, [line for _, line in unread.lines]) == (1, [8])


def test_a_comment_mark_within_a_quoted_text_is_text(path: Path) -> None:
    text = 'a,n\n"first\n# second",1\n# a comment\ny,2\n'
    assert read(path, text, {"a": TEXT, "n": NUMBER}, comment="#") == [("first\n# second", "1"), ("y", "2")]


@pytest.mark.parametrize("first", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("quote", ['"', ""])
def test_lines_may_end_in_different_ways(path: Path, first: str, quote: str) -> None:
    """After a header that ends with \\r\\n, a row after a lone \\r lost its first character."""
    ends = ["\n", "\r\n", "\r", "\r", "\n", "\r\n"] * 3
    text = "n,b" + first + "".join(f"{place},{quote}b{quote}{end}" for place, end in enumerate(ends, 10))
    expected = [(str(place), "b") for place in range(10, 10 + len(ends))]
    assert read(path, text, {"n": NUMBER, "b": TEXT}) == expected


@pytest.mark.parametrize("size", [2_100_000, 33_000_000])
@pytest.mark.parametrize("quote", ['"', ""])
def test_rows_that_are_too_long_to_be_read_are_counted(path: Path, size: int, quote: str) -> None:
    path.write_text(f"a,b\n1,x\n2,{quote}{'y' * size}{quote}\n3,{quote}z{quote}\n4\n")
    _, found, unread = read_source(path)
    assert found == [("1", "x"), ("3", "z")]
    assert (unread.count, unread.overlong_count, [line for _, line in unread.lines]) == (2, 1, [3, 5])
    assert "more than 2 MB" in str(unread)


def read_source(path: Path, **options: Any) -> tuple[Source, list[tuple[Any, ...]], UnreadRows]:
    """Read the columns a and b of a file as a check does: its rows, and then those that are not read."""
    columns = {"a": TEXT, "b": TEXT}
    table = Table.model_validate({"source": str(path), "columns": columns, "csv": options or None})
    source = make_texts(locate_source("t", table), path.parent)
    with duckdb.connect() as connection:
        relation = write_csv_relation("t", table, source.texts).relation
        found = connection.execute(f"SELECT a, b FROM {relation}").fetchall()
        unread = inspect_texts(source, connection, read=len(found))
        assert unread == inspect_texts(source, connection)
    return source, found, unread


def test_values_are_trimmed_whatever_is_found_of_the_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files without blanks around values are read without trimming: the values are the same."""
    random, idle = Random("blanks"), 0
    for _ in range(150):
        delimiter, quote = random.choice([",", ";", "\t", ", ", " ", "||"]), random.choice(['"', ""])
        pieces = ["a", "bc", "a b", " ", "", "\t", "\u00a0", "\ufeff", "é\u00a0é", f"{quote}x{quote}", "x"]
        pieces += [f"{quote}q\n{quote}", f"{quote} q{quote}"] if quote else []
        kept = random.sample(pieces, k=random.randint(1, 4))
        rows = [delimiter.join(random.choices(kept, k=2)) for _ in range(3)]
        bom = random.choice(["", "\ufeff"])
        path.write_bytes((bom + "\n".join([f"a{delimiter}b", *rows, ""])).encode())
        options = {"delimiter": delimiter, "quote": quote}
        try:
            source, found, _ = read_source(path, **options)
        except RequestError:  # quotes that may hold rows of others
            continue
        idle += not source.texts[0].options.trim
        with monkeypatch.context() as always:
            always.setattr(sources, "may_need_trimming", lambda *_: True)
            assert read_source(path, **options)[1] == found, path.read_bytes()
    assert 10 < idle < 140


def test_lines_are_counted_and_long_ones_found_across_windows(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_quotes, "WINDOW", 3)
    monkeypatch.setattr(csv_quotes, "MAX_ROW_BYTES", 5)
    random = Random("lines")
    for _ in range(500):
        text = "".join(random.choices(["\n", "\r", "\r\n", "abc", "abcdefg", ""], k=random.randint(0, 9)))
        path.write_bytes(text.encode())
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        lines = lines[:-1] if not lines[-1] else lines
        assert csv_quotes.count_lines(path) == len(lines), text
        found = csv_quotes.find_overlong_lines(path)
        assert found == [place for place, line in enumerate(lines, 1) if len(line) > 5], text


def test_a_quoted_value_that_the_last_line_opens_is_refused_by_a_check_too(path: Path) -> None:
    path.write_text('a,b\n1,x\n2,"y')
    with pytest.raises(RequestError, match="in line 3 is never closed"):
        read_source(path)
