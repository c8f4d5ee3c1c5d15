"""Policy files as a custodian meets them: read as meant, or refused with file, line and way out."""

from __future__ import annotations

import json
import os
import shutil
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.accounting.ledger_storage import find_sibling_file, strip_sibling_path
from discreet.core.column_entry import ColumnType, Role
from discreet.core.errors import RequestError
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from discreet.services.policies import get_promise, load_policy
from discreet.services.policy_blanks import list_blanks
from discreet.services.policy_version import compute_policy_version

GOOD = """\
# what the custodian declares
promise: {prior: 1%, posterior: 5%, secret: value, group: 1, tail: 0}
tables:
  adult:
    source: adult.parquet
    person: row
    rows_per_person: 1
    columns:
      age:        {type: integer, low: 17, high: 90, role: quasi, hierarchy: ages}
      workclass:  {type: category, values: [Private, State-gov, "?"], role: quasi}
      pay:        {type: decimal, low: -0.50, high: 1e3, resolution: 0.01}
      born:       {type: date, low: 1900-01-01, high: 2024-12-31}
      seen:       {type: timestamp, low: 2024-01-01, high: 2024-12-31 23:59:59}
      occupation: {type: category, role: sensitive, nulls: true}
      name:       {role: identifier}
  visits:
    source: shop.duckdb#visits
    person: patient
    rows_per_person: 20
    groups_per_person: 3
    links: {badge: adult.name}
    columns:
      patient: {type: integer, role: identifier}
      badge: {}
hierarchies:
  ages: {low: 0, high: 120, widths: [2.5, 5, 10]}
  occupation: {csv: jobs/occupation.csv}
  nationality: {tree: {"*": {Asian: [Japanese, 010], American: [US, no]}}}
analysts:
  alice: {share: 50%}
  bob: {share: 1/4}
data_version: 2024-01
epsilon: 0.1
"""


def policy_of(folder: Path, text: str) -> Policy:
    path = folder / "privacy.yaml"
    path.write_text(text, encoding="utf-8")
    return load_policy(path)


def refused(folder: Path, text: str | bytes) -> list[str]:
    """The lines of the refusal, without the file's name in front."""
    path = folder / "privacy.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(RequestError) as caught:
        load_policy(path)
    lines = str(caught.value).splitlines()
    assert str(path) in lines[0]
    assert caught.value.__cause__ is None
    return [line.replace(f"{path}, ", "") for line in lines]


def column(entry: str) -> str:
    return f"tables:\n  t:\n    source: x.csv\n    columns:\n      c: {entry}\n"


def test_the_policy_of_the_design_is_read_as_meant(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, GOOD)
    adult = policy.tables["adult"]
    assert (adult.columns["age"].grid_bounds, adult.columns["age"].role) == ((17, 90), Role.QUASI)
    assert adult.columns["workclass"].values == ("Private", "State-gov", "?")
    assert adult.columns["pay"].grid_bounds == (-50, 100_000)
    assert adult.columns["born"].low == date(1900, 1, 1)
    assert adult.columns["seen"].low == datetime(2024, 1, 1)
    assert adult.columns["seen"].high == datetime(2024, 12, 31, 23, 59, 59)
    assert adult.columns["occupation"].nulls
    assert adult.columns["name"].type is ColumnType.TEXT
    assert policy.tables["visits"].links["badge"].table == "adult"
    ages, nationality = policy.hierarchies["ages"], policy.hierarchies["nationality"]
    assert (ages.low, ages.high, ages.widths) == (0, 120, (Decimal("2.5"), 5, 10))
    assert nationality.tree == {"*": {"Asian": ["Japanese", "010"], "American": ["US", "no"]}}
    assert {name: analyst.share for name, analyst in policy.analysts.items()} == {"alice": 0.5, "bob": 0.25}
    assert policy.data_version == "2024-01"
    assert policy.epsilon == 0.1


def test_paths_are_beside_the_policy_wherever_one_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "privacy.yaml").write_text(GOOD + "store: ../store\n")
    monkeypatch.chdir(tmp_path)
    policy = load_policy(Path("kept/privacy.yaml"))
    assert policy.tables["adult"].source == str(tmp_path / "kept" / "adult.parquet")
    assert policy.tables["visits"].source == str(tmp_path / "kept" / "shop.duckdb#visits")
    assert policy.hierarchies["occupation"].csv == str(tmp_path / "kept" / "jobs" / "occupation.csv")
    assert policy.ledger == str(tmp_path / "kept" / "ledger.db")
    assert policy.store == str(tmp_path / "store")


