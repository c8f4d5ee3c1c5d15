"""What long work shows: a bar on a terminal, and nothing at all to a pipe."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.services.test_promise import discreet

POLICY = """\
promise: {prior: 1%, posterior: 5%}
tables:
  people:
    source: people.csv
    rows: 60
    columns:
      age: {type: integer, low: 0, high: 59}
      ill: {type: category, values: ["yes", "no"]}
"""
COMMANDS = {
    "train": ("train", "tree", "people", "--target", "ill", "--epsilon", "1"),
    "synthesize": ("synthesize", "people", "--epsilon", "1", "--quality", "best", "-o", "made.csv"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [f"{age},{'yes' if age % 3 else 'no'}" for age in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["age,ill", *rows]) + "\n")
    (tmp_path / "privacy.yaml").write_text(POLICY)
    return tmp_path


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_terminal_sees_how_much_is_done_while_it_lasts(verb: str, folder: Path) -> None:
    seen = _on_a_terminal(*COMMANDS[verb], folder=folder)
    assert "%" in seen
    assert "━" in seen
    assert seen.rstrip().endswith("\x1b[2K")  # the line is wiped at the end


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_pipe_sees_nothing_of_it(
    verb: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert discreet(*COMMANDS[verb]) == 0
    assert capsys.readouterr().err == ""


def _on_a_terminal(*words: str, folder: Path) -> str:
    """Everything that a terminal gets, read while the command runs: its buffer is small."""
    ours, theirs = os.openpty()
    running = subprocess.Popen(
        [sys.executable, "-c", "from discreet.cli.main import main; main()", *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    )
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # how Linux says that the other side has been closed
        while more := os.read(ours, 65_536):
            seen += more
    os.close(ours)
    assert running.wait() == 0
    return seen.decode()
