"""The command line when its output cannot be written, or another pipe breaks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.services.test_promise import discreet

PROMISE = (sys.executable, "-m", "discreet", "promise", "--prior", "1%", "--posterior", "5%")


def test_a_reader_that_has_gone_ends_the_command_without_a_word() -> None:
    with subprocess.Popen(PROMISE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_under_stdout_is_said() -> None:
    with open("/dev/full", "wb") as full:
        process = subprocess.run(PROMISE, stdout=full, stderr=subprocess.PIPE, check=False)
    assert process.returncode == 2
    assert process.stderr == b"discreet: System error: No space left on device.\n"


def test_a_pipe_to_another_process_that_breaks_is_said_and_closes_no_stream(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: Path) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("discreet.cli.main.remove_leftovers", fail)
    assert discreet("promise", "--prior", "1%", "--posterior", "5%") == 2
    assert capsys.readouterr().err == "discreet: System error: Broken pipe.\n"
    assert not sys.stderr.closed