def test_what_stands_beside_a_ledger_in_a_database_is_beside_the_policy(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, column("{}") + "ledger: postgresql://ann@db.example/promises\n")
    assert strip_sibling_path(policy.ledger) == "postgresql://ann@db.example/promises"
    assert find_sibling_file(policy.ledger, ".users.db") == tmp_path / "ledger.users.db"
    moved = tmp_path / "moved"
    moved.mkdir()
    plain = policy_of(moved, column("{}"))
    assert find_sibling_file(plain.ledger, ".users.db") == moved / "ledger.users.db"
    assert compute_policy_version(policy) == compute_policy_version(plain)


def test_absolute_paths_and_the_ledger_in_memory_stay(tmp_path: Path) -> None:
    text = column("{}").replace("x.csv", "/data/x.csv") + 'ledger: ":memory:"\n'
    policy = policy_of(tmp_path, text)
    assert (policy.tables["t"].source, policy.ledger, policy.store) == ("/data/x.csv", ":memory:", None)


@pytest.mark.parametrize(
    "word",
    [
        *(
            "no",
            "yes",
            "on",
            "off",
            "y",
            "n",
            "true",
            "False",
            "null",
            "~",
            "007",
            "010",
            "0x1F",
            "1e3",
            "1.50",
        ),
        *(
            ".5",
            "1_000",
            "12:30",
            "2024-01-31",
            "2024-01-31T12:00:00Z",
            "NaN",
            ".inf",
            "=",
            "<<",
            "<=50K",
            "1%",
        ),
        *("-1", "State-gov", "what?", "a?b", "?a", "Zürich", "東京", "🙂"),
    ],
)
@pytest.mark.parametrize("block", [False, True])
def test_a_category_keeps_its_values_as_typed(tmp_path: Path, word: str, block: bool) -> None:
    listed = f"\n          - {word}\n          - other" if block else f" [{word}, other]"
    entry = f"\n        type: category\n        values:{listed}"
    policy = policy_of(tmp_path, column(entry))
    assert policy.tables["t"].columns["c"].values == (word, "other")


