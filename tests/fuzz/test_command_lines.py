"""Command lines that are mutated are done, or refused in a sentence: none is an internal error."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import typer
import uvicorn

from discreet.cli.main import COMMAND_GROUPS, COMMANDS, build_app
from discreet.services.sample import write_policy, write_samples
from tests.fuzz.mutations import NOT_UTF8, Mutations
from tests.services import patients, surveys
from tests.services.test_promise import discreet

BY_DAY, BY_NIGHT = 45, 3_600
BATCH = 30
"""So many command lines share a folder, so that most find budget left and files as they were."""
COUNT = "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex"
RANDOMIZED = ("--column", "a", "--values", "no,yes", "--promise", "1%:5%")
ANSWERS = """
promise: {prior: 1%, posterior: 5%}
ledger: answers.db
tables:
  answers: {source: answers.csv, columns: {a: {type: boolean}, b: {type: boolean}}}
"""
ALONE = "age=27,sex=f,zipcode=13068"
BASKETS = ("--column", "items", "--size", "2", "--values", "x,y,z", "--promise", "1%:5%")
QUICK: tuple[tuple[str, ...], ...] = (
    ("ask", COUNT, "-p", "privacy.yaml", "--epsilon", "0.01"),
    ("ask", COUNT, "--share", "1%", "--json"),
    ("ask", "SELECT AVG(age) AS a FROM patients", "--within", "5", "--least-rows", "100", "--csv"),
    ("ask", COUNT, "--plot", "out.svg", "--split", "n=2", "--confidence", "99%"),
    ("plan", COUNT, "--epsilon", "0.1", "--analyst", "alice", "--raw"),
    ("plan", COUNT, "--ledger", "ledger.db", "--engine", "duckdb"),
    ("promise", "--prior", "1%", "--posterior", "5%", "--tail", "1e-6", "--group", "2"),
    ("promise", "--within", "10", "--confidence", "95%", "--json"),
    ("promise", "--risk-ratio", "2", "--membership", "5%", "--attribute", "10%"),
    ("ledger", "-p", "privacy.yaml", "--json"),
    ("hierarchy", "age", "-p", "privacy.yaml"),
    ("init", "patients.parquet", "-o", "draft.yaml", "--force"),
    ("tabulate", "patients", "--columns", "sex,stays", "--epsilon", "0.01", "-o", "table.csv"),
    ("itemsets", "answers", "-p", "answers.yaml", "--items", "a,b", "--basis", "2", "--epsilon", "0.01"),
    ("stream", "patients", "--columns", "sex", "--epsilon", "0.01", "questions.sql"),
    ("train", "tree", "patients", "--target", "disease", "--epsilon", "0.01", "-o", "tree.json"),
    ("collect", "design", "--promise", "1%:5%", "--clients", "100", "--domain", "3"),
    ("collect", "randomize", "answers.csv", *RANDOMIZED, "-o", "reports.parquet"),
    ("collect", "estimate", "reports.parquet", "--json"),
    ("user", "list", "-p", "privacy.yaml"),
    ("user", "add", "dora", "-p", "privacy.yaml", "--role", "auditor"),
    ("anonymize", "patients", "-k", "2", "--seconds", "1", "--force", "-o", "rel.csv"),
    ("anonymize", "patients", "--check", "-k", "1", "--json"),
    ("ledger", "create", "-p", "privacy.yaml", "--ledger", "second.db", "--separate-promise"),
    ("ledger", "verify", "-p", "privacy.yaml", "--json"),
    ("ledger", "backup", "backup.db", "-p", "privacy.yaml"),
    ("ledger", "restore", "kept.db", "-p", "lost/privacy.yaml"),
    ("ledger", "export", "entries.csv", "-p", "privacy.yaml", "--from", "1", "--limit", "2"),
    ("ledger", "change-unit", "-p", "privacy.yaml"),
    ("check", "-p", "privacy.yaml", "--json"),
    ("bounds", "patients", "stays", "-p", "open.yaml", "--epsilon", "0.01", "--plan", "--json"),
    ("check", "-p", "privacy.yaml", "--accept", "--despite"),
    ("user", "remove", "emil", "-p", "privacy.yaml"),
    ("collect", "randomize", "baskets.csv", *BASKETS, "--basket", "id", "-o", "baskets.parquet"),
    ("collect", "mine", "baskets.parquet", "--support", "10%", "--longest", "2"),
    ("collect", "analyse", "operator.yaml", "--json"),
    ("audit", "geometric", "--epsilon", "1", "--runs", "200", "--confidence", "90%"),
    ("audit", "gaussian", "--epsilon", "0.5", "--delta", "1e-6", "--runs", "100", "--json"),
    (
        "attack",
        "release.csv",
        "--quasi",
        "age,sex,zipcode",
        "--sensitive",
        "disease",
        "--knows",
        "voters.csv",
    ),
    ("attack", "release.csv", "-p", "privacy.yaml", "--victim", "age=20,sex=m", "--at-most", "30%", "--json"),
    ("attack", "ratings.csv", "--title", "film", "--knows", "known.csv", "--days", "3", "--stars", "1"),
    ("attack", "shares.csv", "--genomes", "genomes.csv", "--reference", "shares.csv", "--people", "3"),
    ("synthesize", "patients", "--columns", "sex,age", "--epsilon", "0.01", "-o", "made.parquet"),
    ("reproduce", "lectures-exponential", "--json"),
)
"""Command lines of each command that ends by itself in a moment."""
SLOW: tuple[tuple[str, ...], ...] = (
    ("attack", "release.csv", "--original", "people.csv", "--panel", "panel.csv", "--report", "attack.md"),
    ("audit", COUNT, "-p", "privacy.yaml", "--runs", "100", "--posterior", "--json"),
    ("audit", COUNT, "-p", "privacy.yaml", "--runs", "100", "--session", "--epsilon", "1.6"),
    ("attack", "privacy.yaml", "--claim", "disease = 'Flu'", "--victim", ALONE, "--victims", "1"),
    (
        "synthesize",
        "patients",
        "--promise",
        "1%:2%",
        "--panel",
        "others.csv",
        "--target",
        "sex",
        "-o",
        "m.csv",
    ),
    (
        "synthesize",
        "patients",
        "--columns",
        "sex,stays",
        "--quality",
        "best",
        "--epsilon",
        "0.1",
        "-o",
        "b.csv",
    ),
    ("demo", "--folder", "sample", "--json"),
    ("reproduce", "lectures", "--report", "papers"),
    ("serve", "-p", "privacy.yaml", "--http", "0", "--postgres", "0", "--slack", "2", "--json"),
    ("serve", "-p", "privacy.yaml", "--host", "127.0.0.1", "--http", "0", "--postgres", "0", "--no-padding"),
    ("collect", "survey", "survey.yaml", "--port", "0", "--name", "survey.example"),
)
"""The same of commands that take seconds, or serve until they are stopped."""
FILES = (
    *("patients.parquet", "privacy.yaml", "ledger.db", "kept.db", "lost", "release.csv", "voters.csv"),
    *("out.csv", "out.parquet", "out.duckdb#t", "out.json", "out.html", "out.svg", "out.md", "out"),
)
NAMES = ("id", "age", "sex", "zipcode", "disease", "stays", "sex,age", "age,age", "patients", "alice")
FORMS = ("age=20", "sex=m", "age:2", "disease:2:distinct", "disease:0.3", "n=3", "1%:5%", "0..9", "all")
NUMBERS = ("0", "1", "2", "3", "7", "100", "0.5", "-1", "1e-300", "1e308", "0.999999", "1/3", "10%", "99%")
KINDS = {int: "number", float: "number", Path: "file"}
LIKELY = {"file": FILES, "number": NUMBERS, "text": (*NAMES, *NAMES, *FORMS, *NUMBERS)}
"""Values that are right for some option, by their kind."""
LINES = [pytest.param(QUICK, id="quick"), pytest.param(SLOW, id="slow", marks=pytest.mark.night)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("commands")
    (place / "lost").mkdir()
    for each in (place, place / "lost"):
        patients.write(each)
    write_beside(place)
    write_attacked(place)
    write_samples(place / "sample", lambda _: None)
    write_policy(place / "sample")
    (place / "survey.yaml").write_text(surveys.TEXT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for words in PREPARED:
            assert discreet(*words) == 0, words
    (place / "lost" / "ledger.db").unlink()
    return place


def write_beside(place: Path) -> None:
    """What commands read beside the table of patients."""
    (place / "questions.sql").write_text("SELECT COUNT(*) FROM patients WHERE sex = 'f'\n")
    (place / "answers.csv").write_text("a,b\n" + "yes,no\nno,no\n" * 50)
    (place / "answers.yaml").write_text(ANSWERS)
    declared = (place / "privacy.yaml").read_text()
    (place / "open.yaml").write_text(declared.replace("low: 0, high: 9", "low: ?, high: ?"))


def write_attacked(place: Path) -> None:
    """What attackers read: a release, registers, ratings, and genomes."""
    rows = [f"{20 + i % 60},{'fm'[i % 2]},13053,{patients.DISEASES[i % 4]},{i % 10}" for i in range(80)]
    for name in ("release.csv", "people.csv", "panel.csv"):
        (place / name).write_text("\n".join(["age,sex,zipcode,disease,stays", *rows, ""]))
    others = [f"{number},{row}" for number, row in enumerate(rows)]
    (place / "others.csv").write_text("\n".join(["id,age,sex,zipcode,disease,stays", *others, ""]))
    (place / "voters.csv").write_text("name,age,sex,zipcode\nBob,21,m,13053\nEve,22,f,13053\n")
    films = [f"p{i % 9},f{i % 7},{1 + i % 5},2020-01-{1 + i % 28:02}" for i in range(60)]
    (place / "ratings.csv").write_text("\n".join(["person,film,rating,date", *films, ""]))
    (place / "known.csv").write_text("\n".join(["name,film,rating,date", *films[:9], ""]))
    snps = range(20)
    (place / "shares.csv").write_text("snp,share\n" + "".join(f"s{i},0.{1 + i % 8}\n" for i in snps))
    (place / "genomes.csv").write_text("snp,a,b,c\n" + "".join(f"s{i},{i % 3},1,0\n" for i in snps))
    (place / "baskets.csv").write_text(
        "id,items\n" + "".join(f"{i // 2},{'xyz'[i % 3]}\n" for i in range(60))
    )


PREPARED: tuple[tuple[str, ...], ...] = (
    ("ask", COUNT, "-p", "privacy.yaml", "--epsilon", "0.01"),
    ("user", "add", "emil", "-p", "privacy.yaml"),
    ("ask", COUNT, "-p", "lost/privacy.yaml", "--epsilon", "0.01"),
    ("ledger", "backup", "kept.db", "-p", "lost/privacy.yaml"),
    ("collect", "design", "--promise", "1%:5%", "--clients", "100", "--domain", "2", "-o", "operator.yaml"),
    ("collect", "randomize", "answers.csv", *RANDOMIZED, "-o", "reports.parquet"),
    ("collect", "randomize", "baskets.csv", *BASKETS, "--basket", "id", "-o", "baskets.parquet"),
)
"""Commands whose files others read."""


@pytest.fixture
def begin(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Path]:
    """Enter a fresh copy of the folder, where a server stops as soon as it listens."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("DISCREET_ADULT", raising=False)
    monkeypatch.setattr("discreet.cli.serve.run_until_signal", serve_a_moment)
    monkeypatch.setattr(uvicorn.Server, "main_loop", stop_at_once)

    def enter(number: int) -> Path:
        place = tmp_path / f"commands{number}"
        shutil.copytree(folder, place)
        monkeypatch.chdir(place)
        return place

    return enter


