"""A private release as a custodian makes it: charged before data is read, at declared levels, by the row."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

from discreet.core.errors import RequestError
from discreet.services.anonymize.private_generalizer import PrivateGeneralizer
from tests.services.test_promise import discreet
from tests.statistical import assert_probability

PROMISE = "promise: {prior: 1%, posterior: 20%, secret: presence, tail: 1e-4}\n"
POLICY = """\
tables:
  people:
    source: people.csv
    columns:
      name:    {role: identifier}
      age:     {type: integer, low: 0, high: 99, role: quasi}
      zipcode: {role: quasi}
      disease: {type: category, values: [flu, cancer], role: sensitive}
hierarchies:
  age: {widths: [10, 50]}
  zipcode: {mask: right, length: 5}
"""
LEVELS = ("--level", "age=2", "--level", "zipcode=4")
GUARANTEE = ("--method", "private", "--epsilon", "0.5", "--delta", "1e-6")
ROWS = [(f"person {i}", i % 60, f"130{i % 4}{i % 7}", ("flu", "cancer")[i % 2]) for i in range(4000)]


def write_people(
    folder: Path, rows: Sequence[tuple[str, object, str, str]], policy: str = PROMISE + POLICY
) -> None:
    lines = ["name,age,zipcode,disease", *(",".join(map(str, row)) for row in rows)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    (folder / "privacy.yaml").write_text(policy)


def publish(folder: Path, *options: str) -> int:
    words = ("--policy", str(folder / "privacy.yaml"), "-o", str(folder / "release.csv"))
    return discreet("anonymize", "people", *words, *options)


def spent(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    capsys.readouterr()
    assert discreet("ledger", "--policy", str(folder / "privacy.yaml"), "--json") == 0
    entries: list[dict[str, object]] = json.loads(capsys.readouterr().out)["entries"]
    return entries


def test_a_private_release_is_sampled_generalized_and_charged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_people(tmp_path, ROWS)
    assert publish(tmp_path, *GUARANTEE, *LEVELS, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    published = pacsv.read_csv(tmp_path / "release.csv")
    counts = Counter(tuple(row.values()) for row in published.to_pylist())
    assert set(counts) <= {
        (age, "1****", disease) for age in ("[0, 49]", "[50, 99]") for disease in ("flu", "cancer")
    }
    assert min(counts.values()) >= told["k"]
    assert told["levels"] == {"age": 2, "zipcode": 4, "disease": 0}
    assert (told["classes"], told["published"]) == (len(counts), published.num_rows)
    assert {"loss", "suppressed", "models", "risk", "seconds", "belief"} <= set(told)
    (entry,) = spent(tmp_path, capsys)
    assert entry["state"] == "settled"
    certificate = json.loads((tmp_path / "release.certificate.json").read_text())
    assert (certificate["relation"], certificate["epsilon"]) == ("presence", 0.5)
    assert certificate["delta"] <= 1e-6
    assert not {"rows", "published", "classes", "suppressed"} & set(certificate)


def test_rows_are_drawn_with_the_stated_probability(tmp_path: Path) -> None:
    write_people(tmp_path, ROWS, POLICY)
    made = PrivateGeneralizer(
        tmp_path / "privacy.yaml", epsilon=0.5, delta=1e-6, levels={"age": 3, "zipcode": 5, "disease": 1}
    )
    drawn = sum(made.fit("people").release.published_rows for _ in range(5))
    assert_probability(drawn, 5 * len(ROWS), float(made.mechanism.beta))


def test_the_same_request_draws_anew_and_costs_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_people(tmp_path, ROWS)
    for _ in range(2):
        assert publish(tmp_path, "--method", "private", "--epsilon", "0.3", "--delta", "1e-7", *LEVELS) == 0
    assert len(spent(tmp_path, capsys)) == 2


def test_what_does_not_fit_is_refused_before_data_is_read_and_costs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_people(tmp_path, ROWS)
    assert publish(tmp_path, "--method", "private", "--epsilon", "9", "--delta", "1e-6", *LEVELS) == 3
    told = " ".join(capsys.readouterr().err.split())
    fitting = told.partition("What would still fit: ")[2].rstrip(".").split()
    assert spent(tmp_path, capsys) == []
    assert not (tmp_path / "release.csv").exists()
    assert publish(tmp_path, "--method", "private", *fitting, *LEVELS) == 0


def test_a_fault_after_the_charge_keeps_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = PROMISE + POLICY.replace("people.csv", "people.parquet")
    write_people(tmp_path, ROWS, policy)
    import pyarrow.parquet as pq

    pq.write_table(pacsv.read_csv(tmp_path / "people.csv"), tmp_path / "people.parquet", compression="none")
    whole = bytearray((tmp_path / "people.parquet").read_bytes())
    pages = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    whole[4:pages] = b"\xff" * (pages - 4)  # its footer is sound, its pages are not
    (tmp_path / "people.parquet").write_bytes(whole)
    assert publish(tmp_path, *GUARANTEE, *LEVELS) == 5
    (entry,) = spent(tmp_path, capsys)
    assert entry["state"] == "faulted"
    assert not (tmp_path / "release.csv").exists()


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (("tail: 1e-4", "tail: 0"), (), "promises a tail of 0"),
        ((", length: 5", ""), (), "Declare their length"),
        (("    columns:", "    person: name\n    rows_per_person: 2\n    columns:"), (), "one row each"),
        (("", ""), ("-k", "5"), "a model has no effect"),
        (("", ""), ("--suppress", "2%"), "--suppress has no effect"),
        (("", ""), ("--level", "disease=7"), "has the levels 0 to"),
        (("", ""), ("--level", "name=1"), "name is published of people"),
        (("", ""), ("--top", "3"), "nothing to search"),
        (("", ""), ("--analyst", "carol"), ""),
    ],
)
def test_what_a_private_release_cannot_be_told_is_refused(
    tmp_path: Path,
    change: tuple[str, str],
    options: tuple[str, ...],
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = PROMISE + POLICY
    write_people(tmp_path, ROWS, text.replace(*change) if change[0] else text)
    assert publish(tmp_path, *GUARANTEE, *LEVELS, *options) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "release.csv").exists()


@pytest.mark.parametrize("missing", ["--epsilon", "--delta", "-o"])
def test_what_a_private_release_needs_is_asked_for(
    tmp_path: Path, missing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_people(tmp_path, ROWS)
    words = [*GUARANTEE, *LEVELS, "--policy", str(tmp_path / "privacy.yaml"), "-o", str(tmp_path / "x.csv")]
    place = words.index(missing)
    assert discreet("anonymize", "people", *words[:place], *words[place + 2 :]) == 2
    assert missing in capsys.readouterr().err


def test_a_row_shows_the_same_whoever_else_is_in_the_table(tmp_path: Path) -> None:
    """A value that no hierarchy covers leaves its own row out, and changes no other label or level."""
    odd: list[tuple[str, object, str, str]] = [
        ("odd", "old", "13001", "flu"),
        ("odder", 200, "13001", "flu"),
        ("longer", 30, "1234567", "flu"),
        ("empty", "", "13001", "flu"),
    ]
    shown = []
    everybody: list[list[tuple[str, object, str, str]]] = [[*ROWS], [*ROWS, *odd]]
    for rows in everybody:
        write_people(tmp_path, rows, POLICY)
        levels = {"age": 2, "zipcode": 4}
        found = PrivateGeneralizer(tmp_path / "privacy.yaml", epsilon=1, delta=1e-6, levels=levels)
        shown.append({tuple(row.values()) for row in found.fit("people").release.to_arrow().to_pylist()})
    assert shown[0] == shown[1]


def test_one_person_is_counted_once_however_many_rows(tmp_path: Path) -> None:
    text = POLICY.replace("    columns:", "    person: name\n    columns:")
    write_people(tmp_path, [("Ann", 30, "13001", "flu")] * 500, text)
    found = PrivateGeneralizer(tmp_path / "privacy.yaml", epsilon=1, delta=1e-6).fit("people").release
    assert found.rows == 1
    assert found.to_arrow().num_rows == 0
    assert found.to_arrow().column_names == ["age", "zipcode", "disease"]


def test_frames_go_in_and_come_out(tmp_path: Path) -> None:
    write_people(tmp_path, ROWS, POLICY)
    names = ["name", "age", "zipcode", "disease"]
    table = pa.table(dict(zip(names, map(list, zip(*ROWS, strict=True)), strict=True)))
    for frame in (table, table.to_pandas()):
        made = PrivateGeneralizer(
            tmp_path / "privacy.yaml", epsilon=1, delta=1e-6, levels={"age": 3, "zipcode": 5}
        )
        release = made.fit(frame).release
        assert len(release.to_pandas()) == release.to_polars().height == release.to_arrow().num_rows > 0
    with pytest.raises(RequestError, match="has no table nobody"):
        PrivateGeneralizer(tmp_path / "privacy.yaml", epsilon=1, delta=1e-6).fit("nobody")


@pytest.mark.parametrize("idle", [("--at-most", "5%"), ("--force",), ("--with", "other.csv")])
def test_bounds_that_nothing_is_tried_against_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], idle: tuple[str, ...]
) -> None:
    write_people(tmp_path, ROWS)
    assert publish(tmp_path, *GUARANTEE, *LEVELS, *idle) == 2
    assert f"{idle[0]} has no effect on a private release" in " ".join(capsys.readouterr().err.split())
    assert spent(tmp_path, capsys) == []


@pytest.mark.parametrize("epsilon", ["nan", "inf", "0", "1000"])
def test_an_epsilon_that_cannot_be_sampled_for_gets_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], epsilon: str
) -> None:
    write_people(tmp_path, ROWS)
    assert publish(tmp_path, "--method", "private", "--epsilon", epsilon, "--delta", "1e-6", *LEVELS) == 2
    assert "epsilon must be a number above 0 and at most 16" in " ".join(capsys.readouterr().err.split())


def test_the_file_of_a_table_is_not_published_past_its_promise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_people(tmp_path, ROWS)
    words = ("--policy", str(tmp_path / "privacy.yaml"), "-o", str(tmp_path / "release.csv"))
    for options in ((*GUARANTEE, "--quasi", "age"), ("-k", "5", "--quasi", "age")):
        assert discreet("anonymize", str(tmp_path / "people.csv"), *words, *options) == 2
        assert "is the table people of the policy" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "release.csv").exists()