@given(values=st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"])), unique=True, min_size=2))
def test_values_in_quotes_are_kept_whatever_they_are(tmp_path: Path, values: list[str]) -> None:
    policy = policy_of(tmp_path, column(f"{{type: category, values: {json.dumps(values)}}}"))
    assert policy.tables["t"].columns["c"].values == tuple(values)


@pytest.mark.parametrize("name", ["no", "on", "y", "null", "select", "marital-status", "two words", "a.b"])
def test_a_column_keeps_its_name_as_typed(tmp_path: Path, name: str) -> None:
    assert list(policy_of(tmp_path, column("{}").replace("c:", f"{name}:")).tables["t"].columns) == [name]


@pytest.mark.parametrize(
    ("typed", "low", "high"),
    [("low: 010, high: 1_000", 10, 1000), ("low: -5, high: +5", -5, 5), ("low: 0, high: 1e3", 0, 1000)],
)
def test_numbers_are_decimal_whatever_they_look_like(tmp_path: Path, typed: str, low: int, high: int) -> None:
    assert policy_of(tmp_path, column(f"{{type: integer, {typed}}}")).tables["t"].columns[
        "c"
    ].grid_bounds == (
        low,
        high,
    )


def test_what_is_left_open_is_listed_with_path_and_line(tmp_path: Path) -> None:
    text = (
        "tables:\n  t:\n    source: x.csv\n    person: ?   # who\n    columns:\n"
        "      a: {type: integer, low: ?, high: ?}\n      b: {type: category, values: [?]}\n"
        "      c:\n        type: category\n        values:\n          - x\n          - ?\n"
        "      d: {role: '?'}\n"
    )
    told = refused(tmp_path, text)
    assert "not filled in" in told[0]
    places = [tuple(line.split(": ")[:2]) for line in told[1:]]
    assert places == [
        ("line 4", "tables.t.person"),
        ("line 6", "tables.t.columns.a.low"),
        ("line 6", "tables.t.columns.a.high"),
        ("line 7", "tables.t.columns.b.values"),
        ("line 12", "tables.t.columns.c.values"),
        ("line 13", "tables.t.columns.d.role"),
    ]
    assert [(f"line {blank.line}", blank.path) for blank in list_blanks(tmp_path / "privacy.yaml")] == places


def test_a_question_mark_in_quotes_is_a_value_unless_it_stands_alone(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, column('{type: category, values: ["?", a]}'))
    assert policy.tables["t"].columns["c"].values == ("?", "a")
    assert "columns.c.values" in refused(tmp_path, column('{type: category, values: ["?"]}'))[1]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("{type: integer, low: 3}", "tables.t.columns.c: low and high go together: declare both."),
        (
            "{type: int}",
            "tables.t.columns.c.type: must be integer, decimal, category, text, date, timestamp or boolean; "
            "got int: did you mean integer?",
        ),
        ("{role: quasi-identifier}", "c.role: must be identifier, quasi, sensitive or other; got quasi-id"),
        ("{type: integer, low: 1.5, high: 2}", "c.low: must be a whole number for type integer; got 1.5."),
        ("{type: integer, low: 1, high: lots}", "c.high: must be a whole number for type integer; got lots."),
        ("{type: decimal, low: nan, high: 1, resolution: 1}", "c.low: must be a number such as 0.5 for type"),
        ("{type: date, low: 2024-02-30, high: 2024-03-01}", "c.low: must be a date such as 2024-01-31"),
        (
            "{type: timestamp, low: 2024-01-01T00:00Z, high: 2024-01-02}",
            "c.low: must be a time without a zone",
        ),
        ("{type: integer, low: [1], high: 2}", "c.low: must be a whole number for type integer; got a list"),
        ("{low: 1, high: 2}", "tables.t.columns.c: low and high have no meaning for type text."),
        ("{type: integer, min: 1}", "tables.t.columns.c.min: unknown; did you mean low?"),
        ("{tpye: integer}", "tables.t.columns.c.tpye: unknown; did you mean type?"),
        ("{rows_per_person: 1}", "c.rows_per_person: unknown here: it belongs to a table."),
        ("{zzzz: 1}", "c.zzzz: unknown; expected one of: type, role, low, high, resolution, values"),
        ("{type: category, values: a}", "c.values: must be a list such as [a, b]; got a."),
        ("{type: category, values: [a, a]}", "c.values: must be a list of different values."),
        (
            "{type: category, values: [a: b, c]}",
            "c.values[0]: must be one word: put a value that holds a colon",
        ),
        ("{type: text, scale: log}", "c.scale: scale goes with low and high of a number."),
        (
            "{type: integer, low: 0, high: 9, scale: logarithmic}",
            "c.scale: must be linear or log; got logarithmic: did you mean log?",
        ),
        ("{nulls: perhaps}", "c.nulls: must be true or false; got perhaps."),
        ("{hierarchy: ages}", "c.hierarchy: there is no hierarchy ages: declare it under hierarchies"),
        (
            "integer",
            "tables.t.columns.c: must be entries of the form NAME: VALUE; got integer: "
            "write c: {type: integer, low: 0, high: 100}.",
        ),
        ("", "tables.t.columns.c: must be entries of the form NAME: VALUE; got nothing."),
        ("{type: category, values: [>50K]}", "a value that begins with > must be quoted."),
        ("{type: text, type: text}", "c.type: the name appears twice, in lines 5 and 5: keep one."),
        ("{type: !!python/name:os.system x}", "has no meaning in a policy: leave it out."),
        ("[a", "a bracket that opens must close, with commas between the entries."),
        ("{type: category, values: [a, , b]}", 'a value is missing: write it, or "" for the empty text.'),
        ("*ages", "an alias without an anchor: write the entry out."),
        ("&loop {type: *loop}", "the entry holds itself: write it out."),
        ("a: b", "this does not fit here: indent entries of one level alike"),
    ],
)
def test_what_is_wrong_with_a_column_is_told_with_its_line(tmp_path: Path, entry: str, told: str) -> None:
    (line,) = refused(tmp_path, column(entry))
    assert line.startswith("line 5: ")
    assert told in line


