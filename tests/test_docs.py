"""What the documentation shows is what happens: every command of every page is run, in a folder of its own.

A console block has commands after `$`; what stands below them is printed by them, whatever the numbers are.
`# exit code N` behind a command says how it ends.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from discreet.cli import reference_pages
from discreet.cli.main import COMMAND_GROUPS, COMMANDS, SUMMARIES, build_app
from discreet.services import session_ledger
from discreet.services.collect.surveys import load_survey
from tests.services.test_promise import discreet

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
EXIT = re.compile(r"\s+# exit code (\d)$")
ELSEWHERE = (
    "how-to/bring-your-own-table.md",  # tests/services/test_bring_your_own_table.py
    *("how-to/move-to-postgresql.md", "how-to/move-to-spark.md"),  # tests/engines/test_guides.py
)
HERE = [page for page in PAGES if str(page.relative_to(DOCS)) not in ELSEWHERE]


def named(path: Path) -> str:
    return str(path.relative_to(DOCS))


def commands(text: str) -> list[tuple[str, list[str]]]:
    """Every command of a page, with the lines that are shown below it."""
    found: list[tuple[str, list[str]]] = []
    for block in CONSOLE.findall(text):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line.strip():
                found[-1][1].append(line)
    return found


def words(text: str) -> str:
    """Text without its numbers, in one line."""
    return " ".join(re.sub(r"[\d.,]+", "#", text).split())


@pytest.fixture
def folder(samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(samples, tmp_path / "sample")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def require_shown(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run every command of a page where one is, and look for what stands below it."""
    for line, shown in commands(text):
        code = EXIT.search(line)
        program, *arguments = shlex.split(EXIT.sub("", line))
        assert program == "discreet"
        assert discreet(*arguments) == (int(code[1]) if code else 0), line
        printed = words(capsys.readouterr().out)
        for each in shown:
            assert words(each) in printed, each


@pytest.mark.parametrize("page", [p for p in HERE if CONSOLE.search(p.read_text())], ids=named)
def test_every_command_of_a_page_runs_and_prints_what_is_shown(
    folder: Path, page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert folder.exists()
    require_shown(page.read_text(), capsys)


@pytest.mark.parametrize("page", [p for p in PAGES if PYTHON.search(p.read_text())], ids=named)
def test_every_python_block_of_a_page_runs(folder: Path, page: Path) -> None:
    assert folder.exists()
    session_ledger.make_session_ledger.cache_clear()
    names: dict[str, Any] = {}
    for block in PYTHON.findall(page.read_text()):
        exec(block, names)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_of_a_page_leads_to_a_page(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize(("name", "text"), reference_pages.generate_pages().items())
def test_reference_pages_are_those_of_the_code(name: str, text: str) -> None:
    kept = (DOCS / "reference" / name).read_text()
    assert kept == text, "run python -m discreet.cli.reference_pages docs/reference"


def test_the_list_of_commands_has_the_first_paragraph_of_each_one_s_help() -> None:
    for name, summary in SUMMARIES.items():
        group: Any = typer.main.get_command(build_app([name]))
        assert group.commands[name].help.partition("\n\n")[0].replace("\n", " ") == summary
    assert [*SUMMARIES] == [*COMMANDS, *COMMAND_GROUPS]


def test_the_list_of_commands_and_a_promise_need_no_engine() -> None:
    heavy = ("altair", "duckdb", "numba", "pyarrow")
    for words in (["--help"], ["promise", "--prior", "1%", "--posterior", "5%"]):
        script = (
            "import sys; from discreet.cli.main import main\n"
            f"try: main()\nfinally: print([name for name in {heavy} if name in sys.modules])"
        )
        run = [sys.executable, "-c", script, *words]
        told = subprocess.run(run, capture_output=True, text=True, check=False)
        assert told.returncode == 0
        assert told.stdout.splitlines()[-1] == "[]"


def test_the_survey_of_the_guide_is_one(tmp_path: Path) -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", (DOCS / "how-to" / "run-a-survey.md").read_text(), re.DOTALL)
    (tmp_path / "survey.yaml").write_text(text)
    assert load_survey(tmp_path / "survey.yaml").promise.posterior == 0.05


def test_every_page_is_in_the_navigation() -> None:
    listed = (DOCS.parent / "mkdocs.yml").read_text()
    assert [named(page) for page in PAGES if named(page) not in listed] == []