def serve_a_moment(serve: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Open every listener, and stop."""

    async def run() -> None:
        stopped = asyncio.Event()
        stopped.set()
        await serve(stopped)

    asyncio.run(run())


async def stop_at_once(server: uvicorn.Server) -> None:
    """Serve nobody."""


@pytest.fixture
def fresh(begin: Callable[[int], Path]) -> Path:
    return begin(0)


def list_options(words: tuple[str, ...]) -> dict[str, str]:
    """List the options of a verb, or of the inner verb of a family, and the kind of value each takes."""
    command: Any = typer.main.get_command(build_app(words))
    for word in words[:2]:
        command = getattr(command, "commands", {}).get(word, command)
    return {
        name: "flag"
        if getattr(item, "is_flag", False)
        else KINDS.get(item.type_descriptor.annotation, "text")
        for item in command.params
        for name in item.opts
        if name.startswith("-") and name != "--help" and hasattr(item, "type_descriptor")
    }


def mutate_line(seed: int, lines: tuple[tuple[str, ...], ...]) -> list[str]:
    """Return one of the lines with odd words, or with other values that may be right."""
    draw, words = Mutations(seed), lines[seed % len(lines)]
    options, verbs = list_options(words), words[: 2 if words[0] in COMMAND_GROUPS else 1]
    if draw.below(2):
        return draw.mutate_words(words, options)
    return [*verbs, *draw.vary_words(words[len(verbs) :], options, LIKELY)]


def find_failure(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command line; return how it failed, or nothing where it was done or refused in a sentence.

    A fault of the engine fails as well: what cannot finish is to be refused before it is charged.
    """
    code = discreet(*words)
    out, err = capsys.readouterr()
    told = out + err
    if code not in (0, 2, 3, 4) or "internal" in told or "Traceback" in told:
        return f"{words}: {code} {told[-500:]}"
    return ""


def find_failures(
    begin: Callable[[int], Path],
    seeds: Iterable[int],
    lines: tuple[tuple[str, ...], ...],
    capsys: pytest.CaptureFixture[str],
) -> list[str]:
    """Mutate as many command lines as there are seeds; return those that failed."""
    failures = []
    for count, seed in enumerate(seeds):
        if count % BATCH == 0:
            begin(count)
        failure = find_failure(mutate_line(seed, lines), capsys)
        failures += [f"seed {seed}: {failure}"] if failure else []
    return failures


def test_every_command_is_mutated() -> None:
    lines = (*QUICK, *SLOW)
    assert {line[0] for line in lines} == {*COMMANDS, *COMMAND_GROUPS}
    for family in COMMAND_GROUPS:
        group: Any = typer.main.get_command(build_app([family]))
        inner = group.commands[family].commands
        assert {line[1] for line in lines if line[0] == family} >= set(inner)


@pytest.mark.night
@pytest.mark.parametrize("lines", LINES)
def test_what_is_mutated_is_valid(
    lines: tuple[tuple[str, ...], ...], begin: Callable[[int], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """A fuzz of lines that are all refused at their first word would show nothing."""
    refused = []
    for number, words in enumerate(lines):
        begin(number)
        refused += [] if discreet(*words) in (0, 3, 4) else [(words, capsys.readouterr().err[-300:])]
    assert refused == []


def test_a_sample_of_mutated_command_lines(
    begin: Callable[[int], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert find_failures(begin, range(BY_DAY), QUICK, capsys) == []


@pytest.mark.night
@pytest.mark.parametrize("lines", LINES)
def test_many_mutated_command_lines(
    lines: tuple[tuple[str, ...], ...], begin: Callable[[int], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    count = BY_NIGHT if lines is QUICK else BY_NIGHT // 15
    assert find_failures(begin, range(BY_DAY, BY_DAY + count), lines, capsys) == []


@pytest.mark.parametrize("word", NOT_UTF8, ids=ascii)
def test_bytes_that_are_no_text_are_refused_in_a_sentence(
    fresh: Path, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (
        ("ask", word),
        ("ask", COUNT, "--analyst", word),
        ("ask", COUNT, "-p", word),
        ("plan", COUNT, "--ledger", word),
        ("plan", COUNT, "--split", f"{word}=1"),
        ("promise", "--prior", word),
        ("tabulate", word, "--columns", word),
        (word,),
    ):
        assert discreet(*words) == 2, words
        out, err = capsys.readouterr()
        assert "internal" not in out + err
        assert len(err.splitlines()) == 1