LINKED = """tables:
  rx:
    source: x
    person: {0}
    links: {{visit: visits.id}}
    columns: {{visit: {{}}, drug: {{}}}}
  visits:
    source: y
    person: {1}
    links: {{drug: rx.drug}}
    columns: {{id: {{}}, patient: {{}}, drug: {{}}}}
"""


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("- a\n- b\n", 1, "a policy is entries of the form NAME: VALUE"),
        ("just words\n", 1, "a policy is entries of the form NAME: VALUE"),
        ("a: 1\n\tb: 2\n", 2, "tabs cannot indent"),
        ("tables: {}\n---\ntables: {}\n", 2, "a second document begins here"),
        ("tables: {}\ntables: {}\n", 1, "the name appears twice, in lines 1 and 2"),
        ("tables: {}\nname: 'x\n", 2, "a quote that opens must close"),
        ("promise: {prior: 1%, posterior: 5%}\n", 1, "tables is missing: add tables: {NAME: "),
        ("tables:\n", 1, "tables: must be entries of the form NAME: {…}; got nothing."),
        ("tables: {}\ntabels: {}\n", 2, "tabels: unknown; did you mean tables?"),
        ("tables: {}\ntail: 0\n", 2, "tail: unknown here: it belongs to promise."),
        ("tables:\n  3t:\n    source: x\n    columns: {}\n", 2, "the table name '3t' must be letters"),
        ("tables:\n  t: {source: x}\n", 2, "tables.t: columns is missing: add columns: {"),
        ("tables:\n  t:\n    source: [x]\n    columns: {}\n", 3, "source: must be one word; got a list."),
        (
            "tables:\n  t: {source: x, columns: {}}\nengine: oracle\n",
            3,
            "engine: must be duckdb, duckdb:///FILE, postgresql://…, spark:local",
        ),
        ("tables: {}\nepsilon: .inf\n", 2, "epsilon: must be a number; got .inf."),
        ("tables: {}\nepsilon: inf\n", 2, "epsilon: must be a finite number; got inf."),
        ("tables: {}\nepsilon: -1\n", 2, "epsilon: must be above 0"),
        (
            "tables: {}\nbounding: weight\n",
            2,
            "bounding: must be rows or weights; got weight: did you mean weights?",
        ),
        ("tables: {}\npromise: {prior: 1%}\n", 2, "promise: posterior is missing: add posterior: 5%."),
        ("tables: {}\npromise:\n  prior: 5%\n  posterior: 1%\n", 4, "posterior: must be above the prior"),
        ("tables: {}\npromise:\n  prior: 0\n  posterior: 1%\n", 3, "prior: must be a probability between"),
        ("tables: {}\npromise:\n  prior: lots\n  posterior: 1%\n", 3, "prior: must be a probability such as"),
        (
            "tables: {}\npromise: {prior: 1%, posterior: 5%, group: true}\n",
            2,
            "group: must be a whole number",
        ),
        (
            "tables: {}\npromise: {prior: 1%, posterior: 5%, group: 0}\n",
            2,
            "group: must be at least 1; got 0.",
        ),
        ("tables: {}\npromise: {prior: 1%, posterior: 5%, secret: name}\n", 2, "must be value or presence"),
        ("tables: {}\nanalysts:\n  a: {share: 60%}\n  b: {share: 60%}\n", 2, "more than 100%"),
        ("tables: {}\nanalysts: {anna: 50%}\n", 2, "got 50%: write anna: {share: 50%}."),
        ("tables: {}\nanalysts: [anna]\n", 2, "got a list: write analysts: {NAME: {share: 50%}}."),
        ("tables: {}\nanalysts: {anna: [1]}\n", 2, "got a list: write anna: {share: 50%}."),
        (
            "tables:\n  t:\n    source: x\n    person: who\n    columns: {}\n",
            4,
            "tables.t.person: person names the column who, which is not declared",
        ),
        (
            "tables:\n  t:\n    source: x\n    columns: {a: {}}\n    links:\n      a: u.b\n",
            6,
            "t.a links to u.b, which is not declared",
        ),
        (LINKED.format("[visit]", "patient"), 4, "must be row, none, a column, or {through: COLUMN}"),
        (LINKED.format("{trough: visit}", "patient"), 4, "must be row, none, a column, or {through: COLUMN}"),
        (LINKED.format("{through: drug}", "patient"), 4, "the column drug, which is not under links"),
        (LINKED.format("{through: visit}", "row"), 4, "through visits, which names none: give it its key as"),
        (
            LINKED.format("{through: visit}", "none"),
            4,
            "which names none: give it the column that names them",
        ),
        (
            LINKED.format("{through: visit}", "{through: drug}"),
            4,
            "rx finds its people through visits, which",
        ),
    ],
)
def test_what_is_wrong_with_a_policy_is_told_with_its_line(
    tmp_path: Path, text: str, line: int, told: str
) -> None:
    (said,) = refused(tmp_path, text)
    assert said.startswith(f"line {line}: ")
    assert told in said


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b"# nothing but a comment\n", "is empty"),
        (b"\xff\xfe\x00\x01", "is not text in UTF-8"),
        (b"PAR1\x15\x04\x15", "is not a text file"),
        (b'a: "\\ud800"\n', "holds half of a character"),
        (b"tables: \x07\n", "is not a text file"),
        (b"a: " + b"[" * 5000, "nested too deeply"),
        (b"# " + b"x" * 17_000_000, "too large"),
        (
            b"a: &a [x,x,x,x,x,x,x,x,x,x]\n"
            + b"".join(
                b"%c: &%c [%s]\n" % (name, name, b",".join([b"*%c" % (name - 1)] * 10)) for name in b"bcdefgh"
            ),
            "too many entries",
        ),
    ],
)
def test_a_file_that_is_no_policy_is_refused_in_a_sentence(tmp_path: Path, content: bytes, told: str) -> None:
    (line,) = refused(tmp_path, content)
    assert told in line


