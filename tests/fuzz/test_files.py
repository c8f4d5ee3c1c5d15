"""Files that are damaged are read as what they still are, or refused in a sentence."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import duckdb
import pyarrow.csv
import pytest

from discreet import Curator
from tests.fuzz.mutations import Mutations
from tests.fuzz.test_command_lines import RANDOMIZED, write_beside
from tests.services import patients
from tests.services.test_promise import discreet

BY_DAY, BY_NIGHT = 12, 600
COUNT = "SELECT COUNT(*) AS n FROM patients"
ASK = ("ask", COUNT, "-p", "privacy.yaml", "--epsilon", "0.01")
LEDGER = ("ledger", "-p", "privacy.yaml")
READ: dict[str, tuple[tuple[str, ...], ...]] = {
    "patients.parquet": (ASK, ("anonymize", "patients", "--check", "-k", "2")),
    "patients.csv": (("ask", COUNT, "-p", "csv.yaml"),),
    "patients.duckdb": (("ask", COUNT, "-p", "duckdb.yaml"),),
    "ledger.db": (ASK, LEDGER, (*LEDGER, "--json")),
    "reports.parquet": (("collect", "estimate", "reports.parquet"),),
    "operator.yaml": (("collect", "estimate", "reports.parquet", "--operator", "operator.yaml"),),
    "ages.csv": (("hierarchy", "age", "-p", "levels.yaml"),),
    "questions.sql": (("stream", "patients", "questions.sql", "--columns", "sex", "--epsilon", "0.01"),),
    "ledger.sources.json": (ASK,),
    "ledger.store/key": (ASK,),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files as commands write them."""
    place = tmp_path_factory.mktemp("files")
    path = patients.write(place)
    text, rows = path.read_text(), patients.patients()
    for ending in ("csv", "duckdb"):
        other = text.replace("patients.parquet", f"patients.{ending}")
        (place / f"{ending}.yaml").write_text(f"ledger: {ending}.db\n{other}")
    pyarrow.csv.write_csv(rows, place / "patients.csv")
    with duckdb.connect(str(place / "patients.duckdb")) as database:
        database.register("rows", rows)
        database.execute("CREATE TABLE patients AS FROM rows")
    (place / "ages.csv").write_text("".join(f"{age},{age // 10 * 10},*\n" for age in range(20, 80)))
    levels = text.replace("age: {widths: [10, 20, 60]}", "age: {csv: ages.csv}")
    (place / "levels.yaml").write_text(levels)
    with Curator.open(path) as curator:
        for number in (1, 2, 3):
            curator.ask(COUNT, epsilon=number / 100)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        write_beside(place)
        assert discreet("collect", "randomize", "answers.csv", *RANDOMIZED, "-o", "reports.parquet") == 0
        words = ("--promise", "1%:5%", "--clients", "100", "--domain", "2")
        assert discreet("collect", "design", *words, "-o", "operator.yaml") == 0
    return place


def check_file(
    folder: Path, around: Path, seed: int, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Damage one file in a copy of the folder, and run what reads it."""
    draw, place = Mutations(seed), around / f"files{seed}"
    shutil.copytree(folder, place)
    patch.chdir(place)
    name = draw.one([name for name in READ if (place / name).exists()])
    if name == "ledger.db" and draw.below(3):
        damage_row(place / name, draw)
    else:
        (place / name).write_bytes(draw.mutate_bytes((place / name).read_bytes()))
    for words in READ[name]:
        code = discreet(*words)
        out, err = capsys.readouterr()
        assert code in (0, 2, 3, 4, 5), (seed, name, words, code, err[-500:])
        assert "internal" not in out + err, (seed, name, words, err[-500:])
    patch.chdir(around)
    shutil.rmtree(place)


def damage_row(path: Path, draw: Mutations) -> None:
    """One value of a ledger is another one, as an editor of databases leaves it."""
    with closing(sqlite3.connect(path)) as database:
        for (trigger,) in database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            database.execute(f'DROP TRIGGER "{trigger}"')
        names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        table = draw.one([name for (name,) in database.execute(names).fetchall()])
        columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")').fetchall()]
        value = draw.one((draw.odd_text(), None, -1, 0, 1e300, b"\xff\x00", "{}", "[]", '"x"'))
        with suppress(sqlite3.Error):
            place = "rowid = (SELECT max(rowid) FROM {0})" if draw.below(2) else "true"
            text = f'UPDATE "{table}" SET "{draw.one(columns)}" = ? WHERE {place.format(table)}'
            database.execute(text, (value,))
            database.commit()


def test_a_sample_of_damaged_files(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in range(BY_DAY):
        check_file(folder, tmp_path, seed, monkeypatch, capsys)


@pytest.mark.night
def test_many_damaged_files(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in range(BY_DAY, BY_DAY + BY_NIGHT):
        check_file(folder, tmp_path, seed, monkeypatch, capsys)