def test_a_missing_policy_and_a_folder_are_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"There is no policy .*none.yaml\. .*discreet init"):
        load_policy(tmp_path / "none.yaml")
    with pytest.raises(RequestError, match="cannot be read"):
        load_policy(tmp_path)


def test_all_problems_are_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = (
        GOOD.replace("low: 17,", "low: x,")
        .replace("share: 1/4", "share: 400%")
        .replace("sensitive", "secret")
    )
    told = refused(tmp_path, text)
    assert [line.split(": ")[1] for line in told] == [
        "tables.adult.columns.age.low",
        "tables.adult.columns.occupation.role",
        "analysts.bob.share",
    ]


def test_a_long_list_of_problems_is_cut(tmp_path: Path) -> None:
    told = refused(tmp_path, column("{" + ", ".join(f"zzz{n}: 1" for n in range(30)) + "}"))
    assert len(told) == 11
    assert told[-1] == "… and 20 more."


@given(data=st.data())
@example(data=None)
def test_whatever_happens_to_a_policy_it_is_read_or_refused(
    tmp_path: Path, data: st.DataObject | None
) -> None:
    text = GOOD
    if data is not None:
        junk = st.sampled_from(
            ["?", ":", "\n", "\t", "{", "]", "'", "- ", "&a ", "*a", "!x ", ", ", "1e99", "null"]
        )
        for _ in range(data.draw(st.integers(1, 4))):
            at, gone = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 30))
            text = text[:at] + data.draw(junk | st.text(max_size=3)) + text[at + gone :]
    path = tmp_path / "privacy.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        told = compute_policy_version(load_policy(path))
    except RequestError as error:
        told = error.message.splitlines()[0]
    assert str(path) in told or told == compute_policy_version(load_policy(path))


REWRITTEN = """\
tables:
  visits: {source: "./shop.duckdb#visits", groups_per_person: 3, rows_per_person: 20, person: patient,
           columns: {badge: {type: text}, patient: {type: integer, role: identifier}},
           links: {badge: {table: adult, column: name}}}
  adult:
    columns:
      name: {role: identifier}
      occupation: {role: sensitive, type: category, nulls: yes}
      seen: {type: timestamp, low: 2024-01-01 00:00:00, high: 2024-12-31T23:59:59}
      born: {type: date, low: "1900-01-01", high: 2024-12-31}
      pay: {type: decimal, low: -0.5, high: 1_000.0, resolution: 0.010}
      workclass: {type: category, role: quasi, values: ["Private", 'State-gov', "?"]}
      age: {type: integer, low: 17, high: 090, role: quasi, hierarchy: ages}
    source: adult.parquet
promise: {posterior: 0.05, prior: 1/100}
hierarchies:
  nationality: {tree: {"*": {Asian: [Japanese, "010"], American: [US, "no"]}}}
  ages: {widths: [2.50, 5, 10.0], low: 0, high: 120}
  occupation: {csv: jobs/occupation.csv}
"""


def test_the_version_of_a_policy_is_the_one_in_ledgers_that_were_written_before(tmp_path: Path) -> None:
    """Stored answers have it in their keys, and are replayed without a charge only as long as it stays."""
    assert compute_policy_version(policy_of(tmp_path, GOOD)) == "7ca2840362c90c0f5d72d22399710bc5"


def test_the_version_changes_with_how_text_is_read(tmp_path: Path) -> None:
    plain = GOOD.replace("adult.parquet", "adult.csv")
    options = ("", '\n    csv: {decimal: ","}', "\n    csv: {trim: false}", '\n    csv: {nulls: ["?"]}')
    texts = [plain.replace("source: adult.csv", f"source: adult.csv{each}") for each in options]
    assert len({compute_policy_version(policy_of(tmp_path, text)) for text in texts}) == len(texts)


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ('{delimiter: ";", decimals: ","}', "line 6: tables.t.csv.decimals: unknown; did you mean decimal?"),
        ("{sep: ;}", "tables.t.csv.sep: unknown; did you mean delimiter?"),
        ("{decimal: x}", "tables.t.csv.decimal: must be . or ,; got x."),
        ("{encoding: klingon}", "there is no encoding 'klingon'; common ones are utf-8, cp1252, latin-1"),
        ('{dates: "%d/%m/%y"}', "has a year of two digits: declare two_digit_years, such as 1930"),
        (
            '{dates: ["%d/%m/%Y", "%m/%d/%Y"]}',
            "is another day by %d/%m/%Y than by %m/%d/%Y; declare the one meant",
        ),
        ("{header: false}", "a file without a header needs names, one for each column"),
        ("{two_digit_years: 30}", "tables.t.csv.two_digit_years: must be at least 1800; got 30"),
        ("{dates: [?]}", "tables.t.csv.dates: the format that is meant"),
        (";", "tables.t.csv: must be entries of the form NAME: VALUE; got ;: write csv: {delimiter"),
    ],
)
def test_reading_options_that_cannot_be_meant_are_told_with_their_line(
    tmp_path: Path, entry: str, told: str
) -> None:
    text = f"tables:\n  t:\n    source: t.csv\n    columns: {{a: {{}}}}\n    person: row\n    csv: {entry}\n"
    with pytest.raises(RequestError) as caught:
        policy_of(tmp_path, text)
    assert told in str(caught.value)


def test_reading_options_stay_as_typed(tmp_path: Path) -> None:
    texts = 'nulls: [NULL, "?", no, 007], names: [a, "~", null]'
    entry = f'{{{texts}, header: no, skip: 2, quote: "", thousands: "\'"}}'
    text = f"tables:\n  t:\n    source: t.csv\n    csv: {entry}\n    columns: {{a: {{from: 1e3}}}}\n"
    table = policy_of(tmp_path, text).tables["t"]
    assert table.csv is not None
    assert (table.csv.nulls, table.csv.names) == (("NULL", "?", "no", "007"), ("a", "~", "null"))
    assert (table.csv.header, table.csv.skip, table.csv.quote, table.csv.thousands) == (False, 2, "", "'")
    assert table.source_names == {"a": "1e3"}


@pytest.mark.parametrize("source", ["t.parquet", "clinic.visits", "shop.duckdb#t"])
def test_reading_options_are_for_files_of_text(tmp_path: Path, source: str) -> None:
    text = f"tables:\n  t:\n    source: {source}\n    columns: {{a: {{}}}}\n    csv: {{skip: 1}}\n"
    with pytest.raises(RequestError, match=r"line 5: tables.t.csv: .* is not a CSV or Excel file"):
        policy_of(tmp_path, text)


def test_the_version_is_of_the_meaning_not_of_the_writing(tmp_path: Path) -> None:
    assert compute_policy_version(policy_of(tmp_path, GOOD)) == compute_policy_version(
        policy_of(tmp_path, REWRITTEN)
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("posterior: 5%", "posterior: 6%"),
        ("secret: value", "secret: presence"),
        ("tail: 0", "tail: 1e-6"),
        ("low: 17", "low: 18"),
        ("resolution: 0.01", "resolution: 0.1"),
        ("[Private, State-gov,", "[State-gov, Private,"),
        ("rows_per_person: 20", "rows_per_person: 21"),
        ("groups_per_person: 3", "groups_per_person: 4"),
        ("role: sensitive", "role: identifier"),
        ("nulls: true", "nulls: false"),
        ("source: adult.parquet", "source: adult2.parquet"),
        ("name:       {role: identifier}", "name:       {role: identifier, from: NAME}"),
        ("high: 2024-12-31}", "high: 2024-12-30}"),
        ("widths: [2.5,", "widths: [1.25,"),
    ],
)
def test_whatever_changes_answers_changes_the_version(tmp_path: Path, old: str, new: str) -> None:
    assert GOOD.count(old) == 1
    changed = policy_of(tmp_path, GOOD.replace(old, new))
    assert compute_policy_version(changed) != compute_policy_version(policy_of(tmp_path, GOOD))


def test_who_asks_and_the_folder_are_no_part_of_the_version(tmp_path: Path) -> None:
    before = compute_policy_version(policy_of(tmp_path, GOOD))
    text = GOOD.replace("share: 50%", "share: 40%").replace("epsilon: 0.1", "epsilon: 0.2\nstore: elsewhere")
    assert compute_policy_version(policy_of(tmp_path, text.replace("data_version: 2024-01\n", ""))) == before
    policy_of(tmp_path, GOOD)
    shutil.copytree(tmp_path, moved := tmp_path / "moved" / "deep", ignore=shutil.ignore_patterns("moved"))
    assert compute_policy_version(load_policy(moved / "privacy.yaml")) == before


def test_the_promise_is_made_of_its_terms(tmp_path: Path) -> None:
    text = GOOD.replace("secret: value, group: 1, tail: 0", "secret: presence, group: 2, tail: 1e-6")
    promise = get_promise(policy_of(tmp_path, text))
    assert (promise.prior, promise.posterior, promise.secret) == (0.01, 0.05, Relation.PRESENCE)
    assert (promise.group, promise.tail) == (2, 1e-6)
    assert get_promise(policy_of(tmp_path, GOOD)).epsilon == pytest.approx(1.6506809)


def test_a_policy_without_a_promise_says_how_to_add_one(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, column("{}"))
    with pytest.raises(
        RequestError, match=r"no promise\. Add one, such as promise: {prior: 1%, posterior: 5%}"
    ):
        get_promise(policy)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_policy_that_may_not_be_read_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "privacy.yaml").write_text(GOOD)
    (tmp_path / "privacy.yaml").chmod(0)
    with pytest.raises(RequestError, match="cannot be read"):
        load_policy(tmp_path / "privacy.yaml")


def test_people_are_found_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "privacy.yaml").write_text(LINKED.format("{through: visit}", "patient"))
    policy = load_policy(tmp_path / "privacy.yaml")
    assert policy.tables["rx"].person_link == "visit"
    assert policy.find_person_table("rx") == "visits"


@pytest.mark.parametrize(
    "name", ["visits.csv", "visits.csv.gz", "visits.parquet", "visits.xlsx", "shop.duckdb"]
)
def test_data_in_place_of_a_policy_is_called_data(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"age,sex\n1,\xff\n")
    with pytest.raises(RequestError, match=rf"{name} is data, not a policy") as refusal:
        load_policy(tmp_path / name)
    assert "discreet init" in refusal.value.hint


def test_a_policy_may_be_a_text_file(tmp_path: Path) -> None:
    (tmp_path / "policy.txt").write_text("- a\n")
    with pytest.raises(RequestError, match="entries of the form NAME: VALUE"):
        load_policy(tmp_path / "policy.txt")
